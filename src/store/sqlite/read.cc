#include "store/common/read.h"

#include <fmt/format.h>

#include <limits>

#include "store/common/addressed.h"
#include "store/common/list.h"
#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

std::string json_list(std::span<const ProviderId> providers) {
  return fmt::format("[{}]", fmt::join(providers.begin(), providers.end(), ","));
}

}  // namespace

Result<MessageView> SqliteSession::message(std::optional<TenantId> tenant, const Uuid& id, const DeliveryRange& range) {
  auto view = read([&](Connection& c) { return common::story_of(c, tenant, id, range); });
  if (!view) return view.error();
  if (!*view) return Error{ErrorCode::NotFound, "there is no message " + format_uuid(id)};
  return std::move(**view);
}

Result<std::vector<RowId>> SqliteSession::deliveries_of(RowId message, const DeliveryRange& range) {
  return read([&](Connection& c) { return common::delivery_ids(c, message, range); });
}

Result<std::vector<ListItem>> SqliteSession::list(const ListFilter& filter) {
  POSTRIDER_TRY(state, parse_state_filter(filter.state));
  if (filter.count_max == 0) return std::vector<ListItem>{};
  return read([&](Connection& c) { return common::Page<Connection>{c, filter, state}.read(); });
}

Result<std::vector<MessageView>> SqliteSession::messages(const MessageFilter& filter) {
  if (filter.count_max == 0) return std::vector<MessageView>{};
  return read([&](Connection& c) { return common::MessagePage<Connection>{c, filter}.read(); });
}

Result<std::vector<SandboxItem>> SqliteSession::sandbox(std::optional<TenantId> tenant,
                                                        std::span<const ProviderId> providers,
                                                        std::optional<RowId> before, std::size_t count_max) {
  return read([&](Connection& c) {
    std::vector<SandboxItem> items;
    {
      Rows rows = c.use("sandbox").query(before.value_or(std::numeric_limits<RowId>::max()), json_list(providers),
                                         tenant, count_max);
      while (rows.next()) {
        SandboxItem& item = items.emplace_back();
        item.id = rows.integer(0);
        item.sent_at = rows.instant(1);
        item.provider = rows.text(2);
        item.calls = rows.number<int>(3);
      }
    }
    for (SandboxItem& item : items) {
      Rows rows = c.use("delivery_of").query(item.id);
      if (rows.next()) item.delivery = common::read_whole_delivery(rows);
      common::add_rendering(c, item.delivery);
    }
    return items;
  });
}

Result<AddressedPage> SqliteSession::addressed(const AddressedFilter& filter) {
  return read([&](Connection& c) { return common::AddressedReader<Connection>{c, filter}.read(); });
}

Result<QueueStats> SqliteSession::stats(std::optional<TenantId> tenant) {
  return read([&](Connection& c) { return common::count_waiting(c, tenant); });
}

Result<std::vector<LateDelivery>> SqliteSession::late_deliveries(std::span<const RowId> ids) {
  return read([&](Connection& c) { return common::read_late_deliveries(c, ids); });
}

}  // namespace postrider::sqlite
