#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

const Plan kInChunks{.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true};

Plan due_at(Instant at) { return {.placement = {DeliveryState::Retrying, Reason::Scheduled, "", at}}; }

TEST_P(Waiting, DueRowsComeBackInOrderOfTheirTimeBehindWhatIsThere) {
  const Sent third = w.send_one(due_at(w.now + std::chrono::minutes{3}));
  const Sent first = w.send_one(due_at(w.now + std::chrono::minutes{1}));
  const Sent second = w.send_one(due_at(w.now + std::chrono::minutes{2}));
  const Sent later = w.send_one(due_at(w.now + std::chrono::minutes{9}));
  const Sent waiting = w.send_one();
  w.pass(std::chrono::minutes{3});
  const auto promoted = must(w.a->promote(w.now, 10));
  EXPECT_EQ(promoted.rows, 3U);
  ASSERT_EQ(promoted.groups.size(), 1U);
  EXPECT_EQ(promoted.next_due, w.look(later).due_at);
  const auto claims = w.claim(10);
  ASSERT_EQ(claims.size(), 4U);
  EXPECT_EQ(claims[0].lease.id, waiting.deliveries[0]);
  EXPECT_EQ(claims[1].lease.id, first.deliveries[0]);
  EXPECT_EQ(claims[2].lease.id, second.deliveries[0]);
  EXPECT_EQ(claims[3].lease.id, third.deliveries[0]);
  EXPECT_EQ(claims[1].lease.attempt, 1);
}

TEST_P(Waiting, OnlySoManyArePromotedAndTheNextDueTimeIsTold) {
  EXPECT_FALSE(must(w.a->promote(w.now, 10)).next_due.has_value());
  const Instant due = w.now + std::chrono::minutes{1};
  w.send(3, due_at(due));
  EXPECT_EQ(must(w.a->promote(w.now, 10)).rows, 0U);
  EXPECT_EQ(must(w.a->promote(w.now, 10)).next_due, due);
  w.now = due;
  EXPECT_EQ(must(w.a->promote(w.now, 2)).rows, 2U);
  EXPECT_EQ(must(w.a->promote(w.now, 2)).rows, 1U);
  EXPECT_FALSE(must(w.a->promote(w.now, 2)).next_due.has_value());
}

TEST_P(Waiting, APromotedDeliveryIsStillFoundAsQueued) {
  const Sent sent = w.send_one(due_at(w.now + std::chrono::minutes{1}));
  w.pass(std::chrono::minutes{2});
  must(w.a->promote(w.now, 10));
  EXPECT_EQ(w.look(sent).state, DeliveryState::Queued);
  w.claim_one();
  EXPECT_EQ(w.look(sent).state, DeliveryState::Sending);
}

TEST_P(Waiting, OnlyRowsOfDeadNodesAreTakenOver) {
  const auto sent = w.send(3);
  const Node b = w.join("b");
  const Node c = w.join("c");
  w.claim(1);
  ClaimRequest request = w.request(1);
  request.node = b.id;
  const Claim lost = must(b->claim(w.now, request)).at(0);
  request.node = c.id;
  must(c->claim(w.now, request));
  EXPECT_TRUE(must(w.a->take_over(w.now, w.a.id, 10)).empty());
  const Instant claimed_at = w.now;
  w.pass(std::chrono::seconds{10});
  must(w.a->remove(b.id));
  const auto taken = must(w.a->take_over(w.now, w.a.id, 10));
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].lease.id, lost.lease.id);
  EXPECT_EQ(taken[0].lease.fence, lost.lease.fence + 1);
  EXPECT_EQ(taken[0].lease.attempt, lost.lease.attempt);
  EXPECT_EQ(taken[0].lease.provider, w.mail);
  EXPECT_EQ(taken[0].lease.claimed_at, claimed_at) << "when the lost call may have begun";
  EXPECT_EQ(taken[0].delivery.body, "Dear Ada");
  EXPECT_TRUE(must(w.a->take_over(w.now, w.a.id, 10)).empty());
  EXPECT_EQ(w.record(w.completion(lost, DeliveryState::Parked)), Recorded::Stale);
  EXPECT_EQ(w.record(w.completion(taken[0], DeliveryState::Delivered)), Recorded::Applied);
}

TEST_P(Waiting, TakingOverIsBounded) {
  w.send(5);
  const Node b = w.join("b");
  ClaimRequest request = w.request(5);
  request.node = b.id;
  must(b->claim(w.now, request));
  must(w.a->remove(b.id));
  EXPECT_EQ(must(w.a->take_over(w.now, w.a.id, 3)).size(), 3U);
  EXPECT_EQ(must(w.a->take_over(w.now, w.a.id, 3)).size(), 2U);
}

TEST_P(Waiting, ExpandWorkOfADeadNodeIsFreeAgain) {
  w.send_one(kInChunks);
  const Node b = w.join("b");
  const auto lost = must(b->claim_expand(w.now, b.id, 1)).at(0);
  must(w.a->remove(b.id));
  EXPECT_TRUE(must(w.a->take_over(w.now, w.a.id, 10)).empty());
  EXPECT_EQ(error_of(b->expand_chunk(w.now, lost.lease, {.finished = true})), ErrorCode::Conflict);
  const auto again = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  EXPECT_GT(again.lease.fence, lost.lease.fence);
  EXPECT_EQ(again.lease.attempt, 2) << "work that kills its node must run out of attempts";
}

TEST_P(Waiting, WhatWaitsOrIsParkedPastItsExpiryEnds) {
  const Instant end = w.now + std::chrono::minutes{5};
  const Plan expiring{.expires_at = end};
  const Sent parked = w.send_one(expiring);
  w.park(w.claim_one());
  const Sent held = w.send_one(expiring);
  w.claim_one();
  Plan later = due_at(w.now + std::chrono::minutes{4});
  later.expires_at = end;
  const Sent deferred = w.send_one(later);
  const Sent queued = w.send_one(expiring);
  const Sent lasting = w.send_one();
  EXPECT_EQ(must(w.a->expire(end - std::chrono::microseconds{1}, 10)), 0U);
  w.now = end;
  EXPECT_EQ(must(w.a->expire(w.now, 10)), 3U);
  for (const Sent& sent : {parked, deferred, queued}) {
    EXPECT_EQ(w.look(sent).state, DeliveryState::Expired);
    EXPECT_EQ(w.look(sent).reason, Reason::Expired);
    EXPECT_EQ(w.look(sent).since, w.now);
  }
  EXPECT_EQ(w.look(held).state, DeliveryState::Sending);
  EXPECT_EQ(w.look(lasting).state, DeliveryState::Queued);
  EXPECT_EQ(must(w.a->expire(w.now, 10)), 0U);
}

TEST_P(Waiting, ExpiringIsBounded) {
  w.send(5, {.expires_at = w.now});
  EXPECT_EQ(must(w.a->expire(w.now, 3)), 3U);
  EXPECT_EQ(must(w.a->expire(w.now, 3)), 2U);
}

TEST_P(Waiting, ExpandWorkOfAnExpiringMessageIsNotEndedHere) {
  OutboxRow row = w.row();
  row.expires_at = "2020-01-01T00:00:00Z";
  const Sent sent = w.send_one(kInChunks, row);
  EXPECT_EQ(must(w.a->expire(w.now, 10)), 0U);
  EXPECT_EQ(w.look(sent.uuid).state, MessageState::Expanding);
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Waiting);
}  // namespace postrider::conformance
