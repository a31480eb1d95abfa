#include <fmt/format.h>

#include <algorithm>

#include "store/model/model_session.h"
#include "store/people_rules.h"

namespace postrider::model {
namespace {

bool is_named(const ListRow& row, TenantId tenant, std::string_view name) {
  return row.list.tenant == tenant && row.list.name == name;
}

ListRow* find_list(ModelDatabase& db, TenantId tenant, std::string_view name) {
  for (ListRow& row : db.lists) {
    if (is_named(row, tenant, name) && !row.ended_at) return &row;
  }
  return nullptr;
}

RecipientList counted(const ModelDatabase& db, const ListRow& row) {
  RecipientList list = row.list;
  list.members = static_cast<std::size_t>(std::count_if(
      db.members.begin(), db.members.end(), [&](const MemberRow& m) { return m.list == list.id && !m.left_at; }));
  return list;
}

// The history of a name never runs backwards, whatever a clock says.
Instant time_of_change(const ModelDatabase& db, Instant now, TenantId tenant, std::string_view name) {
  for (const ListRow& row : db.lists) {
    if (is_named(row, tenant, name)) now = std::max(now, row.list.updated_at);
  }
  return now;
}

void note(ModelDatabase& db, Instant at, const OperatorAction& by, std::string_view action, std::string_view name,
          std::string_view what) {
  db.audit.push_back({at, by.actor, std::string{action}, by.why, {}, {}, fmt::format("list \"{}\": {}", name, what)});
}

MemberRow* find_member(ModelDatabase& db, std::int64_t list, const MemberKey& key) {
  for (MemberRow& row : db.members) {
    if (row.list == list && !row.left_at && key_of(row.member) == key) return &row;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<RecipientList>> ModelSession::lists(TenantId tenant, std::string_view after, std::size_t count_max) {
  const Held db = hold();
  std::vector<RecipientList> page;
  for (const ListRow& row : db->lists) {
    if (row.list.tenant == tenant && !row.ended_at && row.list.name > after) page.push_back(counted(*db, row));
  }
  std::sort(page.begin(), page.end(), [](const RecipientList& a, const RecipientList& b) { return a.name < b.name; });
  if (page.size() > count_max) page.resize(count_max);
  return page;
}

Result<RecipientList> ModelSession::list_named(TenantId tenant, std::string_view name) {
  const Held db = hold();
  const ListRow* row = find_list(*db, tenant, name);
  if (row == nullptr) return no_such_list(name);
  return counted(*db, *row);
}

Result<RecipientList> ModelSession::save_list(Instant now, const OperatorAction& by, const RecipientList& wanted) {
  POSTRIDER_TRY_DONE(check_tenants(by, std::span{&wanted, 1}));
  const Held db = hold();
  const Instant at = time_of_change(*db, now, wanted.tenant, wanted.name);
  ListRow* row = find_list(*db, wanted.tenant, wanted.name);
  const bool known = row != nullptr;
  if (!known) {
    row = &db->lists.emplace_back();
    row->list = wanted;
    row->list.id = static_cast<std::int64_t>(db->lists.size());
    row->made_at = at;
  }
  row->list.description = wanted.description;
  row->list.updated_at = at;
  note(*db, at, by, "save_list", wanted.name, known ? "changed" : "made");
  return counted(*db, *row);
}

Result<Done> ModelSession::remove_list(Instant now, const OperatorAction& by, TenantId tenant, std::string_view name) {
  const Held db = hold();
  ListRow* row = find_list(*db, tenant, name);
  if (row == nullptr) return no_such_list(name);
  row->list.updated_at = time_of_change(*db, now, tenant, name);
  row->ended_at = row->list.updated_at;
  note(*db, row->list.updated_at, by, "remove_list", name, "ended");
  return Done{};
}

Result<std::vector<ListMember>> ModelSession::members(TenantId tenant, std::string_view name,
                                                      const MemberRange& range) {
  const Held db = hold();
  const auto stood = [&](Instant from, const std::optional<Instant>& until) {
    return from <= range.as_of && (!until || *until > range.as_of);
  };
  const auto list = std::find_if(db->lists.begin(), db->lists.end(), [&](const ListRow& row) {
    return is_named(row, tenant, name) && stood(row.made_at, row.ended_at);
  });
  if (list == db->lists.end()) return no_such_list(name);
  std::vector<ListMember> page;
  for (const MemberRow& row : db->members) {
    if (page.size() == range.count_max) break;
    if (row.list == list->list.id && row.member.id > range.after && stood(row.member.joined_at, row.left_at)) {
      page.push_back(row.member);
    }
  }
  return page;
}

Result<std::size_t> ModelSession::add_members(Instant now, const OperatorAction& by, TenantId tenant,
                                              std::string_view name, std::span<const ListMember> wanted) {
  const Held db = hold();
  ListRow* list = find_list(*db, tenant, name);
  if (list == nullptr) return no_such_list(name);
  const Instant at = time_of_change(*db, now, tenant, name);
  std::size_t count = 0;
  for (const ListMember& given : wanted) {
    if (find_member(*db, list->list.id, key_of(given)) != nullptr) continue;
    ListMember member = kept(given);
    member.id = static_cast<std::int64_t>(db->members.size()) + 1;
    member.joined_at = at;
    db->members.push_back({list->list.id, std::move(member), {}});
    ++count;
  }
  if (count == 0) return count;
  list->list.updated_at = at;
  note(*db, at, by, "add_members", name, fmt::format("{} joined", count));
  return count;
}

Result<std::size_t> ModelSession::remove_members(Instant now, const OperatorAction& by, TenantId tenant,
                                                 std::string_view name, std::span<const ListMember> gone) {
  const Held db = hold();
  ListRow* list = find_list(*db, tenant, name);
  if (list == nullptr) return no_such_list(name);
  const Instant at = time_of_change(*db, now, tenant, name);
  std::size_t count = 0;
  for (const ListMember& given : gone) {
    MemberRow* member = find_member(*db, list->list.id, key_of(given));
    if (member == nullptr) continue;
    member->left_at = at;
    ++count;
  }
  if (count == 0) return count;
  list->list.updated_at = at;
  note(*db, at, by, "remove_members", name, fmt::format("{} left", count));
  return count;
}

}  // namespace postrider::model
