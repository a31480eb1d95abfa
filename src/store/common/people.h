// Contacts and suppressions, for every dialect. What a dialect does in its own way (one statement for many, or a loop)
// stands in a struct `Dialect` with static functions; its Connection offers use(name).query(…) and .run(…).
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/limits.h"
#include "store/common/operate.h"
#include "store/people_rules.h"

namespace postrider::common {

/// Columns: tenant, key, kind (0 the contact, 1 an address, 2 a preference), id, number, five texts, time, flag. A
/// contact's own row stands before its others.
template <class Rows>
void read_contacts(Rows& rows, std::vector<Contact>& into) {
  while (rows.next()) {
    switch (rows.integer(2)) {
      case 0: {
        Contact& c = into.emplace_back();
        c.tenant = rows.template number<TenantId>(0);
        c.key = rows.text(1);
        c.id = rows.integer(3);
        c.name = rows.text(5);
        c.locale = rows.text(6);
        c.timezone = rows.text(7);
        c.quiet_hours = parse_quiet_hours(rows.text(8));
        c.attributes = rows.text(9);
        c.updated_at = rows.instant(10);
        break;
      }
      case 1: into.back().addresses.push_back({rows.one_of(4, Channel::Email, Channel::InApp), rows.text(5)}); break;
      default: {
        Preference& p = into.back().preferences.emplace_back();
        if (rows.integer(4) != 0) p.channel = rows.one_of(4, Channel::Email, Channel::InApp);
        p.category = rows.text(5);
        p.source = rows.text(6);
        p.at = rows.instant(10);
        p.allowed = rows.integer(11) != 0;
      }
    }
  }
}

/// Columns: id, lane, channel, tenant, category, contact, recipient.
template <class Rows>
void read_open(Rows& rows, std::vector<OpenDelivery>& into) {
  while (rows.next()) {
    into.push_back({rows.integer(0),
                    {rows.one_of(1, Lane::Priority, Lane::Bulk), rows.one_of(2, Channel::Email, Channel::InApp),
                     rows.template number<TenantId>(3)},
                    rows.text(4),
                    rows.text(5),
                    rows.text(6)});
  }
}

/// Columns: tenant, channel, cause, at, address, evidence.
template <class Rows>
void read_suppressions(Rows& rows, std::vector<Suppression>& into) {
  while (rows.next()) {
    into.push_back({rows.template number<TenantId>(0), rows.one_of(1, Channel::Email, Channel::InApp), rows.text(4),
                    rows.one_of(2, SuppressionCause::Unsubscribe, SuppressionCause::Import), rows.text(5),
                    rows.instant(3)});
  }
}

/// Calls deliveries off that somebody does not want.
template <class Connection>
class Ending {
 public:
  Ending(Connection& c, Instant now, const OperatorAction& by) : c_(c), now_(now), by_(by), settler_(c, now) {}

  void end(const OpenDelivery& open, std::string_view action, const CancelMark& mark) {
    const CalledOff where = call_off(c_, settler_, open.group, open.id, mark);
    if (where == CalledOff::No) return;
    c_.use("audit_add").run(now_, by_.actor, action, by_.why, nullptr, open.id, words_of(where));
  }

 private:
  Connection& c_;
  Instant now_;
  const OperatorAction& by_;
  Settler<Connection> settler_;
};

template <class Dialect>
class SavingContacts {
 public:
  using Connection = typename Dialect::Connection;
  SavingContacts(Connection& c, Instant now, const OperatorAction& by, std::span<const std::string> exempt)
      : c_(c), now_(now), by_(by), exempt_(exempt), ending_(c, now, by) {}

  std::size_t save(std::span<const Contact> wanted) {
    const auto all = one_of_each(wanted);
    std::size_t fresh = 0;
    for (std::size_t from = 0; from < all.size(); from += kBatchMax) {
      fresh += save_some(std::span{all}.subspan(from, std::min(kBatchMax, all.size() - from)));
    }
    return fresh;
  }

 private:
  std::size_t save_some(std::span<const Contact* const> some) {
    std::vector<ContactRef> refs;
    for (const Contact* contact : some) refs.push_back({contact->tenant, contact->key});
    std::map<ContactRef, Contact> before;
    for (Contact& found : Dialect::find_contacts(c_, refs)) {
      ContactRef ref{found.tenant, found.key};
      before.emplace(std::move(ref), std::move(found));
    }
    Dialect::put_contacts(c_, now_, some);
    std::vector<std::string> notes;
    std::map<ContactRef, const Contact*> stricter;
    for (const Contact* contact : some) {
      const ContactRef ref{contact->tenant, contact->key};
      const auto known = before.find(ref);
      notes.push_back(fmt::format("contact \"{}\" {}", contact->key, known == before.end() ? "made" : "changed"));
      const Contact* old = known == before.end() ? nullptr : &known->second;
      if (may_forbid_more(old, *contact)) stricter.emplace(ref, contact);
    }
    Dialect::add_audit(c_, now_, by_, "save_contact", notes);
    if (!stricter.empty()) end_unwanted(stricter);
    return some.size() - before.size();
  }

  void end_unwanted(const std::map<ContactRef, const Contact*>& stricter) {
    std::vector<ContactRef> refs;
    for (const auto& [ref, contact] : stricter) refs.push_back(ref);
    for (const OpenDelivery& open : Dialect::open_of_contacts(c_, refs)) {
      const Contact& contact = *stricter.at({open.group.tenant, open.contact});
      const Preference* wish = forbidding(contact.preferences, open.group.channel, open.category, exempt_);
      if (wish != nullptr) ending_.end(open, "opt_out", {Reason::OptedOut, words_of(*wish, contact.key)});
    }
  }

  Connection& c_;
  Instant now_;
  const OperatorAction& by_;
  std::span<const std::string> exempt_;
  Ending<Connection> ending_;
};

template <class Connection>
std::size_t remove_contacts(Connection& c, Instant now, const OperatorAction& by, std::span<const ContactRef> refs) {
  std::size_t count = 0;
  for (const ContactRef& ref : refs) {
    const auto id = c.use("contact_id").integer(ref.tenant, ref.key);
    if (!id) continue;
    c.use("contact_addresses_drop").run(*id);
    c.use("contact_preferences_drop").run(*id);
    c.use("contact_drop").run(*id);
    c.use("lists_of_contact_touch").run(ref.tenant, ref.key, now);
    c.use("memberships_end").run(ref.tenant, ref.key);
    c.use("audit_add")
        .run(now, by.actor, "remove_contact", by.why, nullptr, nullptr, fmt::format("contact \"{}\"", ref.key));
    ++count;
  }
  return count;
}

template <class Connection>
std::size_t unsuppress(Connection& c, Instant now, const OperatorAction& by, std::span<const SuppressionRef> refs) {
  std::size_t count = 0;
  for (const SuppressionRef& given : refs) {
    const SuppressionRef ref = comparable(given);
    if (c.use("suppression_drop").run(ref.tenant, ref.channel, ref.address) == 0) continue;
    c.use("audit_add")
        .run(now, by.actor, "unsuppress", by.why, nullptr, nullptr,
             fmt::format("{} {}", to_text(ref.channel), ref.address));
    ++count;
  }
  return count;
}

template <class Dialect>
Acted suppress(typename Dialect::Connection& c, Instant now, const OperatorAction& by,
               std::span<const Suppression> wanted) {
  Acted acted;
  Ending<typename Dialect::Connection> ending{c, now, by};
  for (std::size_t from = 0; from < wanted.size(); from += kBatchMax) {
    const auto some = wanted.subspan(from, std::min(kBatchMax, wanted.size() - from));
    std::map<SuppressionRef, const Suppression*> by_ref;  // of two for one address the first is kept
    for (const Suppression& s : some) by_ref.emplace(ref_of(s), &s);
    const auto added = Dialect::put_suppressions(c, now, by_ref);
    std::vector<std::string> notes;
    for (const SuppressionRef& ref : added) {
      notes.push_back(fmt::format("{} {}: {}", to_text(ref.channel), ref.address, to_text(by_ref.at(ref)->cause)));
    }
    Dialect::add_audit(c, now, by, "suppress", notes);
    acted.changed += added.size();
    std::map<SuppressionRef, Suppression> standing;
    std::vector<SuppressionRef> refs;
    for (const auto& [ref, s] : by_ref) refs.push_back(ref);
    for (Suppression& s : Dialect::find_suppressions(c, refs)) standing.emplace(ref_of(s), s);
    for (const OpenDelivery& open : Dialect::open_at_addresses(c, spellings(some))) {
      const auto s = standing.find(comparable({open.group.tenant, open.group.channel, open.recipient}));
      if (s != standing.end()) ending.end(open, "suppress", {Reason::SuppressedAddress, words_of(s->second)});
    }
  }
  return acted;
}

/// What stands against sending a delivery by now: its address is suppressed, or its contact does not want it.
template <class Dialect>
std::optional<CancelMark> refused_by_now(typename Dialect::Connection& c, const ExemptCategories& exempt, RowId id) {
  std::vector<OpenDelivery> found;
  {
    auto rows = c.use("delivery_whom").query(id);
    read_open(rows, found);
  }
  if (found.empty()) return std::nullopt;
  const OpenDelivery& d = found.front();
  const SuppressionRef address{d.group.tenant, d.group.channel, d.recipient};
  const auto suppressed = Dialect::find_suppressions(c, std::span{&address, 1});
  if (!suppressed.empty()) return CancelMark{Reason::SuppressedAddress, words_of(suppressed.front())};
  if (d.contact.empty()) return std::nullopt;
  const ContactRef whom{d.group.tenant, d.contact};
  const auto contacts = Dialect::find_contacts(c, std::span{&whom, 1});
  if (contacts.empty()) return std::nullopt;
  const Preference* wish =
      forbidding(contacts.front().preferences, d.group.channel, d.category, exempt_of(exempt, d.group.tenant));
  return wish == nullptr ? std::nullopt : std::optional{CancelMark{Reason::OptedOut, words_of(*wish, d.contact)}};
}

template <class Dialect>
Acted retry(typename Dialect::Connection& c, Instant now, const OperatorAction& action, IdSource& ids,
            std::span<const RowId> deliveries) {
  Operation<typename Dialect::Connection> operation{c, now, action, ids};
  for (const RowId id : deliveries) operation.retry(id, refused_by_now<Dialect>(c, action.exempt, id));
  return operation.take();
}

template <class Dialect>
SuppressionPage suppression_page(typename Dialect::Connection& c, const SuppressionFilter& filter,
                                 const SuppressionPlace& after) {
  SuppressionPage page;
  if (!filter.address.empty()) {  // at most one for each channel
    page.items = Dialect::find_suppressions(c, refs_for(filter));
    std::sort(page.items.begin(), page.items.end(),
              [](const Suppression& a, const Suppression& b) { return ref_of(a) < ref_of(b); });
    return page;
  }
  auto rows = c.use("suppressions_page")
                  .query(filter.tenant, after.channel, after.comparable, filter.channel, filter.count_max + 1);
  read_suppressions(rows, page.items);
  if (page.items.size() > filter.count_max) {
    page.items.resize(filter.count_max);
    page.next = to_place_text(page.items.back());
  }
  return page;
}

}  // namespace postrider::common
