// The ways out of the house. Numbers are stored; never reuse one.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace postrider {

enum class Channel : std::uint8_t {
  Expand = 0,  // not a way out: queue rows of this channel are messages that wait to be expanded
  Email = 1,
  Sms = 2,
  WhatsApp = 3,
  Push = 4,
  Webhook = 5,
  Teams = 6,
  Slack = 7,
  InApp = 8,
};
inline constexpr std::array kChannels{Channel::Email,   Channel::Sms,   Channel::WhatsApp, Channel::Push,
                                      Channel::Webhook, Channel::Teams, Channel::Slack,    Channel::InApp};

std::string_view to_text(Channel channel);
/// Any of kChannels by its name; Expand has none.
std::optional<Channel> parse_channel(std::string_view text);
/// Why `address` cannot be written to on `channel` ("is empty", "contains a control character", …); empty when it can.
std::string_view address_problem(Channel channel, std::string_view address);
/// The payload field that holds the address where no route names one.
std::string_view default_recipient_field(Channel channel);

}  // namespace postrider
