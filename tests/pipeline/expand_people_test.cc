// Messages to contacts and lists, over the model store, with questions to it that fail.
#include <gtest/gtest.h>

#include "pipeline/expand.h"
#include "pipeline/faulty_session.h"
#include "pipeline/prepare.h"

namespace postrider {
namespace {

using std::chrono::minutes;

const OperatorAction kSomebody{.actor = "somebody"};

struct Town : Bench {
  Rules rules = make_rules();
  ExpandStage stage{{.store = session, .rules = rules, .ids = ids, .node = node}, 1};

  static Rules make_rules() {
    Rules rules;
    rules.tenants = {{1, "acme", {}}};
    Route news{.type = "news", .list = "club"};
    Route visit{.type = "visit", .contact_field = "guest"};
    Route late = visit;
    late.type = "late";
    late.rendering = Rendering::Late;
    rules.routes = {news, visit, late};
    for (const char* type : {"news", "visit", "note", "late"}) {
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

const std::map<std::string, std::string> kAllOfThem{{"news adaada-1", "Hi Ada"},
                                                    {"news cy", "no_recipient"},
                                                    {"news x-9", "suppressed_address"},
                                                    {"visit bobo-1", "Hi Bo"},
                                                    {"note p-1", "Hi "}};

TEST(ExpandPeople, WhicheverQuestionFailsNothingIsLostAndNothingDoubled) {
  int questions = 0;
  for (bool more = true; more; ++questions) {
    Town town;
    town.insert("news", "{}");
    town.insert("visit", R"({"guest":"bo"})");
    town.insert("note", R"({"pushToken":"p-1"})");
    town.session.question_fails = questions + 1;
    const int failures = town.expand();
    more = town.session.question_fails == 0;
    EXPECT_EQ(failures > 0, more) << "question " << questions + 1;
    EXPECT_EQ(town.deliveries(), kAllOfThem) << "question " << questions + 1;
    EXPECT_EQ(town.database->deliveries.size(), kAllOfThem.size());
  }
  EXPECT_GT(questions, 8) << "version, templates, suppressions, contacts and members, some of them twice";
}

TEST(ExpandPeople, AListThatIsNotThereAndOneWithoutMembersAreToldApart) {
  Town town;
  EXPECT_EQ(town.end_of("news", "nowhere"), "list \"nowhere\"");
  EXPECT_EQ(town.end_of("news", "empty"), "nobody is on the list \"empty\"");
  EXPECT_EQ(town.end_of("visit", "", R"({"guest":"nobody"})"), "contact \"nobody\"");
}

TEST(ExpandPeople, ATemplateThatCameAMomentAgoIsFoundBeforeAnybodyIsToldThatThereIsNone) {
  Town town;
  ASSERT_TRUE(town.stage.turn(town.now)) << "the catalogue is read, and fresh for a second";
  StoredTemplate fresh{.key = "fresh", .type = "fresh", .channel = Channel::Push, .texts = {{.body = "Hello"}}};
  ASSERT_TRUE(town.session.save_templates(town.now, kSomebody, std::span{&fresh, 1}));
  town.insert("fresh", R"({"pushToken":"p-1"})");
  ASSERT_TRUE(town.stage.turn(town.now));
  ASSERT_EQ(town.database->deliveries.size(), 1U);
  EXPECT_EQ(town.database->deliveries.begin()->second.body, "Hello");
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
