#include "store/common/people.h"

#include "store/common/lists.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

/// A statement costs next to nothing here: many are a loop.
struct Dialect {
  using Connection = sqlite::Connection;

  static std::vector<Contact> find_contacts(Connection& c, std::span<const ContactRef> refs) {
    std::vector<Contact> found;
    for (const ContactRef& ref : refs) {
      Rows rows = c.use("contact_find").query(ref.tenant, ref.key);
      common::read_contacts(rows, found);
    }
    return found;
  }

  static void put_contacts(Connection& c, Instant now, std::span<const Contact* const> contacts) {
    for (const Contact* contact : contacts) {
      const auto id =
          c.use("contact_put")
              .integer(now, contact->tenant, contact->key, contact->name, contact->locale, contact->timezone,
                       contact->quiet_hours ? to_text(*contact->quiet_hours) : "", contact->attributes);
      if (!id) fail_corrupt("a contact without a number");
      c.use("contact_addresses_drop").run(*id);
      c.use("contact_preferences_drop").run(*id);
      for (const ContactAddress& a : contact->addresses) {
        c.use("contact_address_add").run(*id, contact->tenant, a.channel, a.address);
      }
      for (const Preference& p : contact->preferences) {
        c.use("contact_preference_add")
            .run(*id, p.at, p.channel.value_or(Channel::Expand), p.allowed, p.category, p.source);
      }
    }
  }

  static std::vector<OpenDelivery> open_of_contacts(Connection& c, std::span<const ContactRef> refs) {
    std::vector<OpenDelivery> open;
    for (const ContactRef& ref : refs) {
      Rows rows = c.use("open_of_contact").query(ref.tenant, ref.key);
      common::read_open(rows, open);
    }
    return open;
  }

  static std::vector<OpenDelivery> open_at_addresses(Connection& c, std::span<const SuppressionRef> refs) {
    std::vector<OpenDelivery> open;
    for (const SuppressionRef& ref : refs) {
      Rows rows = c.use("open_at_address").query(ref.tenant, ref.channel, ref.address);
      common::read_open(rows, open);
    }
    return open;
  }

  static void add_audit(Connection& c, Instant now, const OperatorAction& by, std::string_view action,
                        const std::vector<std::string>& details) {
    for (const std::string& detail : details) {
      c.use("audit_add").run(now, by.actor, action, by.why, nullptr, nullptr, detail);
    }
  }

  static std::size_t add_members(Connection& c, std::int64_t list, Instant at, std::span<const ListMember> members) {
    std::size_t count = 0;
    for (const ListMember& given : members) {
      const MemberKey key = key_of(given);
      const ListMember member = kept(given);
      count += static_cast<std::size_t>(
          c.use("member_add").run(list, at, key.channel, key.contact, key.comparable, member.address));
    }
    return count;
  }

  static std::size_t end_members(Connection& c, std::int64_t list, Instant at, std::span<const ListMember> members) {
    std::size_t count = 0;
    for (const ListMember& member : members) {
      const MemberKey key = key_of(member);
      count += static_cast<std::size_t>(c.use("member_end").run(list, at, key.channel, key.contact, key.comparable));
    }
    return count;
  }

  static std::vector<Suppression> find_suppressions(Connection& c, std::span<const SuppressionRef> refs) {
    std::vector<Suppression> found;
    for (const SuppressionRef& ref : refs) {
      Rows rows = c.use("suppression_find").query(ref.tenant, ref.channel, comparable(ref).address);
      common::read_suppressions(rows, found);
    }
    return found;
  }

  static std::vector<SuppressionRef> put_suppressions(Connection& c, Instant now,
                                                      const std::map<SuppressionRef, const Suppression*>& wanted) {
    std::vector<SuppressionRef> added;
    for (const auto& [ref, s] : wanted) {
      const Instant at = s->at == Instant{} ? now : s->at;
      if (c.use("suppression_add").run(ref.tenant, ref.channel, ref.address, s->cause, at, s->address, s->evidence) ==
          1) {
        added.push_back(ref);
      }
    }
    return added;
  }
};

using ListChange = common::ListChange<Dialect>;

/// Runs `change(list)`, where there is such a list.
template <class Change>
auto change_list(Writer& writer, Instant now, const OperatorAction& by, TenantId tenant, std::string_view name,
                 Change change) {
  return writer.transact([&](Connection& c) {
    ListChange list{c, now, by, tenant, name};
    if (!list.found()) throw Failure{no_such_list(name)};
    return change(list);
  });
}

}  // namespace

Result<std::vector<Contact>> SqliteSession::contacts(const ContactFilter& filter) {
  return read([&](Connection& c) {
    std::vector<Contact> page;
    const auto address = filter.address.empty() ? std::nullopt : std::optional<std::string>{filter.address};
    Rows rows = c.use("contacts_page").query(filter.tenant, filter.after, address, filter.count_max);
    common::read_contacts(rows, page);
    return page;
  });
}

Result<std::vector<Contact>> SqliteSession::find_contacts(std::span<const ContactRef> refs) {
  return read([&](Connection& c) { return Dialect::find_contacts(c, refs); });
}

Result<std::size_t> SqliteSession::save_contacts(Instant now, const OperatorAction& by, std::span<const Contact> wanted,
                                                 std::span<const std::string> exempt) {
  POSTRIDER_TRY_DONE(check_tenants(by, wanted));
  return writer_.transact([&](Connection& c) {
    return common::SavingContacts<Dialect>{c, now, by, exempt}.save(wanted);
  });
}

Result<std::size_t> SqliteSession::remove_contacts(Instant now, const OperatorAction& by,
                                                   std::span<const ContactRef> refs) {
  POSTRIDER_TRY_DONE(check_tenants(by, refs));
  return writer_.transact([&](Connection& c) { return common::remove_contacts(c, now, by, refs); });
}

Result<std::vector<RecipientList>> SqliteSession::lists(TenantId tenant, std::string_view after,
                                                        std::size_t count_max) {
  return read([&](Connection& c) { return common::lists_page(c, tenant, after, count_max); });
}

Result<RecipientList> SqliteSession::list_named(TenantId tenant, std::string_view name) {
  POSTRIDER_TRY(found, read([&](Connection& c) { return common::find_list(c, tenant, name); }));
  if (!found) return no_such_list(name);
  return std::move(*found);
}

Result<RecipientList> SqliteSession::save_list(Instant now, const OperatorAction& by, const RecipientList& wanted) {
  POSTRIDER_TRY_DONE(check_tenants(by, std::span{&wanted, 1}));
  return writer_.transact([&](Connection& c) {
    ListChange{c, now, by, wanted.tenant, wanted.name}.save(wanted.description);
    return common::find_list(c, wanted.tenant, wanted.name).value_or(RecipientList{});
  });
}

Result<Done> SqliteSession::remove_list(Instant now, const OperatorAction& by, TenantId tenant, std::string_view name) {
  return change_list(writer_, now, by, tenant, name, [](ListChange& list) {
    list.remove();
    return Done{};
  });
}

Result<std::vector<ListMember>> SqliteSession::members(TenantId tenant, std::string_view name,
                                                       const MemberRange& range) {
  POSTRIDER_TRY(found, read([&](Connection& c) { return common::members_page(c, tenant, name, range); }));
  if (!found) return no_such_list(name);
  return std::move(*found);
}

Result<std::size_t> SqliteSession::add_members(Instant now, const OperatorAction& by, TenantId tenant,
                                               std::string_view name, std::span<const ListMember> wanted) {
  return change_list(writer_, now, by, tenant, name, [&](ListChange& list) { return list.add(wanted); });
}

Result<std::size_t> SqliteSession::remove_members(Instant now, const OperatorAction& by, TenantId tenant,
                                                  std::string_view name, std::span<const ListMember> gone) {
  return change_list(writer_, now, by, tenant, name, [&](ListChange& list) { return list.drop(gone); });
}

Result<bool> SqliteSession::any_suppression() {
  return read([](Connection& c) { return c.use("suppression_any").integer().has_value(); });
}

Result<std::vector<Suppression>> SqliteSession::find_suppressions(std::span<const SuppressionRef> refs) {
  return read([&](Connection& c) { return Dialect::find_suppressions(c, refs); });
}

Result<SuppressionPage> SqliteSession::suppressions(const SuppressionFilter& filter) {
  POSTRIDER_TRY(after, parse_place(filter.after));
  return read([&](Connection& c) { return common::suppression_page<Dialect>(c, filter, after); });
}

Result<Acted> SqliteSession::suppress(Instant now, const OperatorAction& by, std::span<const Suppression> wanted) {
  POSTRIDER_TRY_DONE(check_tenants(by, wanted));
  return writer_.transact([&](Connection& c) { return common::suppress<Dialect>(c, now, by, wanted); });
}

Result<std::size_t> SqliteSession::unsuppress(Instant now, const OperatorAction& by,
                                              std::span<const SuppressionRef> refs) {
  POSTRIDER_TRY_DONE(check_tenants(by, refs));
  return writer_.transact([&](Connection& c) { return common::unsuppress(c, now, by, refs); });
}

// Here, because it asks what people want by now.
Result<Acted> SqliteSession::retry(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) {
  if (deliveries.empty()) return Acted{};
  return writer_.transact([&](Connection& c) { return common::retry<Dialect>(c, now, action, ids(), deliveries); });
}

}  // namespace postrider::sqlite
