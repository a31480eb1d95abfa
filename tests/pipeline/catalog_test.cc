// The stored templates that an engine keeps in memory, over the model store.
#include "pipeline/catalog.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pipeline/expand.h"
#include "pipeline/faulty_session.h"

namespace postrider {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Kept : Bench {
  Rules rules = make_rules();
  Catalog catalog{rules};
  OperatorAction by{.actor = "me"};

  static Rules make_rules() {
    Rules rules;
    rules.tenants = {{1, "acme", {}}};
    Template own{.key = "file", .type = "plain", .channel = Channel::Push};
    own.texts.push_back({.body = *CompiledText::compile("from the file")});
    rules.templates.add(std::move(own));
    rules.providers = {{.id = 1, .name = "push", .channel = Channel::Push, .window = 32}};
    rules.chains = {{Channel::Push, {1}}};
    rules.index();
    return rules;
  }
  StoredTemplate save(StoredTemplate wanted) {
    auto saved = session.save_templates(now, by, {&wanted, 1});
    EXPECT_TRUE(saved) << saved.error().text;
    return saved ? saved->front() : StoredTemplate{};
  }
  static StoredTemplate entry(std::string_view body, TenantId tenant = 1) {
    StoredTemplate out;
    out.tenant = tenant;
    out.key = "stored";
    out.type = "plain";
    out.channel = Channel::Push;
    out.texts = {{.body = std::string{body}}};
    return out;
  }
  static StoredTemplate partial(std::string_view body) {
    StoredTemplate out = entry(body);
    out.key = "foot";
    out.type.clear();
    out.channel.reset();
    return out;
  }
  /// The key of the template for an event of the type "plain".
  std::string chosen() {
    const auto found = catalog.templates().for_event("acme", "plain", {});
    return found.empty() ? "none" : found.front()->key;
  }
};

TEST(Catalog, TheFilesTemplatesAreThereBeforeAnythingWasRead) {
  Kept k;
  EXPECT_EQ(k.chosen(), "file");
  ASSERT_TRUE(k.catalog.refresh_if_due(k.session, k.now));
  EXPECT_EQ(k.chosen(), "file");
}

TEST(Catalog, StoredTemplatesGoBeforeTheFilesOnesAndTheTenantsBeforeTheCommon) {
  Kept k;
  StoredTemplate common = k.entry("common", 0);
  common.key = "common";
  k.save(common);
  ASSERT_TRUE(k.catalog.refresh(k.session));
  EXPECT_EQ(k.chosen(), "common");
  StoredTemplate own = k.save(k.entry("own"));
  ASSERT_TRUE(k.catalog.refresh(k.session));
  EXPECT_EQ(k.chosen(), "stored");
  own.active = false;
  k.save(own);
  ASSERT_TRUE(k.catalog.refresh(k.session));
  EXPECT_EQ(k.chosen(), "common");
  EXPECT_NE(k.catalog.templates().by_id(own.id), nullptr) << "for deliveries that are written late";
}

TEST(Catalog, AsksTheStoreAtMostOnceASecond) {
  Kept k;
  ASSERT_TRUE(k.catalog.refresh_if_due(k.session, k.now));
  k.save(k.entry("x"));
  ASSERT_TRUE(k.catalog.refresh_if_due(k.session, k.now + milliseconds{999}));
  EXPECT_EQ(k.chosen(), "file");
  EXPECT_TRUE(*k.catalog.is_stale(k.session));
  ASSERT_TRUE(k.catalog.refresh_if_due(k.session, k.now + seconds{1}));
  EXPECT_EQ(k.chosen(), "stored");
  EXPECT_FALSE(*k.catalog.is_stale(k.session));
}

TEST(Catalog, AClockThatWentBackHoldsUpNothing) {
  Kept k;
  ASSERT_TRUE(k.catalog.refresh_if_due(k.session, k.now));
  k.save(k.entry("x"));
  ASSERT_TRUE(k.catalog.refresh_if_due(k.session, k.now - std::chrono::hours{1}));
  EXPECT_EQ(k.chosen(), "stored");
}

TEST(Catalog, ATemplateThatCannotBeCompiledIsLeftOutAndTold) {
  Kept k;
  StoredTemplate broken = k.entry("{{#a}}");
  k.save(broken);
  broken = k.partial("{{#b}}");
  k.save(broken);
  ASSERT_TRUE(k.catalog.refresh(k.session));
  EXPECT_EQ(k.chosen(), "file");
  ASSERT_EQ(k.catalog.problems().size(), 2U);
  EXPECT_TRUE(k.catalog.problems()[0].starts_with("template stored: body ()")) << k.catalog.problems()[0];
  EXPECT_TRUE(k.catalog.problems()[1].starts_with("partial foot ()")) << k.catalog.problems()[1];
}

TEST(Catalog, EveryPartOfATemplateIsCompiledAndTheBrokenOneNamed) {
  const auto problem = [](auto spoil) {
    Kept k;
    StoredTemplate entry = k.entry("fine");
    spoil(entry.texts.front());
    k.save(entry);
    EXPECT_TRUE(k.catalog.refresh(k.session));
    return k.catalog.problems().empty() ? "" : k.catalog.problems().front().substr(0, 40);
  };
  const auto names = [&](std::string_view part, auto spoil) {
    EXPECT_TRUE(problem(spoil).starts_with(fmt::format("template stored: {} ()", part))) << problem(spoil);
  };
  names("subject", [](StoredText& t) { t.subject = "{{#a}}"; });
  names("html", [](StoredText& t) { t.html = "{{#a}}"; });
  for (const char* wrong : {"[", R"([["1"]])", R"([[1,"a"]])", R"([["1",2]])", R"([["1","{{#a}}"]])"}) {
    names("provider_params", [&](StoredText& t) { t.provider_params = wrong; });
  }
  EXPECT_EQ(problem([](StoredText& t) { t.provider_params = R"([["1","{{a}}"]])"; }), "");
}

TEST(Catalog, ATenantThatIsNotConfiguredHereHasNoTemplatesHere) {
  Kept k;
  const std::vector<std::string> others{"acme", "elsewhere"};
  k.save(k.entry("theirs", k.session.tenants(others)->back()));
  ASSERT_TRUE(k.catalog.refresh(k.session));
  EXPECT_EQ(k.chosen(), "file");
}

TEST(Catalog, MoreTemplatesThanAPageHoldsAreAllRead) {
  Kept k;
  for (int i = 0; i < 501; ++i) {
    StoredTemplate entry = k.entry("text");
    entry.key = entry.type = fmt::format("type-{}", i);
    k.save(entry);
  }
  ASSERT_TRUE(k.catalog.refresh(k.session));
  EXPECT_EQ(k.catalog.templates().for_event("acme", "type-500", {}).size(), 1U);
}

TEST(Catalog, OnlyActivePartialsAreIncluded) {
  Kept k;
  StoredTemplate foot = k.save(k.partial("bye"));
  ASSERT_TRUE(k.catalog.refresh(k.session));
  ASSERT_NE(k.catalog.templates().partials("acme", "en-US"), nullptr);
  EXPECT_NE(k.catalog.templates().partials("acme", "en-US")->find("foot"), nullptr);
  foot.active = false;
  k.save(foot);
  ASSERT_TRUE(k.catalog.refresh(k.session));
  EXPECT_EQ(k.catalog.templates().partials("acme", "en-US"), nullptr);
}

TEST(Catalog, AStageReadsItAgainWhenItIsToldAndWhenATemplateIsMissing) {
  Kept k;
  std::atomic<bool> changed{false};
  ExpandStage stage{{.store = k.session, .rules = k.rules, .ids = k.ids, .node = k.node, .catalog_changed = &changed},
                    1};
  k.insert("plain", R"({"pushToken":"t"})");
  ASSERT_TRUE(stage.turn(k.now));
  StoredTemplate saved = k.save(k.entry("first"));
  changed = true;
  k.insert("plain", R"({"pushToken":"t"})");
  ASSERT_TRUE(stage.turn(k.now));
  StoredTemplate other = k.entry("other");
  other.key = other.type = "other";
  k.save(other);
  k.insert("other", R"({"pushToken":"t"})");
  ASSERT_TRUE(stage.turn(k.now));
  std::vector<std::string> bodies;
  for (const auto& [id, delivery] : k.database->deliveries) bodies.push_back(delivery.body);
  EXPECT_EQ(bodies, (std::vector<std::string>{"from the file", "first", "other"}));
  EXPECT_EQ(k.database->deliveries.rbegin()->second.template_version, 1);
  EXPECT_EQ(*k.session.remove_template(k.now, k.by, saved.id), Removal::Deactivated);
}

TEST(Catalog, ARowThatCameAfterAChangeHasTheNewTextThoughItsTurnBeganBefore) {
  Kept k;
  StoredTemplate saved = k.save(k.entry("old"));
  std::atomic<bool> changed{false};
  ExpandStage stage{{.store = k.session, .rules = k.rules, .ids = k.ids, .node = k.node, .catalog_changed = &changed},
                    1};
  k.session.meanwhile = [&] {
    saved.texts[0].body = "new";
    k.save(saved);
    changed = true;
    k.insert("plain", R"({"pushToken":"t"})");
  };
  ASSERT_TRUE(stage.turn(k.now));
  ASSERT_EQ(k.database->deliveries.size(), 1U);
  EXPECT_EQ(k.database->deliveries.begin()->second.body, "new");
  EXPECT_FALSE(changed) << "and they are not read once more";
}

TEST(Catalog, AChangeThatCouldNotBeReadStaysTold) {
  Kept k;
  std::atomic<bool> changed{false};
  ExpandStage stage{{.store = k.session, .rules = k.rules, .ids = k.ids, .node = k.node, .catalog_changed = &changed},
                    1};
  ASSERT_TRUE(stage.turn(k.now));
  k.save(k.entry("new"));
  changed = true;
  k.insert("plain", R"({"pushToken":"t"})");
  k.session.question_fails = 1;
  EXPECT_FALSE(stage.turn(k.now));
  EXPECT_TRUE(changed);
  k.session.question_fails = 1;
  EXPECT_FALSE(stage.work(k.now)) << "large messages wait for it too";
  EXPECT_TRUE(changed);
  EXPECT_TRUE(k.database->deliveries.empty());
  ASSERT_TRUE(stage.turn(k.now));
  ASSERT_EQ(k.database->deliveries.size(), 1U);
  EXPECT_EQ(k.database->deliveries.begin()->second.body, "new");
}

TEST(Catalog, TemplatesThatChangeWithoutEndMakeRowsWaitAndLoseNone) {
  Kept k;
  std::atomic<bool> changed{false};
  ExpandStage stage{{.store = k.session, .rules = k.rules, .ids = k.ids, .node = k.node, .catalog_changed = &changed},
                    1};
  k.insert("plain", R"({"pushToken":"t"})");
  const std::function<void()> change = [&] {
    changed = true;
    k.session.meanwhile = change;
  };
  k.session.meanwhile = change;
  const auto refused = stage.turn(k.now);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("the templates changed"), std::string::npos) << refused.error().text;
  EXPECT_EQ(k.database->outbox.size(), 1U);
  k.session.meanwhile = nullptr;
  ASSERT_TRUE(stage.turn(k.now));
  EXPECT_EQ(k.database->deliveries.size(), 1U);
}

TEST(Catalog, AMessageThatIsReplayedInTheSameMomentAsItsTemplateIsMadeHasIt) {
  Kept k;
  ExpandStage stage{{.store = k.session, .rules = k.rules, .ids = k.ids, .node = k.node}, 1};
  k.insert("other", R"({"pushToken":"t"})");
  ASSERT_TRUE(stage.turn(k.now));
  ASSERT_TRUE(stage.work(k.now));
  ASSERT_TRUE(k.database->deliveries.empty());
  StoredTemplate other = k.entry("other");
  other.key = other.type = "other";
  k.save(other);
  const std::vector<Uuid> ids{k.database->messages.begin()->second.uuid};
  ASSERT_EQ(k.session.replay(k.now, k.by, ids)->changed, 1U);
  ASSERT_TRUE(stage.work(k.now));  // nobody told the stage, and no second has passed
  ASSERT_EQ(k.database->deliveries.size(), 1U);
  EXPECT_EQ(k.database->deliveries.begin()->second.body, "other");
}

}  // namespace
}  // namespace postrider
