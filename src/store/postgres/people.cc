#include "store/common/people.h"

#include "store/common/lists.h"
#include "store/postgres/rows.h"

namespace postrider::postgres {
namespace {

/// A statement is a round trip: many things are one statement.
struct Dialect {
  using Connection = postgres::Connection;
  using Numbers = std::vector<std::int64_t>;
  using Texts = std::vector<std::string>;

  // PostgreSQL has no text with a NUL, so nobody has such a name; asking would be an error.
  static bool can_exist(const std::string& text) { return text.find('\0') == std::string::npos; }

  struct Names {
    Numbers tenants = {};
    Texts keys = {};
  };
  static Names names_of(std::span<const ContactRef> refs) {
    Names names;
    for (const ContactRef& ref : refs) {
      if (!can_exist(ref.key)) continue;
      names.tenants.push_back(ref.tenant);
      names.keys.push_back(ref.key);
    }
    return names;
  }

  static std::vector<Contact> find_contacts(Connection& c, std::span<const ContactRef> refs) {
    const Names names = names_of(refs);
    std::vector<Contact> found;
    auto rows = c.use("contacts_find").query(names.tenants, names.keys);
    common::read_contacts(rows, found);
    return found;
  }

  static void put_contacts(Connection& c, Instant now, std::span<const Contact* const> contacts) {
    Numbers tenants;
    Texts keys, names, locales, timezones, quiet, attributes;
    std::map<ContactRef, const Contact*> by_ref;
    for (const Contact* contact : contacts) {
      by_ref.emplace(ContactRef{contact->tenant, contact->key}, contact);
      tenants.push_back(contact->tenant);
      keys.push_back(contact->key);
      names.push_back(contact->name);
      locales.push_back(contact->locale);
      timezones.push_back(contact->timezone);
      quiet.push_back(contact->quiet_hours ? to_text(*contact->quiet_hours) : "");
      attributes.push_back(contact->attributes);
    }
    std::map<std::int64_t, const Contact*> by_id;
    auto rows = c.use("contacts_put").query(now, tenants, keys, names, locales, timezones, quiet, attributes);
    while (rows.next()) {
      by_id.emplace(rows.integer(0), by_ref.at({rows.number<TenantId>(1), rows.text(2)}));
    }
    put_addresses(c, by_id);
    put_preferences(c, by_id);
  }

  static Numbers ids_of(const std::map<std::int64_t, const Contact*>& by_id) {
    Numbers ids;
    for (const auto& [id, contact] : by_id) ids.push_back(id);
    return ids;
  }

  static void put_addresses(Connection& c, const std::map<std::int64_t, const Contact*>& by_id) {
    c.use("contacts_addresses_drop").run(ids_of(by_id));
    Numbers ids, tenants, channels;
    Texts addresses;
    for (const auto& [id, contact] : by_id) {
      std::map<Channel, std::string> last;  // one per channel
      for (const ContactAddress& a : contact->addresses) last.insert_or_assign(a.channel, a.address);
      for (const auto& [channel, address] : last) {
        ids.push_back(id);
        tenants.push_back(contact->tenant);
        channels.push_back(static_cast<std::int64_t>(channel));
        addresses.push_back(address);
      }
    }
    if (!ids.empty()) c.use("contacts_addresses_add").run(ids, tenants, channels, addresses);
  }

  static void put_preferences(Connection& c, const std::map<std::int64_t, const Contact*>& by_id) {
    c.use("contacts_preferences_drop").run(ids_of(by_id));
    Numbers ids, times, channels;
    Texts allowed, categories, sources;
    for (const auto& [id, contact] : by_id) {
      std::map<std::pair<Channel, std::string>, const Preference*> last;
      for (const Preference& p : contact->preferences) last[{p.channel.value_or(Channel::Expand), p.category}] = &p;
      for (const auto& [key, p] : last) {
        ids.push_back(id);
        times.push_back(to_us(p->at));
        channels.push_back(static_cast<std::int64_t>(key.first));
        allowed.emplace_back(p->allowed ? "t" : "f");
        categories.push_back(p->category);
        sources.push_back(p->source);
      }
    }
    if (!ids.empty()) c.use("contacts_preferences_add").run(ids, times, channels, allowed, categories, sources);
  }

  static std::vector<OpenDelivery> open_of_contacts(Connection& c, std::span<const ContactRef> refs) {
    const Names names = names_of(refs);
    std::vector<OpenDelivery> open;
    auto rows = c.use("open_of_contacts").query(names.tenants, names.keys);
    common::read_open(rows, open);
    return open;
  }

  struct Places {
    Numbers tenants = {}, channels = {};
    Texts addresses = {};
  };
  static Places places_of(std::span<const SuppressionRef> refs) {
    Places places;
    for (const SuppressionRef& ref : refs) {
      if (!can_exist(ref.address)) continue;
      places.tenants.push_back(ref.tenant);
      places.channels.push_back(static_cast<std::int64_t>(ref.channel));
      places.addresses.push_back(ref.address);
    }
    return places;
  }

  static std::vector<OpenDelivery> open_at_addresses(Connection& c, std::span<const SuppressionRef> refs) {
    const Places at = places_of(refs);
    std::vector<OpenDelivery> open;
    auto rows = c.use("open_at_addresses").query(at.tenants, at.channels, at.addresses);
    common::read_open(rows, open);
    return open;
  }

  static void add_audit(Connection& c, Instant now, const OperatorAction& by, std::string_view action,
                        const Texts& details) {
    if (!details.empty()) c.use("audit_add_all").run(now, by.actor, action, by.why, details);
  }

  static std::size_t add_members(Connection& c, std::int64_t list, Instant at, std::span<const ListMember> members) {
    Numbers channels;
    Texts contacts, comparables, addresses;
    for (const ListMember& given : members) {
      const MemberKey key = key_of(given);
      channels.push_back(key.channel);
      contacts.push_back(key.contact);
      comparables.push_back(key.comparable);
      addresses.push_back(kept(given).address);
    }
    return static_cast<std::size_t>(c.use("members_add").run(list, at, channels, contacts, comparables, addresses));
  }

  static std::size_t end_members(Connection& c, std::int64_t list, Instant at, std::span<const ListMember> members) {
    Numbers channels;
    Texts contacts, comparables;
    for (const ListMember& member : members) {
      const MemberKey key = key_of(member);
      channels.push_back(key.channel);
      contacts.push_back(key.contact);
      comparables.push_back(key.comparable);
    }
    return static_cast<std::size_t>(c.use("members_end").run(list, at, channels, contacts, comparables));
  }

  static std::vector<Suppression> find_suppressions(Connection& c, std::span<const SuppressionRef> refs) {
    std::vector<SuppressionRef> compared;
    for (const SuppressionRef& ref : refs) compared.push_back(comparable(ref));
    const Places at = places_of(compared);
    std::vector<Suppression> found;
    auto rows = c.use("suppressions_find").query(at.tenants, at.channels, at.addresses);
    common::read_suppressions(rows, found);
    return found;
  }

  static std::vector<SuppressionRef> put_suppressions(Connection& c, Instant now,
                                                      const std::map<SuppressionRef, const Suppression*>& wanted) {
    Numbers tenants, channels, causes, times;
    Texts comparables, addresses, evidence;
    for (const auto& [ref, s] : wanted) {
      tenants.push_back(ref.tenant);
      channels.push_back(static_cast<std::int64_t>(ref.channel));
      comparables.push_back(ref.address);
      causes.push_back(static_cast<std::int64_t>(s->cause));
      times.push_back(to_us(s->at == Instant{} ? now : s->at));
      addresses.push_back(s->address);
      evidence.push_back(s->evidence);
    }
    std::vector<SuppressionRef> added;
    auto rows = c.use("suppressions_add").query(tenants, channels, comparables, causes, times, addresses, evidence);
    while (rows.next()) {
      added.push_back({rows.number<TenantId>(0), rows.one_of(1, Channel::Email, Channel::InApp), rows.text(2)});
    }
    return added;
  }
};

using ListChange = common::ListChange<Dialect>;

ListChange open_list(Connection& c, Instant now, const OperatorAction& by, TenantId tenant, std::string_view name) {
  ListChange list{c, now, by, tenant, name};
  if (!list.found()) throw Failure{ErrorCode::NotFound, no_such_list(name).text};
  return list;
}

}  // namespace

Result<std::vector<Contact>> PostgresSession::contacts(const ContactFilter& filter) {
  return run([&](Connection& c) {
    std::vector<Contact> page;
    const auto address = filter.address.empty() ? std::nullopt : std::optional<std::string>{filter.address};
    auto rows = c.use("contacts_page").query(filter.tenant, filter.after, address, filter.count_max);
    common::read_contacts(rows, page);
    return page;
  });
}

Result<std::vector<Contact>> PostgresSession::find_contacts(std::span<const ContactRef> refs) {
  if (refs.empty()) return std::vector<Contact>{};
  return run([&](Connection& c) { return Dialect::find_contacts(c, refs); });
}

Result<std::size_t> PostgresSession::save_contacts(Instant now, const OperatorAction& by,
                                                   std::span<const Contact> wanted,
                                                   std::span<const std::string> exempt) {
  POSTRIDER_TRY_DONE(check_tenants(by, wanted));
  return transact([&](Connection& c) { return common::SavingContacts<Dialect>{c, now, by, exempt}.save(wanted); });
}

Result<std::size_t> PostgresSession::remove_contacts(Instant now, const OperatorAction& by,
                                                     std::span<const ContactRef> refs) {
  POSTRIDER_TRY_DONE(check_tenants(by, refs));
  return transact([&](Connection& c) { return common::remove_contacts(c, now, by, refs); });
}

Result<std::vector<RecipientList>> PostgresSession::lists(TenantId tenant, std::string_view after,
                                                          std::size_t count_max) {
  return run([&](Connection& c) { return common::lists_page(c, tenant, after, count_max); });
}

Result<RecipientList> PostgresSession::list_named(TenantId tenant, std::string_view name) {
  POSTRIDER_TRY(found, run([&](Connection& c) { return common::find_list(c, tenant, name); }));
  if (!found) return no_such_list(name);
  return std::move(*found);
}

Result<RecipientList> PostgresSession::save_list(Instant now, const OperatorAction& by, const RecipientList& wanted) {
  POSTRIDER_TRY_DONE(check_tenants(by, std::span{&wanted, 1}));
  return transact([&](Connection& c) {
    ListChange{c, now, by, wanted.tenant, wanted.name}.save(wanted.description);
    return common::find_list(c, wanted.tenant, wanted.name).value_or(RecipientList{});
  });
}

Result<Done> PostgresSession::remove_list(Instant now, const OperatorAction& by, TenantId tenant,
                                          std::string_view name) {
  return transact([&](Connection& c) {
    open_list(c, now, by, tenant, name).remove();
    return Done{};
  });
}

Result<std::vector<ListMember>> PostgresSession::members(TenantId tenant, std::string_view name,
                                                         const MemberRange& range) {
  POSTRIDER_TRY(found, read([&](Connection& c) { return common::members_page(c, tenant, name, range); }));
  if (!found) return no_such_list(name);
  return std::move(*found);
}

Result<std::size_t> PostgresSession::add_members(Instant now, const OperatorAction& by, TenantId tenant,
                                                 std::string_view name, std::span<const ListMember> wanted) {
  return transact([&](Connection& c) { return open_list(c, now, by, tenant, name).add(wanted); });
}

Result<std::size_t> PostgresSession::remove_members(Instant now, const OperatorAction& by, TenantId tenant,
                                                    std::string_view name, std::span<const ListMember> gone) {
  return transact([&](Connection& c) { return open_list(c, now, by, tenant, name).drop(gone); });
}

Result<bool> PostgresSession::any_suppression() {
  return run([](Connection& c) { return c.use("suppression_any").integer().has_value(); });
}

Result<std::vector<Suppression>> PostgresSession::find_suppressions(std::span<const SuppressionRef> refs) {
  if (refs.empty()) return std::vector<Suppression>{};
  return run([&](Connection& c) { return Dialect::find_suppressions(c, refs); });
}

Result<SuppressionPage> PostgresSession::suppressions(const SuppressionFilter& filter) {
  POSTRIDER_TRY(after, parse_place(filter.after));
  return run([&](Connection& c) { return common::suppression_page<Dialect>(c, filter, after); });
}

Result<Acted> PostgresSession::suppress(Instant now, const OperatorAction& by, std::span<const Suppression> wanted) {
  POSTRIDER_TRY_DONE(check_tenants(by, wanted));
  return transact([&](Connection& c) { return common::suppress<Dialect>(c, now, by, wanted); });
}

Result<std::size_t> PostgresSession::unsuppress(Instant now, const OperatorAction& by,
                                                std::span<const SuppressionRef> refs) {
  POSTRIDER_TRY_DONE(check_tenants(by, refs));
  return transact([&](Connection& c) { return common::unsuppress(c, now, by, refs); });
}

// Here, because it asks what people want by now.
Result<Acted> PostgresSession::retry(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) {
  if (deliveries.empty()) return Acted{};
  return transact([&](Connection& c) { return common::retry<Dialect>(c, now, action, ids(), deliveries); });
}

}  // namespace postrider::postgres
