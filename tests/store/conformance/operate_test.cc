#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

using Ids = std::vector<RowId>;

// One delivery in each state an action could meet.
struct Zoo {
  Sent queued, sending, retrying, parked, settled;
  [[nodiscard]] Ids all() const {
    Ids ids;
    for (const Sent* s : {&queued, &sending, &retrying, &parked, &settled}) ids.push_back(s->deliveries[0]);
    return ids;
  }
};
Zoo make_zoo(World& w) {
  Zoo zoo;
  zoo.parked = w.send_one();
  w.park(w.claim_one());
  zoo.retrying = w.send_one();
  w.record(w.completion(w.claim_one(), DeliveryState::Retrying));
  zoo.settled = w.send_one();
  w.record(w.completion(w.claim_one(), DeliveryState::Sent));
  zoo.sending = w.send_one();
  w.claim_one();
  zoo.queued = w.send_one();
  return zoo;
}

TEST_P(Operating, RetryQueuesWhatIsParkedWithItsCountFromZero) {
  const Zoo zoo = make_zoo(w);
  const Acted acted = must(w.a->retry(w.now, w.by_ada, zoo.all()));
  EXPECT_EQ(acted.changed, 1U);
  ASSERT_EQ(acted.groups.size(), 1U);
  EXPECT_EQ(acted.groups[0], (QueueGroup{Lane::Standard, Channel::Email, w.acme}));
  EXPECT_EQ(w.look(zoo.parked).state, DeliveryState::Queued);
  EXPECT_EQ(w.look(zoo.parked).attempts, 0);
  EXPECT_EQ(w.look(zoo.retrying).state, DeliveryState::Retrying);
  EXPECT_EQ(w.look(zoo.settled).state, DeliveryState::Sent);
  EXPECT_EQ(w.look(zoo.sending).state, DeliveryState::Sending);
  const auto claims = w.claim(10);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].lease.id, zoo.queued.deliveries[0]);
  EXPECT_EQ(claims[1].lease.id, zoo.parked.deliveries[0]);
  EXPECT_EQ(claims[1].lease.attempt, 1);
  EXPECT_EQ(claims[1].lease.fence, 2) << "the fence is kept, or a late answer could be taken for a new one";
  EXPECT_EQ(w.record(w.completion(claims[1], DeliveryState::Delivered)), Recorded::Applied);
  EXPECT_EQ(w.look(zoo.parked).tries.size(), 2U);
}

TEST_P(Operating, DiscardEndsWhatIsParked) {
  const Zoo zoo = make_zoo(w);
  const Acted acted = must(w.a->discard(w.now, w.by_ada, zoo.all()));
  EXPECT_EQ(acted.changed, 1U);
  EXPECT_TRUE(acted.groups.empty());
  const DeliveryView view = w.look(zoo.parked);
  EXPECT_EQ(view.state, DeliveryState::Discarded);
  EXPECT_EQ(view.reason, Reason::DiscardedByOperator);
  EXPECT_EQ(view.detail, "because");
  EXPECT_EQ(view.since, w.now);
  EXPECT_EQ(must(w.a->discard(w.now, w.by_ada, zoo.all())).changed, 0U);
}

TEST_P(Operating, CancelEndsWhatWaits) {
  const Zoo zoo = make_zoo(w);
  const Acted acted = must(w.a->cancel(w.now, w.by_ada, zoo.all()));
  EXPECT_EQ(acted.changed, 3U);
  EXPECT_EQ(acted.marked, 1U);
  EXPECT_EQ(w.look(zoo.queued).state, DeliveryState::Cancelled);
  EXPECT_EQ(w.look(zoo.queued).reason, Reason::CancelledByOperator);
  EXPECT_EQ(w.look(zoo.retrying).state, DeliveryState::Cancelled);
  EXPECT_EQ(w.look(zoo.sending).state, DeliveryState::Sending);
  EXPECT_EQ(w.look(zoo.parked).state, DeliveryState::Parked);
  EXPECT_EQ(w.look(zoo.settled).state, DeliveryState::Sent);
  EXPECT_TRUE(w.claim(10).empty());
}

TEST_P(Operating, CancelFindsWhatWasPromotedOrQueuedAgain) {
  const Sent sent = w.send_one();
  Completion again = w.completion(w.claim_one(), DeliveryState::Retrying);
  again.verdict.due_at = w.now;
  w.record(again);
  must(w.a->promote(w.now, 10));
  EXPECT_EQ(must(w.a->cancel(w.now, w.by_ada, sent.deliveries)).changed, 1U);
  EXPECT_EQ(w.look(sent).state, DeliveryState::Cancelled);
}

TEST_P(Operating, DispatchMakesRetryingDeliveriesDueNow) {
  const Zoo zoo = make_zoo(w);
  w.pass(std::chrono::seconds{1});
  const Acted acted = must(w.a->dispatch(w.now, w.by_ada, zoo.all()));
  EXPECT_EQ(acted.changed, 1U);
  EXPECT_EQ(acted.groups.size(), 1U);
  EXPECT_EQ(w.look(zoo.retrying).state, DeliveryState::Retrying);
  EXPECT_EQ(w.look(zoo.retrying).due_at, w.now);
  EXPECT_EQ(w.look(zoo.retrying).reason, Reason::DispatchedByOperator);
  EXPECT_EQ(w.look(zoo.retrying).attempts, 1);
  EXPECT_EQ(must(w.a->dispatch(w.now, w.by_ada, zoo.all())).changed, 0U) << "it is due already";
  EXPECT_EQ(must(w.a->promote(w.now, 10)).rows, 1U);
}

TEST_P(Operating, DispatchOfNothingNamedMeansAllOfTheTenants) {
  const Plan later{.placement = {DeliveryState::Retrying, Reason::Scheduled, "", w.now + std::chrono::hours{1}}};
  w.send(3, later);
  const Sent theirs = w.send_one(later, w.row("t", "other"));
  const Sent expanding =
      w.send_one({.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true});
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  must(w.a->defer_expand(w.now, work.lease, w.now + std::chrono::hours{1}, Reason::ExpansionFailed, "x"));
  OperatorAction mine = w.by_ada;
  mine.tenant = w.acme;
  EXPECT_EQ(must(w.a->dispatch(w.now, mine, {})).changed, 3U);
  EXPECT_EQ(w.look(theirs).due_at, w.now + std::chrono::hours{1});
  EXPECT_EQ(must(w.a->dispatch(w.now, w.by_ada, {})).changed, 1U);
  EXPECT_EQ(w.look(theirs).due_at, w.now);
  EXPECT_EQ(w.look(expanding.uuid).next_attempt, w.now + std::chrono::hours{1});
}

TEST_P(Operating, DispatchOfAMessageMakesItsExpansionDueNow) {
  const Sent late =
      w.send_one({.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true});
  const Sent fine = w.send_one();
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  EXPECT_FALSE(work.dispatched);
  must(w.a->defer_expand(w.now, work.lease, w.now + std::chrono::hours{1}, Reason::ExpansionFailed, "x"));
  const std::vector<Uuid> both{late.uuid, fine.uuid, w.uuid()};
  OperatorAction theirs = w.by_ada;
  theirs.tenant = w.other;
  EXPECT_EQ(must(w.a->dispatch_expand(w.now, theirs, both)).changed, 0U);
  const Acted acted = must(w.a->dispatch_expand(w.now, w.by_ada, both));
  EXPECT_EQ(acted.changed, 1U);
  ASSERT_EQ(acted.groups.size(), 1U);
  EXPECT_EQ(acted.groups[0].channel, Channel::Expand);
  EXPECT_EQ(w.look(late.uuid).reason, Reason::DispatchedByOperator);
  EXPECT_EQ(w.look(late.uuid).next_attempt, w.now);
  EXPECT_EQ(must(w.a->dispatch_expand(w.now, w.by_ada, both)).changed, 0U) << "it is due already";
  ASSERT_EQ(w.database->audit().size(), 1U);
  EXPECT_EQ(w.database->audit()[0].message, late.id);
  EXPECT_EQ(must(w.a->promote(w.now, 10)).rows, 1U);
  const auto again = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  EXPECT_TRUE(again.dispatched);
  EXPECT_EQ(again.lease.attempt, 2);
  ExpandChunk chunk;
  chunk.deliveries.push_back(w.delivery(w.a, again.message, {}, 1));
  chunk.cursor = 1;
  must(w.a->expand_chunk(w.now, again.lease, chunk));
  must(w.a->give_back(w.now, std::span{&again.lease, 1}));
  EXPECT_TRUE(must(w.a->claim_expand(w.now, w.a.id, 1)).at(0).dispatched) << "of all its chunks";
}

TEST_P(Operating, ReplayGivesFailedAndIgnoredMessagesExpandWork) {
  const Sent failed = w.send_one({.deliveries = 0, .state = MessageState::Failed, .reason = Reason::TemplateNotFound});
  const Sent ignored = w.send_one({.deliveries = 0, .state = MessageState::Ignored, .reason = Reason::NoRoute});
  const Sent fine = w.send_one();
  const std::vector<Uuid> ids{failed.uuid, ignored.uuid, fine.uuid, w.uuid()};
  w.pass(std::chrono::seconds{1});
  const Acted acted = must(w.a->replay(w.now, w.by_ada, ids));
  EXPECT_EQ(acted.changed, 2U);
  ASSERT_EQ(acted.groups.size(), 1U);
  EXPECT_EQ(acted.groups[0].channel, Channel::Expand);
  EXPECT_EQ(w.look(failed.uuid).state, MessageState::Pending);
  EXPECT_EQ(w.look(failed.uuid).reason, Reason::Replayed);
  EXPECT_EQ(w.look(failed.uuid).since, w.now);
  EXPECT_EQ(must(w.a->replay(w.now, w.by_ada, ids)).changed, 0U);
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 10));
  ASSERT_EQ(work.size(), 2U);
  ExpandChunk chunk;
  chunk.deliveries.push_back(w.delivery(w.a, work[0].message, {}, 1));
  chunk.cursor = 1;
  chunk.finished = true;
  must(w.a->expand_chunk(w.now, work[0].lease, chunk));
  EXPECT_EQ(w.look(failed.uuid).state, MessageState::Expanded);
  EXPECT_EQ(w.look(failed.uuid).deliveries.size(), 1U);
}

TEST_P(Operating, AReplayCanMakeWhatWasSuppressedForWantOfAnAddress) {
  const Sent nobody = w.send_one({.placement = {DeliveryState::Suppressed, Reason::NoRecipient, "", {}},
                                  .key = "fact",
                                  .state = MessageState::Failed,
                                  .reason = Reason::NoRecipient});
  EXPECT_EQ(must(w.a->replay(w.now, w.by_ada, std::vector<Uuid>{nobody.uuid})).changed, 1U);
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  ExpandChunk chunk;
  chunk.deliveries.push_back(w.delivery(w.a, work.message, {.key = "fact"}, 1));
  chunk.cursor = 1;
  chunk.finished = true;
  must(w.a->expand_chunk(w.now, work.lease, chunk));
  EXPECT_EQ(w.look(nobody.uuid).state, MessageState::Expanded);
  EXPECT_EQ(w.look(nobody.uuid).deliveries.size(), 2U);
  EXPECT_EQ(w.claim(10).size(), 1U);
}

TEST_P(Operating, AReplayDoesNotRepeatTheChunksThatWereMade) {
  const Sent sent =
      w.send_one({.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true});
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  ExpandChunk chunk;
  chunk.deliveries.push_back(w.delivery(w.a, work.message, {}, 1));
  chunk.cursor = 1;
  must(w.a->expand_chunk(w.now, work.lease, chunk));
  must(w.a->expand_chunk(
      w.now, work.lease,
      {.cursor = 1, .finished = true, .state = MessageState::Failed, .reason = Reason::ExpansionFailed}));
  must(w.a->replay(w.now, w.by_ada, std::vector<Uuid>{sent.uuid}));
  EXPECT_EQ(must(w.a->claim_expand(w.now, w.a.id, 1)).at(0).cursor, 1U);
}

TEST_P(Operating, ASecretOutlivesAFailureThatCanBeReplayed) {
  OutboxRow row = w.row();
  row.sealed = "c2VhbGVk";
  w.send_one({.deliveries = 0, .state = MessageState::Failed, .reason = Reason::TemplateNotFound}, row);
  must(w.a->replay(w.now, w.by_ada, std::vector<Uuid>{parse_uuid(row.id).value()}));
  EXPECT_EQ(must(w.a->claim_expand(w.now, w.a.id, 1)).at(0).message.sealed, "c2VhbGVk");
}

TEST_P(Operating, ASecretIsKeptWhenTheDeliveriesEndButTheMessageCanBeReplayed) {
  OutboxRow row = w.row();
  row.sealed = "c2VhbGVk";
  const Sent sent = w.send_one(
      {.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true}, row);
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  ExpandChunk chunk;
  chunk.deliveries.push_back(w.delivery(w.a, work.message, {}, 1));
  chunk.cursor = 1;
  chunk.finished = true;
  chunk.state = MessageState::Failed;
  chunk.reason = Reason::ExpansionFailed;
  must(w.a->expand_chunk(w.now, work.lease, chunk));
  w.record(w.completion(w.claim_one(), DeliveryState::Sent));
  EXPECT_EQ(w.look(sent.uuid).message.sealed, "c2VhbGVk");
}

TEST_P(Operating, WhatIsAnotherTenantsOrUnknownIsLeftAlone) {
  const Zoo zoo = make_zoo(w);
  const Sent failed = w.send_one({.deliveries = 0, .state = MessageState::Failed, .reason = Reason::TemplateNotFound});
  OperatorAction theirs = w.by_ada;
  theirs.tenant = w.other;
  for (const Ids& ids : {zoo.all(), Ids{4711, -1, 0}}) {
    EXPECT_EQ(must(w.a->retry(w.now, theirs, ids)).changed, 0U);
    EXPECT_EQ(must(w.a->discard(w.now, theirs, ids)).changed, 0U);
    EXPECT_EQ(must(w.a->cancel(w.now, theirs, ids)).changed, 0U);
    EXPECT_EQ(must(w.a->dispatch(w.now, theirs, ids)).changed, 0U);
  }
  EXPECT_EQ(must(w.a->replay(w.now, theirs, std::vector<Uuid>{failed.uuid})).changed, 0U);
  EXPECT_TRUE(w.database->audit().empty());
  EXPECT_EQ(w.look(zoo.parked).state, DeliveryState::Parked);
}

TEST_P(Operating, EveryChangeIsInTheAuditTrailWithWhoAndWhy) {
  const Zoo zoo = make_zoo(w);
  const Sent failed = w.send_one({.deliveries = 0, .state = MessageState::Failed, .reason = Reason::TemplateNotFound});
  OperatorAction mine = w.by_ada;
  mine.tenant = w.acme;
  must(w.a->retry(w.now, mine, zoo.all()));
  must(w.a->dispatch(w.now, mine, zoo.all()));
  must(w.a->cancel(w.now, mine, zoo.all()));
  must(w.a->replay(w.now, mine, std::vector<Uuid>{failed.uuid}));
  const auto audit = w.database->audit();
  ASSERT_EQ(audit.size(), 7U);
  EXPECT_EQ(audit[0].actor, "ada");
  EXPECT_EQ(audit[0].why, "because");
  EXPECT_EQ(audit[0].action, "retry");
  EXPECT_EQ(audit[0].delivery, zoo.parked.deliveries[0]);
  EXPECT_FALSE(audit[0].message.has_value());
  EXPECT_EQ(audit[1].action, "dispatch");
  EXPECT_EQ(audit[2].action, "cancel");
  EXPECT_EQ(audit[5].action, "cancel");
  EXPECT_EQ(audit[6].action, "replay");
  EXPECT_EQ(audit[6].message, failed.id);
  EXPECT_FALSE(audit[6].delivery.has_value());
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Operating);
}  // namespace postrider::conformance
