// Nobody holds up anybody else: providers, lanes, tenants, and rows that may be called only once.
#include <gtest/gtest.h>

#include <map>

#include "base/limits.h"
#include "pipeline/world.h"

namespace postrider {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int count_calling(World& world, Lane lane) {
  int count = 0;
  for (const RowId id : world.calling()) count += world.delivery(id).lane == lane ? 1 : 0;
  return count;
}
int count_done(World& world, Lane lane, TenantId tenant = 1) {
  int count = 0;
  for (const auto& [id, row] : world.rows)
    count += row.state == RowState::Done && row.delivery.lane == lane && row.delivery.tenant == tenant ? 1 : 0;
  return count;
}
/// One turn of a busy day: one call ends, the store answers everything.
void one_call_ends(World& world) {
  world.pass(milliseconds{20});
  world.beat();
  const auto calling = world.calling();
  if (!calling.empty()) world.provider_answers(calling.front(), "accepted");
  world.store_answers_records();
  world.store_answers_claims();
}

TEST(Fairness, AHungProviderDoesNotStopAnothersCalls) {
  World world{{.providers = 2, .window = 16, .connections = 4}};
  world.queue(100, Lane::Standard, 1, 1);
  world.say_work(Lane::Standard, 1, 1);
  world.store_answers_claims();
  const auto hung = world.calling();
  ASSERT_FALSE(hung.empty());
  world.queue(50, Lane::Standard, 1, 2);
  world.say_work(Lane::Standard, 1, 2);
  for (int turn = 0; turn < 200; ++turn) {
    world.pass(milliseconds{20});
    world.beat();
    world.store_answers_claims();
    for (const RowId id : world.calling()) {
      if (world.delivery(id).channel == kChannels[1]) world.provider_answers(id, "accepted");
    }
    world.store_answers_records();
    if (turn % 10 == 0) world.look_at_heads();
  }
  int done = 0;
  for (const auto& [id, row] : world.rows) done += row.state == RowState::Done ? 1 : 0;
  EXPECT_EQ(done, 50);
  EXPECT_EQ(world.calling(), hung);
  EXPECT_LE(world.used(1), 16) << "what it holds is bounded";
}

TEST(Fairness, PriorityIsStartedBeforeBulk) {
  World world{{.window = 64, .connections = 1}};
  const RowId blocker = world.queue(1).front();
  world.say_work();
  world.store_answers_claims();
  world.queue(5, Lane::Bulk);
  world.queue(2, Lane::Priority);
  world.look_at_heads();
  world.store_answers_claims();
  world.provider_answers(blocker, "accepted");
  ASSERT_EQ(world.calling().size(), 1U);
  EXPECT_EQ(world.delivery(world.calling().front()).lane, Lane::Priority);
}

TEST(Fairness, ConnectionsAreKeptForPriority) {
  World world{{.window = 256, .connections = 16}};
  world.queue(100, Lane::Bulk);
  world.queue(100, Lane::Standard);
  world.look_at_heads();
  world.store_answers_claims();
  EXPECT_EQ(world.calling().size(), 14U) << "an eighth stays free";
  world.queue(2, Lane::Priority);
  world.say_work(Lane::Priority);
  for (int turn = 0; turn < 2; ++turn) world.store_answers_claims();  // One claim was still open.
  EXPECT_EQ(count_calling(world, Lane::Priority), 2) << "although everything else is busy";
}

TEST(Fairness, PriorityIsClaimedAtOnceHoweverFullTheWindowIs) {
  World world{{.window = 32, .connections = 8}};
  world.queue(500, Lane::Standard);
  world.look_at_heads();
  world.store_answers_claims();
  for (int turn = 0; turn < 5; ++turn) world.look_at_heads(), world.store_answers_claims();
  const RowId urgent = world.queue(1, Lane::Priority).front();
  world.say_work(Lane::Priority);
  world.store_answers_claims();
  EXPECT_EQ(world.row(urgent).calls, 1) << "used " << world.used() << " of 32";
}

TEST(Fairness, BulkIsNotStarvedByAnEndlessStreamOfStandard) {
  for (const int window : {4, 16, 64}) {
    World world{{.window = window, .connections = 4}};
    world.queue(3'000, Lane::Standard);
    world.queue(50, Lane::Bulk);
    world.look_at_heads();
    world.store_answers_claims();
    for (int turn = 0; turn < 1'000; ++turn) {
      if (turn % 5 == 0) world.look_at_heads();
      one_call_ends(world);
    }
    EXPECT_GE(count_done(world, Lane::Bulk), 20) << "window " << window;
    EXPECT_GE(count_done(world, Lane::Standard), 600) << "window " << window;
  }
}

TEST(Fairness, BulkIsNotStarvedByAnEndlessStreamOfPriority) {
  World world{{.window = 64, .connections = 8}};
  world.queue(3'000, Lane::Priority);
  world.queue(20, Lane::Bulk);
  world.look_at_heads();
  world.store_answers_claims();
  for (int turn = 0; turn < 1'500; ++turn) {
    if (turn % 5 == 0) world.look_at_heads();
    one_call_ends(world);
  }
  EXPECT_GE(count_done(world, Lane::Bulk), 10);
  EXPECT_GE(count_done(world, Lane::Priority), 1'000);
}

TEST(Fairness, OneTenantsMillionDoesNotHoldUpAnothersOne) {
  World world{{.window = 32, .connections = 8, .tenants = 2}};
  world.queue(5'000, Lane::Standard, 1);
  world.look_at_heads();
  world.store_answers_claims();
  const RowId single = world.queue(1, Lane::Standard, 2).front();
  world.say_work(Lane::Standard, 2);
  int turns = 0;
  while (world.row(single).state != RowState::Done && turns < 200) {
    one_call_ends(world);
    if (++turns % 5 == 0) world.look_at_heads();
  }
  EXPECT_LT(turns, 64) << "it waited for more than two windows of the other's rows";
}

// --- at most once

int quota_of(const std::vector<ClaimRequest>& claims, ClaimWhat what) {
  int sum = 0;
  for (const ClaimRequest& request : claims) {
    for (const TenantShare& share : request.shares) sum += request.what == what ? share.quota : 0;
  }
  return sum;
}

TEST(AtMostOnce, RowsAreClaimedOnlyForFreeConnections) {
  World world{{.window = 256, .connections = 8, .guarantee = Guarantee::AtMostOnce}};
  world.queue(100, Lane::Priority, 1, 1, Guarantee::AtMostOnce);
  world.say_work(Lane::Priority);
  EXPECT_LE(quota_of(world.claims, ClaimWhat::AtMostOnceOnly), 8);
  world.store_answers_claims();
  for (int turn = 0; turn < 50; ++turn) {
    for (const auto& [id, row] : world.rows) {
      EXPECT_EQ(row.state == RowState::Held, row.calls == 1 && !row.verdict) << "held but not called: row " << id;
    }
    one_call_ends(world);
    world.look_at_heads();
    world.store_answers_claims();
  }
}

TEST(AtMostOnce, AllLanesTogetherAreClaimedOnlyForFreeConnections) {
  World world{{.window = 256, .connections = 8, .guarantee = Guarantee::AtMostOnce}};
  for (const Lane lane : kLanes) world.queue(100, lane, 1, 1, Guarantee::AtMostOnce);
  world.look_at_heads();
  EXPECT_LE(quota_of(world.claims, ClaimWhat::AtMostOnceOnly), 8);
}

TEST(AtMostOnce, ConnectionsKeptForPriorityAreNotFreeForOthers) {
  World world{{.window = 256, .connections = 16, .guarantee = Guarantee::AtMostOnce}};
  world.queue(100, Lane::Bulk, 1, 1, Guarantee::AtMostOnce);
  world.look_at_heads();
  EXPECT_LE(quota_of(world.claims, ClaimWhat::AtMostOnceOnly), 14);
}

TEST(AtMostOnce, TenantsTakeTurns) {
  World world{{.window = 64, .connections = 1, .tenants = 3, .guarantee = Guarantee::AtMostOnce}};
  for (TenantId tenant = 1; tenant <= 3; ++tenant) world.queue(100, Lane::Priority, tenant, 1, Guarantee::AtMostOnce);
  for (int turn = 0; turn < 60; ++turn) {
    world.look_at_heads();
    world.store_answers_claims();
    one_call_ends(world);
  }
  for (TenantId tenant = 1; tenant <= 3; ++tenant) EXPECT_GE(count_done(world, Lane::Priority, tenant), 10) << tenant;
}

TEST(AtMostOnce, RowsThatAnEarlierConfigurationMadeAreStillSent) {
  World world;  // no route is at-most-once any more
  const RowId id = world.queue(1, Lane::Standard, 1, 1, Guarantee::AtMostOnce).front();
  world.look_at_heads();
  world.store_answers_claims();
  EXPECT_EQ(world.row(id).calls, 1);
}

TEST(AtMostOnce, AnUnclearCallIsParkedAndNeverRepeated) {
  World world{{.guarantee = Guarantee::AtMostOnce}};
  const RowId id = world.queue(1, Lane::Priority, 1, 1, Guarantee::AtMostOnce).front();
  world.say_work(Lane::Priority);
  world.store_answers_claims();
  world.provider_answers(id, "unclear");
  world.store_answers_records();
  EXPECT_EQ(world.row(id).verdict->state, DeliveryState::Parked);
  EXPECT_EQ(world.row(id).verdict->reason, Reason::UnclearNotRepeated);
}

TEST(Fairness, BulkKeepsItsShareBesideAPriorityLaneThatNeverEmpties) {
  World world{{.window = 256, .connections = 16}};
  world.queue(3000, Lane::Priority);
  world.queue(3000, Lane::Bulk);
  int bulk = 0;
  int all = 0;
  while (all < 2000) {
    world.beat();
    world.look_at_heads();
    world.store_answers_claims();
    const auto calling = world.calling();
    ASSERT_FALSE(calling.empty());
    for (const RowId id : calling) {
      ++all;
      bulk += world.delivery(id).lane == Lane::Bulk ? 1 : 0;
      world.provider_answers(id, "accepted");
    }
    world.store_answers_records();
  }
  EXPECT_GT(bulk, all / 20) << "its weight is one thirteenth";
  EXPECT_LT(bulk, all / 8);
}

TEST(Fairness, ALaneIsToppedUpInStrides) {
  for (const Lane lane : kLanes) {
    World world{{.window = 256, .connections = 16}};
    world.queue(2000, lane);
    world.look_at_heads();
    for (int turn = 0; turn < 60; ++turn) {
      for (const ClaimRequest& claim : world.claims) {
        if (claim.what != ClaimWhat::Prefetchable) continue;
        EXPECT_GE(claim.shares.front().quota, 64) << to_text(lane);
      }
      world.store_answers_claims();
      one_call_ends(world);
      world.store_answers_records();
      world.look_at_heads();
    }
  }
}

TEST(Ahead, AProviderThatAnswersQuicklyGetsCallsBeyondItsConnections) {
  World world{{.window = 256, .connections = 8, .ahead = 8}};
  world.queue(200);
  world.look_at_heads();
  world.store_answers_claims();
  EXPECT_EQ(world.calling().size(), 7U) << "nothing is known of it yet";
  for (int i = 0; i < 40; ++i) one_call_ends(world);
  EXPECT_EQ(world.calling().size(), 15U);
  world.call_time = std::chrono::seconds{1};
  for (int i = 0; i < 9; ++i) one_call_ends(world);
  EXPECT_EQ(world.calling().size(), 7U) << "a slow one gets no more than it has connections for";
}

TEST(Ahead, NoMoreThanItTakesUntilOurNextTurn) {
  World world{{.window = 256, .connections = 8, .ahead = 100}};
  world.call_time = std::chrono::milliseconds{10};
  world.queue(200);
  world.look_at_heads();
  world.store_answers_claims();
  for (int i = 0; i < 100; ++i) one_call_ends(world);  // until it is known how long its calls take
  EXPECT_GE(world.calling().size(), 7U + 3U);
  EXPECT_LE(world.calling().size(), 7U + 4U) << "eight connections take four more within 5 ms";
}

TEST(Held, ASlowProviderHasNoMoreHeldThanItTakesInASecondButFourForEachConnection) {
  for (const auto& [call_time, held] : {std::pair{std::chrono::milliseconds{1}, 256},
                                        {std::chrono::milliseconds{100}, 80},
                                        {std::chrono::milliseconds{10'000}, 32}}) {
    World world{{.window = 256, .connections = 8}};
    world.call_time = call_time;
    world.queue(2'000);
    for (int turn = 0; turn < 600; ++turn) {
      world.look_at_heads();
      world.store_answers_claims();
      one_call_ends(world);
      world.store_answers_records();
    }
    EXPECT_LE(world.places.used(1), held) << call_time.count() << " ms";
    EXPECT_GE(world.places.used(1), held / 2) << call_time.count() << " ms";
  }
}

TEST(Ahead, NoCallMayBeBegunWithoutABeatForLong) {
  World world{{.connections = 8, .ahead = 8}};
  world.queue(20);
  world.beat();
  const Instant beat = world.now;
  world.pass(std::chrono::seconds{1});
  world.look_at_heads();
  world.store_answers_claims();
  ASSERT_FALSE(world.calls.empty());
  for (const Call& call : world.calls) EXPECT_EQ(call.start_by, beat + kNoCallsWithoutBeatFor);
}

TEST(Ahead, WhatMayBeCalledOnlyOnceWaitsForAFreeConnection) {
  World world{{.window = 256, .connections = 8, .ahead = 8, .guarantee = Guarantee::AtMostOnce}};
  world.queue(100, Lane::Priority, 1, 1, Guarantee::AtMostOnce);
  for (int turn = 0; turn < 30; ++turn) {
    world.look_at_heads();
    world.store_answers_claims();
    ASSERT_LE(world.calling().size(), 8U);
    one_call_ends(world);
  }
}

}  // namespace
}  // namespace postrider
