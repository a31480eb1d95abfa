// Lists and who is on them, for every dialect. Nothing is deleted: members and lists end, so that who was on a list at
// a given time stays known.
#pragma once
#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "store/common/rows.h"
#include "store/people_rules.h"

namespace postrider::common {

/// Columns: id, tenant, name, description, updated_at, members.
template <class Rows>
RecipientList read_list(const Rows& rows) {
  return {rows.integer(0), rows.template number<TenantId>(1),    rows.text(2),
          rows.text(3),    rows.template number<std::size_t>(5), rows.instant(4)};
}

template <class Connection>
std::vector<RecipientList> lists_page(Connection& c, TenantId tenant, std::string_view after, std::size_t count_max) {
  std::vector<RecipientList> page;
  auto rows = c.use("lists_page").query(tenant, after, count_max);
  while (rows.next()) page.push_back(read_list(rows));
  return page;
}

template <class Connection>
std::optional<RecipientList> find_list(Connection& c, TenantId tenant, std::string_view name) {
  auto rows = c.use("list_find").query(tenant, name);
  if (!rows.next()) return std::nullopt;
  return read_list(rows);
}

/// Empty: there was no such list then.
template <class Connection>
std::optional<std::vector<ListMember>> members_page(Connection& c, TenantId tenant, std::string_view name,
                                                    const MemberRange& range) {
  const auto list = c.use("list_at").integer(tenant, name, range.as_of);
  if (!list) return std::nullopt;
  std::vector<ListMember> page;
  auto rows = c.use("members_at").query(*list, range.after, range.as_of, range.count_max);
  while (rows.next()) {
    ListMember& m = page.emplace_back();
    m.id = rows.integer(0);
    if (rows.integer(1) != 0) m.channel = rows.one_of(1, Channel::Email, Channel::InApp);
    m.contact = rows.text(2);
    m.address = rows.text(3);
    m.joined_at = rows.instant(4);
  }
  return page;
}

/// What changes one list, in one transaction.
template <class Dialect>
class ListChange {
 public:
  using Connection = typename Dialect::Connection;
  ListChange(Connection& c, Instant now, const OperatorAction& by, TenantId tenant, std::string_view name)
      : c_(c), at_(now), by_(by), tenant_(tenant), name_(name) {
    id_ = c_.use("list_locked").integer(tenant_, name_);
    // The history of a name never runs backwards, whatever a clock says: nobody is on a list twice at one time.
    if (const auto last = c_.use("list_last_change").integer(tenant_, name_)) {
      at_ = std::max(at_, instant_from_us(*last));
    }
  }
  [[nodiscard]] bool found() const { return id_.has_value(); }

  void save(std::string_view description) {
    if (id_) {
      c_.use("list_change").run(*id_, at_, description);
    } else {
      c_.use("list_add").run(at_, tenant_, name_, description);
    }
    note("save_list", id_ ? "changed" : "made");
  }
  void remove() {
    c_.use("list_end").run(*id_, at_);
    note("remove_list", "ended");
  }
  std::size_t add(std::span<const ListMember> wanted) {
    return change(wanted, "add_members", "joined",
                  [&](auto some) { return Dialect::add_members(c_, *id_, at_, some); });
  }
  std::size_t drop(std::span<const ListMember> gone) {
    return change(gone, "remove_members", "left", [&](auto some) { return Dialect::end_members(c_, *id_, at_, some); });
  }

 private:
  template <class Change>
  std::size_t change(std::span<const ListMember> all, std::string_view action, std::string_view did, Change some) {
    std::size_t count = 0;
    for (std::size_t from = 0; from < all.size(); from += kBatchMax) {
      count += some(all.subspan(from, std::min(kBatchMax, all.size() - from)));
    }
    if (count == 0) return 0;
    c_.use("list_touch").run(*id_, at_);
    note(action, fmt::format("{} {}", count, did));
    return count;
  }
  void note(std::string_view action, std::string_view what) {
    c_.use("audit_add")
        .run(at_, by_.actor, action, by_.why, nullptr, nullptr, fmt::format("list \"{}\": {}", name_, what));
  }

  Connection& c_;
  Instant at_;
  const OperatorAction& by_;
  TenantId tenant_;
  std::string_view name_;
  std::optional<std::int64_t> id_;
};

}  // namespace postrider::common
