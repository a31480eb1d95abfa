// Claim, send, record: what the machine asks for, and when it must not.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "pipeline/world.h"

namespace postrider {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// Queues rows, tells the dispatcher and lets the store answer: afterwards their calls are open.
std::vector<RowId> start(World& world, int count, Lane lane = Lane::Standard, int provider = 1) {
  auto ids = world.queue(count, lane, 1, provider);
  world.say_work(lane, 1, provider);
  world.store_answers_claims();
  return ids;
}

TEST(Dispatch, ARowGoesFromItsClaimToItsRecordAndLeavesNothingBehind) {
  World world;
  const RowId id = start(world, 1).front();
  EXPECT_EQ(world.calling(), std::vector{id});
  EXPECT_EQ(world.used(), 1);
  world.provider_answers(id, "accepted");
  world.store_answers_records();
  EXPECT_EQ(world.row(id).verdict->state, DeliveryState::Sent);
  EXPECT_EQ(world.row(id).attempt_end->outcome, OutcomeKind::Accepted);
  EXPECT_EQ(world.row(id).attempt_end->provider_message_id, "id");
  EXPECT_EQ(world.row(id).attempt, 1);
  EXPECT_EQ(world.used(), 0);
  EXPECT_TRUE(world.dispatcher.idle());
}

TEST(Dispatch, AClaimNeverAsksForMoreThanThePlacesItReserved) {
  World world{{.window = 16, .connections = 4}};
  world.queue(100);
  world.say_work();
  EXPECT_GT(world.reserved_by_open_claims(), 0);
  EXPECT_EQ(world.reserved_by_open_claims(), world.used());
  EXPECT_LE(world.used(), 16);
  world.store_answers_claims();
  EXPECT_LE(world.calling().size(), 4U);
  EXPECT_LE(world.used(), 16);
}

TEST(Dispatch, WhatAClaimDidNotFindIsGivenBack) {
  World world;
  start(world, 3);
  EXPECT_EQ(world.used(), 3);
  world.say_work();
  world.store_fails_claims();
  EXPECT_EQ(world.used(), 3);
}

TEST(Dispatch, AFailedClaimIsNotRepeatedInABusyLoop) {
  World world;
  world.queue(1);
  world.say_work();
  world.store_fails_claims();
  EXPECT_TRUE(world.claims.empty());
  world.look_at_heads();
  EXPECT_FALSE(world.claims.empty());
}

TEST(Dispatch, WorkThatAppearsWhileAClaimIsOpenIsNotForgotten) {
  World world;
  world.say_work();  // The store looks, and finds nothing yet.
  ASSERT_EQ(world.claims.size(), 1U);
  world.say_work();  // A row is committed behind the claim's back.
  world.store_answers_claims();
  EXPECT_EQ(world.claims.size(), 1U) << "the second word of work was lost";
}

TEST(Dispatch, EndsAreRecordedInBatchesWhileTheStoreIsBusy) {
  World world{{.window = 64, .connections = 32}};
  const auto ids = start(world, 20);
  ASSERT_EQ(world.calling().size(), 20U);
  world.provider_answers(ids[0], "accepted");
  ASSERT_EQ(world.records.size(), 1U);
  EXPECT_EQ(world.records.front()->size(), 1U);
  for (std::size_t i = 1; i < ids.size(); ++i) world.provider_answers(ids[i], "accepted");
  EXPECT_EQ(world.records.size(), 1U) << "while one batch is written the next one gathers";
  world.store_answers_records();
  EXPECT_EQ(world.records_asked, 2U);
  world.store_answers_records();
  EXPECT_TRUE(world.dispatcher.idle());
  for (const RowId id : ids) EXPECT_EQ(world.row(id).state, RowState::Done);
}

TEST(Dispatch, AnOutcomeThatCannotBeWrittenIsKeptAndWrittenLater) {
  World world;
  const auto ids = start(world, 2);
  world.provider_answers(ids[0], "accepted");
  world.store_fails_records();
  EXPECT_TRUE(world.records.empty()) << "not at once again";
  world.tick();
  EXPECT_TRUE(world.records.empty());
  world.pass(seconds{1});
  world.beat();
  ASSERT_EQ(world.records.size(), 1U);
  world.store_answers_records();
  EXPECT_EQ(world.row(ids[0]).verdict->state, DeliveryState::Sent);
}

TEST(Dispatch, WhileOutcomesCannotBeWrittenNothingNewIsStartedOrClaimed) {
  World world{{.connections = 1}};
  const auto ids = start(world, 3);
  world.provider_answers(ids[0], "accepted");  // the next one starts in its place
  ASSERT_EQ(world.calling(), std::vector{ids[1]});
  world.store_fails_records();
  world.provider_answers(ids[1], "accepted");
  EXPECT_TRUE(world.calling().empty());
  world.queue(5);
  world.say_work();
  EXPECT_TRUE(world.claims.empty());
  world.pass(seconds{1});
  world.beat();
  world.store_answers_records();
  world.store_answers_records();
  EXPECT_EQ(world.row(ids[0]).state, RowState::Done);
  EXPECT_EQ(world.row(ids[1]).state, RowState::Done);
  EXPECT_EQ(world.calling(), std::vector{ids[2]}) << "and now it goes on";
}

TEST(Dispatch, AStaleRecordIsCountedAndFreesItsPlace) {
  World world;
  const RowId id = start(world, 1).front();
  world.row(id).fence = 9;  // Another node holds it now.
  world.provider_answers(id, "accepted");
  world.store_answers_records();
  EXPECT_EQ(world.dispatcher.counts().stale, 1U);
  EXPECT_FALSE(world.row(id).verdict);
  EXPECT_EQ(world.used(), 0);
  EXPECT_TRUE(world.dispatcher.idle());
}

// --- the heartbeat

TEST(Dispatch, WithoutAHeartbeatForThreeSecondsNoCallStarts) {
  World world{{.connections = 1}};
  const auto ids = start(world, 2);
  world.pass(seconds{3});
  world.provider_answers(ids[0], "accepted");
  EXPECT_TRUE(world.calling().empty());
  world.queue(1);
  world.say_work();
  EXPECT_TRUE(world.claims.empty()) << "nor is anything claimed";
  world.beat();
  EXPECT_EQ(world.calling(), std::vector{ids[1]});
}

TEST(Dispatch, JustUnderThreeSecondsIsStillGood) {
  World world{{.connections = 1}};
  const auto ids = start(world, 2);
  world.pass(seconds{3} - milliseconds{1});
  world.provider_answers(ids[0], "accepted");
  EXPECT_EQ(world.calling(), std::vector{ids[1]});
}

// Found by the simulator: with the clock put back, three seconds without a heartbeat lasted an hour.
TEST(Dispatch, ACorrectedClockNeitherLengthensTheLeaseNorEndsIt) {
  for (const Duration by : {Duration{-std::chrono::hours{1}}, Duration{std::chrono::hours{1}}}) {
    World world;
    world.queue(1);
    world.beat();
    world.correct_clock(by);
    world.tick();
    EXPECT_TRUE(world.aborts.empty());
    world.say_work();
    world.store_answers_claims();
    EXPECT_EQ(world.calling().size(), 1U) << "the lease is as good as before";
    world.pass(kNoCallsWithoutBeatFor);
    world.queue(1);
    world.say_work();
    world.store_answers_claims();
    EXPECT_EQ(world.calling().size(), 1U) << "and ends when it would have";
  }
}

TEST(Dispatch, WithoutAHeartbeatForFiveSecondsOpenCallsAreAborted) {
  World world;
  const auto ids = start(world, 2);
  world.pass(seconds{5} - milliseconds{1});
  world.tick();
  EXPECT_TRUE(world.aborts.empty());
  world.pass(milliseconds{1});
  world.tick();
  EXPECT_EQ(world.aborts.size(), 2U);
  world.aborted_calls_end(BrokenAt::Whole);
  while (!world.records.empty()) world.store_answers_records();
  for (const RowId id : ids) {
    EXPECT_EQ(world.row(id).attempt_end->outcome, OutcomeKind::Unclear);
    EXPECT_TRUE(world.row(id).verdict->possible_duplicate);
  }
}

TEST(Dispatch, ACallAbortedBeforeAByteLeftIsGivenBackAndNotCounted) {
  World world;
  const RowId id = start(world, 1).front();
  world.abort_all();
  world.aborted_calls_end(BrokenAt::Nothing);
  EXPECT_TRUE(world.records.empty());
  world.store_answers_releases();
  EXPECT_EQ(world.row(id).state, RowState::Waiting);
  EXPECT_EQ(world.row(id).attempt, 0);
  EXPECT_EQ(world.used(), 0);
}

// --- stopping

TEST(Dispatch, StopGivesBackWhatWasNotBegunAndLetsOpenCallsEnd) {
  World world{{.connections = 1}};
  const auto ids = start(world, 4);
  world.stop();
  world.store_answers_releases();
  for (std::size_t i = 1; i < ids.size(); ++i) EXPECT_EQ(world.row(ids[i]).state, RowState::Waiting);
  EXPECT_EQ(world.calling(), std::vector{ids[0]});
  EXPECT_FALSE(world.dispatcher.idle());
  world.provider_answers(ids[0], "accepted");
  world.store_answers_records();
  EXPECT_EQ(world.row(ids[0]).verdict->state, DeliveryState::Sent);
  EXPECT_TRUE(world.dispatcher.idle());
  EXPECT_EQ(world.used(), 0);
}

TEST(Dispatch, WhatArrivesAfterStopIsGivenBackToo) {
  World world;
  const auto ids = world.queue(2);
  world.say_work();
  const RowId owned = world.queue(1, Lane::Priority).front();
  world.stop();
  world.store_answers_claims();
  world.own(owned);
  for (int i = 0; i < 3; ++i) world.store_answers_releases();
  EXPECT_TRUE(world.calling().empty());
  for (const auto& [id, row] : world.rows) EXPECT_EQ(row.state, RowState::Waiting) << id;
  EXPECT_EQ(world.used(), 0);
  EXPECT_TRUE(world.dispatcher.idle());
  EXPECT_TRUE(world.claims.empty());
}

TEST(Dispatch, AReleaseThatFailsIsTriedAgainButNotInABusyLoop) {
  World world;
  const RowId id = start(world, 1).front();
  world.abort_all();
  world.aborted_calls_end(BrokenAt::Nothing);
  ASSERT_EQ(world.releases.size(), 1U);
  world.store_fails_releases();
  EXPECT_TRUE(world.releases.empty()) << "a store that is down would be asked again and again without a pause";
  world.pass(seconds{1});
  world.beat();
  world.store_answers_releases();
  EXPECT_EQ(world.row(id).state, RowState::Waiting);
}

// --- expiry

TEST(Dispatch, ARowThatExpiredBeforeItsCallIsSettledWithoutOne) {
  World world{{.connections = 1}};
  const auto ids = world.queue(2);
  world.delivery(ids[1]).expires_at = world.now + seconds{2};
  world.say_work();
  world.store_answers_claims();
  world.pass(seconds{2});
  world.provider_answers(ids[0], "accepted");
  EXPECT_EQ(world.row(ids[1]).calls, 0);
  world.store_answers_records();
  world.store_answers_records();
  EXPECT_EQ(world.row(ids[1]).verdict->state, DeliveryState::Expired);
  EXPECT_EQ(world.row(ids[1]).attempt, 0) << "no call was made, so none is counted";
  EXPECT_FALSE(world.row(ids[1]).attempt_end);
  EXPECT_EQ(world.used(), 0);
}

TEST(Dispatch, ACallSaysWhenItExpires) {
  World world{{.connections = 8}};
  const auto ids = world.queue(2);
  const Instant expiry = world.now + seconds{2};
  world.delivery(ids[1]).expires_at = expiry;
  world.say_work();
  world.store_answers_claims();
  ASSERT_EQ(world.calls.size(), 2U);
  EXPECT_EQ(world.calls[0].expires_at, Instant::max());
  EXPECT_EQ(world.calls[1].expires_at, expiry)
      << "what waits for a connection may wait past it, or the clock may be set";
}

TEST(Dispatch, ARowWhoseAddressIsSuppressedByNowIsSettledWithoutACall) {
  World world;
  const auto ids = world.queue(2);
  world.refused[ids[0]] = "complaint";
  world.say_work();
  world.store_answers_claims();
  EXPECT_EQ(world.calling(), std::vector<RowId>{ids[1]});
  world.provider_answers(ids[1], "accepted");
  world.store_answers_records();
  world.store_answers_records();
  EXPECT_EQ(world.row(ids[0]).verdict->state, DeliveryState::Suppressed);
  EXPECT_EQ(world.row(ids[0]).verdict->reason, Reason::SuppressedAddress);
  EXPECT_EQ(world.row(ids[0]).detail, "complaint");
  EXPECT_EQ(world.row(ids[0]).attempt, 0) << "no call was made, so none is counted";
  EXPECT_FALSE(world.row(ids[0]).attempt_end);
  EXPECT_EQ(world.used(), 0) << "its place is free again";
}

// --- outcomes

TEST(Dispatch, EachOutcomeLeadsWhereItsVerdictSays) {
  for (const auto& [answer, state] :
       {std::pair{"accepted", DeliveryState::Sent}, std::pair{"transient", DeliveryState::Retrying},
        std::pair{"permanent", DeliveryState::Parked}, std::pair{"unclear", DeliveryState::Retrying}}) {
    World world;
    const RowId id = start(world, 1).front();
    world.provider_answers(id, answer);
    world.store_answers_records();
    EXPECT_EQ(world.row(id).verdict->state, state) << answer;
    if (state == DeliveryState::Retrying) {
      EXPECT_EQ(world.row(id).verdict->due_at, world.now + minutes{1});
    }
  }
}

TEST(Dispatch, AMisconfiguredProviderIsHeldWithOneAlarmAndUsesUpNoAttempt) {
  World world{{.window = 64, .connections = 4}};
  const auto ids = start(world, 10);
  world.provider_answers(ids[0], "misconfigured");
  world.provider_answers(ids[1], "misconfigured");
  ASSERT_EQ(world.alarms.size(), 1U);
  EXPECT_EQ(world.alarms.front().provider, 1);
  world.store_answers_records();
  world.store_answers_records();
  EXPECT_EQ(world.row(ids[0]).attempt, 0);
  EXPECT_EQ(world.row(ids[0]).verdict->state, DeliveryState::Retrying);
  world.store_answers_releases();
  for (std::size_t i = 4; i < ids.size(); ++i) EXPECT_EQ(world.row(ids[i]).state, RowState::Waiting) << "given back";
  EXPECT_FALSE(world.places.may_own(1, Lane::Standard));
  world.look_at_heads();
  EXPECT_TRUE(world.claims.empty()) << "nothing is claimed for a provider that is held";
}

TEST(Dispatch, AHeldProviderIsTriedAgainAfterItsHoldAndThenAlarmsAnew) {
  World world;
  const RowId first = start(world, 1).front();
  world.provider_answers(first, "misconfigured");
  world.store_answers_records();
  world.pass(kMisconfiguredHold);
  world.beat();
  const RowId second = start(world, 1).front();
  ASSERT_EQ(world.calling(), std::vector{second});
  world.provider_answers(second, "misconfigured");
  EXPECT_EQ(world.alarms.size(), 2U);
}

TEST(Dispatch, ATakenOverRowBecomesUnclearUnderTheOldFence) {
  for (const auto& [guarantee, state] : {std::pair{Guarantee::AtLeastOnce, DeliveryState::Retrying},
                                         std::pair{Guarantee::AtMostOnce, DeliveryState::Parked},
                                         std::pair{Guarantee::Reconcile, DeliveryState::Parked}}) {
    World world;
    const RowId id = world.queue(1, Lane::Standard, 1, 1, guarantee).front();
    world.take_over(id);
    EXPECT_EQ(world.row(id).calls, 0) << "it is not called by whoever takes it over";
    world.store_answers_records();
    EXPECT_EQ(world.row(id).verdict->state, state) << to_text(guarantee);
    EXPECT_EQ(world.row(id).attempt_end->outcome, OutcomeKind::Unclear);
    EXPECT_EQ(world.row(id).attempt_end->reason, Reason::NodeLost);
    EXPECT_EQ(world.row(id).attempt_fence, 1) << "the call belongs to the lease that was lost";
    EXPECT_EQ(world.row(id).attempt, 1);
    EXPECT_EQ(world.used(), 0);
    EXPECT_TRUE(world.dispatcher.idle());
  }
}

TEST(Dispatch, AProcessThatOnlyMaintainsEndsLostLeasesButClaimsNothing) {
  World world{{.sends = false}};
  const RowId lost = world.queue(1).front();
  world.take_over(lost);
  world.store_answers_records();
  EXPECT_EQ(world.row(lost).state, RowState::Done);
  world.queue(5);
  world.look_at_heads();
  EXPECT_TRUE(world.claims.empty());
}

TEST(Dispatch, OwnedRowsAreCalledLikeClaimedOnes) {
  World world;
  const RowId id = world.queue(1).front();
  world.own(id);
  EXPECT_EQ(world.calling(), std::vector{id});
  EXPECT_EQ(world.used(), 1);
  world.provider_answers(id, "accepted");
  world.store_answers_records();
  EXPECT_EQ(world.used(), 0);
}

TEST(Dispatch, NewRowsMayBeOwnedOnlyWhileNothingOlderWaits) {
  World world;
  world.tick();
  EXPECT_TRUE(world.places.may_own(1, Lane::Standard));
  world.queue(100);
  world.say_work();
  EXPECT_FALSE(world.places.may_own(1, Lane::Standard));
  EXPECT_TRUE(world.places.may_own(1, Lane::Priority)) << "what is less urgent does not hold it up";
  EXPECT_FALSE(world.places.may_own(1, Lane::Bulk));
  world.drain();
  EXPECT_TRUE(world.places.may_own(1, Lane::Standard));
}

TEST(Dispatch, ManyMoreEndsThanOneBatchHoldsAreWrittenInSeveral) {
  World world{{.window = 4096, .connections = 2048}};
  for (int i = 0; i < 4; ++i) start(world, 500);
  ASSERT_GT(world.calling().size(), kBatchMax);
  world.provider_answers_all("accepted");
  while (!world.records.empty()) {
    EXPECT_LE(world.records.front()->size(), kBatchMax);
    world.store_answers_records();
  }
  EXPECT_TRUE(world.calling().empty() || !world.dispatcher.idle());
}

TEST(Dispatch, ATakenOverRowOfAProviderThatIsNoMoreIsEndedToo) {
  World world;
  const RowId id = world.queue(1).front();
  world.rules.providers.clear();
  world.rules.index();
  world.take_over(id);
  world.store_answers_records();
  EXPECT_EQ(world.row(id).verdict->state, DeliveryState::Retrying);
}

TEST(Dispatch, WorkOfATenantThatIsNotConfiguredWaits) {
  World world;
  world.say_work(Lane::Standard, 99);
  EXPECT_TRUE(world.claims.empty());
}

TEST(Dispatch, WorkOfAChannelWhoseChainIsEmptyWaits) {
  World world;
  world.rules.chains.clear();
  world.say_work();
  EXPECT_TRUE(world.claims.empty());
}

TEST(Dispatch, WorkIsClaimedByTheTenantsOwnProviderOfItsChannel) {
  World world{{.providers = 2, .tenants = 2}};
  world.rules.providers[1].channel = world.rules.providers[0].channel;
  world.rules.tenants[1].chains = {{world.rules.providers[0].channel, {2}}};
  world.say_work(Lane::Standard, 2);
  ASSERT_EQ(world.claims.size(), 1U);
  EXPECT_EQ(world.claims[0].shares.at(0).provider, 2);
}

TEST(Dispatch, IsNotIdleWhileARowIsHeldOrWaitsToBeGivenBack) {
  World world;
  world.queue(1);
  world.say_work();
  world.pass(std::chrono::seconds{4});
  world.store_answers_claims();
  EXPECT_TRUE(world.calling().empty()) << "no heartbeat: it may not be called";
  EXPECT_FALSE(world.dispatcher.idle());
  world.stop();
  world.store_fails_releases();
  EXPECT_FALSE(world.dispatcher.idle());
  world.pass(std::chrono::seconds{10});
  world.tick();
  world.store_answers_releases();
  EXPECT_TRUE(world.dispatcher.idle());
}

}  // namespace
}  // namespace postrider
