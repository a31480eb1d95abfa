#include "core/channel.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider {

std::string_view to_text(Channel channel) {
  switch (channel) {
    case Channel::Expand: return "expand";
    case Channel::Email: return "email";
    case Channel::Sms: return "sms";
    case Channel::WhatsApp: return "whatsapp";
    case Channel::Push: return "push";
    case Channel::Webhook: return "webhook";
    case Channel::Teams: return "teams";
    case Channel::Slack: return "slack";
    case Channel::InApp: return "inapp";
  }
  POSTRIDER_DIE("a Channel outside its enum");
}

std::optional<Channel> parse_channel(std::string_view text) {
  for (const Channel channel : kChannels) {
    if (to_text(channel) == text) return channel;
  }
  return std::nullopt;
}

namespace {

// One @ that counts, something on both sides, no byte that could end an SMTP command or a header.
std::string_view email_problem(std::string_view address) {
  const std::size_t at = address.rfind('@');
  if (at == std::string_view::npos || at == 0) return "has no local part and domain";
  const std::string_view local = address.substr(0, at);
  const std::string_view domain = address.substr(at + 1);
  if (local.size() > 64 || domain.size() > 255) return "is too long";
  if (domain.empty() || domain.front() == '.' || domain.back() == '.' || domain.front() == '-')
    return "has a malformed domain";
  if (local.front() == '.' || local.back() == '.' || local.find("..") != std::string_view::npos) {
    return "has a malformed local part";
  }
  if (address.find_first_of(" <>()[],;:\"\\") != std::string_view::npos)
    return "contains a character that is not allowed";
  if (local.find('@') != std::string_view::npos) return "has two @";
  for (const char c : domain) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!plain && byte < 0x80) return "has a malformed domain";
  }
  return domain.find("..") != std::string_view::npos ? "has a malformed domain" : "";
}

// E.164: plus, a country code that does not begin with 0, 8 to 15 digits in all.
std::string_view phone_problem(std::string_view address) {
  if (address.front() != '+') return "is not in E.164 form (+ and digits)";
  const std::string_view digits = address.substr(1);
  if (digits.size() < 8 || digits.size() > 15) return "does not have 8 to 15 digits";
  if (digits.front() == '0') return "begins with 0 after the +";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::all_of(digits.begin(), digits.end(), is_digit) ? "" : "is not in E.164 form (+ and digits)";
}

std::string_view url_problem(std::string_view address) {
  if (!address.starts_with("https://") && !address.starts_with("http://")) return "is not an http:// or https:// URL";
  const std::string_view rest = address.substr(address.find("://") + 3);
  if (rest.empty() || std::string_view{"/:?#"}.find(rest.front()) != std::string_view::npos) return "names no host";
  if (address.find(' ') != std::string_view::npos) return "contains a space";
  if (rest.substr(0, rest.find_first_of("/?#")).find('@') != std::string_view::npos) return "contains credentials";
  return "";
}

}  // namespace

std::string_view address_problem(Channel channel, std::string_view address) {
  if (address.empty()) return "is empty";
  if (address.size() > 2048 || (channel != Channel::Webhook && address.size() > kTextFieldBytesMax))
    return "is too long";
  if (has_control(address)) return "contains a control character";
  if (!is_utf8(address)) return "is not UTF-8";
  switch (channel) {
    case Channel::Email: return email_problem(address);
    case Channel::Sms:
    case Channel::WhatsApp: return phone_problem(address);
    case Channel::Webhook:
    case Channel::Teams:
    case Channel::Slack: return url_problem(address);
    case Channel::Push:
    case Channel::InApp: return "";
    case Channel::Expand: return "cannot be written to";
  }
  POSTRIDER_DIE("a Channel outside its enum");
}

std::string_view default_recipient_field(Channel channel) {
  switch (channel) {
    case Channel::Email: return "email";
    case Channel::Sms:
    case Channel::WhatsApp: return "phone";
    case Channel::Push: return "pushToken";
    case Channel::Webhook:
    case Channel::Teams:
    case Channel::Slack: return "url";
    case Channel::InApp: return "userId";
    case Channel::Expand: return "";
  }
  POSTRIDER_DIE("a Channel outside its enum");
}

}  // namespace postrider
