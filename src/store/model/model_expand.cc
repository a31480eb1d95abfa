#include <algorithm>
#include <exception>

#include "base/canary.h"
#include "store/model/model_session.h"

namespace postrider::model {
namespace {

/// Writes what was decided about outbox rows and chunks.
class Expander {
 public:
  Expander(ModelDatabase& db, Instant now, NodeId node, IdSource& ids) : db_(db), now_(now), node_(node), ids_(ids) {}

  void write(const OutboxRow& row, ExpandedMessage& decided) {
    POSTRIDER_CHECK(!decided.in_chunks || decided.deliveries.empty());
    const std::optional<Uuid> first = find_first(row, decided);
    Message message = decided.message;
    const std::string sealed = std::move(message.sealed);
    message.sealed.clear();
    MessageEnd end{decided.state, decided.reason, decided.detail};
    Made made = Made::Nothing;
    live_ = false;
    if (first) {
      end = {MessageState::Duplicate, Reason::DuplicateMessage, format_uuid(*first)};
    } else {
      std::string skipped;
      for (const ExpandedDelivery& d : decided.deliveries) {
        if (canary("half_an_expansion") && made == Made::Something) break;
        if (add(d, message.id, skipped)) made = Made::Something;
      }
      end = after_skipped(std::move(end), made, skipped);
      if (decided.in_chunks) queue_expand(message, decided.expand_at);
    }
    if (!is_plain(end, made)) db_.states[message.id] = {message.tenant, end.state, end.reason, end.detail, now_};
    if (!sealed.empty() && (live_ || may_expand_again(end.state))) db_.secrets.emplace(message.id, sealed);
    db_.messages.emplace(message.id, std::move(message));
  }

  bool add(ExpandedDelivery made, RowId message, std::string& skipped) {
    Delivery& d = made.made.delivery;
    d.message = message;
    if (!made.made.key_is_own && !db_.dedup.emplace(dedup_delivery(d.tenant, d.key), DedupEntry{.id = d.id}).second) {
      append_skipped(skipped, d.key);
      return false;
    }
    if (const auto used = db_.templates.find(d.template_id); used != db_.templates.end()) {
      used->second.used = true;
    } else {
      d.template_id = 0;  // deleted after the engine had read it
    }
    place(made);
    db_.deliveries_of.emplace(message, d.id);
    db_.deliveries.emplace(d.id, d);
    return true;
  }

  Stepped step(const ExpandStep& step) {
    const auto& [lease, chunk] = step;
    const auto at = db_.find_held(lease);
    if (at == db_.queue.end()) return Stepped::LeaseLost;
    StateRow& state = db_.states.try_emplace(lease.id, StateRow{.tenant = lease.tenant}).first->second;
    for (const ExpandedDelivery& made : chunk.deliveries) add({made.made, 0}, lease.id, state.skipped);
    state.cursor = chunk.cursor;
    if (chunk.as_of) state.as_of = chunk.as_of;
    state.at = now_;
    if (chunk.finished) {
      db_.queue.erase(at);
      const Made made = db_.deliveries_of.contains(lease.id) ? Made::Something : Made::Nothing;
      MessageEnd end{chunk.state, chunk.reason, chunk.detail};
      if (end.state == MessageState::Expanded) end = after_skipped(std::move(end), made, state.skipped);
      state.state = end.state;
      state.reason = end.reason;
      state.detail = end.detail;
      state.attempts = lease.attempt;
      if (is_plain(end, made)) db_.states.erase(lease.id);
      db_.drop_secret_if_done(lease.id);
    }
    return Stepped::Written;
  }

  ExpandReport report(std::size_t rows) { return {rows, std::move(owned_), as_list(groups_)}; }

 private:
  std::optional<Uuid> find_first(const OutboxRow& row, ExpandedMessage& decided) {
    Message& message = decided.message;
    const DedupKey by_id = dedup_id(message.tenant, message.uuid);
    const auto find = [&](const DedupKey& key) -> const DedupEntry* {
      const auto at = db_.dedup.find(key);
      return at == db_.dedup.end() ? nullptr : &at->second;
    };
    bool admitted = false;
    if (row.accepted) {
      const DedupEntry* known = find(by_id);
      admitted = known != nullptr && known->id == *row.accepted && !db_.messages.contains(*row.accepted);
      message.id = admitted ? *row.accepted : ids_.next(now_);
    }
    const auto is_other = [&](const DedupEntry* e) { return e != nullptr && !(admitted && e->id == message.id); };
    const DedupEntry* same_id = find(by_id);
    const DedupEntry* same_key = decided.key ? find(*decided.key) : nullptr;
    const DedupEntry entry{.id = message.id, .body = decided.body, .uuid = message.uuid};
    std::optional<Uuid> first;
    if (canary("no_dedup")) return first;
    if (is_other(same_id)) first = same_id->uuid.value_or(message.uuid);
    const bool id_repeated = first.has_value();
    if (is_other(same_key) && !canary("key_not_asked")) first = same_key->uuid.value_or(message.uuid);
    db_.dedup.emplace(by_id, entry);
    if (decided.key && !id_repeated) db_.dedup.emplace(*decided.key, entry);
    return first;
  }

  void place(const ExpandedDelivery& made) {
    const Delivery& d = made.made.delivery;
    const Placement& p = made.made.placement;
    const QueueGroup group{d.lane, d.channel, d.tenant};
    if (p.state == DeliveryState::Queued || (canary("due_ignored") && p.state == DeliveryState::Retrying)) {
      live_ = true;
      QueueRow row{.id = d.id, .guarantee = d.guarantee, .expires_at = d.expires_at};
      if (made.own_provider != 0) {
        row.node = node_;
        row.fence = row.attempt = 1;
        row.provider = made.own_provider;
        row.claimed_at = now_;
        owned_.push_back({{d.lane, d.channel, d.tenant, d.id, d.id, 1, 1, made.own_provider, now_}, d});
      } else {
        groups_.insert(group);
      }
      db_.queue.emplace(QueueKey{group, d.id}, row);
    } else if (p.state == DeliveryState::Retrying) {
      live_ = true;
      db_.defer(p.due_at, d.id,
                {.group = group,
                 .guarantee = d.guarantee,
                 .reason = p.reason,
                 .detail = p.detail,
                 .expires_at = d.expires_at});
    } else {
      POSTRIDER_CHECK(p.state == DeliveryState::Suppressed || p.state == DeliveryState::Expired);
      db_.settled.emplace(d.id, SettledRow{d.tenant, p.state, p.reason, p.detail, now_});
    }
  }

  void queue_expand(const Message& message, const std::optional<Instant>& at) {
    const QueueGroup group{message.lane.value_or(Lane::Standard), Channel::Expand, message.tenant};
    if (at && *at > now_) {
      db_.defer(*at, message.id, {.group = group, .reason = Reason::Scheduled});
      return;
    }
    db_.queue.emplace(QueueKey{group, ids_.next(now_)}, QueueRow{.id = message.id});
    groups_.insert(group);
  }

  ModelDatabase& db_;
  Instant now_;
  NodeId node_;
  IdSource& ids_;
  std::vector<Claim> owned_;
  Groups groups_;
  bool live_ = false;
};

const Error kLeaseLost{ErrorCode::Conflict, "the lease on this expand work was lost"};

}  // namespace

Result<std::vector<std::vector<Admitted>>> ModelSession::accept(Instant now, std::span<const IntakeGroup> groups) {
  const Held db = hold();
  std::vector<std::vector<Candidate>> candidates;
  for (const IntakeGroup& group : groups) {
    auto& own = candidates.emplace_back();
    for (const NewMessage& made : group) own.push_back(made.candidate);
  }
  std::optional<DedupFound> with_waiting;  // a copy only where somebody asks
  for (const IntakeGroup& group : groups) {
    for (const NewMessage& made : group) {
      if (!made.candidate.may_repeat_a_waiting_one() || canary("waiting_not_asked")) continue;
      if (!with_waiting) with_waiting = db->dedup;
      for (const auto& [position, row] : db->outbox) add_waiting(row, made, *with_waiting);
    }
  }
  auto verdicts = admit(candidates, with_waiting ? *with_waiting : db->dedup);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (std::any_of(verdicts[g].begin(), verdicts[g].end(),
                    [](const Admitted& a) { return a.verdict == Admission::KeyReused; })) {
      continue;
    }
    for (std::size_t i = 0; i < groups[g].size(); ++i) {
      if (verdicts[g][i].verdict != Admission::New) continue;
      const Candidate& candidate = candidates[g][i];
      OutboxRow row = groups[g][i].row;
      const RowId id = ids().next(now);
      const bool lost = canary("ack_before_commit") && id % 5 == 0;
      if (groups[g][i].is_row_only()) {
        if (!lost) db->insert_outbox(std::move(row));
        continue;
      }
      row.accepted = id;
      const DedupEntry entry{.id = *row.accepted, .body = candidate.body, .uuid = candidate.uuid};
      if (const auto& note = groups[g][i].note) {
        db->audit.push_back({now, note->by.actor, note->action, note->by.why, entry.id, note->delivery, note->detail});
      }
      if (!lost) db->insert_outbox(std::move(row));
      db->dedup.emplace(dedup_id(candidate.tenant, candidate.uuid), entry);
      if (candidate.key) db->dedup.emplace(*candidate.key, entry);
    }
  }
  return verdicts;
}

Result<ExpandReport> ModelSession::expand(Instant now, NodeId node, std::size_t rows_max,
                                          const ExpandDecision& decide) {
  const Held db = hold();
  std::vector<OutboxRow> rows;
  const auto take = [&](bool urgent, std::size_t count_max) {
    for (const auto& [position, row] : db->outbox) {
      if (rows.size() >= count_max) return;
      if ((row.lane == to_text(Lane::Priority)) == urgent) rows.push_back(row);
    }
  };
  take(true, priority_rows(rows_max));
  take(false, rows_max);
  std::sort(rows.begin(), rows.end(), [](const OutboxRow& a, const OutboxRow& b) { return a.position < b.position; });
  if (rows.empty()) return ExpandReport{};
  // Everything that can fail stands before the first write: that is this store's rollback.
  std::vector<ExpandedMessage> decided;
  try {
    decided = decide(rows);
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::Invalid,
                 std::string{"stopped inside a transaction, nothing was written: "} + thrown.what()};
  } catch (...) {
    return Error{ErrorCode::Invalid, "stopped inside a transaction, nothing was written"};
  }
  if (decided.size() != rows.size()) return Error{ErrorCode::Invalid, "not every row was decided"};
  Expander expander{*db, now, node, ids()};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    expander.write(rows[i], decided[i]);
    db->outbox.erase(rows[i].position);
  }
  return expander.report(rows.size());
}

Result<std::vector<RowId>> ModelSession::take_entity(ModelDatabase& db, Instant now, const EntityRef& entity,
                                                     const ExpandDecision& decide) {
  std::vector<OutboxRow> rows;
  for (const auto& [position, row] : db.outbox) {
    const bool is_it = db.tenant_number(row.tenant) == entity.tenant && row.entity_id == entity.id;
    if (is_it && (entity.type.empty() || row.type == entity.type)) rows.push_back(row);
  }
  std::vector<RowId> taken;
  if (rows.empty()) return taken;
  std::vector<ExpandedMessage> decided = decide(rows);
  if (decided.size() != rows.size()) return Error{ErrorCode::Invalid, "not every row was decided"};
  Expander expander{db, now, 0, ids()};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    expander.write(rows[i], decided[i]);
    db.outbox.erase(rows[i].position);
    taken.push_back(decided[i].message.id);
  }
  return taken;
}

Result<std::vector<ExpandWork>> ModelSession::claim_expand(Instant now, NodeId node, std::size_t count_max) {
  const Held db = hold();
  using Place = std::pair<std::pair<Lane, std::int64_t>, QueueKey>;
  std::vector<Place> waiting;
  for (const auto& [key, row] : db->queue) {
    if (key.group.channel == Channel::Expand && row.node == 0) waiting.push_back({{key.group.lane, key.position}, key});
  }
  std::sort(waiting.begin(), waiting.end());
  std::vector<ExpandWork> work;
  for (const Place& place : waiting) {
    if (work.size() == count_max) break;
    const QueueKey& key = place.second;
    QueueRow& row = db->queue.at(key);
    row.node = node;
    ++row.fence;
    ++row.attempt;
    row.claimed_at = now;
    const Lease lease{
        key.group.lane, key.group.channel, key.group.tenant, key.position, row.id, row.fence, row.attempt, 0, now};
    Message message = db->messages.at(row.id);
    if (const auto secret = db->secrets.find(row.id); secret != db->secrets.end()) message.sealed = secret->second;
    const auto state = db->states.find(row.id);
    work.push_back({lease, std::move(message)});
    if (state == db->states.end()) continue;
    work.back().cursor = state->second.cursor;
    work.back().as_of = state->second.as_of;
    work.back().dispatched = state->second.reason == Reason::DispatchedByOperator;
  }
  return work;
}

Result<ExpandSteps> ModelSession::expand_chunks(Instant now, std::span<const ExpandStep> steps) {
  const Held db = hold();
  Expander expander{*db, now, 0, ids()};
  ExpandSteps done;
  for (const ExpandStep& step : steps) done.results.push_back(expander.step(step));
  done.report = expander.report(0);
  return done;
}
Result<Done> ModelSession::defer_expand(Instant now, const Lease& lease, Instant due_at, Reason reason,
                                        std::string detail) {
  const Held db = hold();
  const auto at = db->find_held(lease);
  if (at == db->queue.end()) return kLeaseLost;
  db->queue.erase(at);
  db->defer(due_at, lease.id,
            {.group = {lease.lane, lease.channel, lease.tenant},
             .fence = lease.fence,
             .attempt = lease.attempt,
             .reason = reason,
             .detail = detail});
  StateRow& state = db->states.try_emplace(lease.id, StateRow{.tenant = lease.tenant}).first->second;
  state.reason = reason;
  state.detail = std::move(detail);
  state.at = now;
  state.attempts = lease.attempt;
  return Done{};
}

}  // namespace postrider::model
