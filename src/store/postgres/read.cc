#include "store/common/read.h"

#include <algorithm>
#include <limits>

#include "store/common/addressed.h"
#include "store/common/entity.h"
#include "store/common/list.h"
#include "store/common/operate.h"
#include "store/postgres/expansion_writer.h"
#include "store/postgres/rows.h"

namespace postrider::postgres {

Result<MessageView> PostgresSession::message(std::optional<TenantId> tenant, const Uuid& id,
                                             const DeliveryRange& range) {
  auto view = read([&](Connection& c) { return common::story_of(c, tenant, id, range); });
  if (!view) return view.error();
  if (!*view) return Error{ErrorCode::NotFound, "there is no message " + format_uuid(id)};
  return std::move(**view);
}

Result<std::vector<RowId>> PostgresSession::deliveries_of(RowId message, const DeliveryRange& range) {
  return read([&](Connection& c) { return common::delivery_ids(c, message, range); });
}

Result<std::vector<ListItem>> PostgresSession::list(const ListFilter& filter) {
  POSTRIDER_TRY(state, parse_state_filter(filter.state));
  if (filter.count_max == 0) return std::vector<ListItem>{};
  return read([&](Connection& c) { return common::Page<Connection>{c, filter, state}.read(); });
}

Result<std::vector<MessageView>> PostgresSession::messages(const MessageFilter& filter) {
  if (filter.count_max == 0) return std::vector<MessageView>{};
  return read([&](Connection& c) { return common::MessagePage<Connection>{c, filter}.read(); });
}

Result<std::vector<SandboxItem>> PostgresSession::sandbox(std::optional<TenantId> tenant,
                                                          std::span<const ProviderId> providers,
                                                          std::optional<RowId> before, std::size_t count_max) {
  return read([&](Connection& c) {
    Array wanted{Type::Int2};
    for (const ProviderId provider : providers) wanted.add_int2(provider);
    const Rows rows = c.query("sandbox", Params{}
                                             .int8(before.value_or(std::numeric_limits<RowId>::max()))
                                             .array(wanted)
                                             .optional_int4(tenant)
                                             .int4(static_cast<std::int64_t>(count_max)));
    std::vector<SandboxItem> items;
    for (int i = 0; i < rows.count(); ++i) {
      SandboxItem& item = items.emplace_back();
      item.id = rows.number(i, 0);
      item.sent_at = rows.time(i, 1);
      item.provider = rows.text(i, 2);
      item.calls = rows.small(i, 3);
      auto delivery = c.use("delivery_of").query(item.id);
      if (delivery.next()) item.delivery = common::read_whole_delivery(delivery);
      common::add_rendering(c, item.delivery);
    }
    return items;
  });
}

Result<AddressedPage> PostgresSession::addressed(const AddressedFilter& filter) {
  return read([&](Connection& c) { return common::AddressedReader<Connection>{c, filter}.read(); });
}

Result<QueueStats> PostgresSession::stats(std::optional<TenantId> tenant) {
  return read([&](Connection& c) { return common::count_waiting(c, tenant); });
}

// --- operating

#define POSTRIDER_OPERATE(verb, Id)                                                                        \
  Result<Acted> PostgresSession::verb(Instant now, const OperatorAction& action, std::span<const Id> on) { \
    if (on.empty()) return Acted{};                                                                        \
    return transact([&](Connection& c) {                                                                   \
      common::Operation<Connection> operation{c, now, action, ids()};                                      \
      for (const Id& id : on) operation.verb(id);                                                          \
      return operation.take();                                                                             \
    });                                                                                                    \
  }
POSTRIDER_OPERATE(discard, RowId)
POSTRIDER_OPERATE(cancel, RowId)
POSTRIDER_OPERATE(replay, Uuid)
POSTRIDER_OPERATE(dispatch_expand, Uuid)
#undef POSTRIDER_OPERATE

Result<CancelledEntity> PostgresSession::cancel_entity(Instant now, const OperatorAction& action,
                                                       const EntityRef& entity, const ExpandDecision& decide) {
  if (entity.id.empty()) return Error{ErrorCode::Invalid, "an entity needs an id"};
  const auto take = [&](Connection& c) {
    const Rows found = c.query("outbox_take_entity", Params{}
                                                         .int4(entity.tenant)
                                                         .text(entity.id)
                                                         .optional_text(entity.type)
                                                         .int4(static_cast<std::int64_t>(kBatchMax)));
    std::vector<OutboxRow> rows;
    for (int i = 0; i < found.count(); ++i) rows.push_back(read_outbox_row(found, i));
    std::sort(rows.begin(), rows.end(), [](const OutboxRow& a, const OutboxRow& b) { return a.position < b.position; });
    std::vector<ExpandedMessage> decided;
    if (rows.empty()) return decided;
    decided = decide(rows);
    POSTRIDER_CHECK(decided.size() == rows.size());
    ExpansionWriter writer{c, now, 0, ids(), used_};
    writer.write(rows, decided);
    return decided;
  };
  return common::cancel_entity<Connection>(
      now, action, entity, ids(), [&](auto work) { return transact(work); }, take);
}

Result<Acted> PostgresSession::dispatch(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) {
  Acted all;
  Groups groups;
  for (std::vector<RowId> some(deliveries.begin(), deliveries.end());;) {
    if (deliveries.empty()) {  // All of a tenant's can be many: a batch per transaction, each complete in itself.
      auto later = run([&](Connection& c) {
        std::vector<RowId> found;
        auto rows = c.use("deferred_ids_later").query(now, action.tenant, kBatchMax);
        while (rows.next()) found.push_back(rows.integer(0));
        return found;
      });
      if (!later) return later.error();
      some = std::move(*later);
    }
    if (some.empty()) break;
    POSTRIDER_TRY(acted, transact([&](Connection& c) {
                    common::Operation<Connection> operation{c, now, action, ids()};
                    for (const RowId id : some) operation.dispatch(id);
                    return operation.take();
                  }));
    all.changed += acted.changed;
    groups.insert(acted.groups.begin(), acted.groups.end());
    if (!deliveries.empty() || acted.changed == 0) break;
  }
  all.groups = as_list(groups);
  return all;
}

// --- API keys

Result<ApiKey> PostgresSession::add_key(Instant now, ApiKey key) {
  return run([&](Connection& c) {
    const auto id = c.use("key_add").integer(key.name, key.hash, key.tenant, key.role, now);
    if (!id) throw Failure{ErrorCode::Conflict, "this API key exists already"};
    key.id = *id;
    key.created_at = now;
    key.revoked_at.reset();
    return key;
  });
}

Result<std::vector<ApiKey>> PostgresSession::keys() {
  return run([](Connection& c) {
    std::vector<ApiKey> keys;
    auto rows = c.use("keys").query();
    while (rows.next()) {
      ApiKey& key = keys.emplace_back();
      key.id = rows.integer(0);
      key.name = rows.text(1);
      key.hash = rows.text(2);
      if (!rows.is_null(3)) key.tenant = rows.number<TenantId>(3);
      key.role = rows.one_of(4, Role::Producer, Role::Site);
      key.created_at = rows.instant(5);
      key.revoked_at = rows.maybe_instant(6);
    }
    return keys;
  });
}

Result<Done> PostgresSession::revoke_key(Instant now, std::int64_t id) {
  return run([&](Connection& c) {
    if (!c.use("key_exists").any(id)) throw Failure{ErrorCode::NotFound, "there is no such API key"};
    c.use("key_revoke").run(id, now);
    return Done{};
  });
}

Result<std::vector<LateDelivery>> PostgresSession::late_deliveries(std::span<const RowId> ids) {
  return read([&](Connection& c) { return common::read_late_deliveries(c, ids); });
}

}  // namespace postrider::postgres
