// Messages to contacts and lists, over the model store, with questions to it that fail.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "pipeline/expand.h"
#include "pipeline/fake_source.h"
#include "pipeline/faulty_session.h"
#include "pipeline/prepare.h"
#include "pipeline/refused.h"

namespace postrider {
namespace {

using std::chrono::minutes;

const OperatorAction kSomebody{.actor = "somebody"};

struct Town : Bench {
  Rules rules = make_rules();
  FakeSource source;
  ExpandStage stage{{.store = session, .rules = rules, .ids = ids, .node = node, .context = &source}, 1};

  static Rules make_rules() {
    Rules rules;
    rules.tenants = {{1, "acme", {}}};
    Route news{.type = "news", .list = "club"};
    Route untold{.type = "untold", .list = "full"};
    Route visit{.type = "visit", .contact_field = "guest"};
    Route late = visit;
    late.type = "late";
    late.rendering = Rendering::Late;
    Route stay = visit;
    stay.type = "stay";
    stay.context = ContextRule{"shop", *compile_context_sql("SELECT 1 WHERE :entity_id", SqlDialect::Postgres)};
    Route trip{.type = "trip", .list = "riders", .schedule = {.field = "day"}};
    trip.context = stay.context;
    rules.routes = {news, untold, visit, late, stay, trip};
    for (const char* type : {"news", "visit", "note", "late", "stay", "trip"}) {
      Template text{.key = type, .type = type, .channel = Channel::Push};
      text.texts.push_back({.body = *CompiledText::compile("Hi {{contact.name}}")});
      rules.templates.add(std::move(text));
    }
    rules.providers = {{.id = 1, .name = "push", .channel = Channel::Push, .window = 32}};
    rules.chains = {{Channel::Push, {1}}};
    rules.index();
    return rules;
  }
  Town() {
    const std::vector<Contact> contacts{
        {.tenant = 1, .key = "ada", .name = "Ada", .addresses = {{Channel::Push, "ada-1"}}},
        {.tenant = 1, .key = "bo", .name = "Bo", .addresses = {{Channel::Push, "bo-1"}}},
        {.tenant = 1, .key = "cy", .name = "Cy"}};
    EXPECT_TRUE(session.save_contacts(now, kSomebody, contacts, {}));
    EXPECT_TRUE(session.save_list(now, kSomebody, {.tenant = 1, .name = "club"}));
    EXPECT_TRUE(session.save_list(now, kSomebody, {.tenant = 1, .name = "empty"}));
    const std::vector<ListMember> members{{.contact = "ada"},
                                          {.contact = "cy"},
                                          {.channel = Channel::Push, .address = "x-9"},
                                          {.channel = Channel::Email, .address = "eve@example.org"}};
    EXPECT_TRUE(session.add_members(now, kSomebody, 1, "club", members));
    const std::vector<Suppression> unwanted{{.tenant = 1, .channel = Channel::Push, .address = "x-9"}};
    EXPECT_TRUE(session.suppress(now, kSomebody, unwanted));
    StoredTemplate stored{.key = "unused", .type = "nothing", .channel = Channel::Push, .texts = {{.body = "Hello"}}};
    EXPECT_TRUE(session.save_templates(now, kSomebody, std::span{&stored, 1}));
  }
  // As many as one chunk holds.
  void fill(const std::string& list) {
    EXPECT_TRUE(session.save_list(now, kSomebody, {.tenant = 1, .name = list}));
    std::vector<ListMember> members;
    for (std::size_t i = 0; i < kDeliveriesPerExpansionMax; ++i) {
      members.push_back({.channel = Channel::Push, .address = "u" + std::to_string(i)});
    }
    EXPECT_TRUE(session.add_members(now, kSomebody, 1, list, members));
  }
  void insert_stay() {
    source.records["s1"] = std::string{R"({"room":7})"};
    OutboxRow row;
    row.tenant = "acme";
    row.type = "stay";
    row.entity_id = "s1";
    row.payload = R"({"guest":"bo"})";
    database->insert_outbox(row);
  }
  // Turns until everything is done, whatever fails meanwhile; how often something did.
  int expand() {
    int failures = 0;
    for (int i = 0; i < 20; ++i) {
      failures += stage.turn(now) ? 0 : 1;
      failures += stage.work(now) ? 0 : 1;
      now += minutes{2};
      EXPECT_TRUE(session.promote(now, 10));
    }
    return failures;
  }
  // Who gets what, or why not.
  std::map<std::string, std::string> deliveries() {
    std::map<std::string, std::string> out;
    for (const auto& [id, d] : database->deliveries) {
      const auto settled = database->settled.find(id);
      out[d.type + " " + d.contact + d.recipient] =
          settled == database->settled.end() ? d.body : std::string{code_of(settled->second.reason)};
    }
    return out;
  }
  std::string end_of(const std::string& type, const std::string& list, const std::string& payload = "{}") {
    OutboxRow row;
    row.tenant = "acme";
    row.type = type;
    row.list = list;
    row.payload = payload;
    database->insert_outbox(row);
    expand();
    const auto found = database->states.find(database->messages.rbegin()->first);
    return found == database->states.end() ? "expanded" : found->second.detail;
  }
};

const std::map<std::string, std::string> kAllOfThem{{"news adaada-1", "Hi Ada"},        {"news cy", "no_recipient"},
                                                    {"news x-9", "suppressed_address"}, {"stay bobo-1", "Hi Bo"},
                                                    {"visit bobo-1", "Hi Bo"},          {"note p-1", "Hi "}};

TEST(ExpandPeople, WhicheverQuestionFailsNothingIsLostAndNothingDoubled) {
  int questions = 0;
  for (bool more = true; more; ++questions) {
    Town town;
    town.insert("news", "{}");
    town.insert("visit", R"({"guest":"bo"})");
    town.insert("note", R"({"pushToken":"p-1"})");
    town.insert_stay();
    town.session.question_fails = questions + 1;
    const int failures = town.expand();
    more = town.session.question_fails == 0;
    EXPECT_EQ(failures > 0, more) << "question " << questions + 1;
    EXPECT_EQ(town.deliveries(), kAllOfThem) << "question " << questions + 1;
    EXPECT_EQ(town.database->deliveries.size(), kAllOfThem.size());
  }
  EXPECT_GT(questions, 12) << "version, templates, suppressions, contacts and members, some of them twice";
}

TEST(ExpandPeople, AnAddressThatIsNotToBeWrittenToIsNotPutOffEither) {
  Town town;
  OutboxRow later;
  later.tenant = "acme";
  later.type = "note";
  later.payload = R"({"pushToken":"x-9"})";
  later.due_at = format_instant(town.now + minutes{30});
  town.database->insert_outbox(later);
  town.insert("note", "{}");
  EXPECT_EQ(town.expand(), 0);
  EXPECT_EQ(town.deliveries(),
            (std::map<std::string, std::string>{{"note x-9", "suppressed_address"}, {"note ", "no_recipient"}}));
}

TEST(RefusedCheck, FindsAnAddressHoweverItIsWritten) {
  Town town;
  const auto claim = [](RowId id, Channel channel, const std::string& address) {
    Claim out;
    out.lease.id = id;
    out.delivery.tenant = 1;
    out.delivery.channel = channel;
    out.delivery.recipient = address;
    return out;
  };
  const std::vector<Suppression> unwanted{{.tenant = 1, .address = "ADA@example.org", .evidence = "asked"}};
  ASSERT_TRUE(town.session.suppress(town.now, kSomebody, unwanted));
  const std::vector<Claim> claims{claim(1, Channel::Email, "Ada@Example.org"),
                                  claim(2, Channel::Email, "bo@example.org"), claim(3, Channel::Push, "x-9"),
                                  claim(4, Channel::Push, "X-9")};
  RefusedCheck check;
  const auto refused = check.among(town.session, town.now, claims);
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->size(), 2U);
  EXPECT_TRUE(refused->at(1).ends_with(": asked")) << refused->at(1);
  EXPECT_TRUE(refused->contains(3));
}

TEST(RefusedCheck, WhatCannotBeAskedIsAnErrorAndNotANo) {
  Town town;
  Claim claim;
  claim.delivery.tenant = 1;
  claim.delivery.recipient = "ada@example.org";
  RefusedCheck check;
  EXPECT_TRUE(check.among(town.session, town.now, {})->empty());
  for (const int question : {1, 2}) {
    town.session.question_fails = question;
    EXPECT_FALSE(check.among(town.session, town.now, {&claim, 1})) << "question " << question;
  }
  EXPECT_TRUE(check.among(town.session, town.now, {&claim, 1}));
  EXPECT_TRUE(check.among(town.session, town.now - std::chrono::hours{1}, {&claim, 1})) << "the clock was put back";
}

TEST(RefusedCheck, AsksOnceASecondWhetherThereIsAny) {
  Bench bench;
  Claim claim;
  claim.lease.id = 7;
  claim.delivery.tenant = 1;
  claim.delivery.recipient = "ada@example.org";
  RefusedCheck check;
  EXPECT_TRUE(check.among(bench.session, bench.now, {&claim, 1})->empty());
  const std::vector<Suppression> unwanted{{.tenant = 1, .address = "ada@example.org"}};
  ASSERT_TRUE(bench.session.suppress(bench.now, kSomebody, unwanted));
  EXPECT_TRUE(check.among(bench.session, bench.now, {&claim, 1})->empty());
  EXPECT_EQ(check.among(bench.session, bench.now + std::chrono::seconds{1}, {&claim, 1})->size(), 1U);
}

TEST(ExpandPeople, AListThatWasDueBeforeIsLookedAtAtOnce) {
  Town town;
  OutboxRow row;
  row.tenant = "acme";
  row.type = "news";
  row.list = "club";
  row.payload = "{}";
  row.due_at = format_instant(town.now - minutes{30});
  town.database->insert_outbox(row);
  ASSERT_TRUE(town.stage.turn(town.now));
  EXPECT_EQ(town.database->states.begin()->second.reason, Reason::Expanding);
  town.expand();
  EXPECT_FALSE(town.deliveries().empty());
}

TEST(ExpandPeople, AListWhoseTimeItsRecordSaysIsLookedAtThenAndReadOnToItsEnd) {
  Town town;
  town.fill("riders");
  const auto trip_on = [&](const std::string& day) {
    OutboxRow row;
    row.tenant = "acme";
    row.type = "trip";
    row.entity_id = "to " + day;
    row.payload = "{}";
    town.source.records[row.entity_id] = R"({"day":")" + day + "\"}";
    town.database->insert_outbox(row);
  };
  trip_on(format_instant(town.now - minutes{5}));
  trip_on(format_instant(town.now + minutes{20}));
  trip_on("soon");
  town.expand();
  EXPECT_EQ(town.database->deliveries.size(), 2 * kDeliveriesPerExpansionMax);
  std::size_t failed = 0;
  for (const auto& [id, state] : town.database->states) failed += state.state == MessageState::Failed ? 1 : 0;
  EXPECT_EQ(failed, 1U) << "its record has no date";
}

TEST(ExpandPeople, AListThatEndsWithAChunkEndsThere) {
  Town town;
  town.fill("full");
  EXPECT_EQ(town.end_of("news", "full"), "expanded");
  EXPECT_EQ(town.database->deliveries.size(), kDeliveriesPerExpansionMax);
  EXPECT_EQ(town.session.lists_read, 2) << "the second look finds nobody behind the last";
}

TEST(ExpandPeople, AListWithoutATemplateForItIsToldAndReadOnce) {
  Town town;
  town.fill("full");
  EXPECT_EQ(town.end_of("untold", ""), "type \"untold\"");
  EXPECT_TRUE(town.database->deliveries.empty());
  EXPECT_EQ(town.session.lists_read, 1);
  EXPECT_EQ(town.database->states.begin()->second.reason, Reason::TemplateNotFound);
}

TEST(ExpandPeople, AListOfATenantThatNobodyKnowsIsNotLookedFor) {
  Town town;
  OutboxRow row;
  row.tenant = "nobody";
  row.type = "news";
  row.channel = "push";
  row.list = "club";
  row.body = "B";
  town.database->insert_outbox(row);
  EXPECT_EQ(town.expand(), 0);
  ASSERT_EQ(town.database->states.size(), 1U);
  EXPECT_EQ(town.database->states.begin()->second.reason, Reason::UnknownTenant);
  EXPECT_EQ(town.session.lists_read, 0);
}

TEST(ExpandPeople, AListThatIsNotThereAndOneWithoutMembersAreToldApart) {
  Town town;
  EXPECT_EQ(town.end_of("news", "nowhere"), "list \"nowhere\"");
  EXPECT_EQ(town.end_of("news", "empty"), "nobody is on the list \"empty\"");
  EXPECT_EQ(town.end_of("visit", "", R"({"guest":"nobody"})"), "contact \"nobody\"");
}

TEST(ExpandPeople, AListIsLookedAtWhenTheRecordSaysThatItIsTime) {
  Town town;
  const auto add = [&](const std::string& address) {
    const std::vector<ListMember> member{{.channel = Channel::Push, .address = address}};
    ASSERT_TRUE(town.session.add_members(town.now, kSomebody, 1, "riders", member));
  };
  const auto day = [&](Instant at) {
    town.source.records["t1"] = std::string{R"({"day":")"} + format_instant(at) + "\"}";
  };
  ASSERT_TRUE(town.session.save_list(town.now, kSomebody, {.tenant = 1, .name = "riders"}));
  add("first");
  const Instant first_day = town.now + std::chrono::hours{1};
  day(first_day);
  OutboxRow row;
  row.tenant = "acme";
  row.type = "trip";
  row.entity_id = "t1";
  row.payload = "{}";
  town.database->insert_outbox(row);
  town.expand();
  EXPECT_TRUE(town.deliveries().empty());
  EXPECT_EQ(town.database->states.rbegin()->second.reason, Reason::Scheduled);
  EXPECT_EQ(town.database->states.rbegin()->second.attempts, 0) << "nothing was tried";
  day(first_day + std::chrono::hours{1});  // it was put off meanwhile
  add("second");
  town.now = first_day;
  town.expand();
  EXPECT_TRUE(town.deliveries().empty());
  add("third");
  town.now = first_day + std::chrono::hours{1};
  town.expand();
  EXPECT_EQ(town.deliveries().size(), 3U);
}

TEST(ExpandPeople, AListOnWhichNobodyCanBeReachedFailsAndIsMadeByAReplay) {
  Town town;
  ASSERT_TRUE(town.session.save_list(town.now, kSomebody, {.tenant = 1, .name = "mute"}));
  const std::vector<ListMember> mute{{.contact = "cy"}};
  ASSERT_TRUE(town.session.add_members(town.now, kSomebody, 1, "mute", mute));
  EXPECT_EQ(town.end_of("note", "mute"), "contact \"cy\" has no push address");
  EXPECT_EQ(town.database->states.rbegin()->second.state, MessageState::Failed);
  const std::vector<Contact> reached{{.tenant = 1, .key = "cy", .name = "Cy", .addresses = {{Channel::Push, "cy-1"}}}};
  ASSERT_TRUE(town.session.save_contacts(town.now, kSomebody, reached, {}));
  const std::vector<Uuid> messages{town.database->messages.rbegin()->second.uuid};
  ASSERT_EQ(town.session.replay(town.now, kSomebody, messages)->changed, 1U);
  town.expand();
  EXPECT_EQ(town.deliveries()["note cycy-1"], "Hi Cy");
}

TEST(ExpandPeople, AListWithAddressesOfOtherChannelsOnlyFails) {
  Town town;
  ASSERT_TRUE(town.session.save_list(town.now, kSomebody, {.tenant = 1, .name = "mails"}));
  const std::vector<ListMember> mails{{.channel = Channel::Email, .address = "eve@example.org"}};
  ASSERT_TRUE(town.session.add_members(town.now, kSomebody, 1, "mails", mails));
  EXPECT_EQ(town.end_of("note", "mails"), "nobody on the list has an address for a channel of it");
  EXPECT_EQ(town.database->states.rbegin()->second.reason, Reason::NoRecipient);
}

TEST(ExpandPeople, ATemplateThatCameAMomentAgoIsFoundBeforeAnybodyIsToldThatThereIsNone) {
  int questions = 0;
  for (bool more = true; more; ++questions) {
    Town town;
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(town.stage.turn(town.now)) << "the catalogue is read, fresh for a second";
    StoredTemplate fresh{.key = "fresh", .type = "fresh", .channel = Channel::Push, .texts = {{.body = "Hello"}}};
    ASSERT_TRUE(town.session.save_templates(town.now, kSomebody, std::span{&fresh, 1}));
    town.insert("fresh", R"({"pushToken":"p-1"})");
    town.session.question_fails = questions + 1;
    const bool turned = town.stage.turn(town.now).has_value();
    more = town.session.question_fails == 0;
    EXPECT_EQ(turned, !more) << "question " << questions + 1;
    if (more) {
      EXPECT_TRUE(town.database->deliveries.empty() && town.database->states.empty()) << "nobody is told anything";
      ASSERT_TRUE(town.stage.turn(town.now));
    }
    ASSERT_EQ(town.database->deliveries.size(), 1U);
    EXPECT_EQ(town.database->deliveries.begin()->second.body, "Hello");
  }
  EXPECT_GT(questions, 4) << "whether it is fresh, then the catalogue once more";
}

TEST(ExpandPeople, ALateTextWaitsForWhicheverQuestionFailsAndKnowsTheContact) {
  Town town;
  town.insert("late", R"({"guest":"bo"})");
  EXPECT_EQ(town.expand(), 0);
  ASSERT_EQ(town.database->deliveries.size(), 1U);
  const std::vector<LateJob> jobs{{7, town.database->deliveries.begin()->first}};
  int questions = 0;
  for (bool more = true; more; ++questions) {
    PrepareStage prepare{{town.session, town.rules}};
    town.session.question_fails = questions + 1;
    const auto answers = prepare.turn(town.now, jobs);
    ASSERT_EQ(answers.size(), 1U);
    more = town.session.question_fails == 0;
    ASSERT_EQ(std::holds_alternative<NotNow>(answers.front().what), more) << "question " << questions + 1;
    if (!more) {
      EXPECT_EQ(std::get<LateText>(answers.front().what).content.body, "Hi Bo");
    }
    town.session.question_fails = 0;
  }
  EXPECT_GT(questions, 4);
}

}  // namespace
}  // namespace postrider
