// Who gets the free places: lanes by weight and age, tenants by turns. Pure; the rows themselves stay in the store.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/lane.h"

namespace postrider {

struct LaneDemand {
  Lane lane = Lane::Standard;
  Duration oldest_age{};  // of the first row that waits there
};
struct LaneShare {
  Lane lane = Lane::Standard;
  int places = 0;
};
/// Splits `free` places over the lanes that have work. Priority first, then the lane whose head is oldest against its
/// target; weights 8 : 4 : 1 among those that contend, at least one place each while there are enough. No lane with
/// work starves.
std::vector<LaneShare> share_lanes(std::vector<LaneDemand> demands, int free);

/// Whose turn it is, one by one, where lanes contend for a single place: 8 : 4 : 1 as above, so that none starves.
class LaneWheel {
 public:
  /// The lane whose turn it is, or the most urgent one that may go instead; empty when none may.
  template <class MayGo>
  std::optional<Lane> next(MayGo may_go) {
    constexpr Lane P = Lane::Priority;
    constexpr Lane S = Lane::Standard;
    constexpr std::array kTurns{P, P, S, P, P, S, P, P, S, P, P, S, Lane::Bulk};
    std::optional<Lane> chosen;
    if (may_go(kTurns[turn_])) chosen = kTurns[turn_];
    for (std::size_t i = 0; !chosen && i < kLanes.size(); ++i) {
      if (may_go(kLanes[i])) chosen = kLanes[i];
    }
    if (chosen) turn_ = (turn_ + 1) % kTurns.size();
    return chosen;
  }

 private:
  std::size_t turn_ = 0;
};

/// Tokens that come at a rate and gather up to a burst. The time is the caller's and never goes back.
class TokenBucket {
 public:
  struct Rate {
    double per_second = 0;  // 0: no limit
    double burst = 0;       // 0: one second's worth
  };
  TokenBucket() = default;
  TokenBucket(Rate rate, Instant now) : rate_(rate), filled_at_(now), tokens_(full(1)) {}
  /// How many may be taken now, at most `wanted`, where so many nodes share the rate.
  int allows(int wanted, Instant now, int nodes);
  void take(int count) { tokens_ -= count; }
  void give_back(int count) { tokens_ += count; }

 private:
  [[nodiscard]] double full(int nodes) const;
  Rate rate_ = {};
  Instant filled_at_ = {};
  double tokens_ = 0;
};

struct TenantTurn {
  TenantId tenant = 0;
  int quota = 0;
};
/// Round robin with a moving start: every tenant that waits gets an equal part, the remainder goes round.
class TenantRing {
 public:
  /// At most kTenantsPerClaim tenants; the next call begins behind the last one served.
  std::vector<TenantTurn> share(const std::vector<TenantId>& waiting, int places);
  static constexpr std::size_t kTenantsPerClaim = 64;

 private:
  TenantId last_served_ = 0;
};

}  // namespace postrider
