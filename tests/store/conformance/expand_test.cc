#include <stdexcept>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

const Plan kInChunks{.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true};

TEST_P(Expanding, AnEmptyOutboxAsksNobody) {
  const auto report =
      must(w.a->expand(w.now, w.a.id, 10, [](std::span<const OutboxRow>) -> std::vector<ExpandedMessage> {
        throw std::logic_error{"asked about nothing"};
      }));
  EXPECT_EQ(report.rows, 0U);
}

TEST_P(Expanding, ARowBecomesAMessageWithItsDeliveryInTheQueue) {
  w.database->insert(w.row());
  const auto report = must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a)));
  EXPECT_EQ(report.rows, 1U);
  EXPECT_TRUE(report.owned.empty());
  ASSERT_EQ(report.queued.size(), 1U);
  EXPECT_EQ(report.queued[0], (QueueGroup{Lane::Standard, Channel::Email, w.acme}));
  const MessageView view = w.look(w.decided[0].message.uuid);
  EXPECT_EQ(view.state, MessageState::Expanded);
  EXPECT_EQ(view.reason, Reason::Expanded);
  EXPECT_EQ(view.message.accepted_at, w.now);
  ASSERT_EQ(view.deliveries.size(), 1U);
  EXPECT_EQ(view.deliveries[0].state, DeliveryState::Queued);
  EXPECT_EQ(view.deliveries[0].reason, Reason::Waiting);
  EXPECT_EQ(view.deliveries[0].attempts, 0);
  EXPECT_EQ(must(w.a->stats({})).outbox, 0U);
}

TEST_P(Expanding, RowsAreTakenOldestFirstAndOnlySoMany) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    OutboxRow row = w.row();
    ids.push_back(row.id);
    w.database->insert(row);
  }
  std::vector<std::string> seen;
  const auto look = [&](std::span<const OutboxRow> rows) {
    for (const OutboxRow& row : rows) seen.push_back(row.id);
    return w.decide(w.a)(rows);
  };
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 2, look)).rows, 2U);
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 2, look)).rows, 2U);
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 2, look)).rows, 1U);
  EXPECT_EQ(seen, ids);
}

TEST_P(Expanding, RowsOfThePriorityLaneOvertakeButNeverFillATurn) {
  std::vector<std::string> bulk;
  std::vector<std::string> priority;
  for (int i = 0; i < 12; ++i) {
    OutboxRow row = w.row();
    row.lane = i < 6 ? "bulk" : "priority";
    (i < 6 ? bulk : priority).push_back(row.id);
    w.database->insert(row);
  }
  std::vector<std::string> seen;
  const auto look = [&](std::span<const OutboxRow> rows) {
    for (const OutboxRow& row : rows) seen.push_back(row.id);
    return w.decide(w.a)(rows);
  };
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 4, look)).rows, 4U);
  EXPECT_EQ(seen, (std::vector{bulk[0], priority[0], priority[1], priority[2]}));
  seen.clear();
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 4, look)).rows, 4U);
  EXPECT_EQ(seen, (std::vector{bulk[1], priority[3], priority[4], priority[5]}));
  seen.clear();
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 9, look)).rows, 4U);
  EXPECT_EQ(seen, (std::vector(bulk.begin() + 2, bulk.end())));
  EXPECT_EQ(must(w.a->stats({})).outbox, 0U);
}

TEST_P(Expanding, WhereANewDeliveryGoesIsDecidedOutside) {
  const Instant later = w.now + std::chrono::hours{1};
  const Sent due = w.send_one({.placement = {DeliveryState::Retrying, Reason::Scheduled, "", later}});
  EXPECT_EQ(w.look(due).state, DeliveryState::Retrying);
  EXPECT_EQ(w.look(due).reason, Reason::Scheduled);
  EXPECT_EQ(w.look(due).due_at, later);
  EXPECT_EQ(w.look(due).attempts, 0);
  const Sent nobody = w.send_one({.placement = {DeliveryState::Suppressed, Reason::NoRecipient, "no address", {}}});
  EXPECT_EQ(w.look(nobody).state, DeliveryState::Suppressed);
  EXPECT_EQ(w.look(nobody).reason, Reason::NoRecipient);
  EXPECT_EQ(w.look(nobody).detail, "no address");
  EXPECT_EQ(w.look(nobody).since, w.now);
  const Sent expired = w.send_one({.placement = {DeliveryState::Expired, Reason::Expired, "", {}}});
  EXPECT_EQ(w.look(expired).state, DeliveryState::Expired);
  EXPECT_TRUE(must(w.a->heads(Look::Everywhere)).empty());
}

TEST_P(Expanding, AMessageThatCannotBecomeDeliveriesKeepsItsReason) {
  for (const auto& [state, reason] :
       {std::pair{MessageState::Failed, Reason::TemplateNotFound}, std::pair{MessageState::Ignored, Reason::NoRoute}}) {
    const Sent sent = w.send_one({.deliveries = 0, .state = state, .reason = reason, .detail = "type x"});
    const MessageView view = w.look(sent.uuid);
    EXPECT_EQ(view.state, state);
    EXPECT_EQ(view.reason, reason);
    EXPECT_EQ(view.detail, "type x");
    EXPECT_EQ(view.since, w.now);
    EXPECT_TRUE(view.deliveries.empty());
  }
}

TEST_P(Expanding, ADeliveryForAFreePlaceIsInsertedAlreadyHeld) {
  w.database->insert(w.row());
  const auto report = must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a, {.deliveries = 2, .own_provider = w.mail})));
  EXPECT_TRUE(report.queued.empty());
  ASSERT_EQ(report.owned.size(), 2U);
  const Claim& own = report.owned[0];
  EXPECT_EQ(own.lease.fence, 1);
  EXPECT_EQ(own.lease.attempt, 1);
  EXPECT_EQ(own.lease.provider, w.mail);
  EXPECT_EQ(own.lease.claimed_at, w.now);
  EXPECT_EQ(own.lease.id, w.decided[0].deliveries[0].made.delivery.id);
  EXPECT_EQ(own.delivery.body, "Dear Ada");
  EXPECT_EQ(own.delivery.id, own.lease.id);
  EXPECT_TRUE(w.claim(10).empty());
  EXPECT_EQ(w.record(w.completion(own, DeliveryState::Delivered)), Recorded::Applied);
  EXPECT_EQ(w.look(w.decided[0].message.uuid).deliveries[0].tries.at(0).provider, "mail");
}

TEST_P(Expanding, HeldAndWaitingDeliveriesOfOneBatchAreReportedApart) {
  w.database->insert(w.row());
  w.database->insert(w.row());
  w.database->insert(w.row("t", "other"));
  const auto report = must(w.a->expand(w.now, w.a.id, 10, [&](std::span<const OutboxRow> rows) {
    std::vector<ExpandedMessage> out;
    out.push_back(w.expanded(w.a, rows[0], {.own_provider = w.mail}));
    out.push_back(w.expanded(w.a, rows[1], {.deliveries = 3}));
    out.push_back(w.expanded(w.a, rows[2], {.channel = Channel::Sms}));
    return out;
  }));
  EXPECT_EQ(report.rows, 3U);
  EXPECT_EQ(report.owned.size(), 1U);
  EXPECT_EQ(report.queued.size(), 2U);
}

TEST_P(Expanding, WhenTheDecisionThrowsNothingHappened) {
  w.database->insert(w.row());
  const auto result = w.a->expand(w.now, w.a.id, 10, [](std::span<const OutboxRow>) -> std::vector<ExpandedMessage> {
    throw std::runtime_error{"a bad template"};
  });
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().text.find("a bad template"), std::string::npos);
  EXPECT_EQ(must(w.a->stats({})).outbox, 1U);
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a))).rows, 1U);
}

TEST_P(Expanding, ADecisionAboutAnotherNumberOfRowsIsRefused) {
  w.database->insert(w.row());
  EXPECT_EQ(error_of(w.a->expand(w.now, w.a.id, 10,
                                 [](std::span<const OutboxRow>) { return std::vector<ExpandedMessage>{}; })),
            ErrorCode::Invalid);
  EXPECT_EQ(must(w.a->stats({})).outbox, 1U);
}

TEST_P(Expanding, TheSameKeyAgainIsADuplicateWithoutDeliveries) {
  OutboxRow row = w.row();
  row.idempotency_key = "k1";
  const Sent first = w.send_one({}, row);
  row.id = format_uuid(w.uuid());
  const Sent second = w.send_one({}, row);
  const MessageView view = w.look(second.uuid);
  EXPECT_EQ(view.state, MessageState::Duplicate);
  EXPECT_EQ(view.reason, Reason::DuplicateMessage);
  EXPECT_EQ(view.detail, format_uuid(first.uuid));
  EXPECT_TRUE(view.deliveries.empty());
  EXPECT_EQ(w.look(first.uuid).state, MessageState::Expanded);
}

TEST_P(Expanding, TheSameIdAgainIsADuplicateThatTheFirstOutshines) {
  const OutboxRow row = w.row();
  const Sent first = w.send_one({}, row);
  w.send_one({}, row);
  EXPECT_EQ(w.look(first.uuid).state, MessageState::Expanded);
  EXPECT_EQ(w.claim(10).size(), 1U);
  const auto items = must(w.a->list({.state = "duplicate"}));
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].message_uuid, first.uuid);
  EXPECT_EQ(items[0].detail, format_uuid(first.uuid));
  EXPECT_NE(items[0].id, first.id);
}

TEST_P(Expanding, ARepeatedIdTakesNoKey) {
  OutboxRow row = w.row();
  w.send_one({}, row);
  row.idempotency_key = "k1";
  w.send_one({}, row);
  OutboxRow fresh = w.row();
  fresh.idempotency_key = "k1";
  EXPECT_EQ(w.look(w.send_one({}, fresh).uuid).state, MessageState::Expanded);
}

TEST_P(Expanding, OfTwoWithOneKeyInOneBatchTheEarlierPositionWins) {
  OutboxRow first = w.row();
  OutboxRow second = w.row();
  first.idempotency_key = second.idempotency_key = "k1";
  w.database->insert(first);
  w.database->insert(second);
  must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a)));
  EXPECT_EQ(w.look(parse_uuid(first.id).value()).state, MessageState::Expanded);
  const MessageView view = w.look(parse_uuid(second.id).value());
  EXPECT_EQ(view.state, MessageState::Duplicate);
  EXPECT_EQ(view.detail, first.id);
}

TEST_P(Expanding, RepeatsInALargeBatchAreDuplicatesAndTheOthersAreNot) {
  OutboxRow early = w.row();
  early.idempotency_key = "k7";
  const Sent first = w.send_one({}, early);
  for (int i = 0; i < 20; ++i) {
    OutboxRow row = i == 3 ? early : w.row();
    row.idempotency_key = "k" + std::to_string(i);
    w.database->insert(row);
  }
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 20, w.decide(w.a))).rows, 20U);
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 20, w.decide(w.a))).rows, 0U);
  const auto repeats = must(w.a->list({.state = "duplicate"}));
  ASSERT_EQ(repeats.size(), 2U);
  for (const auto& repeat : repeats) EXPECT_EQ(repeat.detail, format_uuid(first.uuid));
  EXPECT_EQ(w.claim(50).size(), 19U);
}

TEST_P(Expanding, APlainRowWhoseKeyTheApiAcceptedIsTheDuplicateEvenIfItIsExpandedFirst) {
  OutboxRow plain = w.row();
  plain.idempotency_key = "k1";
  w.database->insert(plain);
  OutboxRow accepted = plain;
  accepted.id = format_uuid(w.uuid());
  must(w.a->accept(w.now, std::vector<IntakeGroup>{{w.offered(accepted)}}));
  must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a)));
  EXPECT_EQ(w.look(parse_uuid(plain.id).value()).state, MessageState::Duplicate);
  EXPECT_EQ(w.look(parse_uuid(plain.id).value()).detail, accepted.id);
  EXPECT_EQ(w.look(parse_uuid(accepted.id).value()).state, MessageState::Expanded);
}

TEST_P(Expanding, AnAcceptedMessageIsSentThoughAPlainRowWithItsIdStandsBeforeIt) {
  OutboxRow plain = w.row();
  w.database->insert(plain);
  must(w.a->accept(w.now, std::vector<IntakeGroup>{{w.offered(plain)}}));
  const auto report = must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a)));
  EXPECT_EQ(report.rows, 2U);
  const MessageView kept = w.look(parse_uuid(plain.id).value());
  EXPECT_EQ(kept.state, MessageState::Expanded);
  EXPECT_EQ(kept.deliveries.size(), 1U);
}

TEST_P(Expanding, AnAcceptedMarkThatNobodyGaveIsWorthNothing) {
  const Sent first = w.send_one();
  OutboxRow forged = w.row();
  forged.accepted = first.id;  // the inner id of another message
  const Sent second = w.send_one({}, forged);
  EXPECT_EQ(w.look(second.uuid).state, MessageState::Expanded);
  EXPECT_NE(w.look(second.uuid).message.id, first.id);
  EXPECT_EQ(w.look(second.uuid).deliveries.size(), 1U);
  EXPECT_EQ(w.look(first.uuid).deliveries.size(), 1U);
}

TEST_P(Expanding, ACopyOfAnAcceptedRowIsADuplicate) {
  const OutboxRow row = w.row();
  must(w.a->accept(w.now, std::vector<IntakeGroup>{{w.offered(row)}}));
  const RowId id = w.look(parse_uuid(row.id).value()).message.id;
  OutboxRow copy = row;
  copy.accepted = id;
  w.database->insert(copy);
  must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a)));
  EXPECT_EQ(w.look(parse_uuid(row.id).value()).state, MessageState::Expanded);
  EXPECT_EQ(w.claim(10).size(), 1U);
  EXPECT_EQ(must(w.a->list({.state = "duplicate"})).size(), 1U);
}

TEST_P(Expanding, ASecondMessageForTheSameFactMakesNothing) {
  const Plan plan{.deliveries = 2, .key = "e1:t:email:welcome"};
  w.send_one(plan);
  const Sent second = w.send_one(plan);
  const MessageView view = w.look(second.uuid);
  EXPECT_EQ(view.state, MessageState::Duplicate);
  EXPECT_EQ(view.reason, Reason::DuplicateDelivery);
  EXPECT_EQ(view.detail, "e1:t:email:welcome");
  EXPECT_TRUE(view.deliveries.empty());
}

TEST_P(Expanding, WhenSomeOfTheDeliveriesExistedTheOthersAreMade) {
  w.send_one({.deliveries = 2, .key = "fact"});
  const Sent second = w.send_one({.deliveries = 4, .key = "fact"});
  const MessageView view = w.look(second.uuid);
  EXPECT_EQ(view.state, MessageState::Expanded);
  EXPECT_EQ(view.reason, Reason::DuplicateDelivery);
  EXPECT_EQ(view.detail, "fact, fact:2");
  EXPECT_EQ(view.deliveries.size(), 2U);
}

TEST_P(Expanding, TheSameDeliveryKeyInTwoTenantsIsTwoKeys) {
  w.send_one({.key = "fact"});
  const Sent theirs = w.send_one({.key = "fact"}, w.row("t", "other"));
  EXPECT_EQ(w.look(theirs.uuid).state, MessageState::Expanded);
  EXPECT_EQ(w.look(theirs.uuid).deliveries.size(), 1U);
}

TEST_P(Expanding, ARowOfAnUnknownTenantIsKeptUnderNone) {
  const Sent sent = w.send_one({.deliveries = 0, .state = MessageState::Failed, .reason = Reason::UnknownTenant},
                               w.row("t", "nobody"));
  EXPECT_EQ(w.look(sent.uuid).message.tenant, 0);
  EXPECT_EQ(w.look(sent.uuid).message.tenant_name, "nobody");
  EXPECT_EQ(must(w.a->message(0, sent.uuid)).reason, Reason::UnknownTenant);
  EXPECT_EQ(error_of(w.a->message(w.acme, sent.uuid)), ErrorCode::NotFound);
}

TEST_P(Expanding, ARowThatCannotBeReadDoesNotStopTheOthers) {
  OutboxRow poison = w.row();
  // As wrong as every dialect lets a producer be: where columns have types, the rest is the producer's own error.
  poison.payload = "[1]";
  poison.lane = "express";
  w.database->insert(poison);
  OutboxRow good = w.row();
  w.database->insert(good);
  const auto report = must(w.a->expand(w.now, w.a.id, 10, [&](std::span<const OutboxRow> rows) {
    std::vector<ExpandedMessage> out;
    for (const OutboxRow& row : rows) {
      const auto refusal = read_row(row).refusal;
      out.push_back(w.expanded(
          w.a, row,
          refusal ? Plan{.deliveries = 0, .state = MessageState::Failed, .reason = refusal->reason} : Plan{}));
    }
    return out;
  }));
  EXPECT_EQ(report.rows, 2U);
  EXPECT_EQ(w.look(parse_uuid(good.id).value()).state, MessageState::Expanded);
  EXPECT_EQ(must(w.a->list({.state = "failed"})).size(), 1U);
}

TEST_P(Expanding, ALargeExpansionBecomesWorkThatIsDoneInChunks) {
  OutboxRow row = w.row();
  row.sealed = "c2VhbGVk";
  w.database->insert(row);
  const auto report = must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a, kInChunks)));
  ASSERT_EQ(report.queued.size(), 1U);
  EXPECT_EQ(report.queued[0].channel, Channel::Expand);
  const Uuid uuid = parse_uuid(row.id).value();
  EXPECT_EQ(w.look(uuid).state, MessageState::Expanding);
  EXPECT_TRUE(w.claim(10).empty());

  auto work = must(w.a->claim_expand(w.now, w.a.id, 10));
  ASSERT_EQ(work.size(), 1U);
  EXPECT_EQ(work[0].lease.fence, 1);
  EXPECT_EQ(work[0].lease.attempt, 1);
  EXPECT_EQ(work[0].cursor, 0U);
  EXPECT_EQ(work[0].message.uuid, uuid);
  EXPECT_EQ(work[0].message.sealed, "c2VhbGVk");
  EXPECT_EQ(work[0].message.payload, row.payload);
  EXPECT_TRUE(must(w.a->claim_expand(w.now, w.a.id, 10)).empty());

  ExpandChunk chunk;
  for (int i = 1; i <= 3; ++i) chunk.deliveries.push_back(w.delivery(w.a, work[0].message, {}, i));
  chunk.cursor = 3;
  const auto first = must(w.a->expand_chunk(w.now, work[0].lease, chunk));
  EXPECT_EQ(first.queued.size(), 1U);
  EXPECT_EQ(w.look(uuid).state, MessageState::Expanding);
  EXPECT_EQ(w.look(uuid).deliveries.size(), 3U);

  // A node that goes on after a crash finds the cursor.
  const Lease leases[] = {work[0].lease};
  must(w.a->give_back(w.now, leases));
  work = must(w.a->claim_expand(w.now, w.a.id, 10));
  EXPECT_EQ(work.at(0).cursor, 3U);
  EXPECT_EQ(work[0].lease.fence, 2);
  EXPECT_EQ(work[0].lease.attempt, 1);

  ExpandChunk last;
  last.deliveries.push_back(w.delivery(w.a, work[0].message, {}, 4));
  last.cursor = 4;
  last.finished = true;
  must(w.a->expand_chunk(w.now, work[0].lease, last));
  EXPECT_EQ(w.look(uuid).state, MessageState::Expanded);
  EXPECT_EQ(w.look(uuid).reason, Reason::Expanded);
  EXPECT_EQ(w.look(uuid).deliveries.size(), 4U);
  EXPECT_TRUE(must(w.a->claim_expand(w.now, w.a.id, 10)).empty());
  EXPECT_EQ(w.claim(10).size(), 4U);
}

TEST_P(Expanding, ChunksOfManyMessagesAreWrittenTogetherEachByItsOwnRight) {
  std::vector<Sent> sent;
  for (int i = 0; i < 4; ++i) sent.push_back(w.send_one(kInChunks));
  auto work = must(w.a->claim_expand(w.now, w.a.id, 10));
  ASSERT_EQ(work.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(work[i].message.uuid, sent[i].uuid) << "each with its own message";
  const Lease lost[] = {work[1].lease};
  must(w.a->give_back(w.now, lost));
  std::vector<ExpandStep> steps;
  for (std::size_t i = 0; i < 4; ++i) {
    ExpandStep step{work[i].lease, {.cursor = 2, .finished = i != 2}};
    for (int n = 1; i != 3 && n <= 2; ++n) step.chunk.deliveries.push_back(w.delivery(w.a, work[i].message, {}, n));
    steps.push_back(std::move(step));
  }
  steps[3].chunk.state = MessageState::Failed;
  steps[3].chunk.reason = Reason::MissingData;
  steps[3].chunk.detail = "no record";
  const ExpandSteps done = must(w.a->expand_chunks(w.now, steps));
  EXPECT_EQ(done.results, (std::vector{Stepped::Written, Stepped::LeaseLost, Stepped::Written, Stepped::Written}));
  EXPECT_EQ(done.report.queued.size(), 1U) << "one group got work";

  EXPECT_EQ(w.look(sent[0].uuid).state, MessageState::Expanded);
  EXPECT_EQ(w.look(sent[0].uuid).deliveries.size(), 2U);
  EXPECT_EQ(w.look(sent[1].uuid).state, MessageState::Expanding);
  EXPECT_TRUE(w.look(sent[1].uuid).deliveries.empty());
  EXPECT_EQ(w.look(sent[2].uuid).state, MessageState::Expanding);
  EXPECT_EQ(w.look(sent[2].uuid).deliveries.size(), 2U);
  EXPECT_EQ(w.look(sent[3].uuid).state, MessageState::Failed);
  EXPECT_EQ(w.look(sent[3].uuid).reason, Reason::MissingData);
  EXPECT_EQ(w.look(sent[3].uuid).detail, "no record");

  const Lease rest[] = {work[2].lease};
  must(w.a->give_back(w.now, rest));
  work = must(w.a->claim_expand(w.now, w.a.id, 10));
  ASSERT_EQ(work.size(), 2U) << "what was lost and what goes on";
  EXPECT_EQ(work[0].cursor, 0U);
  EXPECT_EQ(work[1].cursor, 2U);
  EXPECT_EQ(w.claim(10).size(), 4U);
}

TEST_P(Expanding, OfTwoChunksWithOneDeliveryKeyTheFirstMakesIt) {
  std::vector<Sent> sent;
  for (int i = 0; i < 2; ++i) sent.push_back(w.send_one(kInChunks));
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 10));
  std::vector<ExpandStep> steps;
  for (const ExpandWork& each : work) {
    ExpandStep step{each.lease, {.cursor = 1, .finished = true}};
    step.chunk.deliveries.push_back(w.delivery(w.a, each.message, {}, 1));
    step.chunk.deliveries.back().made.delivery.key = "b-1:t:email:one";
    step.chunk.deliveries.back().made.key_is_own = false;
    steps.push_back(std::move(step));
  }
  must(w.a->expand_chunks(w.now, steps));
  EXPECT_EQ(w.look(sent[0].uuid).deliveries.size(), 1U);
  EXPECT_TRUE(w.look(sent[1].uuid).deliveries.empty());
  EXPECT_EQ(w.look(sent[1].uuid).reason, Reason::DuplicateDelivery);
}

TEST_P(Expanding, ASecretIsKeptWhileChunksAreToCome) {
  OutboxRow row = w.row();
  row.sealed = "c2VhbGVk";
  const Sent sent = w.send_one(kInChunks, row);
  auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  ExpandChunk chunk;
  chunk.deliveries.push_back(w.delivery(w.a, work.message, {}, 1));
  chunk.cursor = 1;
  must(w.a->expand_chunk(w.now, work.lease, chunk));
  w.record(w.completion(w.claim_one(), DeliveryState::Sent));
  EXPECT_EQ(w.look(sent.uuid).message.sealed, "c2VhbGVk");
  must(w.a->expand_chunk(w.now, work.lease, {.cursor = 1, .finished = true}));
  EXPECT_EQ(w.look(sent.uuid).message.sealed, "");
}

TEST_P(Expanding, AChunkWhoseLeaseWasLostWritesNothing) {
  const Sent sent = w.send_one(kInChunks);
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  const Lease leases[] = {work.lease};
  must(w.a->give_back(w.now, leases));
  ExpandChunk chunk;
  chunk.deliveries.push_back(w.delivery(w.a, work.message, {}, 1));
  chunk.cursor = 1;
  EXPECT_EQ(error_of(w.a->expand_chunk(w.now, work.lease, chunk)), ErrorCode::Conflict);
  must(w.a->claim_expand(w.now, w.a.id, 1));
  EXPECT_EQ(error_of(w.a->expand_chunk(w.now, work.lease, chunk)), ErrorCode::Conflict);
  EXPECT_TRUE(w.look(sent.uuid).deliveries.empty());
  EXPECT_EQ(error_of(w.a->defer_expand(w.now, work.lease, w.now, Reason::ExpansionFailed, "x")), ErrorCode::Conflict);
}

TEST_P(Expanding, ChunksFollowTheSameRulesForDeliveryKeys) {
  w.send_one({.deliveries = 3, .key = "fact"});
  const Sent sent = w.send_one(kInChunks);
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  ExpandChunk first;
  for (int i = 1; i <= 2; ++i) first.deliveries.push_back(w.delivery(w.a, work.message, {.key = "fact"}, i));
  first.cursor = 2;
  must(w.a->expand_chunk(w.now, work.lease, first));
  ExpandChunk second;
  for (int i = 3; i <= 4; ++i) second.deliveries.push_back(w.delivery(w.a, work.message, {.key = "fact"}, i));
  second.cursor = 4;
  second.finished = true;
  must(w.a->expand_chunk(w.now, work.lease, second));
  const MessageView view = w.look(sent.uuid);
  EXPECT_EQ(view.state, MessageState::Expanded);
  EXPECT_EQ(view.reason, Reason::DuplicateDelivery);
  EXPECT_EQ(view.detail, "fact, fact:2, fact:3");
  EXPECT_EQ(view.deliveries.size(), 1U);
}

TEST_P(Expanding, ChunksThatMadeNothingEndAsADuplicate) {
  w.send_one({.deliveries = 2, .key = "fact"});
  const Sent sent = w.send_one(kInChunks);
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  ExpandChunk chunk;
  for (int i = 1; i <= 2; ++i) chunk.deliveries.push_back(w.delivery(w.a, work.message, {.key = "fact"}, i));
  chunk.cursor = 2;
  chunk.finished = true;
  must(w.a->expand_chunk(w.now, work.lease, chunk));
  EXPECT_EQ(w.look(sent.uuid).state, MessageState::Duplicate);
  EXPECT_EQ(w.look(sent.uuid).detail, "fact");
}

TEST_P(Expanding, WorkThatFailedIsTriedAgainLaterWithItsCountAndError) {
  const Sent sent = w.send_one(kInChunks);
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  const Instant due = w.now + std::chrono::minutes{1};
  must(w.a->defer_expand(w.now, work.lease, due, Reason::ExpansionFailed, "query timed out"));
  const MessageView view = w.look(sent.uuid);
  EXPECT_EQ(view.state, MessageState::Expanding);
  EXPECT_EQ(view.reason, Reason::ExpansionFailed);
  EXPECT_EQ(view.detail, "query timed out");
  EXPECT_EQ(view.attempts, 1);
  EXPECT_EQ(view.next_attempt, due);
  EXPECT_TRUE(must(w.a->claim_expand(w.now, w.a.id, 1)).empty());
  w.pass(std::chrono::minutes{1});
  const auto promoted = must(w.a->promote(w.now, 10));
  EXPECT_EQ(promoted.rows, 1U);
  EXPECT_EQ(promoted.groups.at(0).channel, Channel::Expand);
  const auto again = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  EXPECT_EQ(again.lease.attempt, 2);
  EXPECT_EQ(again.lease.fence, 2);
  must(w.a->expand_chunk(
      w.now, again.lease,
      {.finished = true, .state = MessageState::Failed, .reason = Reason::ExpansionFailed, .detail = "used up"}));
  EXPECT_EQ(w.look(sent.uuid).state, MessageState::Failed);
  EXPECT_EQ(w.look(sent.uuid).detail, "used up");
  EXPECT_EQ(w.look(sent.uuid).attempts, 2);
  EXPECT_FALSE(w.look(sent.uuid).next_attempt.has_value());
}

TEST_P(Expanding, ExpandWorkIsClaimedPriorityFirstThenOldestFirst) {
  OutboxRow theirs = w.row("t", "other");
  const Sent first = w.send_one(kInChunks, theirs);
  const Sent second = w.send_one(kInChunks);
  OutboxRow urgent = w.row();
  urgent.lane = "priority";
  const Sent third = w.send_one(kInChunks, urgent);
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 2));
  ASSERT_EQ(work.size(), 2U);
  EXPECT_EQ(work[0].message.uuid, third.uuid);
  EXPECT_EQ(work[1].message.uuid, first.uuid);
  EXPECT_EQ(must(w.a->claim_expand(w.now, w.a.id, 5)).at(0).message.uuid, second.uuid);
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Expanding);
}  // namespace postrider::conformance
