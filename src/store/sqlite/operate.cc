#include "store/common/operate.h"

#include "store/common/entity.h"
#include "store/sqlite/expansion_writer.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

using Operation = common::Operation<Connection>;

template <class Id, class Verb>
Result<Acted> operate(Writer& writer, Instant now, const OperatorAction& action, IdSource& ids, std::span<const Id> on,
                      Verb verb) {
  if (on.empty()) return Acted{};
  return writer.transact([&](Connection& c) {
    Operation operation{c, now, action, ids};
    for (const Id& id : on) (operation.*verb)(id);
    return operation.take();
  });
}

}  // namespace

Result<Acted> SqliteSession::discard(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) {
  return operate(writer_, now, action, ids(), deliveries, &Operation::discard);
}
Result<Acted> SqliteSession::cancel(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) {
  return operate(writer_, now, action, ids(), deliveries, &Operation::cancel);
}

Result<CancelledEntity> SqliteSession::cancel_entity(Instant now, const OperatorAction& action, const EntityRef& entity,
                                                     const ExpandDecision& decide) {
  if (entity.id.empty()) return Error{ErrorCode::Invalid, "an entity needs an id"};
  const auto take = [&](Connection& c) {
    std::vector<OutboxRow> rows;
    {
      Rows found = c.use("outbox_of_entity").query(entity.tenant, entity.id, common::type_of(entity), kBatchMax);
      while (found.next()) rows.push_back(common::read_outbox_row(found));
    }
    std::vector<ExpandedMessage> decided;
    if (rows.empty()) return decided;
    decided = decide(rows);
    POSTRIDER_CHECK(decided.size() == rows.size());
    ExpansionWriter writer{c, now, 0, ids(), used_};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      writer.write(rows[i], decided[i]);
      c.use("outbox_drop_one").run(rows[i].position);
    }
    return decided;
  };
  return common::cancel_entity<Connection>(
      now, action, entity, ids(), [&](auto work) { return writer_.transact(work); }, take);
}

Result<Acted> SqliteSession::replay(Instant now, const OperatorAction& action, std::span<const Uuid> messages) {
  return operate(writer_, now, action, ids(), messages, &Operation::replay);
}

Result<Acted> SqliteSession::dispatch_expand(Instant now, const OperatorAction& action,
                                             std::span<const Uuid> messages) {
  return operate(writer_, now, action, ids(), messages, &Operation::dispatch_expand);
}

Result<Acted> SqliteSession::dispatch(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) {
  if (!deliveries.empty()) return operate(writer_, now, action, ids(), deliveries, &Operation::dispatch);
  // All of a tenant's can be many: a batch per transaction, each complete in itself.
  Acted all;
  Groups groups;
  for (;;) {
    const auto later = read([&](Connection& c) {
      std::vector<RowId> found;
      Rows rows = c.use("deferred_ids_later").query(now, action.tenant, kBatchMax);
      while (rows.next()) found.push_back(rows.integer(0));
      return found;
    });
    if (!later) return later.error();
    if (later->empty()) break;
    POSTRIDER_TRY(acted, operate(writer_, now, action, ids(), std::span<const RowId>{*later}, &Operation::dispatch));
    all.changed += acted.changed;
    groups.insert(acted.groups.begin(), acted.groups.end());
    if (acted.changed == 0) break;
  }
  all.groups = as_list(groups);
  return all;
}

}  // namespace postrider::sqlite
