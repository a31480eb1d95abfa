#include "core/fair_share.h"

#include <algorithm>

#include "base/check.h"

namespace postrider {
namespace {

int weight(Lane lane) {
  switch (lane) {
    case Lane::Priority: return 8;
    case Lane::Standard: return 4;
    case Lane::Bulk: return 1;
  }
  POSTRIDER_DIE("a Lane outside its enum");
}

double lateness(const LaneDemand& demand) {
  return static_cast<double>(demand.oldest_age.count()) / static_cast<double>(latency_target(demand.lane).count());
}

constexpr double kLate = 0.5;

}  // namespace

std::vector<LaneShare> share_lanes(std::vector<LaneDemand> demands, int free) {
  std::sort(demands.begin(), demands.end(), [](const LaneDemand& a, const LaneDemand& b) {
    if ((a.lane == Lane::Priority) != (b.lane == Lane::Priority)) return a.lane == Lane::Priority;
    const bool a_late = lateness(a) > kLate;
    const bool b_late = lateness(b) > kLate;
    if (a_late != b_late) return a_late;
    if (a_late && lateness(a) != lateness(b)) return lateness(a) > lateness(b);
    return a.lane < b.lane;
  });
  std::vector<LaneShare> shares;
  int weights = 0;
  for (const LaneDemand& demand : demands) weights += weight(demand.lane);
  int left = free;
  for (const LaneDemand& demand : demands) {
    if (left <= 0) break;
    const int fair = std::max(1, free * weight(demand.lane) / std::max(1, weights));
    shares.push_back({demand.lane, std::min(fair, left)});
    left -= shares.back().places;
  }
  if (!shares.empty()) shares.front().places += left;  // The remainder goes to the first in line.
  return shares;
}

// A burst of less than one would let nothing through, however long one waits.
double TokenBucket::full(int nodes) const {
  const double burst = rate_.burst > 0 ? rate_.burst : rate_.per_second;
  return std::max(1.0, burst / nodes);
}

int TokenBucket::allows(int wanted, Instant now, int nodes) {
  if (rate_.per_second <= 0) return wanted;
  nodes = std::max(1, nodes);
  const double passed = std::chrono::duration<double>(std::max(Duration{}, now - filled_at_)).count();
  filled_at_ = std::max(filled_at_, now);
  tokens_ = std::min(full(nodes), tokens_ + passed * rate_.per_second / nodes);
  return std::clamp(static_cast<int>(tokens_), 0, wanted);
}

std::vector<TenantTurn> TenantRing::share(const std::vector<TenantId>& waiting, int places) {
  std::vector<TenantId> ring = waiting;
  std::sort(ring.begin(), ring.end());
  ring.erase(std::unique(ring.begin(), ring.end()), ring.end());
  if (ring.empty() || places <= 0) return {};
  const auto behind = std::upper_bound(ring.begin(), ring.end(), last_served_);
  std::rotate(ring.begin(), behind, ring.end());
  const std::size_t served = std::min({ring.size(), kTenantsPerClaim, static_cast<std::size_t>(places)});
  ring.resize(served);
  const int each = places / static_cast<int>(served);
  const int extra = places % static_cast<int>(served);
  std::vector<TenantTurn> turns;
  for (std::size_t i = 0; i < served; ++i) turns.push_back({ring[i], each + (static_cast<int>(i) < extra ? 1 : 0)});
  last_served_ = ring.back();
  return turns;
}

}  // namespace postrider
