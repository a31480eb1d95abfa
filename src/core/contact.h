// A person, and what is known about writing to them: addresses, language, clock, wishes.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/channel.h"

namespace postrider {

struct ContactAddress {
  Channel channel = Channel::Email;
  std::string address = {};
  auto operator<=>(const ContactAddress&) const = default;
};

/// A wish: no channel means every channel, no category means every category. The most specific one that matches holds.
struct Preference {
  std::optional<Channel> channel = {};
  std::string category = {};
  bool allowed = true;
  std::string source = {};  // who said so: "api", "import", "unsubscribe link"
  Instant at = {};
};

/// Times of the day between which nobody is written to, by the contact's own clock. `from` after `until`: over
/// midnight.
struct QuietHours {
  int from_minute = 0;  // of the day
  int until_minute = 0;
  auto operator<=>(const QuietHours&) const = default;
};
/// "22:00-08:00". Empty when it is none.
std::optional<QuietHours> parse_quiet_hours(std::string_view text);
std::string to_text(const QuietHours& hours);

struct Contact {
  std::int64_t id = 0;  // the store's
  TenantId tenant = 0;
  std::string key = {};  // the caller's own id of this person
  std::string name = {};
  std::string locale = {};        // empty: no preference
  std::string timezone = {};      // empty: the tenant's
  std::string attributes = "{}";  // a JSON object: templates see it under `contact`
  std::optional<QuietHours> quiet_hours = {};
  std::vector<ContactAddress> addresses = {};  // one per channel
  std::vector<Preference> preferences = {};
  Instant updated_at = {};

  /// Empty when there is none.
  [[nodiscard]] std::string_view address(Channel channel) const;
};

/// The preference that forbids this, if one does. Both fields beat one; the channel beats the category.
const Preference* forbidding(const std::vector<Preference>& preferences, Channel channel, std::string_view category);
/// The same, where a wish without a category does not touch the `exempt` categories.
const Preference* forbidding(const std::vector<Preference>& preferences, Channel channel, std::string_view category,
                             std::span<const std::string> exempt);
/// Of each tenant, the categories that are exempt.
using ExemptCategories = std::map<TenantId, std::vector<std::string>>;
std::span<const std::string> exempt_of(const ExemptCategories& exempt, TenantId tenant);
/// What is told about something that was not sent because of it.
std::string words_of(const Preference& wish, std::string_view contact);

enum class SuppressionCause : std::uint8_t {  // stored: never reuse a number
  Unsubscribe = 1,
  Complaint = 2,   // reported as spam
  HardBounce = 3,  // the address does not exist
  Operator = 4,
  Import = 5,
};
std::string_view to_text(SuppressionCause cause);
std::optional<SuppressionCause> parse_suppression_cause(std::string_view text);

/// An address that must not be written to, and how we know.
struct Suppression {
  TenantId tenant = 0;
  Channel channel = Channel::Email;
  std::string address = {};  // as it came
  SuppressionCause cause = SuppressionCause::Operator;
  std::string evidence = {};  // what led to it: a receipt, a request, a person's words
  Instant at = {};
};

/// What is told about something that was not sent because of it.
std::string words_of(const Suppression& suppression);

/// How an address is compared: mail addresses in small letters, everything else as it is.
std::string comparable_address(Channel channel, std::string_view address);

/// Somebody on a list: a contact, or an address on one channel.
struct ListMember {
  std::int64_t id = 0;  // grows with every member added
  std::string contact = {};
  Channel channel = Channel::Email;  // of `address`, when there is no contact
  std::string address = {};
  Instant joined_at = {};
};

}  // namespace postrider
