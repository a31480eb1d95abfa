// The stage between outbox and queue, over the model store.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "pipeline/expand.h"
#include "pipeline/faulty_session.h"

namespace postrider {
namespace {

using std::chrono::minutes;

struct Stage : Bench {
  Rules rules = make_rules();
  Places places{rules};
  ExpandStage stage{{.store = session, .rules = rules, .ids = ids, .node = node, .places = &places}, 1};

  static Rules make_rules() {
    Rules rules;
    rules.tenants = {{1, "acme", {}}};
    for (const char* type : {"plain", "many", "once"}) {
      Template text{.key = type, .type = type, .channel = Channel::Push};
      text.texts.push_back({.body = *CompiledText::compile("Hi {{name}}")});
      rules.templates.add(std::move(text));
    }
    Route many{.type = "many"};
    many.recipients = {{Channel::Push, "to", RecipientShape::Array}};
    rules.routes = {many, {.type = "once", .guarantee = Guarantee::AtMostOnce}};
    rules.providers = {{.id = 1, .name = "push", .channel = Channel::Push, .window = 32}};
    rules.chains = {{Channel::Push, {1}}};
    rules.index();
    return rules;
  }
  /// As a process that was started with the rules as they are now: they never change under a running one.
  ExpandStage started_again() {
    return {{.store = session, .rules = rules, .ids = ids, .node = node, .places = &places}, 2};
  }
  std::size_t count_states(MessageState state) {
    std::size_t count = 0;
    for (const auto& [id, row] : database->states) count += row.state == state ? 1U : 0U;
    return count;
  }
  void insert_many(int recipients) {
    std::string payload = R"({"to":[)";
    for (int i = 0; i < recipients; ++i) payload += (i == 0 ? "\"u" : ",\"u") + std::to_string(i) + "\"";
    insert("many", payload + "]}");
  }
};

TEST(ExpandStage, RowsAreOwnedOnlyWhereNothingOlderWaitsAndAPlaceIsFree) {
  Stage s;
  s.insert("plain");
  EXPECT_TRUE(s.stage.turn(s.now)->owned.empty()) << "not before the dispatcher says so";
  EXPECT_EQ(s.places.used(1), 0);
  s.places.set_open(1, true);
  s.insert("plain");
  const auto report = s.stage.turn(s.now);
  ASSERT_EQ(report->owned.size(), 1U);
  EXPECT_EQ(report->owned[0].lease.provider, 1);
  EXPECT_EQ(report->owned[0].lease.attempt, 1);
  EXPECT_EQ(report->owned[0].delivery.body, "Hi ");
  EXPECT_EQ(s.places.used(1), 1);
}

TEST(ExpandStage, NoMoreRowsAreOwnedThanThereArePlaces) {
  Stage s;
  s.places.set_open(1, true);
  for (int i = 0; i < 100; ++i) s.insert("plain");
  const auto report = s.stage.turn(s.now);
  EXPECT_EQ(report->rows, 100U);
  EXPECT_EQ(static_cast<int>(report->owned.size()), s.places.used(1));
  EXPECT_EQ(s.places.used(1), 28) << "an eighth stays free for priority";
  EXPECT_EQ(report->queued.size(), 1U) << "the rest waits in the queue";
}

TEST(ExpandStage, AtMostOnceRowsAreNeverOwnedAtOnce) {
  Stage s;
  s.places.set_open(1, true);
  s.insert("once");
  EXPECT_TRUE(s.stage.turn(s.now)->owned.empty());
  EXPECT_EQ(s.places.used(1), 0);
}

TEST(ExpandStage, WhatIsLimitedIsNeverOwnedAtOnceBecauseOnlyClaimsAreCounted) {
  for (const bool of_tenant : {true, false}) {
    Stage s;
    s.places.set_open(1, true);
    (of_tenant ? s.rules.tenants.front().limit : s.rules.providers.front().limit) = {.per_second = 5};
    s.insert("plain");
    const auto report = s.stage.turn(s.now);
    EXPECT_TRUE(report->owned.empty());
    EXPECT_EQ(report->queued.size(), 1U);
    EXPECT_EQ(s.places.used(1), 0);
  }
}

TEST(ExpandStage, APlaceOfADuplicateIsGivenBack) {
  Stage s;
  s.places.set_open(1, true);
  const std::string id = "018f0000-0000-7000-8000-000000000001";
  s.insert("plain", R"({"pushToken":"t"})", id);
  s.insert("plain", R"({"pushToken":"t"})", id);
  EXPECT_EQ(s.stage.turn(s.now)->owned.size(), 1U);
  EXPECT_EQ(s.places.used(1), 1);
  EXPECT_EQ(s.count_states(MessageState::Duplicate), 1U);
}

TEST(ExpandStage, ABadRowBecomesAFailedMessageAndTheOthersGoOn) {
  Stage s;
  s.insert("plain");
  s.insert("plain", "[not an object]");
  s.insert("unheard.of");
  s.insert("plain");
  EXPECT_EQ(s.stage.turn(s.now)->rows, 4U);
  EXPECT_EQ(s.count_states(MessageState::Failed), 1U);
  EXPECT_EQ(s.count_states(MessageState::Ignored), 1U);
  EXPECT_EQ(s.database->deliveries.size(), 2U);
}

TEST(ExpandStage, ABatchThatTheStoreRefusesIsTriedInHalvesAndGivesItsPlacesBack) {
  Stage s;
  s.places.set_open(1, true);
  for (int i = 0; i < 10; ++i) s.insert("plain");
  s.session.refuses = [](const ExpandedMessage&) { return true; };
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_FALSE(s.stage.turn(s.now));
    EXPECT_EQ(s.places.used(1), 0);
  }
  EXPECT_EQ(s.session.batches, (std::vector<std::size_t>{500, 250, 125, 62}));
  s.session.refuses = nullptr;
  for (int turn = 0; turn < 4; ++turn) EXPECT_TRUE(s.stage.turn(s.now));
  EXPECT_EQ(s.session.batches.back(), 248U) << "and back up again";
}

TEST(ExpandStage, ARowThatTheStoreRefusesByItselfHoldsUpNobodyElse) {
  Stage s;
  for (int i = 0; i < 3; ++i) s.insert("plain");
  s.insert("plain", R"({"pushToken":"t","name":"poison"})");
  for (int i = 0; i < 3; ++i) s.insert("plain");
  s.session.refuses = [](const ExpandedMessage& message) {
    return !message.deliveries.empty() && message.message.payload.find("poison") != std::string::npos;
  };
  for (int turn = 0; turn < 60 && !s.database->outbox.empty(); ++turn) (void)s.stage.turn(s.now);
  EXPECT_TRUE(s.database->outbox.empty());
  EXPECT_EQ(s.database->deliveries.size(), 6U);
  EXPECT_EQ(s.count_states(MessageState::Failed), 1U);
  for (const auto& [id, state] : s.database->states) EXPECT_EQ(state.reason, Reason::ExpansionFailed);
}

TEST(ExpandStage, ARowOfWhichNothingCanBeStoredStillEndsAsAVisibleFailure) {
  Stage s;
  s.insert("plain", R"({"pushToken":"t","name":"poison"})");
  s.insert("plain");
  s.session.refuses = [](const ExpandedMessage& message) {
    return message.message.payload.find("poison") != std::string::npos;
  };
  for (int turn = 0; turn < 60 && !s.database->outbox.empty(); ++turn) (void)s.stage.turn(s.now);
  EXPECT_TRUE(s.database->outbox.empty());
  EXPECT_EQ(s.count_states(MessageState::Failed), 1U);
  EXPECT_EQ(s.database->deliveries.size(), 1U);
}

TEST(ExpandStage, ALargeMessageIsExpandedInChunksUntilItIsDone) {
  Stage s;
  s.insert_many(1'234);
  const auto report = s.stage.turn(s.now);
  ASSERT_TRUE(report);
  EXPECT_EQ(s.count_states(MessageState::Expanding), 1U);
  EXPECT_TRUE(s.database->deliveries.empty());
  std::vector<std::size_t> sizes;
  for (std::size_t before = 0; s.stage.work(s.now)->rows != 0; before = s.database->deliveries.size()) {
    sizes.push_back(s.database->deliveries.size() - before);
    ASSERT_LT(sizes.size(), 10U);
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{500, 500, 234}));
  EXPECT_EQ(s.count_states(MessageState::Expanding), 0U);
}

TEST(ExpandStage, AListIsReadWhileNoTransactionIsOpen) {
  Stage s;
  ASSERT_TRUE(s.session.save_list(s.now, {.actor = "ada"}, {.tenant = 1, .name = "team"}));
  std::vector<ListMember> members;
  for (int i = 0; i < 700; ++i) members.push_back({.channel = Channel::Push, .address = "u" + std::to_string(i)});
  ASSERT_TRUE(s.session.add_members(s.now, {.actor = "ada"}, 1, "team", members));
  OutboxRow row;
  row.tenant = "acme";
  row.type = "note";
  row.channel = "push";
  row.list = "team";
  row.body = "B";
  s.database->insert_outbox(row);
  ASSERT_TRUE(s.stage.turn(s.now));
  EXPECT_TRUE(s.database->outbox.empty());
  EXPECT_TRUE(s.database->deliveries.empty());
  for (int turns = 0; s.stage.work(s.now)->rows != 0;) ASSERT_LT(++turns, 10);
  EXPECT_EQ(s.database->deliveries.size(), 700U);
  EXPECT_GE(s.session.lists_read, 2) << "a chunk at a time";
  EXPECT_EQ(s.session.lists_read_while_deciding, 0);
}

TEST(ExpandStage, AFailureWhileExpandingWaitsUnderAPolicyAndIsGivenUpWhenThatIsUsedUp) {
  Stage s;
  s.insert_many(600);
  ASSERT_TRUE(s.stage.turn(s.now));
  s.session.chunk_fails = Error{ErrorCode::Invalid, "no"};
  std::vector<Duration> waits;
  for (int attempt = 1; attempt <= 5; ++attempt) {
    (void)s.stage.work(s.now);
    if (s.database->deferred.empty()) break;
    const Instant due = s.database->deferred.begin()->first.first;
    waits.push_back(due - s.now);
    EXPECT_TRUE(s.stage.work(s.now)) << "there is nothing else to do meanwhile";
    s.now = due;
    ASSERT_TRUE(s.session.promote(s.now, 10));
  }
  EXPECT_EQ(waits, (std::vector<Duration>{minutes{1}, minutes{2}, minutes{4}, minutes{8}}));
  EXPECT_EQ(s.count_states(MessageState::Failed), 1U);
  EXPECT_TRUE(s.database->queue.empty());
}

TEST(ExpandStage, AFailureThatCannotBeWrittenIsNotForgotten) {
  Stage s;
  s.insert_many(600);
  ASSERT_TRUE(s.stage.turn(s.now));
  s.session.chunk_fails = Error{ErrorCode::Unavailable, "gone"};
  s.session.defer_fails = Error{ErrorCode::Unavailable, "gone"};
  for (int turn = 0; turn < 3; ++turn) EXPECT_FALSE(s.stage.work(s.now));
  s.session.chunk_fails.reset();
  s.session.defer_fails.reset();
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_TRUE(s.stage.work(s.now));
    s.now += minutes{5};
    ASSERT_TRUE(s.session.promote(s.now, 10));
  }
  EXPECT_EQ(s.database->deliveries.size(), 600U) << "the lease of a message was lost with the connection";
}

TEST(ExpandStage, AReplayedMessageIsExpandedWithTodaysRules) {
  Stage s;
  s.insert("later.known", R"({"pushToken":"t"})", "018f0000-0000-7000-8000-000000000001");
  ASSERT_TRUE(s.stage.turn(s.now));
  ASSERT_EQ(s.count_states(MessageState::Ignored), 1U);
  Template text{.key = "new", .type = "later.known", .channel = Channel::Push};
  text.texts.push_back({.body = *CompiledText::compile("Hi")});
  s.rules.templates.add(std::move(text));
  s.rules.index();
  const std::vector<Uuid> ids{*parse_uuid("018f0000-0000-7000-8000-000000000001")};
  ASSERT_EQ(s.session.replay(s.now, {.actor = "me"}, ids)->changed, 1U);
  ASSERT_TRUE(s.started_again().work(s.now));
  EXPECT_EQ(s.database->deliveries.size(), 1U);
  EXPECT_EQ(s.count_states(MessageState::Ignored), 0U);
}

TEST(ExpandStage, AStoreInTroubleIsAskedForLessButNoRowIsBlamedForIt) {
  for (const ErrorCode code :
       {ErrorCode::Unavailable, ErrorCode::Exhausted, ErrorCode::Ambiguous, ErrorCode::Cancelled}) {
    Stage s;
    s.insert("plain");
    s.session.expand_fails = Error{code, "not now"};
    for (int turn = 0; turn < 30; ++turn) EXPECT_FALSE(s.stage.turn(s.now));
    EXPECT_EQ(s.session.batches.back(), 1U);
    s.session.expand_fails.reset();
    ASSERT_TRUE(s.stage.turn(s.now));
    EXPECT_EQ(s.count_states(MessageState::Failed), 0U);
    EXPECT_EQ(s.database->deliveries.size(), 1U);
  }
}

TEST(ExpandStage, ARowOfNoTenantThatIsKnownFailsAndOwnsNothing) {
  Stage s;
  s.places.set_open(1, true);
  OutboxRow row;
  row.tenant = "nobody";
  row.type = "plain";
  s.database->insert_outbox(row);
  ASSERT_TRUE(s.stage.turn(s.now));
  EXPECT_EQ(s.count_states(MessageState::Failed), 1U);
  EXPECT_EQ(s.places.used(1), 0);
}

TEST(ExpandStage, TheSameKeyAgainIsADuplicateAlsoInTheOutbox) {
  Stage s;
  for (int i = 0; i < 2; ++i) {
    OutboxRow row;
    row.tenant = "acme";
    row.type = "plain";
    row.payload = R"({"pushToken":"t"})";
    row.idempotency_key = "k";
    s.database->insert_outbox(row);
  }
  ASSERT_TRUE(s.stage.turn(s.now));
  EXPECT_EQ(s.count_states(MessageState::Duplicate), 1U);
}

TEST(ExpandStage, ARowThatTheApiAdmittedKeepsItsNumber) {
  Stage s;
  NewMessage message{.tenant = 1};
  message.row.id = "018f0000-0000-7000-8000-000000000001";
  message.row.tenant = "acme";
  message.row.type = "plain";
  message.row.payload = R"({"pushToken":"t"})";
  message.candidate = {.tenant = 1, .uuid = *parse_uuid(message.row.id), .body = body_hash(message.row)};
  const std::vector<IntakeGroup> groups{{message}};
  ASSERT_TRUE(s.session.accept(s.now, groups));
  ASSERT_EQ(s.database->outbox.size(), 1U);
  const auto number = s.database->outbox.begin()->second.accepted;
  ASSERT_TRUE(number);
  ASSERT_TRUE(s.stage.turn(s.now));
  EXPECT_TRUE(s.database->messages.contains(*number));
}

TEST(ExpandStage, WhatIsDueLaterOrHasNoProviderIsNotOwned) {
  Stage s;
  s.places.set_open(1, true);
  OutboxRow later;
  later.tenant = "acme";
  later.type = "plain";
  later.payload = R"({"pushToken":"t"})";
  later.due_at = format_instant(s.now + minutes{5});
  s.database->insert_outbox(later);
  Template mail{.key = "mail", .type = "plain", .channel = Channel::Email};
  mail.texts.push_back({.body = *CompiledText::compile("Hi")});
  s.rules.templates.add(std::move(mail));
  s.rules.index();
  s.insert("plain", R"({"email":"a@example.org"})");
  ASSERT_TRUE(s.stage.turn(s.now));
  EXPECT_EQ(s.places.used(1), 0);
}

TEST(ExpandStage, WorkThatCannotBeClaimedIsAnErrorAndNothingElse) {
  Stage s;
  s.session.claim_expand_fails = Error{ErrorCode::Unavailable, "gone"};
  EXPECT_FALSE(s.stage.work(s.now));
  s.session.claim_expand_fails.reset();
  EXPECT_EQ(s.stage.work(s.now)->rows, 0U);
}

TEST(ExpandStage, ALostLeaseIsAnotherNodesWork) {
  Stage s;
  s.insert_many(600);
  ASSERT_TRUE(s.stage.turn(s.now));
  s.session.leases_lost = true;
  const auto report = s.stage.work(s.now);
  ASSERT_TRUE(report) << "no failure of ours";
  EXPECT_EQ(report->rows, 0U);
  EXPECT_TRUE(s.database->deferred.empty());
  EXPECT_EQ(s.count_states(MessageState::Expanding), 1U);
}

TEST(ExpandStage, ALeaseThatIsLostWhileItIsPutOffIsForgotten) {
  Stage s;
  s.insert_many(600);
  ASSERT_TRUE(s.stage.turn(s.now));
  s.session.chunk_fails = Error{ErrorCode::Invalid, "no"};
  s.session.defer_fails = Error{ErrorCode::Conflict, "lease lost"};
  EXPECT_FALSE(s.stage.work(s.now)) << "the chunk failed";
  s.session.chunk_fails.reset();
  EXPECT_EQ(s.stage.work(s.now)->rows, 0U) << "and nothing is left to put off";
}

TEST(ExpandStage, AnEndThatCannotBeWrittenIsTriedAgain) {
  Stage s;
  s.insert_many(600);
  ASSERT_TRUE(s.stage.turn(s.now));
  s.session.chunk_fails = Error{ErrorCode::Invalid, "no"};
  s.session.giving_up_fails = Error{ErrorCode::Unavailable, "gone"};
  for (int attempt = 1; attempt <= 5; ++attempt) {
    (void)s.stage.work(s.now);
    s.now += minutes{20};
    ASSERT_TRUE(s.session.promote(s.now, 10));
  }
  EXPECT_EQ(s.count_states(MessageState::Failed), 0U);
  s.session.giving_up_fails.reset();
  (void)s.stage.work(s.now);
  EXPECT_EQ(s.count_states(MessageState::Failed), 1U);
}

TEST(ExpandStage, AMessageWhoseTemplatesAreGoneEndsAtItsNextChunk) {
  Stage s;
  s.insert_many(600);
  ASSERT_TRUE(s.stage.turn(s.now));
  s.rules.templates = {};
  s.rules.index();
  ASSERT_TRUE(s.started_again().work(s.now));
  EXPECT_EQ(s.count_states(MessageState::Failed), 1U);
  EXPECT_TRUE(s.database->queue.empty());
}

}  // namespace
}  // namespace postrider
