// Routes that ask the application's database, over the model store and a database that answers as it is told.
#include <gtest/gtest.h>

#include <set>

#include "pipeline/expand.h"
#include "pipeline/fake_source.h"
#include "pipeline/faulty_session.h"

namespace postrider {
namespace {

using std::chrono::minutes;

struct Records : Bench {
  explicit Records(const char* query = "SELECT guest FROM booking WHERE id = :entity_id") : rules(make_rules(query)) {}
  Rules rules;
  FakeSource source;
  ExpandStage stage{{.store = session, .rules = rules, .ids = ids, .node = node, .context = &source}, 1};

  static Rules make_rules(const char* query) {
    Rules rules;
    rules.tenants = {{1, "acme", {}}};
    Template text{.key = "t", .type = "booking", .channel = Channel::Push};
    text.texts.push_back({.body = *CompiledText::compile("Hi {{guest}}")});
    rules.templates.add(std::move(text));
    Route route{.type = "booking"};
    route.recipients = {{Channel::Push, "token", RecipientShape::Single}};
    route.context = ContextRule{"shop", *compile_context_sql(query, SqlDialect::Postgres)};
    route.cancel_when = {.field = "status", .values = {"Cancelled", "Expired"}};
    rules.routes = {route};
    rules.providers = {{.id = 1, .name = "push", .channel = Channel::Push, .window = 32}};
    rules.chains = {{Channel::Push, {1}}};
    rules.index();
    return rules;
  }
  void insert(const std::string& entity) {
    OutboxRow row;
    row.tenant = "acme";
    row.type = "booking";
    row.entity_id = entity;
    row.payload = R"({"token":"t"})";
    database->insert_outbox(row);
  }
  // What became of each message, in their order: state, reason and detail.
  std::vector<std::string> states() {
    std::vector<std::string> out;
    for (const auto& [id, message] : database->messages) {
      const auto found = database->states.find(id);
      if (found == database->states.end()) {
        out.emplace_back("expanded");
        continue;
      }
      out.push_back(std::string{to_text(found->second.state)} + ", " + std::string{code_of(found->second.reason)} +
                    ", " + found->second.detail);
    }
    return out;
  }
  void expand() {
    ASSERT_TRUE(stage.turn(now));
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(stage.work(now));
  }
};

TEST(ExpandContext, WhatTheRecordSaysIsInTheText) {
  Records r;
  r.source.records["b1"] = std::string{R"({"guest":"Asha"})"};
  r.insert("b1");
  r.expand();
  ASSERT_EQ(r.database->deliveries.size(), 1U);
  EXPECT_EQ(r.database->deliveries.begin()->second.body, "Hi Asha");
}

TEST(ExpandContext, NoRecordIsMissingDataAndARecordThatSaysSoCancels) {
  Records r;
  r.source.records["b2"] = std::string{R"({"guest":"Bo","status":"Cancelled"})"};
  r.insert("b1");
  r.insert("b2");
  r.expand();
  EXPECT_EQ(r.states(), (std::vector<std::string>{"failed, missing_data, no record of \"b1\"",
                                                  "cancelled, cancelled_by_condition, status is Cancelled"}));
  EXPECT_TRUE(r.database->deliveries.empty());
}

TEST(ExpandContext, WhatAskingAgainCannotMendEndsAtOnce) {
  Records r;
  r.source.records["b1"] = RecordFailed{"only reading is allowed", true};
  r.source.records["b2"] = ManyRecords{};
  r.insert("b1");
  r.insert("b2");
  r.expand();
  EXPECT_EQ(r.states(), (std::vector<std::string>{"failed, context_failed, only reading is allowed",
                                                  "failed, context_ambiguous, more than one record of \"b2\""}));
  EXPECT_TRUE(r.database->deferred.empty());
}

TEST(ExpandContext, WhatMayPassWaitsUnderAPolicyAndHoldsUpNobodyElse) {
  Records r;
  r.source.records["b1"] = RecordFailed{"no connection"};
  r.source.records["b2"] = std::string{R"({"guest":"Bo"})"};
  r.insert("b1");
  r.insert("b2");
  r.expand();
  EXPECT_EQ(r.states(), (std::vector<std::string>{"expanding, context_failed, no connection", "expanded"}));
  ASSERT_EQ(r.database->deferred.size(), 1U);
  r.source.records["b1"] = std::string{R"({"guest":"Asha"})"};
  r.now += minutes{1};
  ASSERT_TRUE(r.session.promote(r.now, 10));
  r.expand();
  EXPECT_EQ(r.database->deliveries.size(), 2U);
}

TEST(ExpandContext, WhatFailedForWantOfARecipientIsMadeWhenItIsReplayed) {
  Records r;
  r.source.records["b1"] = std::string{R"({"guest":"Asha","token":""})"};
  r.insert("b1");
  r.expand();
  EXPECT_EQ(r.states(), std::vector<std::string>{"failed, no_recipient, no push address"});
  r.source.records["b1"] = std::string{R"({"guest":"Asha","token":"t-1"})"};
  const std::vector<Uuid> messages{r.database->messages.begin()->second.uuid};
  ASSERT_EQ(r.session.replay(r.now, {.actor = "ada"}, messages)->changed, 1U);
  r.expand();
  ASSERT_EQ(r.database->deliveries.size(), 2U);
  EXPECT_EQ(r.database->deliveries.rbegin()->second.recipient, "t-1");
  EXPECT_EQ(r.database->deliveries.rbegin()->second.body, "Hi Asha");
  EXPECT_EQ(r.states(), std::vector<std::string>{"expanded"});
}

TEST(ExpandContext, ManyMessagesAreOneQuestionWhereTheQueryIsForMany) {
  Records r{"SELECT id AS entity_id, guest FROM booking WHERE id = ANY(:entity_ids)"};
  for (int i = 0; i < 100; ++i) {
    const std::string id = "b" + std::to_string(i);
    r.source.records[id] = std::string{R"({"guest":"G)"} + id + "\"}";
    r.insert(id);
  }
  r.source.records["b50"] = RecordFailed{"no", true};
  r.expand();
  EXPECT_EQ(r.source.asked, std::vector<std::size_t>{100});
  EXPECT_EQ(r.database->deliveries.size(), 99U);
  EXPECT_EQ(r.session.steps_at_once.front(), 99U) << "and they are written together";
}

TEST(ExpandContext, WhatIsWrittenTogetherHasNoMoreDeliveriesThanOneChunk) {
  Records r{"SELECT id AS entity_id, guest FROM booking WHERE id = ANY(:entity_ids)"};
  r.rules.routes.front().recipients = {{Channel::Push, "tokens", RecipientShape::Array}};
  r.rules.index();
  std::string tokens;
  for (int i = 0; i < 200; ++i) tokens += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + "\"";
  OutboxRow row;
  row.tenant = "acme";
  row.type = "booking";
  row.payload = "{\"tokens\":[" + tokens + "]}";
  for (const char* id : {"b0", "b1", "b2", "b3", "b4"}) {
    r.source.records[id] = std::string{R"({"guest":"G"})"};
    row.entity_id = id;
    r.database->insert_outbox(row);
  }
  r.expand();
  EXPECT_EQ(r.database->deliveries.size(), 1000U);
  EXPECT_EQ(r.session.steps_at_once, (std::vector<std::size_t>{2, 2, 1}));
}

TEST(ExpandContext, OneThatTheStoreRefusesHoldsUpNobodyOfThoseWrittenTogether) {
  Records r{"SELECT id AS entity_id, guest FROM booking WHERE id = ANY(:entity_ids)"};
  for (const char* id : {"b0", "b1", "b2"}) {
    r.source.records[id] = std::string{R"({"guest":")"} + id + "\"}";
    r.insert(id);
  }
  r.session.refuses_chunk = [](const ExpandChunk& chunk) {
    return !chunk.deliveries.empty() && chunk.deliveries[0].made.delivery.body == "Hi b1";
  };
  ASSERT_TRUE(r.stage.turn(r.now));
  const auto report = r.stage.work(r.now);
  EXPECT_FALSE(report) << "the refusal is told";
  EXPECT_EQ(r.states(), (std::vector<std::string>{"expanded", "expanding, expansion_failed, a value cannot be stored",
                                                  "expanded"}));
  EXPECT_EQ(r.database->deferred.size(), 1U);
}

TEST(ExpandContext, AStoreThatGoesAwayWhileTheyAreWrittenOneByOneLosesNobody) {
  Records r{"SELECT id AS entity_id, guest FROM booking WHERE id = ANY(:entity_ids)"};
  for (const char* id : {"b0", "b1", "b2", "b3"}) {
    r.source.records[id] = std::string{R"({"guest":")"} + id + "\"}";
    r.insert(id);
  }
  r.session.refuses_chunk = [&](const ExpandChunk& chunk) {
    const bool refused = chunk.deliveries[0].made.delivery.body == "Hi b1";
    if (refused && r.session.steps_at_once.back() == 1) r.session.chunk_fails = Error{ErrorCode::Unavailable, "gone"};
    return refused;
  };
  ASSERT_TRUE(r.stage.turn(r.now));
  EXPECT_FALSE(r.stage.work(r.now));
  EXPECT_EQ(r.states(), (std::vector<std::string>{"expanded", "expanding, expansion_failed, a value cannot be stored",
                                                  "expanding, expansion_failed, gone", "expanding, expanding, "}));
  EXPECT_TRUE(r.stage.has_begun()) << "the last one was not tried, and goes on";
  r.session.chunk_fails.reset();
  ASSERT_TRUE(r.stage.work(r.now));
  EXPECT_EQ(r.states().back(), "expanded");
}

TEST(ExpandContext, PeopleThatCannotBeAskedForMakeAllWaitWhoNeedThem) {
  Records r{"SELECT id AS entity_id, guest FROM booking WHERE id = ANY(:entity_ids)"};
  r.rules.routes.front().contact_field = "token";
  r.rules.index();
  for (const char* id : {"b0", "b1"}) {
    r.source.records[id] = std::string{R"({"guest":"G"})"};
    r.insert(id);
  }
  ASSERT_TRUE(r.stage.turn(r.now));
  r.session.contacts_fail = Error{ErrorCode::Unavailable, "gone"};
  EXPECT_FALSE(r.stage.work(r.now));
  EXPECT_EQ(r.states(), std::vector<std::string>(2, "expanding, expansion_failed, gone"));
  EXPECT_EQ(r.database->deferred.size(), 2U) << "under their policy";
}

TEST(ExpandContext, OneQuestionIsAboutMessagesOfOneTenantAndOneQuery) {
  Records r{"SELECT id AS entity_id, guest FROM booking WHERE id = ANY(:entity_ids)"};
  r.rules.tenants.push_back({2, "globex", {}});
  Route stay = r.rules.routes.front();
  stay.type = "stay";
  r.rules.routes.push_back(stay);
  Template text{.key = "s", .type = "stay", .channel = Channel::Push};
  text.texts.push_back({.body = *CompiledText::compile("Stay, {{guest}}")});
  r.rules.templates.add(std::move(text));
  r.rules.index();
  ExpandStage stage{{.store = r.session, .rules = r.rules, .ids = r.ids, .node = r.node, .context = &r.source}, 1};
  const std::vector<std::string> names{"acme", "globex"};
  ASSERT_EQ(r.session.tenants(names)->back(), 2);
  OutboxRow row;
  row.payload = R"({"token":"t"})";
  for (const auto& [tenant, type] :
       {std::pair{"acme", "booking"}, {"globex", "booking"}, {"acme", "stay"}, {"acme", "booking"}}) {
    row.tenant = tenant;
    row.type = type;
    row.entity_id = "b" + std::to_string(r.source.records.size());
    r.source.records[row.entity_id] = R"({"guest":")" + row.entity_id + "\"}";
    r.database->insert_outbox(row);
  }
  ASSERT_TRUE(stage.turn(r.now));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(stage.work(r.now));
  EXPECT_EQ(r.source.asked, (std::vector<std::size_t>{2, 1, 1}));
  std::set<std::string> bodies;
  for (const auto& [id, d] : r.database->deliveries) bodies.insert(std::to_string(d.tenant) + " " + d.body);
  EXPECT_EQ(bodies, (std::set<std::string>{"1 Hi b0", "2 Hi b1", "1 Stay, b2", "1 Hi b3"}));
}

TEST(ExpandContext, AStoreThatFailsHalfWayLosesNobodyOfThoseAskedForTogether) {
  Records r{"SELECT id AS entity_id, guest FROM booking WHERE id = ANY(:entity_ids)"};
  for (const char* id : {"b0", "b1", "b2"}) {
    r.source.records[id] = std::string{R"({"guest":"G"})"};
    r.insert(id);
  }
  ASSERT_TRUE(r.stage.turn(r.now));
  r.session.chunk_fails = Error{ErrorCode::Unavailable, "gone"};
  EXPECT_FALSE(r.stage.work(r.now));
  EXPECT_TRUE(r.stage.has_begun()) << "the other two";
  r.session.chunk_fails.reset();
  r.expand();
  EXPECT_EQ(r.database->deliveries.size(), 2U);
  r.now += minutes{1};
  ASSERT_TRUE(r.session.promote(r.now, 10));
  r.expand();
  EXPECT_EQ(r.database->deliveries.size(), 3U);
}

TEST(ExpandContext, WithoutADatabaseTheMessageFailsAndSaysSo) {
  Records r;
  ExpandStage stage{{.store = r.session, .rules = r.rules, .ids = r.ids, .node = r.node}, 1};
  r.insert("b1");
  ASSERT_TRUE(stage.turn(r.now));
  ASSERT_TRUE(stage.work(r.now));
  EXPECT_EQ(r.states(), std::vector<std::string>{"expanding, context_failed, no database"});
}

}  // namespace
}  // namespace postrider
