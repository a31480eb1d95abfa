// What waits about one entity is cancelled with it; what is told about it is found by it.
#include "base/limits.h"
#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

const Plan kToExpand{.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true};

class AboutAnEntity : public Conformance {
 protected:
  OutboxRow about(const std::string& entity, const std::string& type = "booking.made",
                  const std::string& tenant = "acme") {
    OutboxRow row = w.row(type, tenant);
    row.entity_id = entity;
    return row;
  }
  Sent told(const std::string& entity, const Plan& plan = {}) { return w.send_one(plan, about(entity)); }
  CancelledEntity cancel(const EntityRef& entity) {
    const Plan gone{.deliveries = 0,
                    .state = MessageState::Cancelled,
                    .reason = Reason::CancelledWithEntity,
                    .detail = w.by_ada.why};
    return must(w.a->cancel_entity(w.now, w.by_ada, entity, w.decide(w.a, gone)));
  }
  CancelledEntity cancel(const std::string& id) { return cancel(EntityRef{.tenant = w.acme, .id = id}); }
};

TEST_P(AboutAnEntity, CancelEndsWhatWaitsAndTellsWhatDoesNot) {
  const Sent parked = told("b-7");
  w.park(w.claim_one());
  const Sent sent = told("b-7");
  w.record(w.completion(w.claim_one(), DeliveryState::Sent));
  const Sent retrying = told("b-7");
  w.record(w.completion(w.claim_one(), DeliveryState::Retrying));
  const Sent sending = told("b-7");
  w.claim_one();
  const Sent queued = told("b-7");
  const Sent scheduled =
      told("b-7", {.placement = {DeliveryState::Retrying, Reason::Scheduled, "", w.now + std::chrono::hours{24}}});
  const Sent another = told("b-8");
  const Sent theirs = w.send_one({}, about("b-7", "booking.made", "other"));
  const Sent unnamed = told("");
  w.pass(std::chrono::seconds{1});

  const CancelledEntity done = cancel("b-7");
  EXPECT_EQ(done.deliveries, 3U);
  EXPECT_EQ(done.messages, 0U);
  EXPECT_EQ(done.marked, 1U);
  EXPECT_EQ(done.left, (std::map<DeliveryState, std::size_t>{{DeliveryState::Sent, 1}, {DeliveryState::Parked, 1}}));
  for (const Sent* each : {&queued, &retrying, &scheduled}) {
    const DeliveryView view = w.look(*each);
    EXPECT_EQ(view.state, DeliveryState::Cancelled);
    EXPECT_EQ(view.reason, Reason::CancelledWithEntity);
    EXPECT_EQ(view.detail, "because");
    EXPECT_EQ(view.since, w.now);
  }
  EXPECT_EQ(w.look(sending).state, DeliveryState::Sending);
  EXPECT_EQ(w.look(sent).state, DeliveryState::Sent);
  EXPECT_EQ(w.look(parked).state, DeliveryState::Parked);
  for (const Sent* each : {&another, &theirs, &unnamed}) EXPECT_EQ(w.look(*each).state, DeliveryState::Queued);

  const CancelledEntity again = cancel("b-7");
  EXPECT_EQ(again.deliveries, 0U);
  EXPECT_EQ(again.left.at(DeliveryState::Cancelled), 3U);
}

TEST_P(AboutAnEntity, CancelReachesWhatIsStillToBeExpandedWhoeverHoldsIt) {
  const auto later = w.now + std::chrono::hours{1};
  OutboxRow secret = about("b-7");
  secret.sealed = "c2VhbGVk";
  const Sent put_off = w.send_one(kToExpand, secret);
  must(w.a->defer_expand(w.now, must(w.a->claim_expand(w.now, w.a.id, 1)).at(0).lease, later, Reason::ExpansionFailed,
                         "x"));
  const Sent held = told("b-7", kToExpand);
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  const Sent waiting = told("b-7", kToExpand);
  const Sent another = told("b-8", kToExpand);

  EXPECT_EQ(cancel("b-7").messages, 3U);
  for (const Sent* each : {&put_off, &held, &waiting}) {
    const MessageView view = w.look(each->uuid);
    EXPECT_EQ(view.state, MessageState::Cancelled);
    EXPECT_EQ(view.reason, Reason::CancelledWithEntity);
    EXPECT_EQ(view.detail, "because");
    EXPECT_TRUE(view.message.sealed.empty());
    EXPECT_FALSE(view.next_attempt.has_value());
  }
  ExpandChunk chunk;
  chunk.deliveries.push_back(w.delivery(w.a, work.message, {}, 1));
  chunk.finished = true;
  EXPECT_EQ(error_of(w.a->expand_chunk(w.now, work.lease, chunk)), ErrorCode::Conflict);
  EXPECT_TRUE(w.look(held.uuid).deliveries.empty());
  w.pass(std::chrono::hours{2});
  EXPECT_EQ(must(w.a->promote(w.now, 10)).rows, 0U);
  const auto rest = must(w.a->claim_expand(w.now, w.a.id, 10));
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].message.uuid, another.uuid);
}

TEST_P(AboutAnEntity, CancelEndsTheChunksThatAreMadeAndTheRestOfTheMessage) {
  const Sent sent = told("b-7", kToExpand);
  const auto work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  ExpandChunk chunk;
  chunk.deliveries.push_back(w.delivery(w.a, work.message, {}, 1));
  chunk.cursor = 1;
  must(w.a->expand_chunk(w.now, work.lease, chunk));
  const CancelledEntity done = cancel("b-7");
  EXPECT_EQ(done.messages, 1U);
  EXPECT_EQ(done.deliveries, 1U);
  EXPECT_EQ(w.look(sent.uuid).state, MessageState::Cancelled);
  EXPECT_EQ(w.look(sent).state, DeliveryState::Cancelled);
}

TEST_P(AboutAnEntity, CancelReachesTheOutbox) {
  OutboxRow first = about("b-7");
  first.idempotency_key = "k1";
  OutboxRow repeated = about("b-7");
  repeated.idempotency_key = "k1";
  OutboxRow by_http = about("b-7");
  OutboxRow another = about("b-8");
  OutboxRow theirs = about("b-7", "booking.made", "other");
  for (const OutboxRow* row : {&first, &repeated, &another, &theirs}) w.database->insert(*row);
  must(w.a->accept(w.now, std::vector<IntakeGroup>{{w.offered(by_http)}}));
  EXPECT_EQ(cancel("b-7").messages, 2U);
  for (const OutboxRow* row : {&first, &by_http}) {
    const MessageView view = w.look(parse_uuid(row->id).value());
    EXPECT_EQ(view.state, MessageState::Cancelled);
    EXPECT_EQ(view.reason, Reason::CancelledWithEntity);
    EXPECT_EQ(view.detail, "because");
  }
  EXPECT_EQ(w.look(parse_uuid(repeated.id).value()).state, MessageState::Duplicate);
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a))).rows, 2U) << "the others are still there";
  EXPECT_EQ(must(w.a->accept(w.now, std::vector<IntakeGroup>{{w.offered(by_http)}}))[0][0].verdict,
            Admission::Duplicate);
}

TEST_P(AboutAnEntity, CancelCanBeNarrowedToAType) {
  const Sent made = told("b-7");
  const Sent reminder = w.send_one({}, about("b-7", "booking.reminder"));
  w.database->insert(about("b-7", "booking.review"));
  const CancelledEntity done = cancel(EntityRef{.tenant = w.acme, .id = "b-7", .type = "booking.reminder"});
  EXPECT_EQ(done.deliveries, 1U);
  EXPECT_EQ(done.messages, 0U);
  EXPECT_EQ(w.look(made).state, DeliveryState::Queued);
  EXPECT_EQ(w.look(reminder).state, DeliveryState::Cancelled);
  EXPECT_EQ(cancel(EntityRef{.tenant = w.acme, .id = "b-7", .type = "booking.review"}).messages, 1U);
}

TEST_P(AboutAnEntity, ManyDeliveriesAreCancelledBatchByBatch) {
  const Sent many = told("b-7", {.deliveries = static_cast<int>(kBatchMax) + 1});
  EXPECT_EQ(cancel("b-7").deliveries, kBatchMax + 1);
  EXPECT_EQ(w.look(many, kBatchMax).state, DeliveryState::Cancelled);
  EXPECT_TRUE(w.claim(10).empty());
}

TEST_P(AboutAnEntity, CancelLeavesALineForEachChangeAndNeedsAnEntity) {
  const Sent sent = told("b-7");
  const Sent expanding = told("b-7", kToExpand);
  w.database->insert(about("b-7"));
  cancel("b-7");
  const auto audit = w.database->audit();
  ASSERT_EQ(audit.size(), 3U);
  for (const AuditLine& line : audit) {
    EXPECT_EQ(line.actor, "ada");
    EXPECT_EQ(line.action, "cancel");
    EXPECT_EQ(line.why, "because");
  }
  EXPECT_TRUE(audit[0].message.has_value());
  EXPECT_EQ(audit[1].message, expanding.id);
  EXPECT_EQ(audit[2].delivery, sent.deliveries[0]);
  EXPECT_EQ(error_of(w.a->cancel_entity(w.now, w.by_ada, {.tenant = w.acme}, w.decide(w.a))), ErrorCode::Invalid);
}

TEST_P(AboutAnEntity, TheListFindsItsDeliveriesMessagesAndRowsOfTheOutbox) {
  const Sent first = told("b-7", {.deliveries = 2});
  const Sent failed = told("b-7", {.deliveries = 0, .state = MessageState::Failed, .reason = Reason::TemplateNotFound});
  told("b-8");
  const Sent theirs = w.send_one({}, about("b-7", "booking.made", "other"));
  const OutboxRow row = about("b-7");
  w.database->insert(row);
  w.database->insert(about("b-8"));
  const auto mine = must(w.a->list({.tenant = w.acme, .entity = "b-7"}));
  ASSERT_EQ(mine.size(), 4U);
  EXPECT_EQ(format_uuid(mine[0].message_uuid), row.id);
  EXPECT_EQ(mine[1].id, failed.id);
  EXPECT_EQ(mine[2].id, first.deliveries[1]);
  EXPECT_EQ(mine[3].id, first.deliveries[0]);
  for (const ListItem& item : mine) {
    EXPECT_EQ(item.entity_id, "b-7");
    EXPECT_EQ(item.message, nullptr) << "only where whole ones are asked for";
  }
  EXPECT_EQ(must(w.a->list({.entity = "b-7"})).size(), 5U);
  EXPECT_EQ(must(w.a->list({.tenant = w.other, .entity = "b-7"})).at(0).id, theirs.deliveries[0]);
  EXPECT_EQ(must(w.a->list({.tenant = w.acme, .state = "queued", .entity = "b-7"})).size(), 2U);
  EXPECT_EQ(must(w.a->list({.tenant = w.acme, .state = "failed", .entity = "b-7"})).at(0).id, failed.id);
  EXPECT_TRUE(must(w.a->list({.tenant = w.acme, .channel = Channel::Sms, .entity = "b-7"})).empty());
  EXPECT_TRUE(must(w.a->list({.tenant = w.acme, .recipient = "bob@example.org", .entity = "b-7"})).empty());
  ListFilter paged{.tenant = w.acme, .entity = "b-7", .before = mine[1].id, .count_max = 1};
  EXPECT_EQ(must(w.a->list(paged)).at(0).id, first.deliveries[1]);
  paged.before = first.deliveries[1];
  EXPECT_EQ(must(w.a->list(paged)).at(0).id, first.deliveries[0]);
}

TEST_P(AboutAnEntity, AWholeItemHasItsMessageAndItsAttempts) {
  OutboxRow row = about("b-7");
  row.sealed = "c2VhbGVk";
  w.send_one({.deliveries = 2}, row);
  w.record(w.completion(w.claim_one(), DeliveryState::Retrying));
  const auto items = must(w.a->list({.tenant = w.acme, .entity = "b-7", .whole = true}));
  ASSERT_EQ(items.size(), 2U);
  ASSERT_NE(items[0].message, nullptr);
  EXPECT_EQ(items[0].message->entity_id, "b-7");
  EXPECT_EQ(items[0].message->payload, R"({"name":"Ada"})");
  EXPECT_TRUE(items[0].message->sealed.empty());
  ASSERT_NE(items[1].message, nullptr);
  EXPECT_TRUE(items[0].delivery->tries.empty());
  EXPECT_EQ(items[1].delivery->tries.size(), 1U);
}

TEST_P(AboutAnEntity, MessagesAreListedOnceNewestFirstByState) {
  const Sent many = told("b-7", {.deliveries = 3});
  w.pass(std::chrono::seconds{1});
  const Sent failed = told("b-7", {.deliveries = 0, .state = MessageState::Failed, .reason = Reason::TemplateNotFound});
  const Sent ignored = told("b-8", {.deliveries = 0, .state = MessageState::Ignored, .reason = Reason::NoRoute});
  const Sent expanding = told("b-7", kToExpand);
  const Sent theirs = w.send_one({}, about("b-7", "booking.made", "other"));
  const OutboxRow row = about("b-9");
  w.database->insert(row);
  const auto uuids = [&](const MessageFilter& filter) {
    std::vector<Uuid> found;
    for (const MessageView& view : must(w.a->messages(filter))) {
      found.push_back(view.message.uuid);
      EXPECT_TRUE(view.deliveries.empty());
    }
    return found;
  };
  const Uuid in_outbox = parse_uuid(row.id).value();
  using Ids = std::vector<Uuid>;
  EXPECT_EQ(uuids({}), (Ids{in_outbox, theirs.uuid, expanding.uuid, ignored.uuid, failed.uuid, many.uuid}));
  EXPECT_EQ(uuids({.tenant = w.other}), (Ids{theirs.uuid}));
  EXPECT_EQ(uuids({.states = {MessageState::Failed, MessageState::Ignored}}), (Ids{ignored.uuid, failed.uuid}));
  EXPECT_EQ(uuids({.states = {MessageState::Pending, MessageState::Expanding}}), (Ids{in_outbox, expanding.uuid}));
  EXPECT_EQ(uuids({.tenant = w.acme, .states = {MessageState::Expanded}}), (Ids{many.uuid}));
  EXPECT_EQ(uuids({.until = w.now - std::chrono::milliseconds{500}}), (Ids{many.uuid}));
  EXPECT_EQ(uuids({.before = ignored.id, .count_max = 1}), (Ids{failed.uuid}));
  const auto first = must(w.a->messages({.count_max = 1}));
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].message.id, 0);
  EXPECT_EQ(first[0].state, MessageState::Pending);
  const auto one = must(w.a->messages({.states = {MessageState::Failed}})).at(0);
  EXPECT_EQ(one.reason, Reason::TemplateNotFound);
  EXPECT_EQ(one.message.payload, R"({"name":"Ada"})");
  EXPECT_TRUE(must(w.a->messages({.count_max = 0})).empty());
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(AboutAnEntity);
}  // namespace postrider::conformance
