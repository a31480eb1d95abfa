#include "core/outcome.h"

#include <algorithm>

#include "base/canary.h"
#include "base/check.h"
#include "base/limits.h"

namespace postrider {

std::string_view to_text(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::Accepted: return "accepted";
    case OutcomeKind::NotSent: return "not_sent";
    case OutcomeKind::Transient: return "transient";
    case OutcomeKind::Permanent: return "permanent";
    case OutcomeKind::Unclear: return "unclear";
    case OutcomeKind::Misconfigured: return "misconfigured";
    case OutcomeKind::Unmapped: return "unmapped";
  }
  POSTRIDER_DIE("an OutcomeKind outside its enum");
}

std::string_view to_text(Guarantee guarantee) {
  switch (guarantee) {
    case Guarantee::AtLeastOnce: return "at_least_once";
    case Guarantee::AtMostOnce: return "at_most_once";
    case Guarantee::Reconcile: return "reconcile";
  }
  POSTRIDER_DIE("a Guarantee outside its enum");
}

std::optional<Guarantee> parse_guarantee(std::string_view text) {
  for (const Guarantee guarantee : {Guarantee::AtLeastOnce, Guarantee::AtMostOnce, Guarantee::Reconcile}) {
    if (to_text(guarantee) == text) return guarantee;
  }
  return std::nullopt;
}

namespace {

constexpr Duration kRetryAfterMin = std::chrono::seconds{1};
constexpr Duration kRetryAfterMax = std::chrono::hours{24};

Verdict park(const Judged& delivery, Reason reason) {
  if (canary("no_reason")) reason = Reason::Waiting;
  return {.state = DeliveryState::Parked, .reason = reason, .attempt = delivery.attempt};
}

// Another attempt, unless none is left or it would come too late.
Verdict again(const Outcome& outcome, const Judged& delivery, const Policy& policy, Instant now, std::uint64_t draw,
              int attempts_max) {
  if (canary("no_call_cap")) attempts_max += 2;
  if (delivery.attempt >= std::min(attempts_max, kCallsPerDeliveryMax)) return park(delivery, Reason::RetriesUsedUp);
  Duration wait = retry_delay(policy, delivery.attempt, draw);
  if (outcome.retry_after && !canary("retry_after_ignored"))
    wait = std::max(wait, std::clamp(*outcome.retry_after, kRetryAfterMin, kRetryAfterMax));
  const Instant due_at = now + wait;
  if (delivery.expires_at && due_at >= *delivery.expires_at) {
    return {.state = DeliveryState::Expired, .reason = Reason::Expired, .attempt = delivery.attempt};
  }
  return {.state = DeliveryState::Retrying, .reason = outcome.reason, .due_at = due_at, .attempt = delivery.attempt};
}

Verdict after_unclear(const Outcome& outcome, const Judged& delivery, const Policy& policy, Instant now,
                      std::uint64_t draw) {
  if (canary("unclear_repeated")) return again(outcome, delivery, policy, now, draw, policy.attempts_max);
  switch (delivery.guarantee) {
    case Guarantee::AtMostOnce: return park(delivery, Reason::UnclearNotRepeated);
    case Guarantee::Reconcile: return park(delivery, Reason::UnclearReconcile);
    case Guarantee::AtLeastOnce: {
      Verdict verdict = again(outcome, delivery, policy, now, draw, policy.attempts_max);
      verdict.possible_duplicate = verdict.state == DeliveryState::Retrying;
      return verdict;
    }
  }
  POSTRIDER_DIE("a Guarantee outside its enum");
}

}  // namespace

Verdict judge(const Outcome& outcome, const Judged& delivery, const Policy& policy, Instant now, std::uint64_t draw) {
  POSTRIDER_CHECK(delivery.attempt >= 1);
  switch (outcome.kind) {
    case OutcomeKind::Accepted:
      if (delivery.acceptance == Acceptance::IsTheEnd || canary("sent_is_delivered")) {
        return {.state = DeliveryState::Delivered, .reason = Reason::AcceptanceIsTheEnd, .attempt = delivery.attempt};
      }
      return {.state = DeliveryState::Sent, .reason = Reason::AcceptedByProvider, .attempt = delivery.attempt};
    case OutcomeKind::NotSent:
    case OutcomeKind::Transient: return again(outcome, delivery, policy, now, draw, policy.attempts_max);
    case OutcomeKind::Permanent:
      if (canary("refusal_is_success")) return {.state = DeliveryState::Sent, .reason = outcome.reason};
      return park(delivery, outcome.reason);
    case OutcomeKind::Unclear: return after_unclear(outcome, delivery, policy, now, draw);
    case OutcomeKind::Unmapped: return again(outcome, delivery, policy, now, draw, std::min(2, policy.attempts_max));
    case OutcomeKind::Misconfigured: {
      const Instant due_at = now + kMisconfiguredHold;
      if (delivery.expires_at && due_at >= *delivery.expires_at) {
        return {.state = DeliveryState::Expired, .reason = Reason::Expired, .attempt = delivery.attempt - 1};
      }
      return {.state = DeliveryState::Retrying,
              .reason = outcome.reason,
              .due_at = due_at,
              .attempt = delivery.attempt - 1};
    }
  }
  POSTRIDER_DIE("an OutcomeKind outside its enum");
}

}  // namespace postrider
