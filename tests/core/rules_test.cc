// Look-ups: the tenant's own goes before the common one.
#include "core/rules.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

Template entry(std::string key, std::string tenant, Channel channel, bool active = true) {
  Template out;
  out.key = std::move(key);
  out.tenant = std::move(tenant);
  out.type = "paid";
  out.channel = channel;
  out.active = active;
  return out;
}

std::vector<std::string> keys(const std::vector<const Template*>& found) {
  std::vector<std::string> out;
  for (const Template* one : found) out.push_back(one->key);
  return out;
}

TemplateSet set_of(std::vector<Template> entries) {
  TemplateSet set;
  for (Template& each : entries) set.add(std::move(each));
  return set;
}

TEST(TemplateSet, ATenantsOwnTemplateReplacesTheCommonOneOfItsChannelOnly) {
  const TemplateSet set =
      set_of({entry("common-sms", "", Channel::Sms), entry("common-mail", "", Channel::Email),
              entry("acme-mail", "acme", Channel::Email), entry("old", "acme", Channel::Push, false)});
  EXPECT_EQ(keys(set.for_event("acme", "paid", {})), (std::vector<std::string>{"acme-mail", "common-sms"}));
  EXPECT_EQ(keys(set.for_event("other", "paid", {})), (std::vector<std::string>{"common-mail", "common-sms"}));
  EXPECT_TRUE(set.for_event("acme", "unpaid", {}).empty());
}

TEST(TemplateSet, ATemplateIsFoundByKeyForItsChannelTheTenantsOwnFirst) {
  const TemplateSet set = set_of({entry("welcome", "", Channel::Email), entry("welcome", "acme", Channel::Email),
                                  entry("secret", "rival", Channel::Email), entry("off", "", Channel::Email, false)});
  EXPECT_EQ(set.by_key("acme", "welcome", Channel::Email, {})->tenant, "acme");
  EXPECT_EQ(set.by_key("other", "welcome", Channel::Email, {})->tenant, "");
  EXPECT_EQ(set.by_key("acme", "welcome", Channel::Sms, {}), nullptr);
  EXPECT_EQ(set.by_key("acme", "secret", Channel::Email, {}), nullptr) << "another tenant's";
  EXPECT_EQ(set.by_key("acme", "off", Channel::Email, {}), nullptr);
}

TEST(TemplateSet, TheNarrowerScopeWinsAndAnotherScopeIsNotForThisEvent) {
  Template all = entry("all", "acme", Channel::Email);
  Template one = entry("one", "acme", Channel::Email);
  one.scope_type = "listing";
  one.scope_id = "10";
  Template area = entry("area", "acme", Channel::Email);
  area.scope_type = "city";
  area.scope_id = "Pune";
  const TemplateSet set = set_of({all, one, area});
  EXPECT_EQ(keys(set.for_event("acme", "paid", {{"listing", "10"}, {"city", "Pune"}})),
            std::vector<std::string>{"one"});
  EXPECT_EQ(keys(set.for_event("acme", "paid", {{"listing", "11"}, {"city", "Pune"}})),
            std::vector<std::string>{"area"});
  EXPECT_EQ(keys(set.for_event("acme", "paid", {{"listing", "11"}})), std::vector<std::string>{"all"});
  EXPECT_EQ(keys(set_of({one}).for_event("acme", "paid", {})), std::vector<std::string>{});
}

TEST(TemplateSet, PartialsAreTheTenantsOwnInItsLanguageWhereThereAreSuch) {
  TemplateSet set;
  ASSERT_TRUE(set.add_partial("", "footer", "", "common"));
  ASSERT_TRUE(set.add_partial("", "footer", "de", "gemeinsam"));
  ASSERT_TRUE(set.add_partial("acme", "footer", "", "ours"));
  ASSERT_TRUE(set.add_partial("", "header", "", "head"));
  const auto text = [&](std::string_view tenant, std::string_view locale, std::string_view name) {
    const CompiledText* found = set.partials(tenant, locale)->find(name);
    return found == nullptr ? std::string{"none"} : found->render({}, {})->text;
  };
  EXPECT_EQ(text("other", "en", "footer"), "common");
  EXPECT_EQ(text("other", "de", "footer"), "gemeinsam");
  EXPECT_EQ(text("acme", "en", "footer"), "ours");
  EXPECT_EQ(text("acme", "de", "header"), "head");
  EXPECT_FALSE(set.add_partial("", "broken", "", "{{#a}}"));
}

TEST(Rules, ATenantsOwnRouteAndChainGoBeforeTheCommonOnes) {
  Rules rules;
  rules.tenants = {{1, "acme", {{Channel::Email, {2}}}}, {2, "other", {}}};
  rules.routes = {{.tenant = "", .type = "paid", .category = "common"},
                  {.tenant = "acme", .type = "paid", .category = "own"}};
  rules.providers = {{.id = 1, .name = "one"}, {.id = 2, .name = "two"}};
  rules.chains = {{Channel::Email, {1, 2}}};
  rules.index();
  EXPECT_EQ(rules.route("acme", "paid")->category, "own");
  EXPECT_EQ(rules.route("other", "paid")->category, "common");
  EXPECT_EQ(rules.route("acme", "unpaid"), nullptr);
  EXPECT_EQ(rules.first_provider(*rules.tenant("acme"), Channel::Email)->name, "two");
  EXPECT_EQ(rules.first_provider(*rules.tenant("other"), Channel::Email)->name, "one");
  EXPECT_EQ(rules.first_provider(*rules.tenant("other"), Channel::Sms), nullptr);
  EXPECT_EQ(rules.tenant("nobody"), nullptr);
  EXPECT_EQ(rules.tenant(TenantId{9}), nullptr);
}

TEST(Rules, ProvidersAreFoundByNumberAndByName) {
  Rules rules;
  rules.providers = {{.id = 7, .name = "mail"}};
  rules.index();
  EXPECT_EQ(rules.provider(ProviderId{7})->name, "mail");
  EXPECT_EQ(rules.provider("mail")->id, 7);
  EXPECT_EQ(rules.provider(ProviderId{8}), nullptr);
  EXPECT_EQ(rules.provider("fax"), nullptr);
}

TEST(Rules, AnEmptyChainOfATenantLeavesTheCommonOneAndAnEmptyCommonOneNobody) {
  Rules rules;
  rules.providers = {{.id = 7, .name = "mail"}};
  rules.tenants = {{1, "acme", {{Channel::Email, {}}}}};
  rules.chains = {{Channel::Email, {7}}, {Channel::Sms, {}}};
  rules.index();
  EXPECT_EQ(rules.first_provider(rules.tenants[0], Channel::Email)->id, 7);
  EXPECT_EQ(rules.first_provider(rules.tenants[0], Channel::Sms), nullptr);
  EXPECT_EQ(rules.first_provider(rules.tenants[0], Channel::Push), nullptr);
}

TEST(Rules, CategoriesThatAreExemptAreKnownByTenant) {
  Rules rules;
  rules.tenants = {{1, "acme", {}}, {2, "globex", {}}};
  rules.tenants[1].exempt_categories = {"code"};
  const ExemptCategories exempt = rules.exempt_categories();
  EXPECT_FALSE(exempt.contains(1));
  EXPECT_EQ(exempt.at(2), std::vector<std::string>{"code"});
}

}  // namespace
}  // namespace postrider
