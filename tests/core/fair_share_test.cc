// Who gets the free places. What must hold is shown over many random rounds; the seed is in the message of a failure.
#include "core/fair_share.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "base/prng.h"

namespace postrider {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

int places_of(const std::vector<LaneShare>& shares, Lane lane) {
  int sum = 0;
  for (const LaneShare& share : shares) sum += share.lane == lane ? share.places : 0;
  return sum;
}
int total(const std::vector<LaneShare>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0, [](int sum, const LaneShare& s) { return sum + s.places; });
}

TEST(ShareLanes, NoDemandOrNoPlaceGivesNothing) {
  EXPECT_TRUE(share_lanes({}, 10).empty());
  EXPECT_EQ(total(share_lanes({{Lane::Bulk, seconds{1}}}, 0)), 0);
}

TEST(ShareLanes, ALaneAloneGetsEverything) {
  for (const Lane lane : kLanes) EXPECT_EQ(places_of(share_lanes({{lane, seconds{0}}}, 500), lane), 500);
}

TEST(ShareLanes, ContendingLanesShareEightToFourToOne) {
  const auto shares =
      share_lanes({{Lane::Bulk, seconds{0}}, {Lane::Standard, seconds{0}}, {Lane::Priority, seconds{0}}}, 130);
  EXPECT_EQ(places_of(shares, Lane::Priority), 80);
  EXPECT_EQ(places_of(shares, Lane::Standard), 40);
  EXPECT_EQ(places_of(shares, Lane::Bulk), 10);
}

TEST(ShareLanes, TheOnlyPlaceGoesToPriority) {
  const auto shares =
      share_lanes({{Lane::Bulk, minutes{60}}, {Lane::Standard, minutes{60}}, {Lane::Priority, seconds{0}}}, 1);
  EXPECT_EQ(places_of(shares, Lane::Priority), 1);
}

TEST(ShareLanes, BulkThatIsLateGoesBeforeStandardThatIsNot) {
  const auto shares = share_lanes({{Lane::Standard, seconds{1}}, {Lane::Bulk, minutes{10}}}, 1);
  EXPECT_EQ(places_of(shares, Lane::Bulk), 1);
}

TEST(ShareLanes, NeverGivesMoreThanIsFreeAndLeavesNoLaneWithWorkEmptyHanded) {
  Prng dice{42};
  for (int round = 0; round < 20'000; ++round) {
    std::vector<LaneDemand> demands;
    for (const Lane lane : kLanes) {
      if (dice.below(2) == 0) demands.push_back({lane, seconds{static_cast<std::int64_t>(dice.below(2'000))}});
    }
    const int free = static_cast<int>(dice.below(600));
    const auto shares = share_lanes(demands, free);
    ASSERT_EQ(total(shares), demands.empty() ? 0 : free) << "round " << round;
    if (free < static_cast<int>(demands.size())) continue;
    for (const LaneDemand& demand : demands) ASSERT_GE(places_of(shares, demand.lane), 1) << "round " << round;
  }
}

TEST(LaneWheel, GivesTurnsEightToFourToOne) {
  LaneWheel wheel;
  std::map<Lane, int> turns;
  for (int i = 0; i < 1'300; ++i) ++turns[*wheel.next([](Lane) { return true; })];
  EXPECT_EQ(turns, (std::map<Lane, int>{{Lane::Priority, 800}, {Lane::Standard, 400}, {Lane::Bulk, 100}}));
}

TEST(LaneWheel, ATurnThatNobodyTakesGoesToTheMostUrgentThatMayGo) {
  LaneWheel wheel;
  std::map<Lane, int> turns;
  for (int i = 0; i < 1'300; ++i) ++turns[*wheel.next([](Lane lane) { return lane != Lane::Priority; })];
  EXPECT_EQ(turns, (std::map<Lane, int>{{Lane::Standard, 1'200}, {Lane::Bulk, 100}}));
  EXPECT_FALSE(wheel.next([](Lane) { return false; }));
  EXPECT_EQ(wheel.next([](Lane lane) { return lane == Lane::Bulk; }), Lane::Bulk);
}

// --- tenants

std::map<TenantId, int> by_tenant(const std::vector<TenantTurn>& turns) {
  std::map<TenantId, int> out;
  for (const TenantTurn& turn : turns) out[turn.tenant] += turn.quota;
  return out;
}

TEST(TenantRing, NobodyWaitingOrNoPlaceGivesNothing) {
  TenantRing ring;
  EXPECT_TRUE(ring.share({}, 5).empty());
  EXPECT_TRUE(ring.share({1, 2}, 0).empty());
  EXPECT_TRUE(ring.share({1, 2}, -3).empty());
}

TEST(TenantRing, EveryoneGetsAnEqualPartAndTheRemainderIsNotLost) {
  TenantRing ring;
  const auto turns = by_tenant(ring.share({3, 1, 2, 2}, 8));
  EXPECT_EQ(turns.size(), 3U);
  int sum = 0;
  for (const auto& [tenant, quota] : turns) {
    EXPECT_TRUE(quota == 2 || quota == 3) << tenant;
    sum += quota;
  }
  EXPECT_EQ(sum, 8);
}

TEST(TenantRing, WithOnePlaceEachTenantIsServedInTurn) {
  TenantRing ring;
  std::map<TenantId, int> served;
  for (int round = 0; round < 300; ++round) {
    for (const TenantTurn& turn : ring.share({10, 20, 30}, 1)) served[turn.tenant] += turn.quota;
  }
  EXPECT_EQ(served, (std::map<TenantId, int>{{10, 100}, {20, 100}, {30, 100}}));
}

TEST(TenantRing, MoreTenantsThanOneClaimTakesAreAllReachedWithinTheirTurns) {
  TenantRing ring;
  std::vector<TenantId> waiting(1000);
  std::iota(waiting.begin(), waiting.end(), 1);
  std::map<TenantId, int> served;
  for (int round = 0; round < 16; ++round) {  // 16 × 64 > 1000
    const auto turns = ring.share(waiting, 500);
    EXPECT_LE(turns.size(), TenantRing::kTenantsPerClaim);
    for (const TenantTurn& turn : turns) served[turn.tenant] += turn.quota;
  }
  EXPECT_EQ(served.size(), waiting.size());
}

TEST(TenantRing, NoTenantThatKeepsWaitingStarvesWhoeverComesAndGoes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Prng dice{seed};
    TenantRing ring;
    constexpr TenantId kPatient = 500;
    int rounds_without = 0;
    for (int round = 0; round < 2'000; ++round) {
      std::vector<TenantId> waiting{kPatient};
      for (int i = 0; i < 100; ++i) {
        if (dice.below(3) == 0) waiting.push_back(1 + static_cast<TenantId>(dice.below(1'000)));
      }
      const int places = 1 + static_cast<int>(dice.below(20));
      const auto turns = by_tenant(ring.share(waiting, places));
      int sum = 0;
      for (const auto& [tenant, quota] : turns) sum += quota;
      ASSERT_EQ(sum, places);
      rounds_without = turns.contains(kPatient) ? 0 : rounds_without + 1;
      ASSERT_LT(rounds_without, 1'001) << "seed " << seed;
    }
  }
}

TEST(ShareLanes, OfTwoThatAreEquallyLateTheMoreUrgentGoesFirst) {
  for (const auto& demands : {std::vector<LaneDemand>{{Lane::Bulk, latency_target(Lane::Bulk)},
                                                      {Lane::Standard, latency_target(Lane::Standard)}},
                              std::vector<LaneDemand>{{Lane::Standard, latency_target(Lane::Standard)},
                                                      {Lane::Bulk, latency_target(Lane::Bulk)}}}) {
    const auto shares = share_lanes(demands, 1);
    ASSERT_EQ(shares.size(), 1U);
    EXPECT_EQ(shares[0].lane, Lane::Standard);
  }
}

}  // namespace
}  // namespace postrider
