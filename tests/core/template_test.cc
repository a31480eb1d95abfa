// Which of several templates and partials is the right one, and which of them must wait for a secret.
#include "core/template.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

CompiledText text(std::string_view source) { return *CompiledText::compile(source); }

struct Entry {
  std::int64_t id = 0;
  std::string tenant = {};
  std::string listing = {};  // empty: for all of them
  Channel channel = Channel::Email;
  bool active = true;
};

TemplateSet set_of(const std::vector<Entry>& entries) {
  TemplateSet set;
  for (const Entry& each : entries) {
    set.add({.id = each.id,
             .key = "made",
             .tenant = each.tenant,
             .type = "booking.made",
             .channel = each.channel,
             .scope_type = each.listing.empty() ? "" : "listing",
             .scope_id = each.listing,
             .active = each.active});
  }
  return set;
}

std::vector<std::int64_t> for_event(const TemplateSet& set, const EventScopes& scopes = {}) {
  std::vector<std::int64_t> ids;
  for (const Template* each : set.for_event("acme", "booking.made", scopes)) ids.push_back(each->id);
  return ids;
}

TEST(TemplateSet, TheTenantsOwnIsBeforeTheCommonOneAndTheNarrowerBeforeTheWider) {
  const TemplateSet set = set_of({{1, ""}, {2, "acme"}, {3, "acme", "10"}, {4, "other"}, {5, "", "10"}});
  EXPECT_EQ(for_event(set), std::vector<std::int64_t>{2});
  EXPECT_EQ(for_event(set, {{"listing", "10"}}), std::vector<std::int64_t>{3});
  EXPECT_EQ(for_event(set, {{"listing", "11"}}), std::vector<std::int64_t>{2});
  EXPECT_EQ(for_event(set, {{"owner", "10"}}), std::vector<std::int64_t>{2}) << "the scope's kind counts too";
  EXPECT_EQ(set.by_key("acme", "made", Channel::Email, {{"listing", "10"}})->id, 3);
  EXPECT_EQ(set.by_key("nobody", "made", Channel::Email, {})->id, 1);
  EXPECT_EQ(set.by_key("acme", "made", Channel::Sms, {}), nullptr);
}

TEST(TemplateSet, WhatIsOnlyForSomethingElseIsForNobody) {
  const TemplateSet set = set_of({{1, "acme", "10"}});
  EXPECT_TRUE(for_event(set).empty());
  EXPECT_EQ(set.by_key("acme", "made", Channel::Email, {}), nullptr);
}

TEST(TemplateSet, EveryChannelHasItsOwnInTheOrderOfTheChannels) {
  const TemplateSet set =
      set_of({{1, "", "", Channel::Push}, {2, "acme", "", Channel::Sms}, {3, "", "", Channel::Sms}});
  EXPECT_EQ(for_event(set), (std::vector<std::int64_t>{2, 1}));
}

TEST(TemplateSet, OneThatRestsIsFoundByItsNumberAlone) {
  const TemplateSet set = set_of({{.id = 1, .tenant = "acme", .active = false}});
  EXPECT_TRUE(for_event(set).empty());
  EXPECT_EQ(set.by_key("acme", "made", Channel::Email, {}), nullptr);
  ASSERT_NE(set.by_id(1), nullptr);
  EXPECT_FALSE(set.by_id(1)->active);
  EXPECT_EQ(set.by_id(2), nullptr);
}

TEST(TemplateSet, OneWithoutATypeIsForMessagesThatNameIt) {
  TemplateSet set;
  set.add({.id = 1, .key = "made"});
  EXPECT_TRUE(set.for_event("acme", "", {}).empty());
  EXPECT_EQ(set.by_key("acme", "made", Channel::Email, {})->id, 1);
}

TEST(TemplateSet, WhicheverPartNamesASecretTheTemplateUsesOne) {
  const auto use_of = [](LocalText local) {
    TemplateSet set;
    const LocalText without{.body = text("no secret")};
    set.add({.key = "t", .texts = {without, std::move(local), without}});
    return set.secret_use(set.all().front(), "acme", "");
  };
  EXPECT_EQ(use_of({}), SecretUse::None);
  EXPECT_EQ(use_of({.subject = text("{{secret.code}}")}), SecretUse::Certain);
  EXPECT_EQ(use_of({.body = text("{{#secret}}{{code}}{{/secret}}")}), SecretUse::Certain);
  EXPECT_EQ(use_of({.html = text("{{{secret.code}}}")}), SecretUse::Certain);
  EXPECT_EQ(use_of({.provider_params = {{"1", text("x")}, {"2", text("{{secret.code}}")}}}), SecretUse::Certain);
  EXPECT_EQ(use_of({.provider_params = {{"1", text("x")}}}), SecretUse::None);
  EXPECT_EQ(use_of({.body = text("{{secretCode}} or {{secretary}}")}), SecretUse::Perhaps);
  EXPECT_EQ(use_of({.body = text("{{secretary.name}}")}), SecretUse::None);
  EXPECT_EQ(use_of({.body = text("{{> secret}}")}), SecretUse::None) << "a partial of that name is none";
}

TEST(TemplateSet, WhatPartialsIncludeIsFoundThroughAllOfThem) {
  TemplateSet set;
  ASSERT_TRUE(set.add_partial("", "a", "", "{{> b}}{{> z}}"));
  ASSERT_TRUE(set.add_partial("", "b", "", "{{> z}}"));
  ASSERT_TRUE(set.add_partial("", "z", "", "{{secret.code}}"));
  ASSERT_TRUE(set.add_partial("", "plain", "", "x"));
  set.add({.key = "t", .texts = {{.body = text("{{> a}}")}}});
  set.add({.key = "u", .texts = {{.body = text("{{> plain}}")}}});
  EXPECT_EQ(set.secret_use(set.all()[0], "acme", ""), SecretUse::Certain);
  EXPECT_EQ(set.secret_use(set.all()[1], "acme", ""), SecretUse::None);
}

TEST(Template, ATextIsTheOneOfTheLanguageThenOfAFallbackThenTheOneForAll) {
  Template made{.key = "made", .texts = {{.locale = "en-US"}, {.locale = "de-DE"}}};
  const std::vector<std::string> fallbacks{"fr-FR", "en-US"};
  EXPECT_EQ(made.text("DE-de", {}).value()->locale, "de-DE");
  EXPECT_EQ(made.text("es-MX", fallbacks).value()->locale, "en-US");
  EXPECT_EQ(made.text("es-MX", {}).error().text, "Template made not found for locale es-MX");
  made.texts.push_back({});
  EXPECT_EQ(made.text("es-MX", {}).value()->locale, "");
  EXPECT_EQ(made.text("es-MX", fallbacks).value()->locale, "en-US");
  EXPECT_EQ(made.locales(), (std::vector<std::string>{"en-US", "de-DE"}));
}

TEST(TemplateSet, APartialIsTheClosestOneOfTenantAndLanguage) {
  TemplateSet set;
  EXPECT_EQ(set.partials("acme", "de-DE"), nullptr);
  ASSERT_TRUE(set.add_partial("", "foot", "", "common"));
  ASSERT_TRUE(set.add_partial("acme", "foot", "de-DE", "unser"));
  ASSERT_TRUE(set.add_partial("", "foot", "de-DE", "alle"));
  ASSERT_TRUE(set.add_partial("acme", "head", "", "ours"));
  const auto said = [&](std::string_view tenant, std::string_view locale, std::string_view name) {
    const CompiledText* found = set.partials(tenant, locale)->find(name);
    return found == nullptr ? "nothing" : found->program().source;
  };
  EXPECT_EQ(said("acme", "de-DE", "foot"), "unser");
  EXPECT_EQ(said("acme", "fr-FR", "foot"), "common");
  EXPECT_EQ(said("acme", "fr-FR", "head"), "ours");
  EXPECT_EQ(said("other", "de-DE", "foot"), "alle");
  EXPECT_EQ(said("other", "fr-FR", "foot"), "common");
  EXPECT_EQ(said("other", "de-DE", "head"), "nothing");
  EXPECT_FALSE(set.add_partial("", "broken", "", "{{#a}}"));
  EXPECT_EQ(said("acme", "de-DE", "broken"), "nothing");
}

}  // namespace
}  // namespace postrider
