#include "pipeline/expand.h"

#include <algorithm>

#include "base/limits.h"
#include "core/retry.h"

namespace postrider {

Result<ExpandReport> ExpandStage::turn(Instant now) {
  reserved_.clear();
  auto report = parts_.store.expand(now, parts_.node, rows_max_,
                                    [&](std::span<const OutboxRow> rows) { return decide(now, rows); });
  if (!report) {
    give_back_unused({});
    note_refusal(report.error());
    return report.error();
  }
  refused_alone_ = 0;
  rows_max_ = std::min(kRowsPerTurn, rows_max_ * 2);
  give_back_unused(*report);
  return report;
}

// A store that cannot be reached or is full has trouble of its own. Anything else may be one bad row: halve until it
// stands alone, and when it is still refused, let it fail by itself.
void ExpandStage::note_refusal(const Error& error) {
  const bool about_the_store = error.code == ErrorCode::Unavailable || error.code == ErrorCode::Exhausted ||
                               error.code == ErrorCode::Ambiguous || error.code == ErrorCode::Cancelled;
  // A batch may also be too large for the time or the memory that the store has: a smaller one is always worth a try.
  const bool alone = rows_max_ == 1;
  rows_max_ = std::max<std::size_t>(1, rows_max_ / 2);
  if (about_the_store) return;
  if (alone) ++refused_alone_;
  refusal_ = error.text;
}

// First without deliveries; if not even that can be stored, without everything that the producer wrote but its name.
ExpandedMessage ExpandStage::give_up(Instant now, const OutboxRow& row) {
  ExpandedMessage out = decide_one(now, row);
  out.state = MessageState::Failed;
  out.reason = Reason::ExpansionFailed;
  out.detail = refusal_;
  out.deliveries.clear();
  out.in_chunks = false;
  if (refused_alone_ < 2 * kRefusalsMax) return out;
  Message bare;
  bare.id = out.message.id;
  bare.uuid = out.message.uuid;
  bare.tenant = out.message.tenant;
  bare.tenant_name = out.message.tenant_name;
  bare.type = out.message.type;
  bare.payload = "{}";
  bare.accepted_at = now;
  out.message = std::move(bare);
  return out;
}

std::vector<ExpandedMessage> ExpandStage::decide(Instant now, std::span<const OutboxRow> rows) {
  if (rows.size() == 1 && refused_alone_ >= kRefusalsMax) return {give_up(now, rows.front())};
  std::vector<ExpandedMessage> out;
  out.reserve(rows.size());
  for (const OutboxRow& row : rows) {
    out.push_back(decide_one(now, row));
    own(out.back());
  }
  return out;
}

ExpandedMessage ExpandStage::decide_one(Instant now, const OutboxRow& row) {
  Reading reading = read_row(row);
  ExpandedMessage out;
  out.message = std::move(reading.message);
  Message& m = out.message;
  m.id = row.accepted.value_or(0);
  if (m.id == 0) m.id = parts_.ids.next(now);
  if (m.uuid == Uuid{}) m.uuid = make_uuid7(now, random_.next(), random_.next());
  m.accepted_at = now;
  if (const Tenant* tenant = parts_.rules.tenant(m.tenant_name)) m.tenant = tenant->id;
  out.body = body_hash(row);
  if (!m.idempotency_key.empty()) out.key = dedup_message(m.tenant, m.idempotency_key);
  if (reading.refusal) {
    out.state = MessageState::Failed;
    out.reason = reading.refusal->reason;
    out.detail = reading.refusal->field + ": " + reading.refusal->detail;
    return out;
  }
  Expansion expansion = postrider::expand(m, parts_.rules, now, {0, kDeliveriesPerExpansionMax});
  out.state = expansion.state;
  out.reason = expansion.reason;
  out.detail = std::move(expansion.detail);
  if (expansion.recipients_total > kDeliveriesPerExpansionMax) {
    out.state = MessageState::Expanding;
    out.reason = Reason::Expanding;
    out.in_chunks = true;
    return out;
  }
  for (NewDelivery& made : expansion.deliveries) {
    made.delivery.id = parts_.ids.next(now);
    out.deliveries.push_back({std::move(made), 0});
  }
  return out;
}

// Rows that can be sent at once are inserted already held by this node: one write less, and no wait for a claim.
void ExpandStage::own(ExpandedMessage& expanded) {
  if (parts_.places == nullptr) return;
  const Tenant* tenant = parts_.rules.tenant(expanded.message.tenant);
  if (tenant == nullptr) return;
  for (ExpandedDelivery& entry : expanded.deliveries) {
    const Delivery& d = entry.made.delivery;
    // At-most-once rows are claimed only for a free connection: a crash must leave few of them unclear.
    if (entry.made.placement.state != DeliveryState::Queued || d.guarantee == Guarantee::AtMostOnce) continue;
    const ProviderRule* provider = parts_.rules.first_provider(*tenant, d.channel);
    if (provider == nullptr || !parts_.places->may_own(provider->id)) continue;
    if (parts_.places->reserve(provider->id, 1, d.lane) == 0) continue;
    entry.own_provider = provider->id;
    ++reserved_[provider->id];
  }
}

void ExpandStage::give_back_unused(const ExpandReport& report) {
  for (const Claim& claim : report.owned) --reserved_[claim.lease.provider];
  for (const auto& [provider, count] : reserved_) {
    if (count > 0) parts_.places->give_back(provider, count);
  }
  reserved_.clear();
}

Result<ExpandReport> ExpandStage::work(Instant now) {
  if (failed_) POSTRIDER_TRY_DONE(put_off(now));
  if (!begun_) {
    POSTRIDER_TRY(claimed, parts_.store.claim_expand(now, parts_.node, 1));
    if (claimed.empty()) return ExpandReport{};
    begun_ = std::move(claimed.front());
  }
  auto report = work_one(now, *begun_);
  if (report) return report;
  failed_ = {std::move(*begun_), report.error().text};
  begun_.reset();
  // A lost lease is another node's work now; any other failure stays with this message: it waits under a policy, the
  // others go on.
  if (report.error().code == ErrorCode::Conflict) {
    failed_.reset();
    return ExpandReport{};
  }
  POSTRIDER_TRY_DONE(put_off(now));
  return report;
}

// Kept until the store took it: a lease that nobody ends would hold the message for as long as this node lives.
Result<Done> ExpandStage::put_off(Instant now) {
  const auto& [failed, why] = *failed_;
  const Policy policy = *preset_policy("booking");
  Result<Done> done = Done{};
  if (failed.lease.attempt >= policy.attempts_max) {
    const ExpandChunk end{.cursor = failed.cursor,
                          .finished = true,
                          .state = MessageState::Failed,
                          .reason = Reason::ExpansionFailed,
                          .detail = why};
    if (auto ended = parts_.store.expand_chunk(now, failed.lease, end); !ended) done = ended.error();
  } else {
    const Duration wait = retry_delay(policy, std::max(1, failed.lease.attempt), 0);
    done = parts_.store.defer_expand(now, failed.lease, now + wait, Reason::ExpansionFailed, why);
  }
  if (!done && done.error().code != ErrorCode::Conflict) return done;
  failed_.reset();
  return Done{};
}

Result<ExpandReport> ExpandStage::work_one(Instant now, ExpandWork& work) {
  Expansion expansion = postrider::expand(work.message, parts_.rules, now, {work.cursor, kDeliveriesPerExpansionMax});
  ExpandChunk chunk;
  chunk.cursor = work.cursor + expansion.deliveries.size();
  chunk.finished = expansion.deliveries.empty() || chunk.cursor >= expansion.recipients_total;
  chunk.state = expansion.state;
  chunk.reason = expansion.reason;
  chunk.detail = std::move(expansion.detail);
  for (NewDelivery& made : expansion.deliveries) {
    made.delivery.id = parts_.ids.next(now);
    chunk.deliveries.push_back({std::move(made), 0});
  }
  const std::size_t rows = chunk.deliveries.size() + 1;
  POSTRIDER_TRY(report, parts_.store.expand_chunk(now, work.lease, chunk));
  work.cursor = chunk.cursor;
  if (chunk.finished) begun_.reset();
  report.rows = rows;
  return report;
}

}  // namespace postrider
