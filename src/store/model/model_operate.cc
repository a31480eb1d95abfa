#include <fmt/format.h>

#include <algorithm>

#include "base/canary.h"
#include "store/model/model_session.h"
#include "store/people_rules.h"

namespace postrider::model {
namespace {

class Operation {
 public:
  Operation(ModelDatabase& db, Instant now, const OperatorAction& action, IdSource& ids)
      : db_(db), now_(now), action_(action), ids_(ids) {}

  void retry(RowId id) {
    const auto parked = take_parked(id);
    if (!parked) return;
    if (const auto refused = refused_by_now(db_.deliveries.at(id)); refused && !canary("suppressed_retried")) {
      db_.settle(id, {parked->group.tenant, DeliveryState::Suppressed, refused->reason, refused->why, now_});
      note("retry", std::nullopt, id, fmt::format("{}; not sent: {}", was(*parked), code_of(refused->reason)));
      return;
    }
    enqueue(parked->group,
            {.id = id, .fence = parked->fence, .guarantee = parked->guarantee, .expires_at = parked->expires_at});
    note("retry", std::nullopt, id, was(*parked));
  }

  void discard(RowId id) {
    const auto parked = take_parked(id);
    if (!parked) return;
    db_.settle(id, {parked->group.tenant, DeliveryState::Discarded, Reason::DiscardedByOperator, action_.why, now_});
    note("discard", std::nullopt, id, was(*parked));
  }

  void cancel(RowId id) { (void)end_delivery(id, Reason::CancelledByOperator); }

  CalledOff end_delivery(RowId id, Reason reason) {
    const auto delivery = db_.deliveries.find(id);
    if (delivery == db_.deliveries.end() || !allows(delivery->second.tenant)) return CalledOff::No;
    const CalledOff where = db_.call_off(now_, id, {reason, action_.why});
    if (where == CalledOff::No) return where;
    note("cancel", std::nullopt, id, words_of(where));
    if (where == CalledOff::WasHeld) ++acted_.marked;
    return where;
  }

  bool end_expansion(RowId message, Reason reason) {
    if (!db_.drop_expansion(message)) return false;
    StateRow& row = db_.states.at(message);
    const std::string was = fmt::format("was {}", to_text(row.state));
    row.state = MessageState::Cancelled;
    row.reason = reason;
    row.detail = action_.why;
    row.at = now_;
    db_.drop_secret_if_done(message);
    note("cancel", message, std::nullopt, was);
    return true;
  }

  void note_taken(RowId message) { note("cancel", message, std::nullopt, "was in the outbox"); }

  void dispatch(RowId id) {
    const auto due = db_.due_of.find(id);
    if (due == db_.due_of.end() || due->second <= now_) return;
    const WaitingRow& seen = db_.deferred.at({due->second, id});
    if (seen.group.channel == Channel::Expand || !allows(seen.group.tenant)) return;
    WaitingRow row = *db_.take_deferred(id);
    row.reason = Reason::DispatchedByOperator;
    row.detail.clear();
    groups_.insert(row.group);
    db_.defer(now_, id, std::move(row));
    note("dispatch", std::nullopt, id, "was retrying");
  }

  void dispatch_expand(const Uuid& uuid) {
    const auto found = find_message(uuid);
    if (!found) return;
    const auto due = db_.due_of.find(found->first);
    if (due == db_.due_of.end() || due->second <= now_) return;
    const auto at = db_.deferred.find({due->second, found->first});
    if (at->second.group.channel != Channel::Expand) return;
    WaitingRow row = std::move(at->second);
    db_.deferred.erase(at);
    db_.due_of.erase(due);
    row.reason = Reason::DispatchedByOperator;
    groups_.insert(row.group);
    StateRow& state = db_.states.try_emplace(found->first, StateRow{.tenant = row.group.tenant}).first->second;
    const std::string before = fmt::format("was {}: {}", to_text(state.state), code_of(state.reason));
    state.reason = Reason::DispatchedByOperator;
    db_.defer(now_, found->first, std::move(row));
    note("dispatch", found->first, std::nullopt, before);
  }

  void replay(const Uuid& uuid) {
    const auto found = find_message(uuid);
    if (!found) return;
    const auto [id, tenant] = *found;
    const auto state = db_.states.find(id);
    if (state == db_.states.end()) return;
    StateRow& row = state->second;
    if (row.state != MessageState::Failed && row.state != MessageState::Ignored) return;
    free_suppressed_keys(id);
    const std::string before = fmt::format("was {}: {}", to_text(row.state), code_of(row.reason));
    row = {.tenant = tenant,
           .state = MessageState::Pending,
           .reason = Reason::Replayed,
           .at = now_,
           .cursor = row.cursor,
           .skipped = row.skipped,
           .as_of = row.cursor > 0 ? row.as_of : std::nullopt};
    enqueue({db_.messages.at(id).lane.value_or(Lane::Standard), Channel::Expand, tenant}, {.id = id});
    note("replay", id, std::nullopt, before);
  }

  Acted take() {
    acted_.groups = as_list(groups_);
    return std::move(acted_);
  }

 private:
  [[nodiscard]] bool allows(TenantId tenant) const { return !action_.tenant || *action_.tenant == tenant; }

  [[nodiscard]] std::optional<CancelMark> refused_by_now(const Delivery& d) const {
    const auto suppressed = db_.suppressions.find(comparable(SuppressionRef{d.tenant, d.channel, d.recipient}));
    if (suppressed != db_.suppressions.end())
      return CancelMark{Reason::SuppressedAddress, words_of(suppressed->second)};
    const auto contact = db_.contacts.find({d.tenant, d.contact});
    if (contact == db_.contacts.end()) return std::nullopt;
    const Preference* wish =
        forbidding(contact->second.preferences, d.channel, d.category, exempt_of(action_.exempt, d.tenant));
    return wish == nullptr ? std::nullopt : std::optional{CancelMark{Reason::OptedOut, words_of(*wish, d.contact)}};
  }

  std::optional<WaitingRow> take_parked(RowId id) {
    const auto at = db_.parked.find(id);
    if (at == db_.parked.end() || !allows(at->second.group.tenant)) return std::nullopt;
    WaitingRow row = std::move(at->second);
    db_.parked.erase(at);
    return row;
  }

  static std::string was(const WaitingRow& parked) {
    return fmt::format("was parked: {}{}{}", code_of(parked.reason), parked.detail.empty() ? "" : ", ", parked.detail);
  }

  std::optional<std::pair<RowId, TenantId>> find_message(const Uuid& uuid) const {
    std::optional<std::pair<RowId, TenantId>> found;
    for (TenantId t = 0; static_cast<std::size_t>(t) <= db_.tenants.size(); ++t) {
      const auto at = db_.dedup.find(dedup_id(t, uuid));
      if (!allows(t) || at == db_.dedup.end()) continue;
      if (!found || at->second.id < found->first) found = {at->second.id, t};
    }
    return found;
  }

  // A delivery that was suppressed for want of an address holds its key; replaying must be able to make it anew.
  void free_suppressed_keys(RowId message) {
    const auto [first, last] = db_.deliveries_of.equal_range(message);
    for (auto at = first; at != last; ++at) {
      const auto settled = db_.settled.find(at->second);
      if (settled == db_.settled.end() || settled->second.state != DeliveryState::Suppressed) continue;
      const Delivery& d = db_.deliveries.at(at->second);
      const auto entry = db_.dedup.find(dedup_delivery(d.tenant, d.key));
      if (entry != db_.dedup.end() && entry->second.id == d.id) db_.dedup.erase(entry);
    }
  }

  void enqueue(const QueueGroup& group, const QueueRow& row) {
    db_.queue.emplace(QueueKey{group, ids_.next(now_)}, row);
    groups_.insert(group);
  }

  void note(std::string_view what, std::optional<RowId> message, std::optional<RowId> delivery,
            std::string_view detail) {
    db_.audit.push_back({now_, action_.actor, std::string{what}, action_.why, message, delivery, std::string{detail}});
    ++acted_.changed;
  }

  ModelDatabase& db_;
  Instant now_;
  const OperatorAction& action_;
  IdSource& ids_;
  Groups groups_;
  Acted acted_;
};

template <class Id, class Verb>
Acted operate(Operation operation, std::span<const Id> on, Verb verb) {
  for (const Id& id : on) (operation.*verb)(id);
  return operation.take();
}

}  // namespace

Result<Acted> ModelSession::retry(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) {
  const Held db = hold();
  return operate(Operation{*db, now, action, ids()}, deliveries, &Operation::retry);
}
Result<Acted> ModelSession::discard(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) {
  const Held db = hold();
  return operate(Operation{*db, now, action, ids()}, deliveries, &Operation::discard);
}
Result<Acted> ModelSession::cancel(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) {
  const Held db = hold();
  return operate(Operation{*db, now, action, ids()}, deliveries, &Operation::cancel);
}
Result<CancelledEntity> ModelSession::cancel_entity(Instant now, const OperatorAction& action, const EntityRef& entity,
                                                    const ExpandDecision& decide) {
  if (entity.id.empty()) return Error{ErrorCode::Invalid, "an entity needs an id"};
  const Held db = hold();
  CancelledEntity all;
  Operation operation{*db, now, action, ids()};
  POSTRIDER_TRY(taken, take_entity(*db, now, entity, decide));
  for (const RowId message : taken) {
    const auto state = db->states.find(message);
    if (state == db->states.end() || state->second.state != MessageState::Cancelled) continue;
    operation.note_taken(message);
    ++all.messages;
  }
  std::vector<RowId> messages;
  for (const auto& [id, message] : db->messages) {
    const bool is_it = message.tenant == entity.tenant && message.entity_id == entity.id;
    if (is_it && (entity.type.empty() || message.type == entity.type)) messages.push_back(id);
  }
  std::set<RowId> deliveries;
  for (const RowId id : messages) {
    if (operation.end_expansion(id, Reason::CancelledWithEntity)) ++all.messages;
    const auto [first, last] = db->deliveries_of.equal_range(id);
    for (auto at = first; at != last; ++at) deliveries.insert(at->second);
  }
  for (const RowId id : deliveries) {
    switch (operation.end_delivery(id, Reason::CancelledWithEntity)) {
      case CalledOff::WasQueued:
      case CalledOff::WasRetrying: ++all.deliveries; break;
      case CalledOff::WasHeld: ++all.marked; break;
      case CalledOff::No: ++all.left[db->state_of(id)]; break;
    }
  }
  return all;
}
Result<Acted> ModelSession::replay(Instant now, const OperatorAction& action, std::span<const Uuid> messages) {
  const Held db = hold();
  return operate(Operation{*db, now, action, ids()}, messages, &Operation::replay);
}

Result<Acted> ModelSession::dispatch_expand(Instant now, const OperatorAction& action, std::span<const Uuid> messages) {
  const Held db = hold();
  return operate(Operation{*db, now, action, ids()}, messages, &Operation::dispatch_expand);
}

Result<Acted> ModelSession::dispatch(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) {
  const Held db = hold();
  std::vector<RowId> all;
  if (deliveries.empty()) {
    for (const auto& [key, row] : db->deferred) all.push_back(key.second);
    deliveries = all;
  }
  return operate(Operation{*db, now, action, ids()}, deliveries, &Operation::dispatch);
}

}  // namespace postrider::model
