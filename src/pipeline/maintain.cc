#include "pipeline/maintain.h"

#include "base/limits.h"

namespace postrider {
namespace {
constexpr Duration kPromoteEvery = std::chrono::milliseconds{50};
constexpr Duration kOrphansEvery = std::chrono::seconds{30};
constexpr Duration kExpireEvery = std::chrono::seconds{5};
}  // namespace

Result<MaintainReport> MaintainStage::turn(Instant now) {
  MaintainReport report;
  if (auto done = steps(now, report); !done) {
    // What is committed must reach those who go on with it, whatever failed behind it.
    if (!report.beat && report.taken_over.empty() && report.promoted.empty()) return done.error();
    report.trouble = done.error();
  }
  return report;
}

Result<Done> MaintainStage::steps(Instant now, MaintainReport& report) {
  if (now >= next_beat_) POSTRIDER_TRY_DONE(beat(now, report));
  if (report.declared_dead || duties_ == MaintainDuties::HeartbeatOnly) return Done{};
  if (orphans_due_ || now >= next_orphans_) POSTRIDER_TRY_DONE(take_over(now, report));
  if (now >= next_promote_) POSTRIDER_TRY_DONE(promote(now, report));
  if (now >= next_expire_) POSTRIDER_TRY_DONE(expire(now, report));
  return Done{};
}

Result<Done> MaintainStage::beat(Instant now, MaintainReport& report) {
  auto peers = store_.beat(now, node_);
  if (!peers && peers.error().code == ErrorCode::Conflict) {
    report.declared_dead = true;
    return Done{};
  }
  if (!peers) return peers.error();
  next_beat_ = now + kHeartbeatEvery;
  report.beat = true;
  report.living = static_cast<int>(peers->size());
  std::vector<NodeWatch::Seen> seen;
  for (const Peer& peer : *peers) seen.push_back({peer.node, peer.beats});
  if (duties_ == MaintainDuties::HeartbeatOnly) return Done{};
  for (const NodeId dead : watch_.round(seen)) {
    POSTRIDER_TRY_DONE(store_.remove(dead));
    report.found_dead.push_back(dead);
    orphans_due_ = true;
  }
  return Done{};
}

Result<Done> MaintainStage::take_over(Instant now, MaintainReport& report) {
  POSTRIDER_TRY(taken, store_.take_over(now, node_, kBatchMax));
  // A full batch means that there may be more; the next turn goes on.
  orphans_due_ = taken.size() >= kBatchMax;
  next_orphans_ = now + kOrphansEvery;
  report.taken_over = std::move(taken);
  return Done{};
}

Result<Done> MaintainStage::promote(Instant now, MaintainReport& report) {
  POSTRIDER_TRY(promoted, store_.promote(now, kBatchMax));
  next_promote_ = promoted.rows >= kBatchMax ? now : now + kPromoteEvery;
  if (promoted.next_due && *promoted.next_due > now && *promoted.next_due < next_promote_)
    next_promote_ = *promoted.next_due;
  report.promoted_rows = promoted.rows;
  report.promoted = std::move(promoted.groups);
  return Done{};
}

Result<Done> MaintainStage::expire(Instant now, MaintainReport& report) {
  POSTRIDER_TRY(count, store_.expire(now, kBatchMax));
  next_expire_ = count >= kBatchMax ? now : now + kExpireEvery;
  report.expired_rows = count;
  return Done{};
}

}  // namespace postrider
