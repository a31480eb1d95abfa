// The states of a message and of a delivery, and the one pure function for each that says what follows what.
// docs/reference/lifecycle.md is generated from these functions; numbers are stored: never reuse one.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/check.h"

namespace postrider {

enum class MessageState : std::uint8_t {
  Pending = 1,    // in the outbox, or waiting to be expanded again
  Expanding = 2,  // its deliveries are being written in chunks
  Expanded = 3,   // its deliveries carry on
  Ignored = 4,    // nothing knows its type; kept, replayable
  Duplicate = 5,  // the same id, key or fact came before
  Failed = 6,     // cannot become deliveries; the reason says why; replayable
  Cancelled = 7,
};
inline constexpr std::array kMessageStates{MessageState::Pending,  MessageState::Expanding, MessageState::Expanded,
                                           MessageState::Ignored,  MessageState::Duplicate, MessageState::Failed,
                                           MessageState::Cancelled};

enum class DeliveryState : std::uint8_t {
  Queued = 1,     // due, waiting for a node
  Sending = 2,    // a node holds it: the attempt is durable, the call may be under way
  Sent = 3,       // the provider accepted it and may report later
  Delivered = 4,  // a receipt said so, or acceptance is this provider's end
  Retrying = 5,   // waits for its next attempt, or for its due time
  Parked = 6,     // the end unless an operator acts
  Discarded = 7,  // by an operator, from parked
  Cancelled = 8,
  Suppressed = 9,  // must not or cannot be sent to this address
  Expired = 10,    // its expiry passed
};
inline constexpr std::array kDeliveryStates{
    DeliveryState::Queued,     DeliveryState::Sending, DeliveryState::Sent,      DeliveryState::Delivered,
    DeliveryState::Retrying,   DeliveryState::Parked,  DeliveryState::Discarded, DeliveryState::Cancelled,
    DeliveryState::Suppressed, DeliveryState::Expired};

enum class MessageTrigger : std::uint8_t { Expand, StartChunks, Ignore, Repeat, Fail, Cancel, Replay };
inline constexpr std::array kMessageTriggers{
    MessageTrigger::Expand, MessageTrigger::StartChunks, MessageTrigger::Ignore, MessageTrigger::Repeat,
    MessageTrigger::Fail,   MessageTrigger::Cancel,      MessageTrigger::Replay};

enum class DeliveryTrigger : std::uint8_t {
  Claim,        // a node takes it
  Accept,       // the provider accepted and may report later
  AcceptAsEnd,  // the provider accepted and that is all it ever says
  Defer,        // try again at a later time
  Promote,      // the later time has come
  Park,         // no further attempt by ourselves
  Release,      // given back, nothing was sent
  Cancel,
  Suppress,
  Expire,
  Confirm,     // a receipt: delivered
  Requeue,     // operator: retry
  Discard,     // operator
  LateAccept,  // the answer of a call whose lease had ended: accepted
};
inline constexpr std::array kDeliveryTriggers{
    DeliveryTrigger::Claim,    DeliveryTrigger::Accept,    DeliveryTrigger::AcceptAsEnd, DeliveryTrigger::Defer,
    DeliveryTrigger::Promote,  DeliveryTrigger::Park,      DeliveryTrigger::Release,     DeliveryTrigger::Cancel,
    DeliveryTrigger::Suppress, DeliveryTrigger::Expire,    DeliveryTrigger::Confirm,     DeliveryTrigger::Requeue,
    DeliveryTrigger::Discard,  DeliveryTrigger::LateAccept};

/// Empty: the trigger means nothing in this state; the caller notes it and changes nothing.
[[nodiscard]] constexpr std::optional<DeliveryState> next_state(DeliveryState from, DeliveryTrigger on) {
  using S = DeliveryState;
  using T = DeliveryTrigger;
  switch (from) {
    case S::Queued:
    case S::Retrying:
      if (on == T::Claim && from == S::Queued) return S::Sending;
      if (on == T::Promote && from == S::Retrying) return S::Queued;
      if (on == T::Cancel) return S::Cancelled;
      if (on == T::Suppress) return S::Suppressed;
      if (on == T::Expire) return S::Expired;
      if (on == T::LateAccept) return S::Sent;  // The repeat that waits is no longer needed.
      if (on == T::Confirm) return S::Delivered;
      return std::nullopt;
    case S::Sending:
      if (on == T::Accept) return S::Sent;
      if (on == T::AcceptAsEnd || on == T::Confirm) return S::Delivered;  // A receipt can overtake our own record.
      if (on == T::Defer) return S::Retrying;
      if (on == T::Park) return S::Parked;
      if (on == T::Release) return S::Queued;
      if (on == T::Cancel) return S::Cancelled;
      if (on == T::Suppress) return S::Suppressed;
      if (on == T::Expire) return S::Expired;
      return std::nullopt;
    case S::Sent:
      if (on == T::Confirm) return S::Delivered;
      if (on == T::Defer) return S::Retrying;  // A receipt said failed: the next provider, once.
      if (on == T::Park) return S::Parked;
      if (on == T::Suppress) return S::Suppressed;
      return std::nullopt;
    case S::Parked:
      if (on == T::Requeue) return S::Queued;
      if (on == T::Discard) return S::Discarded;
      if (on == T::LateAccept) return S::Sent;
      if (on == T::Confirm) return S::Delivered;
      if (on == T::Expire) return S::Expired;
      return std::nullopt;
    case S::Delivered:
    case S::Discarded:
    case S::Cancelled:
    case S::Suppressed:
    case S::Expired: return std::nullopt;
  }
  POSTRIDER_DIE("a DeliveryState outside its enum");
}

[[nodiscard]] constexpr std::optional<MessageState> next_state(MessageState from, MessageTrigger on) {
  using S = MessageState;
  using T = MessageTrigger;
  switch (from) {
    case S::Pending:
      if (on == T::Expand) return S::Expanded;
      if (on == T::StartChunks) return S::Expanding;
      if (on == T::Ignore) return S::Ignored;
      if (on == T::Repeat) return S::Duplicate;
      if (on == T::Fail) return S::Failed;
      if (on == T::Cancel) return S::Cancelled;
      return std::nullopt;
    case S::Expanding:
      if (on == T::Expand) return S::Expanded;
      if (on == T::Fail) return S::Failed;
      if (on == T::Cancel) return S::Cancelled;
      return std::nullopt;
    case S::Ignored:
    case S::Failed:
      if (on == T::Replay) return S::Pending;
      return std::nullopt;
    case S::Expanded:
    case S::Duplicate:
    case S::Cancelled: return std::nullopt;
  }
  POSTRIDER_DIE("a MessageState outside its enum");
}

/// The end: nothing but an operator or a receipt moves it on.
constexpr bool is_settled(DeliveryState state) {
  switch (state) {
    case DeliveryState::Queued:
    case DeliveryState::Sending:
    case DeliveryState::Retrying:
    case DeliveryState::Parked: return false;
    case DeliveryState::Sent:
    case DeliveryState::Delivered:
    case DeliveryState::Discarded:
    case DeliveryState::Cancelled:
    case DeliveryState::Suppressed:
    case DeliveryState::Expired: return true;
  }
  POSTRIDER_DIE("a DeliveryState outside its enum");
}

static_assert(next_state(DeliveryState::Sending, DeliveryTrigger::Accept) == DeliveryState::Sent);
static_assert(!next_state(DeliveryState::Delivered, DeliveryTrigger::Claim));

std::string_view to_text(MessageState state);
std::string_view to_text(DeliveryState state);
std::string_view to_text(MessageTrigger trigger);
std::string_view to_text(DeliveryTrigger trigger);
std::optional<MessageState> parse_message_state(std::string_view text);
std::optional<DeliveryState> parse_delivery_state(std::string_view text);

}  // namespace postrider
