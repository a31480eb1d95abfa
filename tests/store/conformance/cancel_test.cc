// Cancelling what a node has in its hands: the call may be under way, but there is no other after it.
#include <thread>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

class CancelWhileSending : public Conformance {
 protected:
  Acted cancel(const Sent& sent) { return must(w.a->cancel(w.now, w.by_ada, sent.deliveries)); }
  void expect_cancelled(const Sent& sent) {
    const DeliveryView view = w.look(sent);
    EXPECT_EQ(view.state, DeliveryState::Cancelled);
    EXPECT_EQ(view.reason, Reason::CancelledByOperator);
    EXPECT_EQ(view.detail, "because");
    EXPECT_EQ(view.since, w.now);
    w.pass(std::chrono::hours{24});
    must(w.a->promote(w.now, 10));
    EXPECT_TRUE(w.claim(10).empty()) << "nothing is left that could be called";
  }
};

TEST_P(CancelWhileSending, MarksItAndLeavesItWithItsNode) {
  const Sent sent = w.send_one();
  const Claim claim = w.claim_one();
  const Acted acted = cancel(sent);
  EXPECT_EQ(acted.changed, 1U);
  EXPECT_EQ(acted.marked, 1U);
  EXPECT_TRUE(acted.groups.empty());
  const DeliveryView view = w.look(sent);
  EXPECT_EQ(view.state, DeliveryState::Sending);
  EXPECT_EQ(view.reason, Reason::CancelledByOperator);
  EXPECT_EQ(view.detail, "because");
  EXPECT_EQ(view.provider, "mail");
  const auto audit = w.database->audit();
  ASSERT_EQ(audit.size(), 1U);
  EXPECT_EQ(audit[0].action, "cancel");
  EXPECT_EQ(audit[0].delivery, sent.deliveries[0]);
  EXPECT_EQ(w.record(w.completion(claim, DeliveryState::Sent)), Recorded::Applied) << "the lease is still the node's";
}

TEST_P(CancelWhileSending, IsSaidOnce) {
  const Sent sent = w.send_one();
  w.claim_one();
  EXPECT_EQ(cancel(sent).marked, 1U);
  EXPECT_EQ(cancel(sent).changed, 0U);
  EXPECT_EQ(w.database->audit().size(), 1U);
}

TEST_P(CancelWhileSending, MakesItsRetryTheEnd) {
  const Sent sent = w.send_one();
  const Claim claim = w.claim_one();
  cancel(sent);
  w.pass(std::chrono::seconds{1});
  EXPECT_EQ(w.record(w.completion(claim, DeliveryState::Retrying)), Recorded::Applied);
  EXPECT_EQ(w.look(sent).tries.size(), 1U) << "the call is on record all the same";
  EXPECT_EQ(w.look(sent).attempts, 1);
  expect_cancelled(sent);
}

TEST_P(CancelWhileSending, ChangesNothingAboutACallThatWasAccepted) {
  for (const DeliveryState end : {DeliveryState::Sent, DeliveryState::Delivered}) {
    const Sent sent = w.send_one();
    const Claim claim = w.claim_one();
    cancel(sent);
    EXPECT_EQ(w.record(w.completion(claim, end)), Recorded::Applied);
    EXPECT_EQ(w.look(sent).state, end);
    EXPECT_NE(w.look(sent).reason, Reason::CancelledByOperator);
  }
}

TEST_P(CancelWhileSending, LeavesParkedWhatIsNotTriedAgainAnyway) {
  const Sent sent = w.send_one({.guarantee = Guarantee::AtMostOnce});
  const Claim claim = w.claim(1, {}, ClaimWhat::AtMostOnceOnly).at(0);
  cancel(sent);
  Completion unclear = w.completion(claim, DeliveryState::Parked);
  unclear.verdict.reason = Reason::UnclearNotRepeated;
  unclear.attempt = w.attempt(OutcomeKind::Unclear, Reason::Timeout);
  EXPECT_EQ(w.record(unclear), Recorded::Applied);
  EXPECT_EQ(w.look(sent).state, DeliveryState::Parked);
  EXPECT_EQ(w.look(sent).reason, Reason::UnclearNotRepeated);
  EXPECT_EQ(must(w.a->retry(w.now, w.by_ada, sent.deliveries)).changed, 1U) << "that is a new decision";
  const Claim again = w.claim(1, {}, ClaimWhat::AtMostOnceOnly).at(0);
  w.record(w.completion(again, DeliveryState::Retrying));
  EXPECT_EQ(w.look(sent).state, DeliveryState::Retrying) << "the mark went with the call it was for";
}

TEST_P(CancelWhileSending, EndsWhatIsGivenBackUnsent) {
  const Sent marked = w.send_one();
  const Sent other = w.send_one();
  const auto claims = w.claim(2);
  ASSERT_EQ(claims.size(), 2U);
  cancel(marked);
  const Lease leases[] = {claims[0].lease, claims[1].lease};
  must(w.a->give_back(w.now, leases));
  EXPECT_EQ(w.look(other).state, DeliveryState::Queued);
  EXPECT_EQ(w.look(marked).attempts, 0) << "there was no call";
  EXPECT_EQ(w.claim(10).size(), 1U);
  expect_cancelled(marked);
}

TEST_P(CancelWhileSending, OutlivesTheNode) {
  const Sent sent = w.send_one();
  const Node lost = w.join("lost");
  ClaimRequest request = w.request(1);
  request.node = lost.id;
  const Claim claim = must(lost->claim(w.now, request)).at(0);
  cancel(sent);
  must(w.a->remove(lost.id));
  const auto taken = must(w.a->take_over(w.now, w.a.id, 10));
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(w.look(sent).reason, Reason::CancelledByOperator);
  Completion unclear = w.completion(taken[0], DeliveryState::Retrying);
  unclear.attempt_fence = claim.lease.fence;
  unclear.attempt = w.attempt(OutcomeKind::Unclear, Reason::NodeLost);
  EXPECT_EQ(w.record(unclear), Recorded::Applied);
  EXPECT_EQ(w.look(sent).tries.at(0).outcome, OutcomeKind::Unclear);
  expect_cancelled(sent);
}

TEST_P(CancelWhileSending, FindsWhatWasPromotedBefore) {
  const Sent sent = w.send_one();
  Completion again = w.completion(w.claim_one(), DeliveryState::Retrying);
  again.verdict.due_at = w.now;
  w.record(again);
  must(w.a->promote(w.now, 10));
  const Claim claim = w.claim_one();
  EXPECT_EQ(cancel(sent).marked, 1U);
  EXPECT_EQ(w.look(sent).reason, Reason::CancelledByOperator);
  w.record(w.completion(claim, DeliveryState::Retrying));
  expect_cancelled(sent);
}

TEST_P(CancelWhileSending, WorksThroughTheEntity) {
  OutboxRow row = w.row();
  row.entity_id = "b-7";
  const Sent sent = w.send_one({.deliveries = 2}, row);
  const Claim claim = w.claim_one();
  const Plan gone{.deliveries = 0, .state = MessageState::Cancelled, .reason = Reason::CancelledWithEntity};
  const EntityRef entity{.tenant = w.acme, .id = "b-7"};
  const CancelledEntity done = must(w.a->cancel_entity(w.now, w.by_ada, entity, w.decide(w.a, gone)));
  EXPECT_EQ(done.deliveries, 1U);
  EXPECT_EQ(done.marked, 1U);
  EXPECT_TRUE(done.left.empty());
  w.record(w.completion(claim, DeliveryState::Retrying));
  EXPECT_EQ(w.look(sent, 0).state, DeliveryState::Cancelled);
  EXPECT_EQ(w.look(sent, 0).reason, Reason::CancelledWithEntity);
  const CancelledEntity again = must(w.a->cancel_entity(w.now, w.by_ada, entity, w.decide(w.a, gone)));
  EXPECT_EQ(again.deliveries + again.marked, 0U);
}

TEST_P(CancelWhileSending, ErasesTheSecretWithTheLastDelivery) {
  OutboxRow row = w.row();
  row.sealed = "c2VhbGVk";
  const Sent sent = w.send_one({.deliveries = 2}, row);
  const auto claims = w.claim(2);
  must(w.a->cancel(w.now, w.by_ada, sent.deliveries));
  w.record(w.completion(claims.at(0), DeliveryState::Retrying));
  EXPECT_EQ(w.look(sent.uuid).message.sealed, "c2VhbGVk");
  const Lease rest[] = {claims.at(1).lease};
  must(w.a->give_back(w.now, rest));
  EXPECT_EQ(w.look(sent.uuid).message.sealed, "");
}

TEST_P(CancelWhileSending, ThoseInOneBatchEndEachInItsOwnWay) {
  std::vector<Sent> sent = w.send(4);
  const auto claims = w.claim(4);
  must(w.a->cancel(w.now, w.by_ada, std::vector{sent[0].deliveries[0], sent[2].deliveries[0]}));
  std::vector<Completion> ends;
  for (std::size_t i = 0; i < 4; ++i)
    ends.push_back(w.completion(claims.at(i), i < 2 ? DeliveryState::Retrying : DeliveryState::Sent));
  for (const Recorded each : must(w.a->record(w.now, ends))) EXPECT_EQ(each, Recorded::Applied);
  EXPECT_EQ(w.look(sent[0]).state, DeliveryState::Cancelled);
  EXPECT_EQ(w.look(sent[1]).state, DeliveryState::Retrying);
  EXPECT_EQ(w.look(sent[2]).state, DeliveryState::Sent);
  EXPECT_EQ(w.look(sent[3]).state, DeliveryState::Sent);
}

// Whoever was told "cancelled" was told the truth, whichever of the two came first.
TEST_P(CancelWhileSending, RacesWithTheRecordAndNeverLoses) {
  constexpr int kRows = 40;
  for (int round = 0; round < 8; ++round) {
    std::vector<RowId> ids;
    const std::vector<Sent> sent = w.send(kRows);
    for (const Sent& each : sent) ids.push_back(each.deliveries[0]);
    const auto claims = w.claim(kRows);
    ASSERT_EQ(claims.size(), static_cast<std::size_t>(kRows));
    const Node desk = w.join("desk" + std::to_string(round));
    std::vector<Completion> ends;
    for (const Claim& claim : claims) ends.push_back(w.completion(claim, DeliveryState::Retrying));
    std::thread recording{[&] {
      for (std::size_t i = 0; i < ends.size(); i += 5) must(w.a->record(w.now, std::span{ends}.subspan(i, 5)));
    }};
    std::size_t changed = 0;
    for (auto id = ids.rbegin(); id != ids.rend(); ++id)
      changed += must(desk->cancel(w.now, {.actor = "test", .why = "race"}, std::vector{*id})).changed;
    recording.join();
    EXPECT_EQ(changed, static_cast<std::size_t>(kRows)) << "each was waiting, being sent, or waiting again";
    for (const Sent& each : sent) EXPECT_EQ(w.look(each).state, DeliveryState::Cancelled) << "round " << round;
  }
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(CancelWhileSending);
}  // namespace postrider::conformance
