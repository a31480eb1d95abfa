// Heartbeat, take-over, promotion and expiry, over the model store.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "pipeline/expand.h"
#include "pipeline/faulty_session.h"
#include "pipeline/maintain.h"

namespace postrider {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Keeper : Bench {
  Rules rules = make_rules();
  ExpandStage expander{{.store = session, .rules = rules, .ids = ids, .node = node}, 1};
  MaintainStage stage{session, node};

  static Rules make_rules() {
    Rules rules;
    rules.tenants = {{1, "acme", {}}};
    Template text{.key = "t", .type = "plain", .channel = Channel::Push};
    text.texts.push_back({.body = *CompiledText::compile("Hi")});
    rules.templates.add(std::move(text));
    rules.index();
    return rules;
  }
  void queue_due(Instant due_at, std::string expires_at = "") {
    OutboxRow row;
    row.tenant = "acme";
    row.type = "plain";
    row.payload = R"({"pushToken":"t"})";
    row.due_at = format_instant(due_at);
    row.expires_at = std::move(expires_at);
    database->insert_outbox(row);
    ASSERT_TRUE(expander.turn(now));
  }
};

TEST(MaintainStage, BeatsOnceASecond) {
  Keeper k;
  int beats = 0;
  for (int i = 0; i < 100; ++i) {
    beats += k.stage.turn(k.now)->beat ? 1 : 0;
    k.now += milliseconds{100};
  }
  EXPECT_EQ(beats, 10);
}

// Found by the simulator: the next beat was due an hour later, and the others took the node for dead.
TEST(MaintainStage, AClockThatIsPutBackDoesNotSilenceTheHeartbeat) {
  Keeper k;
  const Duration back = std::chrono::hours{1};
  ASSERT_TRUE(k.stage.turn({k.now, k.now})->beat);
  EXPECT_FALSE(k.stage.turn({k.now - back, k.now + milliseconds{500}})->beat);
  EXPECT_TRUE(k.stage.turn({k.now - back, k.now + seconds{1}})->beat);
}

TEST(MaintainStage, AClockThatIsPutBackDoesNotStopTheLookForWhatIsDue) {
  Keeper k;
  const Instant corrected = k.now - std::chrono::minutes{30};
  k.queue_due(k.now + seconds{1});
  ASSERT_EQ(k.stage.turn({k.now, k.now})->promoted_rows, 0U);
  EXPECT_EQ(k.stage.turn({corrected, k.now + seconds{1}})->promoted_rows, 0U);  // by the corrected clock it is not due
  EXPECT_EQ(k.stage.turn({k.now + seconds{1}, k.now + seconds{2}})->promoted_rows, 1U);
}

TEST(MaintainStage, ABeatThatFailsIsTriedAgainAtTheNextTurn) {
  Keeper k;
  k.session.beat_fails = Error{ErrorCode::Unavailable, "gone"};
  EXPECT_FALSE(k.stage.turn(k.now));
  k.session.beat_fails.reset();
  EXPECT_TRUE(k.stage.turn(k.now + milliseconds{5})->beat);
}

TEST(MaintainStage, ANodeThatWasDeclaredDeadSaysSoAndDoesNothingElse) {
  Keeper k;
  ASSERT_TRUE(k.session.remove(k.node));
  const auto report = k.stage.turn(k.now);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->declared_dead);
  EXPECT_FALSE(report->beat);
}

TEST(MaintainStage, WhatHasBecomeDueIsPromotedAndNothingElse) {
  Keeper k;
  k.queue_due(k.now + seconds{10});
  k.queue_due(k.now + seconds{20});
  EXPECT_EQ(k.stage.turn(k.now)->promoted_rows, 0U);
  k.now += seconds{10};
  const auto report = k.stage.turn(k.now);
  EXPECT_EQ(report->promoted_rows, 1U);
  EXPECT_EQ(report->promoted, (std::vector<QueueGroup>{{Lane::Standard, Channel::Push, 1}}));
}

TEST(MaintainStage, WhatExpiresWhileItWaitsIsSettled) {
  Keeper k;
  k.queue_due(k.now + seconds{60}, format_instant(k.now + seconds{90}));
  ASSERT_TRUE(k.stage.turn(k.now));
  k.now += seconds{100};
  std::size_t expired = k.stage.turn(k.now)->expired_rows;
  k.now += seconds{10};
  expired += k.stage.turn(k.now)->expired_rows;
  EXPECT_EQ(expired, 1U);
  ASSERT_EQ(k.database->settled.size(), 1U);
  EXPECT_EQ(k.database->settled.begin()->second.state, DeliveryState::Expired);
}

TEST(MaintainStage, ADeadNodesRowsAreTakenOverAfterSeveralSilentRounds) {
  Keeper k;
  const NodeId other = k.session.join(k.now, "two")->node;
  k.queue_due(k.now);
  const ClaimRequest request{.node = other, .channel = Channel::Push, .shares = {{1, 10, 1}}};
  ASSERT_EQ(k.session.claim(k.now, request)->size(), 1U);
  std::vector<NodeId> dead;
  std::size_t taken = 0;
  for (int round = 0; round <= kRoundsUntilDead + 1; ++round) {
    const auto report = k.stage.turn(k.now);
    if (round < kRoundsUntilDead) {
      EXPECT_TRUE(report->taken_over.empty()) << round;
    }
    dead.insert(dead.end(), report->found_dead.begin(), report->found_dead.end());
    taken += report->taken_over.size();
    k.now += seconds{1};
  }
  EXPECT_EQ(dead, std::vector{other});
  EXPECT_EQ(taken, 1U);
}

TEST(MaintainStage, OnlyTheHeartbeatIsDoneWhereNothingElseIsAskedFor) {
  Keeper k;
  k.queue_due(k.now + seconds{1});
  MaintainStage beat_only{k.session, k.node, MaintainDuties::HeartbeatOnly};
  k.now += seconds{5};
  const auto report = beat_only.turn(k.now);
  EXPECT_TRUE(report->beat);
  EXPECT_EQ(report->promoted_rows, 0U);
}

TEST(MaintainStage, WhatFailsBehindTheHeartbeatIsTroubleAndIsTriedAgain) {
  const Error gone{ErrorCode::Unavailable, "gone"};
  for (const auto fails :
       {&FaultySession::take_over_fails, &FaultySession::promote_fails, &FaultySession::expire_fails}) {
    Keeper k;
    k.session.*fails = gone;
    const auto report = k.stage.turn(k.now);
    ASSERT_TRUE(report) << "the heartbeat is on disk and must be told";
    EXPECT_TRUE(report->beat);
    EXPECT_EQ(report->trouble->text, "gone");
    EXPECT_FALSE(k.stage.turn(k.now)) << "alone it is an error";
    (k.session.*fails).reset();
    EXPECT_FALSE(k.stage.turn(k.now)->trouble);
  }
}

TEST(MaintainStage, RowsThatWerePromotedAreToldWhateverFailsBehindThem) {
  Keeper k;
  k.queue_due(k.now + seconds{5});
  ASSERT_TRUE(k.stage.turn(k.now));
  k.now += milliseconds{4'900};
  ASSERT_TRUE(k.stage.turn(k.now)->beat);
  k.now += milliseconds{100};
  k.session.expire_fails = Error{ErrorCode::Unavailable, "gone"};
  const auto report = k.stage.turn(k.now);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->beat);
  EXPECT_EQ(report->promoted_rows, 1U);
  EXPECT_TRUE(report->trouble);
}

TEST(MaintainStage, RowsThatWereTakenOverAreToldWhateverFailsBehindThem) {
  Keeper k;
  const NodeId other = k.session.join(k.now, "two")->node;
  k.queue_due(k.now);
  const ClaimRequest request{.node = other, .channel = Channel::Push, .shares = {{1, 10, 1}}};
  ASSERT_EQ(k.session.claim(k.now, request)->size(), 1U);
  ASSERT_TRUE(k.stage.turn(k.now));
  ASSERT_TRUE(k.session.remove(other));
  k.stage.look_for_orphans();
  k.now += milliseconds{100};
  k.session.promote_fails = Error{ErrorCode::Unavailable, "gone"};
  const auto report = k.stage.turn(k.now);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->beat);
  EXPECT_EQ(report->taken_over.size(), 1U);
  EXPECT_TRUE(report->trouble);
}

TEST(MaintainStage, ADeadNodeThatCannotBeRemovedIsRemovedLater) {
  Keeper k;
  ASSERT_TRUE(k.session.join(k.now, "two"));
  k.session.remove_fails = Error{ErrorCode::Unavailable, "gone"};
  std::size_t troubles = 0;
  for (int round = 0; round < 2 * kRoundsUntilDead; ++round) {
    troubles += k.stage.turn(k.now)->trouble ? 1U : 0U;
    k.now += seconds{1};
  }
  EXPECT_GE(troubles, 1U);
  k.session.remove_fails.reset();
  std::size_t dead = 0;
  for (int round = 0; round < 2 * kRoundsUntilDead; ++round) {
    dead += k.stage.turn(k.now)->found_dead.size();
    k.now += seconds{1};
  }
  EXPECT_EQ(dead, 1U);
}

TEST(MaintainStage, AFullBatchIsFollowedByTheNextAtOnce) {
  Keeper k;
  const Instant due = k.now + seconds{10};
  for (std::size_t i = 0; i < kBatchMax + 1; ++i) {
    OutboxRow row;
    row.tenant = "acme";
    row.type = "plain";
    row.payload = R"({"pushToken":"t"})";
    row.due_at = format_instant(due);
    row.expires_at = format_instant(due + seconds{60});
    k.database->insert_outbox(row);
  }
  while (k.expander.turn(k.now)->rows > 0) {
  }
  ASSERT_TRUE(k.stage.turn(k.now));
  k.now = due;
  EXPECT_EQ(k.stage.turn(k.now)->promoted_rows, kBatchMax);
  EXPECT_EQ(k.stage.turn(k.now)->promoted_rows, 1U) << "without waiting for the next round";
  k.now = due + seconds{60};
  EXPECT_EQ(k.stage.turn(k.now)->expired_rows, kBatchMax);
  EXPECT_EQ(k.stage.turn(k.now)->expired_rows, 1U);
}

TEST(MaintainStage, TheNextPromotionIsNotLaterThanTheNextRowIsDue) {
  Keeper k;
  k.queue_due(k.now + milliseconds{20});
  k.queue_due(k.now + seconds{30});
  ASSERT_TRUE(k.stage.turn(k.now));
  k.now += milliseconds{20};
  EXPECT_EQ(k.stage.turn(k.now)->promoted_rows, 1U) << "50 ms would be too late";
  k.now += milliseconds{49};
  EXPECT_EQ(k.stage.turn(k.now)->promoted_rows, 0U);
}

}  // namespace
}  // namespace postrider
