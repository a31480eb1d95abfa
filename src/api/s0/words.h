// The words of a booking system's portal for what Postrider knows, and the form of its answers.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/mask.h"
#include "api/query.h"
#include "api/route.h"
#include "api/views.h"
#include "core/channel.h"
#include "core/lifecycle.h"
#include "core/reason.h"

namespace postrider::s0 {

inline constexpr std::string_view kChannelWords = "WhatsApp, SMS, Email, Push, Webhook, Teams, Slack, InApp";
std::string_view word_of(Channel channel);
std::optional<Channel> channel_of(std::string_view word);  // in any case

std::string_view log_status(DeliveryState state);       // Pending, Sent, Failed
std::string_view schedule_status(DeliveryState state);  // Pending, Completed, Failed, Cancelled
std::string_view schedule_status(MessageState state);   // of a message that has no deliveries
std::string_view outbox_status(MessageState state);     // Pending, Published, Failed
/// The states that a word of the outbox stands for; none: there is no such word.
std::vector<MessageState> outbox_states(std::string_view word);

/// A reason as one line for people: its words, and what led to it.
std::string error_line(Reason reason, std::string_view detail);

Addresses shown_to(const Caller& caller);
HttpOut json_answer(std::string body, int status = 200);
/// A list that goes on: the portal reads plain arrays, so the way to the next page is a Link header.
HttpOut page_answer(std::string body, const HttpIn& in, std::string_view next_cursor);

/// Empty where the tenant is not configured any more.
std::string_view name_of(const Rules& rules, TenantId tenant);

}  // namespace postrider::s0
