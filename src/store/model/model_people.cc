#include <fmt/format.h>

#include <algorithm>

#include "base/canary.h"
#include "store/model/model_session.h"
#include "store/people_rules.h"

namespace postrider::model {
namespace {

void note(ModelDatabase& db, Instant now, const OperatorAction& by, std::string_view action, std::string detail,
          std::optional<RowId> delivery = {}) {
  db.audit.push_back({now, by.actor, std::string{action}, by.why, {}, delivery, std::move(detail)});
}

// What neither ended nor was parked.
template <class Filter>
std::vector<OpenDelivery> open_deliveries(const ModelDatabase& db, Filter wanted) {
  std::vector<OpenDelivery> open;
  for (const auto& [id, d] : db.deliveries) {
    if (db.settled.contains(id) || db.parked.contains(id) || !wanted(d)) continue;
    open.push_back({id, {d.lane, d.channel, d.tenant}, d.category, d.contact, d.recipient});
  }
  return open;
}

void end(ModelDatabase& db, Instant now, const OperatorAction& by, RowId delivery, std::string_view action,
         const CancelMark& mark) {
  if (canary("held_not_marked") && db.state_of(delivery) == DeliveryState::Sending) return;
  const CalledOff where = db.call_off(now, delivery, mark);
  if (where != CalledOff::No) note(db, now, by, action, std::string{words_of(where)}, delivery);
}

void end_unwanted(ModelDatabase& db, Instant now, const OperatorAction& by, const Contact& contact,
                  std::span<const std::string> exempt) {
  const auto of_contact = [&](const Delivery& d) { return d.tenant == contact.tenant && d.contact == contact.key; };
  for (const OpenDelivery& open : open_deliveries(db, of_contact)) {
    const Preference* wish = forbidding(contact.preferences, open.group.channel, open.category, exempt);
    if (wish != nullptr) end(db, now, by, open.id, "opt_out", {Reason::OptedOut, words_of(*wish, contact.key)});
  }
}

// One address per channel and one wish per channel and category: the last one given; in a fixed order.
Contact tidy(Contact contact) {
  std::map<Channel, std::string> addresses;
  for (const ContactAddress& a : contact.addresses) addresses.insert_or_assign(a.channel, a.address);
  contact.addresses.clear();
  for (const auto& [channel, address] : addresses) contact.addresses.push_back({channel, address});
  std::map<std::pair<Channel, std::string>, Preference> wishes;
  for (const Preference& p : contact.preferences) {
    wishes.insert_or_assign({p.channel.value_or(Channel::Expand), p.category}, p);
  }
  contact.preferences.clear();
  for (const auto& [key, wish] : wishes) contact.preferences.push_back(wish);
  return contact;
}

bool has_address(const Contact& contact, std::string_view address) {
  return std::any_of(contact.addresses.begin(), contact.addresses.end(),
                     [&](const ContactAddress& a) { return a.address == address; });
}

}  // namespace

Result<std::vector<Contact>> ModelSession::contacts(const ContactFilter& filter) {
  const Held db = hold();
  std::vector<Contact> page;
  for (auto at = db->contacts.upper_bound({filter.tenant, filter.after});
       at != db->contacts.end() && at->first.tenant == filter.tenant && page.size() < filter.count_max; ++at) {
    if (filter.address.empty() || has_address(at->second, filter.address)) page.push_back(at->second);
  }
  return page;
}

Result<std::vector<Contact>> ModelSession::find_contacts(std::span<const ContactRef> refs) {
  const Held db = hold();
  std::vector<Contact> found;
  for (const ContactRef& ref : refs) {
    if (const auto at = db->contacts.find(ref); at != db->contacts.end()) found.push_back(at->second);
  }
  return found;
}

Result<std::size_t> ModelSession::save_contacts(Instant now, const OperatorAction& by, std::span<const Contact> wanted,
                                                std::span<const std::string> exempt) {
  POSTRIDER_TRY_DONE(check_tenants(by, wanted));
  const Held db = hold();
  std::size_t fresh = 0;
  for (const Contact* given : one_of_each(wanted)) {
    const ContactRef ref{given->tenant, given->key};
    const auto known = db->contacts.find(ref);
    const std::optional<Contact> before = known == db->contacts.end() ? std::nullopt : std::optional{known->second};
    Contact contact = tidy(*given);
    contact.id = before ? before->id : ++db->last_contact;
    contact.updated_at = now;
    db->contacts.insert_or_assign(ref, contact);
    note(*db, now, by, "save_contact", fmt::format("contact \"{}\" {}", ref.key, before ? "changed" : "made"));
    if (!before) ++fresh;
    if (may_forbid_more(before ? &*before : nullptr, contact)) end_unwanted(*db, now, by, contact, exempt);
  }
  return fresh;
}

Result<std::size_t> ModelSession::remove_contacts(Instant now, const OperatorAction& by,
                                                  std::span<const ContactRef> refs) {
  POSTRIDER_TRY_DONE(check_tenants(by, refs));
  const Held db = hold();
  std::size_t count = 0;
  for (const ContactRef& ref : refs) {
    if (db->contacts.erase(ref) == 0) continue;
    for (MemberRow& row : db->members) {
      ListRow& list = db->lists[static_cast<std::size_t>(row.list) - 1];
      if (row.member.contact != ref.key || row.left_at || list.ended_at || list.list.tenant != ref.tenant) continue;
      list.list.updated_at = std::max(list.list.updated_at, now);
      row.left_at = list.list.updated_at;
    }
    note(*db, now, by, "remove_contact", fmt::format("contact \"{}\"", ref.key));
    ++count;
  }
  return count;
}

Result<bool> ModelSession::any_suppression() {
  const Held db = hold();
  return !db->suppressions.empty();
}

Result<std::vector<Suppression>> ModelSession::find_suppressions(std::span<const SuppressionRef> refs) {
  const Held db = hold();
  std::vector<Suppression> found;
  for (const SuppressionRef& ref : refs) {
    const auto at = db->suppressions.find(comparable(ref));
    if (at != db->suppressions.end()) found.push_back(at->second);
  }
  return found;
}

Result<SuppressionPage> ModelSession::suppressions(const SuppressionFilter& filter) {
  POSTRIDER_TRY(after, parse_place(filter.after));
  const Held db = hold();
  SuppressionPage page;
  const std::string address = filter.address;
  for (const auto& [ref, s] : db->suppressions) {
    if (ref.tenant != filter.tenant || (filter.channel && ref.channel != *filter.channel)) continue;
    if (!address.empty() && ref.address != comparable_address(ref.channel, address)) continue;
    if (std::pair{static_cast<int>(ref.channel), ref.address} <= std::pair{after.channel, after.comparable}) continue;
    if (page.items.size() == filter.count_max) {
      page.next = to_place_text(page.items.back());
      break;
    }
    page.items.push_back(s);
  }
  return page;
}

Result<Acted> ModelSession::suppress(Instant now, const OperatorAction& by, std::span<const Suppression> wanted) {
  POSTRIDER_TRY_DONE(check_tenants(by, wanted));
  const Held db = hold();
  Acted acted;
  for (const Suppression& given : wanted) {
    const SuppressionRef ref = ref_of(given);
    Suppression made = given;
    if (made.at == Instant{}) made.at = now;
    const auto [at, fresh] = db->suppressions.emplace(ref, made);
    if (fresh) {
      ++acted.changed;
      note(*db, now, by, "suppress", fmt::format("{} {}: {}", to_text(ref.channel), ref.address, to_text(made.cause)));
    }
    const auto to_address = [&](const Delivery& d) {
      return d.tenant == ref.tenant && d.channel == ref.channel &&
             (d.recipient == given.address || d.recipient == ref.address);
    };
    for (const OpenDelivery& open : open_deliveries(*db, to_address)) {
      end(*db, now, by, open.id, "suppress", {Reason::SuppressedAddress, words_of(at->second)});
    }
  }
  return acted;
}

Result<std::size_t> ModelSession::unsuppress(Instant now, const OperatorAction& by,
                                             std::span<const SuppressionRef> refs) {
  POSTRIDER_TRY_DONE(check_tenants(by, refs));
  const Held db = hold();
  std::size_t count = 0;
  for (const SuppressionRef& given : refs) {
    const SuppressionRef ref = comparable(given);
    if (db->suppressions.erase(ref) == 0) continue;
    note(*db, now, by, "unsuppress", fmt::format("{} {}", to_text(ref.channel), ref.address));
    ++count;
  }
  return count;
}

}  // namespace postrider::model
