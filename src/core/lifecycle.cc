#include "core/lifecycle.h"

namespace postrider {

std::string_view to_text(MessageState state) {
  switch (state) {
    case MessageState::Pending: return "pending";
    case MessageState::Expanding: return "expanding";
    case MessageState::Expanded: return "expanded";
    case MessageState::Ignored: return "ignored";
    case MessageState::Duplicate: return "duplicate";
    case MessageState::Failed: return "failed";
    case MessageState::Cancelled: return "cancelled";
  }
  POSTRIDER_DIE("a MessageState outside its enum");
}

std::string_view to_text(DeliveryState state) {
  switch (state) {
    case DeliveryState::Queued: return "queued";
    case DeliveryState::Sending: return "sending";
    case DeliveryState::Sent: return "sent";
    case DeliveryState::Delivered: return "delivered";
    case DeliveryState::Retrying: return "retrying";
    case DeliveryState::Parked: return "parked";
    case DeliveryState::Discarded: return "discarded";
    case DeliveryState::Cancelled: return "cancelled";
    case DeliveryState::Suppressed: return "suppressed";
    case DeliveryState::Expired: return "expired";
  }
  POSTRIDER_DIE("a DeliveryState outside its enum");
}

std::string_view to_text(MessageTrigger trigger) {
  switch (trigger) {
    case MessageTrigger::Expand: return "expand";
    case MessageTrigger::StartChunks: return "start chunks";
    case MessageTrigger::Ignore: return "ignore";
    case MessageTrigger::Repeat: return "repeat";
    case MessageTrigger::Fail: return "fail";
    case MessageTrigger::Cancel: return "cancel";
    case MessageTrigger::Replay: return "replay";
  }
  POSTRIDER_DIE("a MessageTrigger outside its enum");
}

std::string_view to_text(DeliveryTrigger trigger) {
  switch (trigger) {
    case DeliveryTrigger::Claim: return "claim";
    case DeliveryTrigger::Accept: return "accept";
    case DeliveryTrigger::AcceptAsEnd: return "accept as end";
    case DeliveryTrigger::Defer: return "defer";
    case DeliveryTrigger::Promote: return "promote";
    case DeliveryTrigger::Park: return "park";
    case DeliveryTrigger::Release: return "release";
    case DeliveryTrigger::Cancel: return "cancel";
    case DeliveryTrigger::Suppress: return "suppress";
    case DeliveryTrigger::Expire: return "expire";
    case DeliveryTrigger::Confirm: return "confirm";
    case DeliveryTrigger::Requeue: return "requeue";
    case DeliveryTrigger::Discard: return "discard";
    case DeliveryTrigger::LateAccept: return "late accept";
  }
  POSTRIDER_DIE("a DeliveryTrigger outside its enum");
}

std::optional<MessageState> parse_message_state(std::string_view text) {
  for (const MessageState state : kMessageStates) {
    if (to_text(state) == text) return state;
  }
  return std::nullopt;
}

std::optional<DeliveryState> parse_delivery_state(std::string_view text) {
  for (const DeliveryState state : kDeliveryStates) {
    if (to_text(state) == text) return state;
  }
  return std::nullopt;
}

}  // namespace postrider
