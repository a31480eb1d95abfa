#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/fault.h"
#include "base/limits.h"
#include "store/common/look.h"
#include "store/postgres/expansion_writer.h"

namespace postrider::postgres {
namespace {

std::vector<OutboxRow> take_rows(Connection& c, std::size_t rows_max, const OutboxFloor::Begin& from) {
  std::vector<OutboxRow> taken;
  Params p;
  p.int4(static_cast<std::int64_t>(rows_max)).int4(static_cast<std::int64_t>(priority_rows(rows_max)));
  p.int8(from.priority).int8(from.others);
  const Rows rows = c.query("outbox_take", p);
  taken.reserve(static_cast<std::size_t>(rows.count()));
  for (int i = 0; i < rows.count(); ++i) taken.push_back(read_outbox_row(rows, i));
  const auto earlier = [](const OutboxRow& a, const OutboxRow& b) { return a.position < b.position; };
  if (!std::is_sorted(taken.begin(), taken.end(), earlier)) std::sort(taken.begin(), taken.end(), earlier);
  return taken;
}

OutboxFloor::Begin last_of(const std::vector<OutboxRow>& rows) {
  OutboxFloor::Begin last;
  for (const OutboxRow& row : rows) {
    std::int64_t& position = row.lane == "priority" ? last.priority : last.others;
    position = std::max(position, row.position);
  }
  return last;
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
    const auto any = run(
        [&](Connection& c) { return !c.query("outbox_any", Params{}.int8(from.priority).int8(from.others)).empty(); });
    if (!any) return any.error();
    if (!*any) return ExpandReport{};
  }
  std::vector<OutboxRow> judged;
  std::vector<ExpandedMessage> judgement;  // kept for the case that these rows are written again
  const auto once = [&](Connection& c, Keys keys) {
    ExpandReport report;
    Transaction transaction{c};
    const std::vector<OutboxRow> rows = take_rows(c, rows_max, from);
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
    more_in_outbox_ = rows.size() == rows_max;
    report.owned = std::move(writer.owned());
    report.queued = as_list(writer.groups());
    POSTRIDER_FAULT_POINT("in_expand");
    transaction.commit();
    used_.committed();
    outbox_floor_.taken(now, last_of(rows));
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
    for (ExpandWork& each : work) {
      auto rows = c.use("message_of").query(each.lease.id);
      if (!rows.next()) Connection::fail_corrupt("expand work without its message");
      each.message = common::read_message(rows);
      if (const auto state = common::find_state(c, each.lease.id)) {
        each.cursor = state->cursor;
        each.as_of = state->as_of;
        each.dispatched = state->reason == Reason::DispatchedByOperator;
      }
    }
    return work;
  });
}

Result<ExpandReport> PostgresSession::expand_chunk(Instant now, const Lease& lease, const ExpandChunk& chunk) {
  auto written = transact([&](Connection& c) {
    check_held(c, lease);
    auto state = common::find_state(c, lease.id).value_or(common::StoredState{.tenant = lease.tenant});
    ExpansionWriter writer{c, now, 0, ids(), used_, hope_.holds() ? Keys::TriedAsNew : Keys::AskFirst};
    writer.write_chunk(lease.id, chunk.deliveries, state.skipped);
    if (writer.met_old_keys()) hope_.fails();
    state.cursor = std::max(state.cursor, chunk.cursor);  // never back: those pairs are made
    if (chunk.as_of) state.as_of = chunk.as_of;
    state.at = now;
    if (chunk.finished) {
      end_lease(c, lease);
      const Made made = c.use("delivery_of_message_any").any(lease.id) ? Made::Something : Made::Nothing;
      MessageEnd end{chunk.state, chunk.reason, chunk.detail};
      if (end.state == MessageState::Expanded) end = after_skipped(std::move(end), made, state.skipped);
      state.state = end.state;
      state.reason = end.reason;
      state.detail = end.detail;
      state.attempts = lease.attempt;
      if (is_plain(end, made)) {
        c.use("message_state_drop").run(lease.id);
      } else {
        common::put_state(c, lease.id, state);
      }
      c.use("secret_drop_if_done").run(lease.id);
    } else {
      common::put_state(c, lease.id, state);
    }
    ExpandReport report;
    report.queued = as_list(writer.groups());
    return report;
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
