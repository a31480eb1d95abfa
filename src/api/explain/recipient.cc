#include "api/explain/recipient.h"

#include <fmt/format.h>

namespace postrider {
namespace {

constexpr std::size_t kSharingMax = 20;  // people who share one address, in one tenant

std::vector<TenantId> tenants_of(const RecipientQuestion& question, const Rules& rules) {
  if (question.tenant) return {*question.tenant};
  std::vector<TenantId> all;
  for (const Tenant& tenant : rules.tenants) all.push_back(tenant.id);
  return all;
}

std::string name_of_tenant(const Rules& rules, TenantId id) {
  for (const Tenant& tenant : rules.tenants) {
    if (tenant.id == id) return tenant.name;
  }
  return "?";  // one that is no longer configured
}

class RecipientTeller {
 public:
  RecipientTeller(const RecipientQuestion& question, const Rules& rules, Addresses shown)
      : question_(question), rules_(rules), shown_(shown), mask_(shown) {
    mask_.learn(question.address);
  }

  Story tell(const RecipientFindings& found) {
    if (!question_.before) {
      for (const Contact& contact : found.contacts) tell_contact(contact);
      for (const Suppression& suppression : found.suppressions) tell_suppression(suppression);
    }
    for (StoryLine& line : explain_items(found.page.items, shown_, question_.address))
      story_.push_back(std::move(line));
    if (found.page.items.empty() && !question_.before && !found.page.next) tell_nothing();
    if (found.page.next) {
      say(std::nullopt,
          fmt::format("What is older than {} is not on this page.", format_instant(id_time(*found.page.next))));
    } else {
      tell_what_is_not_known();
    }
    return std::move(story_);
  }

 private:
  void say(std::optional<Instant> at, std::string_view text, std::optional<Reason> reason = std::nullopt) {
    story_.push_back({at, mask_.text(text), reason});
  }
  [[nodiscard]] std::string address() const { return mask_.address(question_.address); }

  void tell_contact(const Contact& contact) {
    std::string channels;
    for (const ContactAddress& each : contact.addresses) {
      if (each.address != question_.address) continue;
      channels += fmt::format("{}{}", channels.empty() ? "" : " and ", to_text(each.channel));
    }
    say(std::nullopt, fmt::format("{} is the {} address of contact \"{}\" of tenant {}.", address(), channels,
                                  contact.key, name_of_tenant(rules_, contact.tenant)));
    for (const Preference& wish : contact.preferences) {
      if (!wish.allowed) say(wish.at, fmt::format("The {}.", words_of(wish, contact.key)), Reason::OptedOut);
    }
    if (contact.quiet_hours) {
      say(std::nullopt,
          fmt::format("Between {}{} it is not written to.", to_text(*contact.quiet_hours),
                      contact.timezone.empty() ? "" : fmt::format(" ({})", contact.timezone)),
          Reason::QuietHours);
    }
  }

  void tell_suppression(const Suppression& suppression) {
    say(suppression.at,
        fmt::format("Nothing is sent by {} to {} for tenant {}: {} ({}).", to_text(suppression.channel), address(),
                    name_of_tenant(rules_, suppression.tenant), words_of(Reason::SuppressedAddress),
                    words_of(suppression)),
        Reason::SuppressedAddress);
  }

  [[nodiscard]] std::string scope() const {
    return fmt::format("{}{}", question_.type.empty() ? "" : fmt::format(" of type {}", question_.type),
                       question_.from ? fmt::format(" since {}", format_instant(*question_.from)) : "");
  }

  void tell_nothing() { say(std::nullopt, fmt::format("Nothing is known for this recipient{}.", scope())); }

  void tell_what_is_not_known() {
    say(std::nullopt,
        "Not told here, because nobody can know it: messages that were never turned into deliveries and whose "
        "recipient was to come from a list or from the application's database, what was removed by now, and this "
        "address where it is written in another way.");
  }

  const RecipientQuestion& question_;
  const Rules& rules_;
  Addresses shown_;
  Mask mask_;
  Story story_;
};

}  // namespace

Result<RecipientFindings> look_up_recipient(StoreSession& session, const Rules& rules,
                                            const RecipientQuestion& question) {
  RecipientFindings found;
  std::vector<SuppressionRef> suppressed;
  for (const TenantId tenant : tenants_of(question, rules)) {
    POSTRIDER_TRY(contacts,
                  session.contacts({.tenant = tenant, .address = question.address, .count_max = kSharingMax}));
    found.contacts.insert(found.contacts.end(), contacts.begin(), contacts.end());
    for (const Channel channel : kChannels) suppressed.push_back({tenant, channel, question.address});
  }
  if (!question.before) {
    POSTRIDER_TRY(suppressions, session.find_suppressions(suppressed));
    found.suppressions = std::move(suppressions);
  }
  AddressedFilter filter{.tenant = question.tenant,
                         .address = question.address,
                         .type = question.type,
                         .from = question.from,
                         .before = question.before,
                         .count_max = question.count_max};
  for (const Contact& contact : found.contacts) filter.contacts.push_back({contact.tenant, contact.key});
  POSTRIDER_TRY(page, session.addressed(filter));
  found.page = std::move(page);
  return found;
}

Story explain_recipient(const RecipientQuestion& question, const RecipientFindings& found, const Rules& rules,
                        Addresses shown) {
  return RecipientTeller{question, rules, shown}.tell(found);
}

}  // namespace postrider
