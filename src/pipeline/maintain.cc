#include "pipeline/maintain.h"

#include <algorithm>

#include "base/limits.h"

namespace postrider {
namespace {
constexpr Duration kPromoteEvery = std::chrono::milliseconds{50};
constexpr Duration kOrphansEvery = std::chrono::seconds{30};
constexpr Duration kExpireEvery = std::chrono::seconds{5};
}  // namespace

Result<MaintainReport> MaintainStage::turn(Moment at) {
  MaintainReport report;
  if (auto done = steps(at, report); !done) {
    // What is committed must reach those who go on with it, whatever failed behind it.
    if (!report.beat && report.taken_over.empty() && report.promoted.empty()) return done.error();
    report.trouble = done.error();
  }
  return report;
}

Result<Done> MaintainStage::steps(Moment at, MaintainReport& report) {
  if (at.steady >= next_beat_) POSTRIDER_TRY_DONE(beat(at, report));
  if (report.declared_dead || duties_ == MaintainDuties::HeartbeatOnly) return Done{};
  if (orphans_due_ || at.steady >= next_orphans_) POSTRIDER_TRY_DONE(take_over(at, report));
  if (at.steady >= next_promote_) POSTRIDER_TRY_DONE(promote(at, report));
  if (at.steady >= next_expire_) POSTRIDER_TRY_DONE(expire(at, report));
  return Done{};
}

Result<Done> MaintainStage::beat(Moment at, MaintainReport& report) {
  auto peers = store_.beat(at.now, node_);
  if (!peers && peers.error().code == ErrorCode::Conflict) {
    report.declared_dead = true;
    return Done{};
  }
  if (!peers) return peers.error();
  next_beat_ = at.steady + kHeartbeatEvery;
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

Result<Done> MaintainStage::take_over(Moment at, MaintainReport& report) {
  POSTRIDER_TRY(taken, store_.take_over(at.now, node_, kBatchMax));
  // A full batch means that there may be more; the next turn goes on.
  orphans_due_ = taken.size() >= kBatchMax;
  next_orphans_ = at.steady + kOrphansEvery;
  report.taken_over = std::move(taken);
  return Done{};
}

Result<Done> MaintainStage::promote(Moment at, MaintainReport& report) {
  POSTRIDER_TRY(promoted, store_.promote(at.now, kBatchMax));
  Duration wait = promoted.rows >= kBatchMax ? Duration{} : kPromoteEvery;
  if (promoted.next_due && *promoted.next_due > at.now) wait = std::min(wait, *promoted.next_due - at.now);
  next_promote_ = at.steady + wait;
  report.promoted_rows = promoted.rows;
  report.promoted = std::move(promoted.groups);
  return Done{};
}

Result<Done> MaintainStage::expire(Moment at, MaintainReport& report) {
  POSTRIDER_TRY(count, store_.expire(at.now, kBatchMax));
  next_expire_ = count >= kBatchMax ? at.steady : at.steady + kExpireEvery;
  report.expired_rows = count;
  return Done{};
}

}  // namespace postrider
