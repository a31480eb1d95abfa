// What is told once more, with which template, and to whom, over the model store.
#include "pipeline/resend.h"

#include <gtest/gtest.h>

#include "pipeline/expand.h"
#include "pipeline/faulty_session.h"

namespace postrider {
namespace {

using Why = NotResent::Why;

struct Counter : Bench {
  Rules rules = make_rules();
  Prng random{2};  // Another one than the stage's: ids are drawn from both.
  std::atomic<bool> changed{false};
  ExpandStage stage{{.store = session, .rules = rules, .ids = ids, .node = node, .catalog_changed = &changed}, 1};

  static Rules make_rules() {
    Rules rules;
    rules.tenants = {{1, "acme", {}}};
    Route hook{.type = "hooked"};
    hook.recipients = {{Channel::Webhook, "url", RecipientShape::Single}};
    rules.routes = {hook};
    rules.index();
    return rules;
  }
  void knows_in_file(const std::string& key, const std::string& type) {
    Template text{.key = key, .type = type, .channel = Channel::Push};
    text.texts.push_back({.body = *CompiledText::compile("of the file")});
    rules.templates.add(std::move(text));
  }
  std::int64_t saves(TenantId tenant, const std::string& key, const std::string& type, const std::string& scope = "") {
    StoredTemplate wanted{.tenant = tenant, .key = key, .type = type, .channel = Channel::Push};
    if (!scope.empty()) {
      wanted.scope_type = "listing";
      wanted.scope_id = scope;
    }
    wanted.texts = {{.body = "stored"}};
    return session.save_templates(now, {.actor = "me"}, {&wanted, 1})->front().id;
  }
  void rests(std::int64_t id) {
    StoredTemplate stored = session.template_version(std::nullopt, id, 0).value();
    stored.active = false;
    ASSERT_TRUE(session.save_templates(now, {.actor = "me"}, {&stored, 1}));
  }
  void expand() {
    changed = true;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(stage.turn(now));
  }
  void told(OutboxRow row) {
    row.tenant = "acme";
    row.entity_id = "b-7";
    database->insert_outbox(row);
    expand();
  }
  void told_event(const std::string& type = "paid", const std::string& payload = R"({"pushToken":"t-1"})") {
    OutboxRow row;
    row.type = type;
    row.payload = payload;
    told(row);
  }
  std::variant<Resent, NotResent> again(const std::string& name = "", Channel channel = Channel::Push) {
    return resend(session, rules,
                  {.tenant = rules.tenants.front(),
                   .entity = "b-7",
                   .channel = channel,
                   .template_name = name,
                   .request_id = "r-" + std::to_string(++requests),
                   .by = {.actor = "me"}},
                  now, random);
  }
  // Which template is in the key, or why there is none.
  std::string chosen(const std::string& name = "", Channel channel = Channel::Push) {
    const auto answer = again(name, channel);
    if (const auto* sent = std::get_if<Resent>(&answer)) {
      const std::string head = "manual:b-7:" + std::string{to_text(channel)} + ":";
      EXPECT_TRUE(sent->key.starts_with(head)) << sent->key;
      return sent->key.substr(head.size(), sent->key.rfind(':') - head.size());
    }
    return "why " + std::to_string(static_cast<int>(std::get<NotResent>(answer).why));
  }
  static std::string because(Why why) { return "why " + std::to_string(static_cast<int>(why)); }
  int requests = 0;
};

TEST(Resending, WhatWasToldWithAStoredTemplateIsToldWithItAgain) {
  Counter c;
  const auto common = c.saves(0, "common", "paid");
  const auto narrow = c.saves(1, "narrow", "paid", "10");
  const auto own = c.saves(1, "own", "paid");
  c.told_event();
  EXPECT_EQ(c.chosen(), std::to_string(own));
  EXPECT_EQ(c.chosen("common"), std::to_string(common));
  EXPECT_EQ(c.chosen(std::to_string(common)), std::to_string(common));
  EXPECT_EQ(c.chosen(std::to_string(narrow)), std::to_string(narrow)) << "by its number even one for something else";
  EXPECT_EQ(c.chosen("narrow"), Counter::because(Why::UnknownTemplate));
  c.rests(own);
  EXPECT_EQ(c.chosen(), std::to_string(common)) << "the one that is in force by now";
  EXPECT_EQ(c.chosen(std::to_string(own)), Counter::because(Why::InactiveTemplate));
  c.rests(common);
  EXPECT_EQ(c.chosen(), Counter::because(Why::NoTemplate));
  c.knows_in_file("of-file", "paid");
  EXPECT_EQ(c.chosen(), "of-file");
}

TEST(Resending, OneOfTheFileIsNamedByItsKey) {
  Counter c;
  c.knows_in_file("first", "paid");
  c.knows_in_file("second", "");
  c.told_event();
  EXPECT_EQ(c.chosen(), "first");
  EXPECT_EQ(c.chosen("second"), "second");
  EXPECT_EQ(c.chosen("nowhere"), Counter::because(Why::UnknownTemplate));
  for (const char* number : {"999", "0", "-1", "7x"}) {
    EXPECT_EQ(c.chosen(number), Counter::because(Why::UnknownTemplate)) << number;
  }
  StoredTemplate mail{.tenant = 1, .key = "mail", .channel = Channel::Email, .texts = {{.body = "x"}}};
  const auto saved = c.session.save_templates(c.now, {.actor = "me"}, {&mail, 1})->front().id;
  EXPECT_EQ(c.chosen(std::to_string(saved)), Counter::because(Why::UnknownTemplate)) << "of another channel";
}

TEST(Resending, TheOneThatWasWrittenWithTheTemplateAskedForIsTheOriginal) {
  Counter c;
  c.knows_in_file("first", "paid");
  c.knows_in_file("second", "gone");
  c.told_event("paid");
  c.told_event("gone", R"({"pushToken":"t-2"})");
  const auto original = [&](const std::string& name) {
    return c.database->deliveries.at(std::get<Resent>(c.again(name)).original.value()).recipient;
  };
  EXPECT_EQ(original("first"), "t-1");
  EXPECT_EQ(original("second"), "t-2");
  EXPECT_EQ(original(""), "t-2") << "the newest";
  c.expand();
  EXPECT_EQ(original("first"), "t-1") << "not what was itself told again";
  const auto stored = c.saves(1, "stored", "kept");
  c.told_event("kept", R"({"pushToken":"t-3"})");
  c.told_event("hooked", R"({"pushToken":"t-4","url":"https://example.org/x"})");
  EXPECT_EQ(original(std::to_string(stored)), "t-3");
}

TEST(Resending, OwnContentAndTheEventItselfAreToldAsTheyWere) {
  Counter c;
  OutboxRow direct;
  direct.type = "note";
  direct.channel = "push";
  direct.recipient = "t-1";
  direct.subject = "S";
  direct.body = "B";
  direct.lane = "priority";
  direct.expires_at = format_instant(c.now + std::chrono::hours{1});
  c.told(direct);
  EXPECT_EQ(c.chosen(), "direct");
  c.expand();
  const Delivery& made = c.database->deliveries.rbegin()->second;
  EXPECT_EQ(made.body, "B");
  EXPECT_EQ(made.lane, Lane::Priority);
  EXPECT_EQ(made.expires_at, c.now + std::chrono::hours{1});
  c.told_event("hooked", R"({"url":"https://example.org/x"})");
  EXPECT_EQ(c.chosen("", Channel::Webhook), "event");
  OutboxRow bare;
  bare.type = "note";
  bare.version = "2";
  bare.channel = "webhook";
  bare.recipient = "https://example.org/y";
  c.told(bare);
  const auto again = std::get<Resent>(c.again("", Channel::Webhook));
  EXPECT_EQ(c.database->deliveries.at(again.original.value()).recipient, "https://example.org/y");
  EXPECT_TRUE(again.key.starts_with("manual:b-7:webhook:event:"));
}

TEST(Resending, WhereTheFirstTemplateIsGoneTheTenantsOwnIsBeforeTheCommonOne) {
  for (const bool own_first : {true, false}) {
    Counter c;
    const auto first = c.saves(own_first ? 1 : 0, "a", "paid");
    const auto second = c.saves(own_first ? 0 : 1, "b", "paid");
    c.saves(1, "c", "paid", "10");
    c.told_event();
    c.session.template_fails = Error{ErrorCode::NotFound, "no such template"};
    EXPECT_EQ(c.chosen(), std::to_string(own_first ? first : second));
  }
}

TEST(Resending, ADirectMessageWithATemplateIsToldWithThatOne) {
  Counter c;
  c.knows_in_file("named", "");
  OutboxRow direct;
  direct.type = "note";
  direct.channel = "push";
  direct.recipient = "t-1";
  direct.template_key = "named";
  c.told(direct);
  EXPECT_EQ(c.chosen(), "named");
}

TEST(Resending, WhatReachedNobodyIsToldFromItsEvent) {
  Counter c;
  EXPECT_EQ(c.chosen(), Counter::because(Why::NothingTold));
  c.knows_in_file("first", "paid");
  c.told_event("paid", "{}");
  EXPECT_EQ(c.chosen(), "first") << "there was no address; there may be one by now";
  EXPECT_EQ(std::get<Resent>(c.again("first")).original, std::nullopt);
  c.told_event("unheard.of");
  EXPECT_EQ(c.chosen(), Counter::because(Why::NoTemplate)) << "the newest one has none";
  const Contact cy{.tenant = 1, .key = "cy", .name = "Cy"};
  ASSERT_TRUE(c.session.save_contacts(c.now, {.actor = "me"}, {&cy, 1}, {}));
  OutboxRow to_contact;
  to_contact.type = "paid";
  to_contact.version = "2";
  to_contact.contact = "cy";
  c.told(to_contact);
  EXPECT_EQ(c.chosen(), "first") << "a contact may have an address by now";
}

TEST(Resending, AnEventToAListIsNotToldToOne) {
  Counter c;
  c.knows_in_file("first", "paid");
  c.rules.routes.push_back({.type = "paid"});
  c.rules.routes.back().list = "guests";
  c.rules.index();
  c.told_event("paid", "{}");
  EXPECT_EQ(c.chosen("", Channel::Email), Counter::because(Why::NothingTold));
}

TEST(Resending, WhatStillWaitsInTheOutboxIsPassedBy) {
  for (const bool told_before : {true, false}) {
    Counter c;
    c.knows_in_file("first", "paid");
    if (told_before) c.told_event();
    for (int i = 0; i < 60; ++i) {
      OutboxRow row;
      row.tenant = "acme";
      row.type = "paid";
      row.entity_id = "b-7";
      row.channel = "push";
      c.database->insert_outbox(row);
    }
    EXPECT_EQ(c.chosen(), told_before ? "first" : Counter::because(Why::NothingTold));
  }
}

TEST(Resending, ItIsNotLookedForWithoutEnd) {
  Counter c;
  c.knows_in_file("first", "paid");
  c.told_event();
  for (int i = 0; i < 2'000; ++i) {
    OutboxRow row;
    row.tenant = "acme";
    row.type = "paid";
    row.entity_id = "b-7";
    row.idempotency_key = "manual:b-7:push:first:x" + std::to_string(i);
    row.channel = "push";
    row.recipient = "t-1";
    row.template_key = "first";
    c.database->insert_outbox(row);
  }
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(c.stage.turn(c.now));
  ASSERT_EQ(c.database->deliveries.size(), 2'001U);
  EXPECT_EQ(c.chosen(), Counter::because(Why::NothingTold));
}

TEST(Resending, WhatANewMessageMayNotBeIsRefusedHereToo) {
  Counter c;
  c.knows_in_file("first", "paid");
  c.told_event();
  const auto answer = resend(c.session, c.rules,
                             {.tenant = c.rules.tenants.front(),
                              .entity = "b-7",
                              .channel = Channel::Push,
                              .request_id = std::string(2'000, 'r'),
                              .by = {.actor = "me"}},
                             c.now, c.random);
  ASSERT_TRUE(std::holds_alternative<NotResent>(answer));
  EXPECT_EQ(std::get<NotResent>(answer).why, Why::Refused);
}

TEST(Resending, WhicheverQuestionFailsNothingIsSent) {
  Counter c;
  const auto own = c.saves(1, "own", "paid");
  c.knows_in_file("of-file", "");
  c.told_event();
  c.rests(own);
  c.saves(0, "common", "paid");
  for (const char* name : {"", "of-file", "17", "by another channel"}) {
    const Channel channel = std::string_view{name} == "by another channel" ? Channel::Email : Channel::Push;
    int questions = 0;
    for (;;) {
      const std::size_t waiting = c.database->outbox.size();
      c.session.question_fails = ++questions;
      const auto answer = c.again(name, channel);
      if (c.session.question_fails != 0) break;
      ASSERT_TRUE(std::holds_alternative<NotResent>(answer)) << name << " " << questions;
      EXPECT_EQ(std::get<NotResent>(answer).why, Why::Store);
      EXPECT_EQ(std::get<NotResent>(answer).error.code, ErrorCode::Unavailable);
      EXPECT_EQ(c.database->outbox.size(), waiting);
    }
    c.session.question_fails = 0;
    EXPECT_GE(questions, 3) << name;
  }
  c.session.accept_fails = Error{ErrorCode::Exhausted, "full"};
  EXPECT_EQ(std::get<NotResent>(c.again()).error.text, "full");
}

}  // namespace
}  // namespace postrider
