// Cancelling what waits about one entity, for every dialect: the steps, each of them one transaction's work.
#pragma once
#include "store/common/operate.h"

namespace postrider::common {

struct EntityStep {
  CancelledEntity done = {};
  RowId last = 0;          // of the deliveries that were looked at
  std::size_t looked = 0;  // how many that were
};

inline void add(CancelledEntity& all, const CancelledEntity& part) {
  all.messages += part.messages;
  all.deliveries += part.deliveries;
  all.marked += part.marked;
  for (const auto& [state, count] : part.left) all.left[state] += count;
}

inline std::optional<std::string> type_of(const EntityRef& entity) {
  return entity.type.empty() ? std::nullopt : std::optional{entity.type};
}

template <class Connection>
class EntityCancel {
 public:
  EntityCancel(Connection& c, Instant now, const OperatorAction& action, const EntityRef& entity, IdSource& ids)
      : c_(c), entity_(entity), operation_(c, now, action, ids) {}

  /// Messages that were just written; repeats and refused ones among them were never going to be sent.
  EntityStep note_taken(const std::vector<ExpandedMessage>& written) {
    EntityStep step;
    for (const ExpandedMessage& each : written) {
      const auto state = find_state(c_, each.message.id);
      if (!state || state->state != MessageState::Cancelled) continue;
      operation_.note_taken(each.message.id);
      ++step.done.messages;
    }
    return step;
  }

  EntityStep end_expansions() {
    EntityStep step;
    for (const RowId message : find("expanding_of_entity", entity_.tenant, entity_.id, type_of(entity_))) {
      if (operation_.end_expansion(message, entity_.tenant, Reason::CancelledWithEntity)) ++step.done.messages;
    }
    return step;
  }

  /// Up to kBatchMax deliveries behind `after`.
  EntityStep end_deliveries(RowId after) {
    EntityStep step;
    for (const RowId id :
         find("deliveries_of_entity", entity_.tenant, entity_.id, type_of(entity_), after, kBatchMax)) {
      ++step.looked;
      step.last = id;
      switch (operation_.end_delivery(id, Reason::CancelledWithEntity)) {
        case CalledOff::WasQueued:
        case CalledOff::WasRetrying: ++step.done.deliveries; break;
        case CalledOff::WasHeld: ++step.done.marked; break;
        case CalledOff::No:
          if (const auto seen = look_at_delivery(c_, id)) ++step.done.left[seen->state];
          break;
      }
    }
    return step;
  }

 private:
  template <class... Arguments>
  std::vector<RowId> find(std::string_view statement, const Arguments&... arguments) {
    std::vector<RowId> found;
    auto rows = c_.use(statement).query(arguments...);
    while (rows.next()) found.push_back(rows.integer(0));
    return found;
  }

  Connection& c_;
  const EntityRef& entity_;
  Operation<Connection> operation_;
};

/// All steps in their order. `transact` gives each a transaction of its own; `take` is the dialect's way to take up to
/// kBatchMax rows of the outbox and to write what was decided about them. First the outbox, then what is to be
/// expanded, then the deliveries: whatever moves on meanwhile is met again.
template <class Connection, class Transact, class Take>
Result<CancelledEntity> cancel_entity(Instant now, const OperatorAction& action, const EntityRef& entity, IdSource& ids,
                                      Transact transact, Take take) {
  CancelledEntity all;
  const auto step = [&](auto work) {
    return transact([&](Connection& c) {
      EntityCancel<Connection> cancel{c, now, action, entity, ids};
      return work(c, cancel);
    });
  };
  for (std::size_t taken = kBatchMax; taken == kBatchMax;) {
    POSTRIDER_TRY(outbox, step([&](Connection& c, auto& cancel) {
                    const std::vector<ExpandedMessage> written = take(c);
                    EntityStep done = cancel.note_taken(written);
                    done.looked = written.size();
                    return done;
                  }));
    add(all, outbox.done);
    taken = outbox.looked;
  }
  POSTRIDER_TRY(expansions, step([](Connection&, auto& cancel) { return cancel.end_expansions(); }));
  add(all, expansions.done);
  for (RowId after = 0;;) {
    POSTRIDER_TRY(deliveries, step([&](Connection&, auto& cancel) { return cancel.end_deliveries(after); }));
    add(all, deliveries.done);
    if (deliveries.looked < kBatchMax) return all;
    after = deliveries.last;
  }
}

}  // namespace postrider::common
