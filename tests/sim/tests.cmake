# What ./test runs of the simulator. Counts: POSTRIDER_SIM_SEEDS in each of two halves, so that two cores have work.
set(POSTRIDER_SIM_SEEDS 5000 CACHE STRING "seeds in each half of the simulation in ./test")
add_dependencies(test_programs postrider-sim)
if(NOT POSTRIDER_SANITIZE)
  add_dependencies(test_programs postrider-sim-canaries)
  math(EXPR second "${POSTRIDER_SIM_SEEDS} + 1")
  foreach(first 1 ${second})
    add_test(NAME sim.seeds_from_${first} COMMAND postrider-sim --first ${first} --seeds ${POSTRIDER_SIM_SEEDS})
    set_tests_properties(sim.seeds_from_${first} PROPERTIES LABELS "sim;slow" TIMEOUT 900)
  endforeach()
  # A checker that finds nothing proves nothing: each planted bug must be found by the rule that it is for, within fewer
  # seeds than are run above. Every rule is here.
  foreach(planted
      "ack_before_commit=kept" "half_an_expansion=kept" "lost_promotion=conserved" "no_dedup=idempotent"
      "key_without_tenant=idempotent" "no_fence=fences" "no_write_ahead=write-ahead" "unclear_repeated=at most once"
      "no_call_cap=call cap" "silent_take_over=explained duplicates" "called_given_back=explained duplicates"
      "late_over_settled=settled stays" "dropped_record=settles" "expiry_ignored=expiry"
      "late_expiry_ignored=expiry" "lease_ignored=lease honoured" "no_reason=reasons"
      "refusal_is_success=no false word" "ignored_is_failed=refused is told" "cancel_forgotten=cancel holds" "mark_forgotten=cancel holds"
      "held_not_marked=suppression holds" "suppression_forgotten=suppression holds" "suppression_not_asked=suppression holds" "quiet_ignored=quiet hours"
      "mixed_texts=own words" "old_record=fresh words" "late_cancel_ignored=fresh words" "secret_in_answer=secrets"
      "secret_kept=secrets" "limit_ignored=limits"
      "stale_release=single flight" "left_behind=single flight" "tries_wasted=full tries" "late_yes_ignored=accepted ends"
      "yes_unrecorded=on record" "retry_after_ignored=not early" "due_ignored=not early" "key_not_asked=idempotent" "waiting_not_asked=idempotent"
      "key_lent=idempotent" "hasty_watch=lease honoured" "suppressed_retried=suppression holds"
      "sent_is_delivered=no false word")
    string(REGEX REPLACE "=.*" "" canary ${planted})
    string(REGEX REPLACE ".*=" "" rule ${planted})
    add_test(NAME sim.canary.${canary} COMMAND postrider-sim-canaries --canary ${canary} --rule ${rule} --seeds 4000)
    set_tests_properties(sim.canary.${canary} PROPERTIES LABELS "sim;slow" TIMEOUT 300
      PASS_REGULAR_EXPRESSION "seed [0-9]+: ${rule}: ")
  endforeach()
  # The runner of long runs must keep what fails; one of its planted failures is a canary from here.
  add_test(NAME long.self_test COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/long --self-test)
  set_tests_properties(long.self_test PROPERTIES LABELS "slow" TIMEOUT 120
    ENVIRONMENT "POSTRIDER_RELEASE=${CMAKE_BINARY_DIR}")
  add_test(NAME sim.without_a_canary COMMAND postrider-sim-canaries --seeds 50)
  set_tests_properties(sim.without_a_canary PROPERTIES LABELS "sim;unit")
endif()
add_test(NAME sim.smoke COMMAND postrider-sim --seeds 100)
set_tests_properties(sim.smoke PROPERTIES LABELS "sim;unit" TIMEOUT 300)
