#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

// A delivery whose first node was lost in the middle of its call: `lost` is that node's lease, `taken` ours.
struct Lost {
  Sent sent;
  Claim lost;
  Claim taken;
};
Lost lose_a_node(World& w, const Plan& plan = {}) {
  Lost out;
  out.sent = w.send_one(plan);
  const Node b = w.join("b");
  ClaimRequest request = w.request(1, plan);
  request.node = b.id;
  out.lost = must(b->claim(w.now, request)).at(0);
  must(w.a->remove(b.id));
  out.taken = must(w.a->take_over(w.now, w.a.id, 10)).at(0);
  return out;
}
Completion node_lost(World& w, const Claim& taken, DeliveryState state) {
  Completion c = w.completion(taken, state);
  c.attempt = w.attempt(OutcomeKind::Unclear, Reason::NodeLost);
  c.attempt_fence = taken.lease.fence - 1;
  c.verdict.reason = Reason::NodeLost;
  return c;
}

TEST_P(Recording, AnAcceptedDeliveryIsSettledWithItsAttempt) {
  const Sent sent = w.send_one();
  const Claim claim = w.claim_one();
  w.pass(std::chrono::seconds{1});
  Completion c = w.completion(claim, DeliveryState::Sent);
  c.detail = "queued as 42";
  EXPECT_EQ(w.record(c), Recorded::Applied);
  const DeliveryView view = w.look(sent);
  EXPECT_EQ(view.state, DeliveryState::Sent);
  EXPECT_EQ(view.reason, Reason::AcceptedByProvider);
  EXPECT_EQ(view.detail, "queued as 42");
  EXPECT_EQ(view.attempts, 1);
  EXPECT_EQ(view.since, w.now);
  ASSERT_EQ(view.tries.size(), 1U);
  const AttemptView& t = view.tries[0];
  EXPECT_EQ(t.number, 1);
  EXPECT_EQ(t.fence, 1);
  EXPECT_FALSE(t.late);
  EXPECT_EQ(t.provider, "mail");
  EXPECT_EQ(t.outcome, OutcomeKind::Accepted);
  EXPECT_EQ(t.reason, Reason::AcceptedByProvider);
  EXPECT_EQ(t.provider_message_id, "provider-1");
  EXPECT_EQ(t.excerpt, "250 ok");
  EXPECT_EQ(t.started_at, w.now);
  EXPECT_EQ(t.ended_at, w.now + std::chrono::milliseconds{20});
  EXPECT_TRUE(must(w.a->heads(Look::Everywhere)).empty());
}

TEST_P(Recording, WhatWasWrittenLateIsKeptWithTheDeliveryAndTheLastOneStays) {
  OutboxRow row = w.row();
  row.sealed = "c2VhbGVk";
  const Sent sent = w.send_one({.rendering = Rendering::Late}, row);
  Claim claim = w.claim_one();
  EXPECT_EQ(claim.delivery.rendering, Rendering::Late);
  const auto late = must(w.a->late_deliveries(std::vector<RowId>{claim.lease.id}));
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].delivery.id, claim.lease.id);
  EXPECT_EQ(late[0].message.uuid, sent.uuid);
  EXPECT_EQ(late[0].message.sealed, "c2VhbGVk") << "whoever writes it needs the box";
  EXPECT_EQ(error_of(w.a->late_deliveries(std::vector<RowId>{claim.lease.id, 4711})), ErrorCode::Corrupt);

  Completion c = w.completion(claim, DeliveryState::Retrying);
  c.rendered =
      std::make_shared<const LateRendering>(LateRendering{2, "de-DE", "first", "first body", "<p>", "no value for x"});
  EXPECT_EQ(w.record(c), Recorded::Applied);
  w.pass(std::chrono::hours{1});
  must(w.a->promote(w.now, 10));
  claim = w.claim_one();
  c = w.completion(claim, DeliveryState::Delivered);
  c.rendered = std::make_shared<const LateRendering>(LateRendering{3, "en-GB", "second", "second body", "", ""});
  EXPECT_EQ(w.record(c), Recorded::Applied);
  const Delivery seen = w.look(sent).delivery;
  EXPECT_EQ(seen.template_version, 3);
  EXPECT_EQ(seen.locale, "en-GB");
  EXPECT_EQ(seen.subject, "second");
  EXPECT_EQ(seen.body, "second body");
  EXPECT_EQ(seen.html, "");
  EXPECT_EQ(seen.warnings, "");
}

TEST_P(Recording, EveryEndOfALeaseGoesWhereItsVerdictSays) {
  for (const DeliveryState state :
       {DeliveryState::Sent, DeliveryState::Delivered, DeliveryState::Retrying, DeliveryState::Parked,
        DeliveryState::Expired, DeliveryState::Cancelled, DeliveryState::Suppressed}) {
    const Sent sent = w.send_one();
    EXPECT_EQ(w.record(w.completion(w.claim_one(), state)), Recorded::Applied);
    EXPECT_EQ(w.look(sent).state, state);
  }
}

TEST_P(Recording, AStateThatNoLeaseCanEndInIsRefusedAndNothingIsWritten) {
  const auto sent = w.send(2);
  const auto claims = w.claim(2);
  const Completion batch[] = {w.completion(claims[0], DeliveryState::Sent),
                              w.completion(claims[1], DeliveryState::Discarded)};
  EXPECT_EQ(error_of(w.a->record(w.now, batch)), ErrorCode::Invalid);
  EXPECT_EQ(w.look(sent[0]).state, DeliveryState::Sending);
}

TEST_P(Recording, ARetryWaitsForItsTimeWithItsCountReasonAndFence) {
  const Sent sent = w.send_one();
  Completion c = w.completion(w.claim_one(), DeliveryState::Retrying);
  c.verdict.attempt = 1;
  EXPECT_EQ(w.record(c), Recorded::Applied);
  const DeliveryView view = w.look(sent);
  EXPECT_EQ(view.state, DeliveryState::Retrying);
  EXPECT_EQ(view.reason, Reason::ServerBusy);
  EXPECT_EQ(view.detail, "503");
  EXPECT_EQ(view.due_at, c.verdict.due_at);
  EXPECT_EQ(view.attempts, 1);
  w.pass(std::chrono::minutes{1});
  must(w.a->promote(w.now, 10));
  const Claim again = w.claim_one();
  EXPECT_EQ(again.lease.attempt, 2);
  EXPECT_EQ(again.lease.fence, 2);
}

TEST_P(Recording, AnAttemptThatDoesNotCountIsNotCounted) {
  const Sent sent = w.send_one();
  Completion c = w.completion(w.claim_one(), DeliveryState::Retrying);
  c.verdict.attempt = 0;  // our own settings were wrong
  w.record(c);
  EXPECT_EQ(w.look(sent).attempts, 0);
  EXPECT_EQ(w.look(sent).tries.at(0).number, 1);
}

TEST_P(Recording, AParkedDeliverySaysWhySinceWhen) {
  const Sent sent = w.send_one();
  w.park(w.claim_one());
  const DeliveryView view = w.look(sent);
  EXPECT_EQ(view.state, DeliveryState::Parked);
  EXPECT_EQ(view.reason, Reason::InvalidRecipient);
  EXPECT_EQ(view.detail, "no such user");
  EXPECT_EQ(view.attempts, 1);
  EXPECT_EQ(view.since, w.now);
}

TEST_P(Recording, WithoutACallThereIsNoAttempt) {
  const Sent sent = w.send_one();
  w.record(w.completion(w.claim_one(), DeliveryState::Expired));
  EXPECT_EQ(w.look(sent).state, DeliveryState::Expired);
  EXPECT_TRUE(w.look(sent).tries.empty());
}

TEST_P(Recording, ABatchIsAnsweredOneByOneInItsOrder) {
  w.send(3);
  const auto claims = w.claim(3);
  const Lease given_back[] = {claims[1].lease};
  must(w.a->give_back(w.now, given_back));
  std::vector<Completion> batch;
  for (const Claim& claim : claims) batch.push_back(w.completion(claim, DeliveryState::Sent));
  EXPECT_EQ(must(w.a->record(w.now, batch)), (std::vector{Recorded::Applied, Recorded::Stale, Recorded::Applied}));
  EXPECT_TRUE(must(w.a->record(w.now, std::span<const Completion>{})).empty());
}

TEST_P(Recording, AStaleCompletionMovesNothingButLeavesItsAttempt) {
  const Lost lost = lose_a_node(w);
  EXPECT_EQ(w.record(node_lost(w, lost.taken, DeliveryState::Retrying)), Recorded::Applied);
  Completion late = w.completion(lost.lost, DeliveryState::Parked);
  EXPECT_EQ(w.record(late), Recorded::Stale);
  const DeliveryView view = w.look(lost.sent);
  EXPECT_EQ(view.state, DeliveryState::Retrying);
  ASSERT_EQ(view.tries.size(), 2U);
  EXPECT_EQ(view.tries[0].outcome, OutcomeKind::Unclear);
  EXPECT_EQ(view.tries[0].fence, 1);
  EXPECT_FALSE(view.tries[0].late);
  EXPECT_EQ(view.tries[1].outcome, OutcomeKind::Permanent);
  EXPECT_EQ(view.tries[1].fence, 1);
  EXPECT_TRUE(view.tries[1].late);
  EXPECT_EQ(view.tries[1].provider, "mail");
}

TEST_P(Recording, ALateAcceptedEndsARepeatThatIsDeferred) {
  const Lost lost = lose_a_node(w);
  w.record(node_lost(w, lost.taken, DeliveryState::Retrying));
  EXPECT_EQ(w.record(w.completion(lost.lost, DeliveryState::Sent)), Recorded::Stale);
  EXPECT_EQ(w.look(lost.sent).state, DeliveryState::Sent);
  EXPECT_EQ(w.look(lost.sent).reason, Reason::LateAnswer);
  EXPECT_EQ(must(w.a->promote(w.now + std::chrono::hours{1}, 10)).rows, 0U);
}

TEST_P(Recording, ALateAcceptedEndsARepeatThatWaitsInTheQueue) {
  const Lost lost = lose_a_node(w);
  w.record(node_lost(w, lost.taken, DeliveryState::Retrying));
  w.pass(std::chrono::minutes{1});
  must(w.a->promote(w.now, 10));
  EXPECT_EQ(w.record(w.completion(lost.lost, DeliveryState::Delivered)), Recorded::Stale);
  EXPECT_EQ(w.look(lost.sent).state, DeliveryState::Delivered);
  EXPECT_EQ(w.look(lost.sent).reason, Reason::LateAnswer);
  EXPECT_TRUE(w.claim(10).empty());
}

TEST_P(Recording, ALateAcceptedEndsADeliveryThatWasParked) {
  const Lost lost = lose_a_node(w);
  w.record(node_lost(w, lost.taken, DeliveryState::Parked));
  EXPECT_EQ(w.record(w.completion(lost.lost, DeliveryState::Sent)), Recorded::Stale);
  EXPECT_EQ(w.look(lost.sent).state, DeliveryState::Sent);
  EXPECT_EQ(must(w.a->stats({})).parked, 0U);
}

TEST_P(Recording, ALateAcceptedLeavesARepeatAloneThatIsBeingSent) {
  const Lost lost = lose_a_node(w);
  EXPECT_EQ(w.record(w.completion(lost.lost, DeliveryState::Sent)), Recorded::Stale);
  EXPECT_EQ(w.look(lost.sent).state, DeliveryState::Sending);
  EXPECT_EQ(w.record(w.completion(lost.taken, DeliveryState::Delivered)), Recorded::Applied);
  EXPECT_EQ(w.look(lost.sent).state, DeliveryState::Delivered);
  EXPECT_EQ(w.look(lost.sent).reason, Reason::AcceptanceIsTheEnd);
}

TEST_P(Recording, ALateAnswerDoesNotMoveWhatIsSettled) {
  const Lost lost = lose_a_node(w);
  w.record(node_lost(w, lost.taken, DeliveryState::Cancelled));
  EXPECT_EQ(w.record(w.completion(lost.lost, DeliveryState::Sent)), Recorded::Stale);
  EXPECT_EQ(w.look(lost.sent).state, DeliveryState::Cancelled);
  EXPECT_EQ(w.look(lost.sent).tries.size(), 2U);
}

TEST_P(Recording, ABatchRecordedAgainBecauseItsAnswerWasLostAddsNothing) {
  const Sent sent = w.send_one();
  const Completion c = w.completion(w.claim_one(), DeliveryState::Sent);
  EXPECT_EQ(w.record(c), Recorded::Applied);
  EXPECT_EQ(w.record(c), Recorded::Stale);
  EXPECT_EQ(w.look(sent).state, DeliveryState::Sent);
  EXPECT_EQ(w.look(sent).tries.size(), 1U);
}

TEST_P(Recording, ALateAnswerReportedTwiceIsKeptOnce) {
  const Lost lost = lose_a_node(w);
  w.record(node_lost(w, lost.taken, DeliveryState::Retrying));
  w.record(w.completion(lost.lost, DeliveryState::Parked));
  w.record(w.completion(lost.lost, DeliveryState::Parked));
  EXPECT_EQ(w.look(lost.sent).tries.size(), 2U);
}

// One batch in which rows of every kind stand side by side; what is not in it, or not its own, stays as it is.
TEST_P(Recording, ABatchEndsItsOwnRowsAndNoneThatStandsBetweenThem) {
  const auto sent = w.send(60);
  const Node b = w.join("b");
  ClaimRequest request = w.request(20);
  request.node = b.id;
  const auto lost = must(b->claim(w.now, request));  // 0 to 19
  const auto own = w.claim(40);                      // 20 to 59
  must(w.a->remove(b.id));
  const auto taken = must(w.a->take_over(w.now, w.a.id, 5));  // 0 to 4
  must(w.a->give_back(w.now, std::vector<Lease>{own[39].lease}));
  const RowId marked[] = {own[30].lease.id, own[31].lease.id};
  ASSERT_EQ(must(w.a->cancel(w.now, w.by_ada, marked)).marked, 2U);

  std::vector<Completion> batch;
  std::vector<Recorded> expected;
  const auto add = [&](const Claim& claim, DeliveryState state, Recorded answer) {
    batch.push_back(w.completion(claim, state));
    expected.push_back(answer);
  };
  add(own[39], DeliveryState::Parked, Recorded::Stale);                                      // given back, and waits
  for (std::size_t i = 0; i < 5; ++i) add(lost[i], DeliveryState::Parked, Recorded::Stale);  // taken over: held by us
  for (std::size_t i = 0; i < 30; ++i) {
    if (i % 10 != 5) add(own[i], DeliveryState::Delivered, Recorded::Applied);  // 5, 15, 25 are still under way
  }
  add(own[0], DeliveryState::Parked, Recorded::Stale);       // a second time
  add(own[30], DeliveryState::Retrying, Recorded::Applied);  // marked
  add(own[31], DeliveryState::Sent, Recorded::Applied);      // marked, but accepted
  add(own[38], DeliveryState::Retrying, Recorded::Applied);  // the rows before it are more than a few
  add(taken[4], DeliveryState::Sent, Recorded::Applied);
  EXPECT_EQ(must(w.a->record(w.now, batch)), expected);

  const auto state = [&](std::size_t i) { return w.look(sent[i]).state; };
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(state(i), DeliveryState::Sending) << i;
  EXPECT_EQ(state(4), DeliveryState::Sent);
  for (std::size_t i = 5; i < 20; ++i) EXPECT_EQ(state(i), DeliveryState::Sending) << i;
  for (std::size_t i = 20; i < 50; ++i) {
    EXPECT_EQ(state(i), i % 10 == 5 ? DeliveryState::Sending : DeliveryState::Delivered) << i;
    EXPECT_EQ(w.look(sent[i]).tries.size(), i == 20 ? 2U : (i % 10 == 5 ? 0U : 1U)) << i;
  }
  EXPECT_EQ(state(50), DeliveryState::Cancelled);
  EXPECT_EQ(w.look(sent[50]).reason, Reason::CancelledByOperator);
  EXPECT_EQ(state(51), DeliveryState::Sent);
  for (std::size_t i = 52; i < 58; ++i) EXPECT_EQ(state(i), DeliveryState::Sending) << i;
  EXPECT_EQ(state(58), DeliveryState::Retrying);
  EXPECT_EQ(state(59), DeliveryState::Queued);
  EXPECT_EQ(w.claim(60).size(), 1U);
}

TEST_P(Recording, InOneBatchALateAnswerFindsWhatStandsBeforeIt) {
  const Lost lost = lose_a_node(w);
  const Completion batch[] = {node_lost(w, lost.taken, DeliveryState::Retrying),
                              w.completion(lost.lost, DeliveryState::Sent)};
  EXPECT_EQ(must(w.a->record(w.now, batch)), (std::vector<Recorded>{Recorded::Applied, Recorded::Stale}));
  EXPECT_EQ(w.look(lost.sent).state, DeliveryState::Sent);
  EXPECT_EQ(w.look(lost.sent).reason, Reason::LateAnswer);
  EXPECT_EQ(w.look(lost.sent).tries.size(), 2U);
}

TEST_P(Recording, TheSecretGoesWithTheLastDeliveryThatIsSettled) {
  OutboxRow row = w.row();
  row.sealed = "c2VhbGVk";
  const Sent sent = w.send_one({.deliveries = 2}, row);
  EXPECT_EQ(w.look(sent.uuid).message.sealed, "c2VhbGVk");
  const auto claims = w.claim(2);
  w.record(w.completion(claims[0], DeliveryState::Sent));
  EXPECT_EQ(w.look(sent.uuid).message.sealed, "c2VhbGVk");
  w.park(claims[1]);
  EXPECT_EQ(w.look(sent.uuid).message.sealed, "c2VhbGVk") << "a parked delivery may be sent again";
  must(w.a->discard(w.now, w.by_ada, std::vector<RowId>{claims[1].lease.id}));
  EXPECT_EQ(w.look(sent.uuid).message.sealed, "");
}

TEST_P(Recording, AMessageWhoseDeliveriesAllEndAtOnceKeepsNoSecret) {
  OutboxRow row = w.row();
  row.sealed = "c2VhbGVk";
  const Sent sent = w.send_one({.placement = {DeliveryState::Expired, Reason::Expired, "too late", {}}}, row);
  EXPECT_EQ(w.look(sent.uuid).message.sealed, "");
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Recording);
}  // namespace postrider::conformance
