// Texts that are written just before they are sent, over the model store, a database and a key that answer as told.
#include "pipeline/prepare.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "pipeline/expand.h"
#include "pipeline/fake_source.h"
#include "pipeline/faulty_session.h"

namespace postrider {
namespace {

struct FakeKey final : SecretOpener {
  Result<std::string> open(std::string_view sealed) override {
    if (sealed != "box") return Error{ErrorCode::NotFound, "no key here opens it"};
    return std::string{R"({"code":"hush-4711","n":12})"};
  }
};

struct Late : Bench {
  explicit Late(const char* body = "Hi {{guest}}") : rules(make_rules(body)) {}
  Rules rules;
  FakeSource source;
  FakeKey key;
  ExpandStage expander{{.store = session, .rules = rules, .ids = ids, .node = node, .context = &source}, 1};
  PrepareStage stage{{session, rules, &source, &key}};

  static Rules make_rules(const char* body) {
    Rules rules;
    rules.tenants = {{1, "acme", {}}};
    Template text{.key = "t", .type = "booking", .channel = Channel::Push};
    text.texts.push_back({.body = *CompiledText::compile(body)});
    rules.templates.add(std::move(text));
    Route route{.type = "booking"};
    route.recipients = {{Channel::Push, "token", RecipientShape::Single}};
    route.context = ContextRule{
        "shop", *compile_context_sql("SELECT guest FROM booking WHERE id = :entity_id", SqlDialect::Postgres)};
    route.cancel_when = {.field = "status", .values = {"Cancelled"}};
    route.rendering = Rendering::Late;
    rules.routes = {route};
    rules.providers = {{.id = 1, .name = "push", .channel = Channel::Push, .window = 32}};
    rules.chains = {{Channel::Push, {1}}};
    rules.index();
    return rules;
  }
  RowId made(const std::string& entity, const std::string& sealed = "") {
    source.records[entity] = std::string{R"({"guest":"early"})"};
    OutboxRow row;
    row.tenant = "acme";
    row.type = "booking";
    row.entity_id = entity;
    row.idempotency_key = "fact-" + entity;
    row.payload = R"({"token":"t"})";
    row.sealed = sealed;
    database->insert_outbox(row);
    EXPECT_TRUE(expander.turn(now));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(expander.work(now));
    return database->deliveries.empty() ? 0 : database->deliveries.rbegin()->first;
  }
  decltype(LateAnswer::what) answer(RowId id) {
    auto answers = stage.turn(now, {{7, id}});
    EXPECT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers.front().id, 7U);
    return std::move(answers.front().what);
  }
};

TEST(Prepare, TheTextSaysWhatTheRecordSaysNow) {
  Late l;
  const RowId id = l.made("b1");
  ASSERT_NE(id, 0);
  EXPECT_EQ(l.database->deliveries.at(id).rendering, Rendering::Late);
  EXPECT_EQ(l.database->deliveries.at(id).body, "") << "nothing is written yet";
  l.source.records["b1"] = std::string{R"({"guest":"Asha"})"};
  const auto what = l.answer(id);
  ASSERT_TRUE(std::holds_alternative<LateText>(what));
  EXPECT_EQ(std::get<LateText>(what).content.body, "Hi Asha");
  EXPECT_TRUE(std::get<LateText>(what).may_be_kept);
  EXPECT_TRUE(std::get<LateText>(what).secrets.empty());
}

TEST(Prepare, ARecordThatSaysSoNowCancels) {
  Late l;
  const RowId id = l.made("b1");
  l.source.records["b1"] = std::string{R"({"guest":"Asha","status":"Cancelled"})"};
  const auto what = l.answer(id);
  ASSERT_TRUE(std::holds_alternative<NotToBeSent>(what));
  EXPECT_EQ(std::get<NotToBeSent>(what).state, DeliveryState::Cancelled);
  EXPECT_EQ(std::get<NotToBeSent>(what).reason, Reason::CancelledByCondition);
  EXPECT_EQ(std::get<NotToBeSent>(what).detail, "status is Cancelled");
}

TEST(Prepare, RecordsThatAreGoneOrTwoOrRefusedAreToldApart) {
  Late l;
  const RowId id = l.made("b1");
  const auto refused = [&](ContextRecord record) {
    l.source.records["b1"] = std::move(record);
    auto what = l.answer(id);
    EXPECT_TRUE(std::holds_alternative<NotToBeSent>(what));
    return std::get<NotToBeSent>(what);
  };
  EXPECT_EQ(refused(NoRecord{}).reason, Reason::MissingData);
  EXPECT_EQ(refused(NoRecord{}).state, DeliveryState::Suppressed) << "there is nothing to tell about";
  EXPECT_EQ(refused(ManyRecords{}).reason, Reason::ContextAmbiguous);
  EXPECT_EQ(refused(ManyRecords{}).state, DeliveryState::Parked);
  const NotToBeSent lasting = refused(RecordFailed{"only reading is allowed", true});
  EXPECT_EQ(lasting.state, DeliveryState::Parked) << "an operator can try it again";
  EXPECT_EQ(lasting.detail, "only reading is allowed");
  l.source.records["b1"] = RecordFailed{"no connection"};
  const auto passing = l.answer(id);
  ASSERT_TRUE(std::holds_alternative<NotNow>(passing));
  EXPECT_EQ(std::get<NotNow>(passing).detail, "no connection");
}

TEST(Prepare, WhatIsWrittenAlreadyOnlyGetsItsMessagesKey) {
  Late l;
  l.rules.routes[0].rendering = Rendering::Early;
  const RowId id = l.made("b1");
  ASSERT_EQ(l.database->deliveries.at(id).rendering, Rendering::Early);
  l.source.records["b1"] = RecordFailed{"nobody is asked"};
  const auto what = l.answer(id);
  ASSERT_TRUE(std::holds_alternative<LateText>(what));
  const auto& text = std::get<LateText>(what);
  EXPECT_EQ(text.content.body, "Hi early");
  EXPECT_FALSE(text.may_be_kept) << "it is stored already";
  EXPECT_EQ(text.message_key, "fact-b1");
}

TEST(Prepare, ASecretIsInTheTextAndInNothingThatIsKept) {
  Late l{"Your code: {{secret.code}}"};
  const RowId id = l.made("b1", "box");
  ASSERT_NE(id, 0);
  const auto what = l.answer(id);
  ASSERT_TRUE(std::holds_alternative<LateText>(what));
  const auto& text = std::get<LateText>(what);
  EXPECT_EQ(text.content.body, "Your code: hush-4711");
  EXPECT_FALSE(text.may_be_kept);
  EXPECT_EQ(text.secrets, std::vector<std::string>{"hush-4711"}) << "a number of two digits would blacken too much";
  EXPECT_EQ(text.content.warnings.find("hush"), std::string::npos);
}

TEST(Prepare, ANameThatMayBeOfASecretIsOneWhereTheMessageCarriesABox) {
  Late l{"Your code: {{secretCode}}."};
  const auto with = std::get<LateText>(l.answer(l.made("b1", "box")));
  EXPECT_EQ(with.content.body, "Your code: hush-4711.");
  EXPECT_FALSE(with.may_be_kept);
  const auto without = std::get<LateText>(l.answer(l.made("b2")));
  EXPECT_EQ(without.content.body, "Your code: .");
  EXPECT_TRUE(without.may_be_kept);
}

TEST(Prepare, ABoxThatNoKeyOpensWaitsForSomebodyWhoHasIt) {
  Late l{"Your code: {{secret.code}}"};
  const auto what = l.answer(l.made("b1", "another box"));
  ASSERT_TRUE(std::holds_alternative<NotToBeSent>(what));
  EXPECT_EQ(std::get<NotToBeSent>(what).state, DeliveryState::Parked) << "the box is still there";
  EXPECT_EQ(std::get<NotToBeSent>(what).reason, Reason::SecretMissing);
  EXPECT_EQ(std::get<NotToBeSent>(what).detail, "no key here opens it");
}

NotToBeSent not_sent(Late& l, RowId id) {
  auto what = l.answer(id);
  EXPECT_TRUE(std::holds_alternative<NotToBeSent>(what));
  return std::get<NotToBeSent>(std::move(what));
}

TEST(Prepare, WithoutAKeyOrADatabaseItIsParkedOrWaits) {
  Late l{"Your code: {{secret.code}}"};
  const RowId id = l.made("b1", "box");
  PrepareStage keyless{{l.session, l.rules, &l.source}};
  auto answers = keyless.turn(l.now, {{7, id}});
  ASSERT_TRUE(std::holds_alternative<NotToBeSent>(answers.front().what));
  EXPECT_EQ(std::get<NotToBeSent>(answers.front().what).state, DeliveryState::Parked);
  PrepareStage alone{{l.session, l.rules}};
  answers = alone.turn(l.now, {{7, id}});
  ASSERT_TRUE(std::holds_alternative<NotNow>(answers.front().what));
  EXPECT_EQ(std::get<NotNow>(answers.front().what).detail, "no database");
}

TEST(Prepare, ATemplateOrATenantThatIsGoneByThenIsTold) {
  Late l;
  const RowId id = l.made("b1");
  l.rules.templates = {};
  EXPECT_EQ(not_sent(l, id).detail, "template \"t\" is gone");
  EXPECT_EQ(not_sent(l, id).reason, Reason::TemplateNotFound);
  EXPECT_EQ(not_sent(l, id).state, DeliveryState::Parked) << "to be retried when it is back";
  l.rules.tenants.clear();
  l.rules.index();
  EXPECT_EQ(not_sent(l, id).reason, Reason::UnknownTenant);
  EXPECT_EQ(not_sent(l, id).state, DeliveryState::Parked);
}

TEST(Prepare, ARouteThatIsGoneByThenLeavesTheMessageItsOwnData) {
  Late l;
  const RowId id = l.made("b1");
  l.rules.routes.clear();
  l.rules.index();
  const auto what = l.answer(id);
  ASSERT_TRUE(std::holds_alternative<LateText>(what));
  EXPECT_EQ(std::get<LateText>(what).content.body, "Hi ") << "nobody is asked for a record any more";
}

TEST(Prepare, MoreThanCanBeReadTogetherIsTold) {
  Late l;
  const RowId id = l.made("b1");
  l.source.records["b1"] = fmt::format(R"({{"guest":"{}"}})", std::string(4 * kPayloadBytesMax - 16, 'x'));
  const NotToBeSent told = not_sent(l, id);
  EXPECT_EQ(told.reason, Reason::InvalidPayload);
  EXPECT_EQ(told.state, DeliveryState::Parked);
}

TEST(Prepare, AStoredTemplateIsTheOneOfItsNumberInItsNewestVersion) {
  Late l;
  StoredTemplate wanted{.tenant = 1, .key = "t", .type = "booking", .channel = Channel::Push};
  wanted.texts = {{.body = "Stored: {{guest}}"}};
  StoredTemplate stored = l.session.save_templates(l.now, {.actor = "me"}, {&wanted, 1})->front();
  const RowId id = l.made("b1");
  ASSERT_EQ(l.database->deliveries.at(id).template_id, stored.id);
  const auto text = [&] { return std::get<LateText>(l.answer(id)); };
  EXPECT_EQ(text().content.body, "Stored: early");
  stored.texts[0].body = "Newer: {{guest}}";
  ASSERT_TRUE(l.session.save_templates(l.now, {.actor = "me"}, {&stored, 1}));
  l.now += std::chrono::seconds{2};
  EXPECT_EQ(text().content.body, "Newer: early");
  stored.texts[0].body = "Your code: {{secret.code}}";
  ASSERT_TRUE(l.session.save_templates(l.now, {.actor = "me"}, {&stored, 1}));
  l.now += std::chrono::seconds{2};
  const NotToBeSent told = not_sent(l, id);
  EXPECT_EQ(told.state, DeliveryState::Parked);
  EXPECT_EQ(told.detail, "there is none, or no key for it");
}

/// Directly, by a template whose text is written late; as an operator has it sent again, or of its own.
RowId sent_directly(Late& l, const std::string& key) {
  l.source.records["b1"] = std::string{R"({"guest":"early"})"};
  OutboxRow row;
  row.tenant = "acme";
  row.type = "booking";
  row.entity_id = "b1";
  row.idempotency_key = key;
  row.channel = "push";
  row.recipient = "t";
  row.template_key = "t";
  l.database->insert_outbox(row);
  EXPECT_TRUE(l.expander.turn(l.now));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(l.expander.work(l.now));
  return l.database->deliveries.empty() ? 0 : l.database->deliveries.rbegin()->first;
}

TEST(Prepare, WhatIsSentAgainSaysWhatTheRecordSaysNowToo) {
  Late l;
  const RowId id = sent_directly(l, "manual:b1:push:t:r-1");
  ASSERT_NE(id, 0);
  ASSERT_EQ(l.database->deliveries.at(id).rendering, Rendering::Late);
  l.source.records["b1"] = std::string{R"({"guest":"Asha"})"};
  EXPECT_EQ(std::get<LateText>(l.answer(id)).content.body, "Hi Asha");
  l.source.records["b1"] = std::string{R"({"guest":"Asha","status":"Cancelled"})"};
  EXPECT_EQ(not_sent(l, id).state, DeliveryState::Cancelled);
}

TEST(Prepare, ADirectMessageHasItsOwnDataAndNoRecord) {
  Late l;
  const RowId id = sent_directly(l, "");
  ASSERT_NE(id, 0);
  l.source.records["b1"] = std::string{R"({"guest":"Asha","status":"Cancelled"})"};
  EXPECT_EQ(std::get<LateText>(l.answer(id)).content.body, "Hi ");
}

TEST(Prepare, ATextThatIsTooLargeByThenIsTold) {
  Late l{"{{guest}}{{guest}}{{guest}}"};
  const RowId id = l.made("b1");
  l.source.records["b1"] = fmt::format(R"({{"guest":"{}"}})", std::string(kContentBytesMax / 2, 'x'));
  EXPECT_EQ(not_sent(l, id).reason, Reason::ContentTooLarge);
  EXPECT_EQ(not_sent(l, id).state, DeliveryState::Parked) << "a shorter template can be retried";
}

TEST(Prepare, AStoreThatDoesNotAnswerMakesItWait) {
  Late l;
  const RowId id = l.made("b1");
  l.session.late_fails = Error{ErrorCode::Unavailable, "gone"};
  const auto what = l.answer(id);
  EXPECT_TRUE(std::holds_alternative<NotNow>(what));
}

}  // namespace
}  // namespace postrider
