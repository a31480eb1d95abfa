#include "api/s0/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace postrider::s0 {
namespace {

struct ChannelWord {
  Channel channel;
  std::string_view word;
};
constexpr std::array kWords{
    ChannelWord{Channel::Email, "Email"},       ChannelWord{Channel::Sms, "SMS"},
    ChannelWord{Channel::WhatsApp, "WhatsApp"}, ChannelWord{Channel::Push, "Push"},
    ChannelWord{Channel::Webhook, "Webhook"},   ChannelWord{Channel::Teams, "Teams"},
    ChannelWord{Channel::Slack, "Slack"},       ChannelWord{Channel::InApp, "InApp"},
};

}  // namespace

std::string_view word_of(Channel channel) {
  const auto found =
      std::find_if(kWords.begin(), kWords.end(), [&](const ChannelWord& w) { return w.channel == channel; });
  return found == kWords.end() ? std::string_view{} : found->word;
}

std::optional<Channel> channel_of(std::string_view word) {
  const auto found = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const ChannelWord& w) { return equal_ignoring_case(w.word, word); });
  return found == kWords.end() ? std::nullopt : std::optional{found->channel};
}

std::string_view log_status(DeliveryState state) {
  switch (state) {
    case DeliveryState::Queued:
    case DeliveryState::Sending:
    case DeliveryState::Retrying: return "Pending";
    case DeliveryState::Sent:
    case DeliveryState::Delivered: return "Sent";
    case DeliveryState::Parked:
    case DeliveryState::Expired:
    case DeliveryState::Cancelled:
    case DeliveryState::Suppressed:
    case DeliveryState::Discarded: return "Failed";
  }
  POSTRIDER_DIE("a DeliveryState outside its enum");
}

std::string_view schedule_status(DeliveryState state) {
  switch (state) {
    case DeliveryState::Queued:
    case DeliveryState::Sending:
    case DeliveryState::Retrying: return "Pending";
    case DeliveryState::Sent:
    case DeliveryState::Delivered: return "Completed";
    case DeliveryState::Parked:
    case DeliveryState::Expired: return "Failed";
    case DeliveryState::Cancelled:
    case DeliveryState::Suppressed:
    case DeliveryState::Discarded: return "Cancelled";
  }
  POSTRIDER_DIE("a DeliveryState outside its enum");
}

std::string_view schedule_status(MessageState state) {
  switch (state) {
    case MessageState::Pending:
    case MessageState::Expanding: return "Pending";
    case MessageState::Expanded:
    case MessageState::Duplicate: return "Completed";  // what it is about was sent for the first one
    case MessageState::Ignored:
    case MessageState::Failed: return "Failed";
    case MessageState::Cancelled: return "Cancelled";
  }
  POSTRIDER_DIE("a MessageState outside its enum");
}

std::string_view outbox_status(MessageState state) {
  switch (state) {
    case MessageState::Pending:
    case MessageState::Expanding: return "Pending";
    case MessageState::Expanded:
    case MessageState::Duplicate:
    case MessageState::Cancelled: return "Published";
    case MessageState::Ignored:  // both can be replayed
    case MessageState::Failed: return "Failed";
  }
  POSTRIDER_DIE("a MessageState outside its enum");
}

std::vector<MessageState> outbox_states(std::string_view word) {
  std::vector<MessageState> states;
  for (const MessageState state : kMessageStates) {
    if (equal_ignoring_case(outbox_status(state), word)) states.push_back(state);
  }
  return states;
}

std::string error_line(Reason reason, std::string_view detail) {
  return fmt::format("{}{}{}", words_of(reason), detail.empty() ? "" : ": ", detail);
}

Addresses shown_to(const Caller& caller) { return caller.sees_addresses() ? Addresses::Plain : Addresses::Masked; }

HttpOut json_answer(std::string body, int status) {
  HttpOut out;
  out.status = status;
  out.body = std::move(body);
  return out;
}

HttpOut page_answer(std::string body, const HttpIn& in, std::string_view next_cursor) {
  HttpOut out = json_answer(std::move(body));
  if (next_cursor.empty()) return out;
  std::string query;
  for (const std::string_view part : split(in.query, '&')) {
    if (part.empty() || part.starts_with("cursor=")) continue;
    query += fmt::format("{}&", part);
  }
  // What came in a query is percent-encoded; these are the few that could still end the address.
  std::erase_if(query, [](char c) { return c == '<' || c == '>' || c == '"' || c == ' '; });
  out.headers.emplace_back("Link", fmt::format("<{}?{}cursor={}>; rel=\"next\"", in.path, query, next_cursor));
  return out;
}

std::string_view name_of(const Rules& rules, TenantId tenant) {
  const Tenant* found = rules.tenant(tenant);
  return found == nullptr ? std::string_view{} : found->name;
}

}  // namespace postrider::s0
