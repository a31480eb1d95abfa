#include <fmt/format.h>

#include <algorithm>

#include "base/fault.h"
#include "base/limits.h"
#include "store/sqlite/expansion_writer.h"
#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

std::vector<OutboxRow> take_rows(Connection& c, std::size_t rows_max) {
  std::vector<OutboxRow> taken;
  Rows urgent = c.use("outbox_take_priority").query(priority_rows(rows_max));
  while (urgent.next()) taken.push_back(common::read_outbox_row(urgent));
  const auto others_from = static_cast<std::ptrdiff_t>(taken.size());
  Rows others = c.use("outbox_take").query(rows_max - taken.size());
  while (others.next()) taken.push_back(common::read_outbox_row(others));
  std::inplace_merge(taken.begin(), taken.begin() + others_from, taken.end(),
                     [](const OutboxRow& a, const OutboxRow& b) { return a.position < b.position; });
  return taken;
}

void drop_rows(Connection& c, const std::vector<OutboxRow>& rows) {
  std::int64_t last_of_others = 0;
  for (const OutboxRow& row : rows) {
    if (row.lane == to_text(Lane::Priority)) {
      c.use("outbox_drop_one").run(row.position);
    } else {
      last_of_others = row.position;
    }
  }
  if (last_of_others != 0) c.use("outbox_drop").run(last_of_others);
}

Lease read_expand_lease(const Rows& rows) {
  Lease lease;
  lease.lane = rows.one_of(0, Lane::Priority, Lane::Bulk);
  lease.channel = rows.one_of(1, Channel::Expand, Channel::InApp);
  lease.tenant = rows.number<TenantId>(2);
  lease.position = rows.integer(3);
  lease.id = rows.integer(4);
  lease.fence = rows.number<int>(5) + 1;
  lease.attempt = rows.number<int>(6) + 1;
  return lease;
}

bool is_held(Connection& c, const Lease& lease) {
  return c.use("queue_held").any(lease.lane, lease.channel, lease.tenant, lease.position, lease.id, lease.fence);
}

void check_held(Connection& c, const Lease& lease) {
  if (is_held(c, lease)) return;
  throw Failure{{ErrorCode::Conflict, "the lease on this expand work was lost"}};
}

void end_lease(Connection& c, const Lease& lease) {
  c.use("queue_drop").run(lease.lane, lease.channel, lease.tenant, lease.position);
}

Stepped write_step(Connection& c, Instant now, const ExpandStep& step, ExpansionWriter& expansion) {
  const auto& [lease, chunk] = step;
  if (!is_held(c, lease)) return Stepped::LeaseLost;
  StoredState state = common::find_state(c, lease.id).value_or(StoredState{.tenant = lease.tenant});
  for (const ExpandedDelivery& made : chunk.deliveries) expansion.add({made.made, 0}, lease.id, state.skipped);
  const Made made = chunk.finished && c.use("delivery_of_message_any").any(lease.id) ? Made::Something : Made::Nothing;
  if (common::advance(state, step, made, now) == common::StateRow::Kept) {
    common::put_state(c, lease.id, state);
  } else {
    c.use("message_state_drop").run(lease.id);
  }
  if (!chunk.finished) return Stepped::Written;
  end_lease(c, lease);
  c.use("secret_drop_if_done").run(lease.id);
  return Stepped::Written;
}

std::vector<Lease> pick_expand(Connection& c, std::size_t count_max) {
  std::vector<Lease> leases;
  for (const Lane lane : kLanes) {
    if (leases.size() == count_max) break;
    Rows rows = c.use("expand_pick").query(lane, count_max - leases.size());
    while (rows.next()) leases.push_back(read_expand_lease(rows));
  }
  return leases;
}

}  // namespace

Result<ExpandReport> SqliteSession::expand(Instant now, NodeId node, std::size_t rows_max,
                                           const ExpandDecision& decide) {
  // Asked of a reader first: an empty outbox, the usual case of a poll, must not cost the write lock.
  const auto any = read([](Connection& c) { return c.use("outbox_any").any(); });
  if (!any) return any.error();
  if (!*any || rows_max == 0) return ExpandReport{};
  rows_max = std::min(rows_max, writer_.caps().expand);
  used_.begin();  // what a transaction met that was then undone does not count
  auto written = writer_.transact([&](Connection& c) {
    ExpandReport report;
    const std::vector<OutboxRow> rows = take_rows(c, rows_max);
    if (rows.empty()) return report;
    std::vector<ExpandedMessage> decided = decide(rows);
    if (decided.size() != rows.size()) {
      throw Failure{{ErrorCode::Invalid,
                     fmt::format("{} rows were decided where {} were asked about", decided.size(), rows.size())}};
    }
    ExpansionWriter expansion{c, now, node, ids(), used_};
    for (std::size_t i = 0; i < rows.size(); ++i) expansion.write(rows[i], decided[i]);
    drop_rows(c, rows);
    POSTRIDER_FAULT_POINT("in_expand");
    report.rows = rows.size();
    report.owned = std::move(expansion.owned());
    report.queued = as_list(expansion.groups());
    return report;
  });
  if (written) used_.committed();
  return written;
}

Result<std::vector<ExpandWork>> SqliteSession::claim_expand(Instant now, NodeId node, std::size_t count_max) {
  const auto waiting = read([](Connection& c) { return !pick_expand(c, 1).empty(); });
  if (!waiting) return waiting.error();
  if (!*waiting || count_max == 0) return std::vector<ExpandWork>{};
  return writer_.transact([&](Connection& c) {
    std::vector<ExpandWork> work;
    for (Lease& lease : pick_expand(c, count_max)) {
      lease.claimed_at = now;
      c.use("claim_take").run(lease.lane, lease.channel, lease.tenant, lease.position, node, lease.provider, now);
      Rows rows = c.use("message_of").query(lease.id);
      if (!rows.next()) fail_corrupt("expand work without its message");
      const StoredState state = common::find_state(c, lease.id).value_or(StoredState{});
      work.push_back(
          {lease, common::read_message(rows), state.cursor, state.as_of, state.reason == Reason::DispatchedByOperator});
    }
    return work;
  });
}

Result<ExpandSteps> SqliteSession::expand_chunks(Instant now, std::span<const ExpandStep> steps) {
  ExpandSteps all;
  Groups queued;
  // As many at once as the write lock may be held for.
  for (std::size_t from = 0; from < steps.size(); from = all.results.size()) {
    const std::size_t before = all.results.size();
    used_.begin();
    auto written = writer_.transact([&](Connection& c) {
      all.results.resize(before);
      ExpansionWriter expansion{c, now, 0, ids(), used_};
      std::size_t made = 0;
      for (std::size_t i = from; i < steps.size() && made <= writer_.caps().expand; ++i) {
        made += 1 + steps[i].chunk.deliveries.size();
        all.results.push_back(write_step(c, now, steps[i], expansion));
      }
      return as_list(expansion.groups());
    });
    if (!written) return written.error();
    used_.committed();
    queued.insert(written->begin(), written->end());
  }
  all.report.queued = as_list(queued);
  return all;
}

Result<Done> SqliteSession::defer_expand(Instant now, const Lease& lease, Instant due_at, Reason reason,
                                         std::string detail) {
  return writer_.transact([&](Connection& c) {
    check_held(c, lease);
    end_lease(c, lease);
    c.use("deferred_add")
        .run(due_at, lease.id, lease.lane, lease.channel, lease.tenant, lease.fence, lease.attempt,
             Guarantee::AtLeastOnce, reason, nullptr, detail);
    StoredState state = common::find_state(c, lease.id).value_or(StoredState{.tenant = lease.tenant});
    state.reason = reason;
    state.detail = detail;
    state.at = now;
    state.attempts = lease.attempt;
    common::put_state(c, lease.id, state);
    return Done{};
  });
}

}  // namespace postrider::sqlite
