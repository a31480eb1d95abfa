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
  # A checker that finds nothing proves nothing: each planted bug must be found, within fewer seeds than are run above.
  foreach(canary ack_before_commit no_dedup no_fence no_write_ahead unclear_repeated no_call_cap silent_take_over
                 dropped_record expiry_ignored lease_ignored called_given_back late_over_settled lost_promotion
                 half_an_expansion cancel_forgotten)
    add_test(NAME sim.canary.${canary} COMMAND postrider-sim-canaries --canary ${canary} --seeds 1000)
    set_tests_properties(sim.canary.${canary} PROPERTIES LABELS "sim;slow" TIMEOUT 300
      PASS_REGULAR_EXPRESSION "replay: postrider-sim-canaries --canary ${canary}")
  endforeach()
  add_test(NAME sim.without_a_canary COMMAND postrider-sim-canaries --seeds 50)
  set_tests_properties(sim.without_a_canary PROPERTIES LABELS "sim;unit")
endif()
add_test(NAME sim.smoke COMMAND postrider-sim --seeds 100)
set_tests_properties(sim.smoke PROPERTIES LABELS "sim;unit" TIMEOUT 300)
