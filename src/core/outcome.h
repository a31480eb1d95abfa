// What one call of a provider came to, and what follows from it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/lifecycle.h"
#include "core/reason.h"
#include "core/retry.h"

namespace postrider {

enum class OutcomeKind : std::uint8_t {  // stored: never reuse a number
  Accepted = 1,
  NotSent = 2,        // nothing left: safe to repeat
  Transient = 3,      // refused, trying again may help
  Permanent = 4,      // refused, trying again cannot help
  Unclear = 5,        // the bytes left, no answer came: it may have been sent
  Misconfigured = 6,  // our settings are wrong: nothing was sent, the provider is held, no attempt is used up
  Unmapped = 7,       // refused in a way we do not know: tried once more, then parked
};
std::string_view to_text(OutcomeKind kind);

struct Outcome {
  OutcomeKind kind = OutcomeKind::Unclear;
  Reason reason = Reason::ConnectionLost;
  std::string provider_message_id = {};
  std::string detail = {};  // bounded, printable, without secrets
  std::optional<Duration> retry_after = {};
};

enum class Guarantee : std::uint8_t {  // stored: never reuse a number
  AtLeastOnce = 1,                     // an unclear call is repeated with the same provider key
  AtMostOnce = 2,                      // never called again after accepted or unclear
  Reconcile = 3,                       // an unclear call waits for a receipt or a person
};
std::string_view to_text(Guarantee guarantee);
std::optional<Guarantee> parse_guarantee(std::string_view text);

enum class Acceptance : bool { MayReportLater, IsTheEnd };

struct Judged {     // the facts about one delivery that a verdict needs
  int attempt = 1;  // provider calls so far, this one included
  Guarantee guarantee = Guarantee::AtLeastOnce;
  std::optional<Instant> expires_at = {};
  Acceptance acceptance = Acceptance::MayReportLater;
};

struct Verdict {
  DeliveryState state = DeliveryState::Parked;
  Reason reason = Reason::RetriesUsedUp;
  Instant due_at{};  // when state is Retrying
  int attempt = 0;   // what the delivery's count becomes (a misconfigured call is not counted)
  bool possible_duplicate = false;
};

/// Where a delivery ends that is called off while it waits, or before it is tried again: by the one it is for as
/// Suppressed, by anybody else as Cancelled. (record.sql of PostgreSQL says the same about the rows that it settles.)
constexpr DeliveryState state_when_called_off(Reason reason) {
  const bool by_recipient = reason == Reason::OptedOut || reason == Reason::SuppressedAddress;
  return by_recipient ? DeliveryState::Suppressed : DeliveryState::Cancelled;
}

/// Pure: `draw` is the caller's random number, used for the policy's jitter.
Verdict judge(const Outcome& outcome, const Judged& delivery, const Policy& policy, Instant now, std::uint64_t draw);

/// How long a provider is held back after our own settings turned out to be wrong.
inline constexpr Duration kMisconfiguredHold = std::chrono::seconds{30};

}  // namespace postrider
