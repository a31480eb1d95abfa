#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/fault.h"
#include "base/limits.h"
#include "store/common/look.h"
#include "store/postgres/expansion_writer.h"

namespace postrider::postgres {
namespace {

struct Taken {
  std::vector<OutboxRow> rows = {};
  OutboxFloor::Begin last = {};
  OutboxProgress progress = {};
};

Taken take_rows(Connection& c, std::size_t rows_max, const OutboxFloor::Begin& from) {
  Taken taken;
  const std::size_t urgent_max = priority_rows(rows_max);
  Params p;
  p.int4(static_cast<std::int64_t>(rows_max)).int4(static_cast<std::int64_t>(urgent_max));
  p.int8(from.priority).int8(from.others);
  const Rows rows = c.query("outbox_take", p);
  taken.rows.reserve(static_cast<std::size_t>(rows.count()));
  std::size_t urgent = 0;
  for (int i = 0; i < rows.count(); ++i) {
    const OutboxRow& row = taken.rows.emplace_back(read_outbox_row(rows, i));
    const bool overtook = row.lane == to_text(Lane::Priority) && row.position >= from.priority;
    if (overtook) ++urgent;
    std::int64_t& last = overtook ? taken.last.priority : taken.last.others;
    last = std::max(last, row.position);
  }
  const std::int64_t newest = rows.empty() ? 0 : rows.number(0, kOutboxColumns);
  taken.progress = {newest, taken.last.others, taken.rows.size() == rows_max};
  if (urgent < urgent_max) taken.last.priority = newest;  // not cut short: all were looked at
  const auto earlier = [](const OutboxRow& a, const OutboxRow& b) { return a.position < b.position; };
  if (!std::is_sorted(taken.rows.begin(), taken.rows.end(), earlier))
    std::sort(taken.rows.begin(), taken.rows.end(), earlier);
  return taken;
}

bool same_rows(const std::vector<OutboxRow>& a, const std::vector<OutboxRow>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const OutboxRow& x, const OutboxRow& y) { return x.position == y.position; });
}

/// Tells the floor how long the look took, however it ends.
class Took {
 public:
  explicit Took(OutboxFloor& floor) : floor_(floor) {}
  ~Took() { floor_.took(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun_)); }
  Took(const Took&) = delete;
  Took& operator=(const Took&) = delete;

 private:
  OutboxFloor& floor_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

void check_held(Connection& c, const Lease& lease) {
  if (c.use("queue_held").any(lease.lane, lease.channel, lease.tenant, lease.position, lease.id, lease.fence)) return;
  throw Failure{ErrorCode::Conflict, "the lease on this expand work was lost"};
}

/// As their rows are locked: in one order by everybody.
std::vector<const ExpandStep*> in_order(std::span<const ExpandStep> steps) {
  std::vector<const ExpandStep*> ordered;
  for (const ExpandStep& step : steps) ordered.push_back(&step);
  std::sort(ordered.begin(), ordered.end(), [](const ExpandStep* a, const ExpandStep* b) {
    return std::tie(a->lease.lane, a->lease.tenant, a->lease.position) <
           std::tie(b->lease.lane, b->lease.tenant, b->lease.position);
  });
  return ordered;
}

/// The messages whose work is still held under these leases. Locked until the end of the transaction, so that nobody
/// takes it over in between.
std::set<RowId> held_of(Connection& c, std::span<const ExpandStep> steps) {
  LeaseColumns leases;
  for (const ExpandStep* step : in_order(steps)) leases.add(step->lease);
  const Rows rows = c.query("queue_held_many", leases.params());
  std::set<RowId> held;
  for (int i = 0; i < rows.count(); ++i) held.insert(rows.number(i, 0));
  return held;
}

std::map<RowId, common::StoredState> states_of(Connection& c, const std::vector<RowId>& messages) {
  std::map<RowId, common::StoredState> states;
  auto rows = c.use("message_states_of").query(messages);
  while (rows.next()) states.emplace(rows.integer(0), common::read_state(rows, 1));
  return states;
}

std::set<RowId> with_deliveries(Connection& c, const std::vector<RowId>& messages) {
  std::set<RowId> found;
  if (messages.empty()) return found;
  auto rows = c.use("messages_with_deliveries").query(messages);
  while (rows.next()) found.insert(rows.integer(0));
  return found;
}

void put_states(Connection& c, const std::vector<std::pair<RowId, const common::StoredState*>>& states) {
  if (states.empty()) return;
  Array message{Type::Int8}, tenant{Type::Int4}, state{Type::Int2}, reason{Type::Int2}, detail{Type::Text},
      at{Type::Int8}, attempts{Type::Int4}, cursor{Type::Int8}, skipped{Type::Text}, as_of{Type::Int8};
  for (const auto& [id, s] : states) {
    message.add_int8(id);
    tenant.add_int4(s->tenant);
    state.add_int2(static_cast<int>(s->state));
    reason.add_int2(static_cast<int>(s->reason));
    detail.add(s->detail);
    at.add_time(s->at);
    attempts.add_int4(s->attempts);
    cursor.add_int8(static_cast<std::int64_t>(s->cursor));
    skipped.add(s->skipped);
    as_of.add_time(s->as_of);
  }
  Params p;
  p.array(message).array(tenant).array(state).array(reason).array(detail).array(at).array(attempts);
  c.query("message_state_put_many", p.array(cursor).array(skipped).array(as_of));
}

/// The states that chunks leave, and the end of the work that is done with them.
void end_steps(Connection& c, Instant now, const std::vector<const ExpandStep*>& steps,
               const std::vector<ExpansionWriter::Chunk>& chunks, std::map<RowId, common::StoredState>& states) {
  std::vector<RowId> nothing_now;  // what an earlier chunk or an earlier try made counts too
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i]->chunk.finished && chunks[i].made == Made::Nothing) nothing_now.push_back(chunks[i].message);
  }
  const std::set<RowId> something_before = with_deliveries(c, nothing_now);
  std::vector<std::pair<RowId, const common::StoredState*>> kept;
  std::vector<RowId> dropped, finished;
  LeaseColumns ended;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const RowId id = steps[i]->lease.id;
    common::StoredState& state = states.at(id);
    const bool made = chunks[i].made == Made::Something || something_before.contains(id);
    if (common::advance(state, *steps[i], made ? Made::Something : Made::Nothing, now) == common::StateRow::Kept) {
      kept.emplace_back(id, &state);
    } else {
      dropped.push_back(id);
    }
    if (!steps[i]->chunk.finished) continue;
    finished.push_back(id);
    ended.add(steps[i]->lease);
  }
  put_states(c, kept);
  if (!dropped.empty()) c.use("message_states_drop").run(dropped);
  if (finished.empty()) return;
  c.query("queue_end_many", ended.params());
  c.use("secrets_drop_if_done").run(finished);
}

void end_lease(Connection& c, const Lease& lease) {
  c.use("queue_end").run(lease.lane, lease.channel, lease.tenant, lease.position, lease.id, lease.fence);
}

}  // namespace

Result<ExpandReport> PostgresSession::expand(Instant now, NodeId node, std::size_t rows_max,
                                             const ExpandDecision& decide) {
  if (rows_max == 0) return ExpandReport{};
  // Asked first without a transaction: an empty outbox, the usual case of a poll, must cost one round trip. Not asked
  // while there is much: the question walks over the rows that were taken and are not swept away yet.
  const OutboxFloor::Begin from = outbox_floor_.begin(now);
  const Took took{outbox_floor_};
  if (!std::exchange(more_in_outbox_, false)) {
    const std::int64_t first = std::min(from.priority, from.others);
    const auto any = run([&](Connection& c) { return !c.query("outbox_any", Params{}.int8(first)).empty(); });
    if (!any) return any.error();
    if (!*any) return ExpandReport{};
  }
  std::vector<OutboxRow> judged;
  std::vector<ExpandedMessage> judgement;  // kept for the case that these rows are written again
  const auto once = [&](Connection& c, Keys keys) {
    ExpandReport report;
    Transaction transaction{c};
    const Taken taken = take_rows(c, rows_max, from);
    const std::vector<OutboxRow>& rows = taken.rows;
    if (rows.empty()) return report;
    if (rows.size() > kFewRows && keys == Keys::TakenAsNew) keys = Keys::TriedAsNew;
    std::vector<ExpandedMessage> decided = same_rows(rows, judged) ? std::move(judgement) : decide(rows);
    if (decided.size() != rows.size()) {
      throw Failure{ErrorCode::Invalid,
                    fmt::format("{} rows were decided where {} were asked about", decided.size(), rows.size())};
    }
    if (keys == Keys::TakenAsNew) {
      judged = rows;
      judgement = decided;
    }
    ExpansionWriter writer{c, now, node, ids(), used_, keys};
    writer.write(rows, decided);
    if (writer.met_old_keys()) hope_.fails();
    report.rows = rows.size();
    report.outbox = taken.progress;
    more_in_outbox_ = taken.progress.more;
    report.owned = std::move(writer.owned());
    report.queued = as_list(writer.groups());
    POSTRIDER_FAULT_POINT("in_expand");
    transaction.commit();
    used_.committed();
    outbox_floor_.taken(now, taken.last);
    return report;
  };
  return run([&](Connection& c) {
    try {
      if (hope_.holds()) return once(c, Keys::TakenAsNew);
    } catch (const Failure& failure) {
      if (failure.error().code != ErrorCode::Conflict) throw;
      hope_.fails();
    }
    try {
      return once(c, Keys::AskFirst);
    } catch (const Failure& failure) {
      if (failure.error().code != ErrorCode::Conflict) throw;
      judged.clear();
      // Ids are ours, and forged ones were sorted out: one that exists was made twice. Everything is decided again,
      // with new ones.
      throw Failure{ErrorCode::Unavailable, "an id was made twice", true};
    }
  });
}

namespace {

void add_messages(Connection& c, std::vector<ExpandWork>& work) {
  if (work.empty()) return;
  std::vector<RowId> ids;
  for (const ExpandWork& each : work) ids.push_back(each.lease.id);
  std::map<RowId, Message> messages;
  auto rows = c.use("messages_of").query(ids);
  while (rows.next()) messages.emplace(rows.integer(0), common::read_message(rows));
  const std::map<RowId, common::StoredState> states = states_of(c, ids);
  for (ExpandWork& each : work) {
    const auto message = messages.find(each.lease.id);
    if (message == messages.end()) Connection::fail_corrupt("expand work without its message");
    each.message = std::move(message->second);
    const auto state = states.find(each.lease.id);
    if (state == states.end()) continue;
    each.cursor = state->second.cursor;
    each.as_of = state->second.as_of;
    each.dispatched = state->second.reason == Reason::DispatchedByOperator;
  }
}

}  // namespace

Result<std::vector<ExpandWork>> PostgresSession::claim_expand(Instant now, NodeId node, std::size_t count_max) {
  return transact([&](Connection& c) {
    std::vector<ExpandWork> work;
    for (const Lane lane : kLanes) {
      if (work.size() >= count_max) break;
      auto rows = c.use("expand_pick").query(lane, count_max - work.size(), node, now);
      while (rows.next()) {
        Lease lease;
        lease.lane = lane;
        lease.channel = Channel::Expand;
        lease.tenant = rows.number<TenantId>(1);
        lease.position = rows.integer(2);
        lease.id = rows.integer(3);
        lease.fence = rows.number<int>(4);
        lease.attempt = rows.number<int>(5);
        lease.claimed_at = now;
        work.push_back({.lease = lease});
      }
    }
    // An UPDATE returns its rows in no order.
    std::sort(work.begin(), work.end(), [](const ExpandWork& a, const ExpandWork& b) {
      return std::tie(a.lease.lane, a.lease.position) < std::tie(b.lease.lane, b.lease.position);
    });
    add_messages(c, work);
    return work;
  });
}

Result<ExpandSteps> PostgresSession::expand_chunks(Instant now, std::span<const ExpandStep> steps) {
  if (steps.empty()) return ExpandSteps{};
  auto written = transact([&](Connection& c) {
    ExpandSteps done;
    const std::set<RowId> held = held_of(c, steps);
    std::vector<const ExpandStep*> mine;
    std::vector<RowId> ids_of_mine;
    for (const ExpandStep& step : steps) {
      const bool is_held = held.contains(step.lease.id);
      done.results.push_back(is_held ? Stepped::Written : Stepped::LeaseLost);
      if (!is_held) continue;
      mine.push_back(&step);
      ids_of_mine.push_back(step.lease.id);
    }
    if (mine.empty()) return done;
    std::map<RowId, common::StoredState> states = states_of(c, ids_of_mine);
    std::vector<ExpansionWriter::Chunk> chunks;
    for (const ExpandStep* step : mine) {
      common::StoredState& state =
          states.try_emplace(step->lease.id, common::StoredState{.tenant = step->lease.tenant}).first->second;
      chunks.push_back({step->lease.id, step->chunk.deliveries, std::move(state.skipped)});
    }
    ExpansionWriter writer{c, now, 0, ids(), used_, hope_.holds() ? Keys::TriedAsNew : Keys::AskFirst};
    writer.write_chunks(chunks);
    if (writer.met_old_keys()) hope_.fails();
    for (ExpansionWriter::Chunk& chunk : chunks) states.at(chunk.message).skipped = std::move(chunk.skipped);
    end_steps(c, now, mine, chunks, states);
    done.report.queued = as_list(writer.groups());
    return done;
  });
  if (written) used_.committed();
  return written;
}

Result<Done> PostgresSession::defer_expand(Instant now, const Lease& lease, Instant due_at, Reason reason,
                                           std::string detail) {
  return transact([&](Connection& c) {
    check_held(c, lease);
    end_lease(c, lease);
    c.use("deferred_add")
        .run(due_at, lease.id, lease.lane, lease.channel, lease.tenant, lease.fence, lease.attempt,
             Guarantee::AtLeastOnce, reason, nullptr, detail);
    auto state = common::find_state(c, lease.id).value_or(common::StoredState{.tenant = lease.tenant});
    state.reason = reason;
    state.detail = detail;
    state.at = now;
    state.attempts = lease.attempt;
    common::put_state(c, lease.id, state);
    return Done{};
  });
}

}  // namespace postrider::postgres
