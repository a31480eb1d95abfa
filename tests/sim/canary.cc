#include "sim/canary.h"

#include "base/canary.h"

namespace postrider::sim {
namespace {
std::string& planted() {
  static std::string name;
  return name;
}
}  // namespace

bool has_canaries() {
#ifdef POSTRIDER_CANARIES
  return true;
#else
  return false;
#endif
}

std::vector<std::string> canary_names() {
  return {"ack_before_commit",
          "no_dedup",
          "no_fence",
          "no_write_ahead",
          "unclear_repeated",
          "no_call_cap",
          "silent_take_over",
          "dropped_record",
          "expiry_ignored",
          "lease_ignored",
          "called_given_back",
          "late_over_settled",
          "lost_promotion",
          "half_an_expansion",
          "key_without_tenant",
          "refusal_is_success",
          "no_reason",
          "ignored_is_failed",
          "cancel_forgotten",
          "mark_forgotten",
          "held_not_marked",
          "suppression_forgotten",
          "suppression_not_asked",
          "quiet_ignored",
          "mixed_texts",
          "old_record",
          "late_cancel_ignored",
          "late_expiry_ignored",
          "secret_in_answer",
          "secret_kept",
          "limit_ignored",
          "stale_release",
          "tries_wasted",
          "late_yes_ignored",
          "yes_unrecorded",
          "retry_after_ignored",
          "due_ignored",
          "key_not_asked",
          "waiting_not_asked",
          "key_lent",
          "hasty_watch",
          "left_behind",
          "suppressed_retried",
          "sent_is_delivered"};
}

void plant(const std::string& name) { planted() = name; }

}  // namespace postrider::sim

#ifdef POSTRIDER_CANARIES
bool postrider::canary(std::string_view name) { return sim::planted() == name; }
#endif
