#include "core/contact.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr int kMinutesPerDay = 24 * 60;

std::optional<int> parse_minute(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 5 || text[2] != ':' || !digit(text[0]) || !digit(text[1]) || !digit(text[3]) || !digit(text[4])) {
    return std::nullopt;
  }
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  if (minute > 59 || hour > 24 || (hour == 24 && minute != 0)) return std::nullopt;
  return (hour * 60 + minute) % kMinutesPerDay;
}

}  // namespace

std::optional<QuietHours> parse_quiet_hours(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto from = parse_minute(trim(text.substr(0, dash)));
  const auto until = parse_minute(trim(text.substr(dash + 1)));
  if (!from || !until || *from == *until) return std::nullopt;
  return QuietHours{*from, *until};
}

std::string to_text(const QuietHours& hours) {
  return fmt::format("{:02}:{:02}-{:02}:{:02}", hours.from_minute / 60, hours.from_minute % 60, hours.until_minute / 60,
                     hours.until_minute % 60);
}

std::string_view Contact::address(Channel channel) const {
  const auto found =
      std::find_if(addresses.begin(), addresses.end(), [&](const ContactAddress& a) { return a.channel == channel; });
  return found == addresses.end() ? std::string_view{} : std::string_view{found->address};
}

const Preference* forbidding(const std::vector<Preference>& preferences, Channel channel, std::string_view category) {
  const Preference* holds = nullptr;
  int best = -1;
  for (const Preference& p : preferences) {
    if (p.channel && *p.channel != channel) continue;
    if (!p.category.empty() && p.category != category) continue;
    const int specific = (p.channel ? 2 : 0) + (p.category.empty() ? 0 : 1);
    if (specific <= best) continue;
    best = specific;
    holds = &p;
  }
  return holds != nullptr && !holds->allowed ? holds : nullptr;
}

const Preference* forbidding(const std::vector<Preference>& preferences, Channel channel, std::string_view category,
                             std::span<const std::string> exempt) {
  const Preference* wish = forbidding(preferences, channel, category);
  if (wish == nullptr || !wish->category.empty()) return wish;
  return std::find(exempt.begin(), exempt.end(), category) == exempt.end() ? wish : nullptr;
}

std::span<const std::string> exempt_of(const ExemptCategories& exempt, TenantId tenant) {
  const auto found = exempt.find(tenant);
  return found == exempt.end() ? std::span<const std::string>{} : std::span<const std::string>{found->second};
}

std::string words_of(const Preference& wish, std::string_view contact) {
  std::string of = wish.channel ? std::string{to_text(*wish.channel)} : "every channel";
  if (!wish.category.empty()) of += fmt::format(" for {}", wish.category);
  return fmt::format("contact \"{}\" opted out of {}{}", contact, of,
                     wish.source.empty() ? "" : fmt::format(" ({})", wish.source));
}

std::string words_of(const Suppression& suppression) {
  return fmt::format("{} on {}{}{}", to_text(suppression.cause), format_instant(suppression.at),
                     suppression.evidence.empty() ? "" : ": ", suppression.evidence);
}

std::string_view to_text(SuppressionCause cause) {
  switch (cause) {
    case SuppressionCause::Unsubscribe: return "unsubscribe";
    case SuppressionCause::Complaint: return "complaint";
    case SuppressionCause::HardBounce: return "hard_bounce";
    case SuppressionCause::Operator: return "operator";
    case SuppressionCause::Import: return "import";
  }
  POSTRIDER_DIE("a SuppressionCause outside its enum");
}

std::optional<SuppressionCause> parse_suppression_cause(std::string_view text) {
  for (const auto cause : {SuppressionCause::Unsubscribe, SuppressionCause::Complaint, SuppressionCause::HardBounce,
                           SuppressionCause::Operator, SuppressionCause::Import}) {
    if (to_text(cause) == text) return cause;
  }
  return std::nullopt;
}

std::string comparable_address(Channel channel, std::string_view address) {
  std::string out{trim(address)};
  if (channel == Channel::Email) {
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  }
  return out;
}

}  // namespace postrider
