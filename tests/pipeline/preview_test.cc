#include "pipeline/preview.h"

#include <gtest/gtest.h>

#include "pipeline/faulty_session.h"
#include "pipeline/template_sources.h"

namespace postrider {
namespace {

class Previewing : public ::testing::Test {
 protected:
  Previewing() {
    rules.tenants.push_back({.id = 1, .name = "acme"});
    rules.tenants.push_back({.id = 2, .name = "other"});
    rules.index();
    entry.tenant = 1;
    entry.key = "made";
    entry.type = "booking.made";
    entry.channel = Channel::Sms;
    entry.texts = {{.locale = "en-US", .subject = "S {{a}}", .body = "Hi {{a}}{{> foot}}"}};
  }
  [[nodiscard]] PreviewRequest request(std::string_view data) const {
    return {.rules = rules, .tenant = rules.tenants[0], .partials = partials, .data = data};
  }
  Rules rules;
  TemplateSet partials;
  StoredTemplate entry;
};

TEST_F(Previewing, IsWhatADeliveryWouldSay) {
  ASSERT_TRUE(partials.add_partial("acme", "foot", "", ", bye {{b}}"));
  const auto made = preview(entry, request(R"({"a":"Ada"})"));
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_EQ(made->content.subject, "S Ada");
  EXPECT_EQ(made->content.body, "Hi Ada, bye ");
  EXPECT_EQ(made->locale, "en-US");
  EXPECT_EQ(made->warnings, std::vector<std::string>{"no value for b"});
  ASSERT_TRUE(made->sms);
  EXPECT_EQ(made->sms->segments, 1U);
}

TEST_F(Previewing, WarningsComeOneByOne) {
  const auto made = preview(entry, request("{}"));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->warnings.size(), 1U);
  entry.texts[0].body = "{{a}} {{b}} {{c}}";
  EXPECT_EQ(preview(entry, request("{}"))->warnings,
            (std::vector<std::string>{"no value for a", "no value for b", "no value for c"}));
}

TEST_F(Previewing, TheProvidersParametersAreFilledToo) {
  entry.texts[0].provider_template = "dlt";
  entry.texts[0].provider_params = R"([["1","{{a}}!"],["2","x"]])";
  const auto made = preview(entry, request(R"({"a":1})"));
  EXPECT_EQ(made->provider_template, "dlt");
  EXPECT_EQ(made->provider_params, (std::vector<std::pair<std::string, std::string>>{{"1", "1!"}, {"2", "x"}}));
}

TEST_F(Previewing, AParameterThatCannotBeWrittenIsEmpty) {
  std::string list = R"({"l":[1)";
  for (int i = 1; i < 200; ++i) list += ",1";
  entry.texts[0].provider_params = R"([["1","{{#l}}{{#l}}{{#l}}{{/l}}{{/l}}{{/l}}"]])";
  const auto made = preview(entry, request(list + "]}"));
  EXPECT_EQ(made->provider_params, (std::vector<std::pair<std::string, std::string>>{{"1", ""}}));
}

/// Says in which zone it was asked to write.
class SaysZone final : public Formatter {
 public:
  [[nodiscard]] bool append(const FormatRequest& r, std::string& out) const override {
    out += r.zone;
    return true;
  }
  [[nodiscard]] std::string_view plural_form(std::string_view, std::string_view) const override { return "other"; }
};

TEST_F(Previewing, TheTimeIsThatOfTheZoneAskedForThenOfTheContactThenOfTheTenant) {
  const SaysZone formatter;
  rules.formatter = &formatter;
  rules.tenants[0].writing.timezone = "Asia/Kolkata";
  entry.texts[0].body = "{{at | time}}";
  entry.texts[0].provider_params = R"([["1","{{at | time}}"]])";
  PreviewRequest asked = request(R"({"at":"2026-01-01T00:00:00Z"})");
  EXPECT_EQ(preview(entry, asked)->content.body, "Asia/Kolkata");
  EXPECT_EQ(preview(entry, asked)->provider_params[0].second, "Asia/Kolkata");
  const Contact contact{.locale = "en-US", .timezone = "Europe/Berlin"};
  asked.contact = &contact;
  EXPECT_EQ(preview(entry, asked)->content.body, "Europe/Berlin");
  EXPECT_EQ(preview(entry, asked)->provider_params[0].second, "Europe/Berlin");
  asked.timezone = "America/Lima";
  EXPECT_EQ(preview(entry, asked)->content.body, "America/Lima");
  EXPECT_EQ(preview(entry, asked)->provider_params[0].second, "America/Lima");
}

TEST_F(Previewing, ATextForEveryLanguageIsInTheOneThatWasAskedFor) {
  entry.texts[0].locale.clear();
  PreviewRequest asked = request("{}");
  asked.locale = "fr-FR";
  EXPECT_EQ(preview(entry, asked)->locale, "fr-FR");
}

TEST_F(Previewing, TheLanguageIsTheOneOfADelivery) {
  entry.texts.push_back({.locale = "de-DE", .body = "Hallo"});
  rules.tenants[0].writing.locales = {"en-US", "de-DE", "fr-FR"};
  PreviewRequest asked = request("{}");
  asked.wished = "de-DE";
  EXPECT_EQ(preview(entry, asked)->content.body, "Hallo");
  const Contact contact{.locale = "de-DE"};
  PreviewRequest of_contact = request("{}");
  of_contact.contact = &contact;
  EXPECT_EQ(preview(entry, of_contact)->locale, "de-DE");
  of_contact.locale = "en-US";
  EXPECT_EQ(preview(entry, of_contact)->locale, "en-US") << "one that is of_contact for goes before";
  of_contact.locale = "fr-FR";
  EXPECT_EQ(preview(entry, of_contact).error().text, "Template made not found for locale fr-FR");
  rules.tenants[0].writing.fallbacks = {"de-DE"};
  EXPECT_EQ(preview(entry, of_contact)->locale, "de-DE");
}

TEST_F(Previewing, WhatCannotBeWrittenIsAnError) {
  EXPECT_FALSE(preview(entry, request("nonsense")));
  entry.texts[0].body = "{{#a}}";
  EXPECT_NE(preview(entry, request("{}")).error().text.find("never closed"), std::string::npos);
  entry.texts[0].body = "{{> loop}}";
  ASSERT_TRUE(partials.add_partial("acme", "loop", "", "{{> loop}}"));
  EXPECT_EQ(preview(entry, request("{}")).error().code, ErrorCode::Invalid);
}

TEST_F(Previewing, SourcesAndStoredTemplatesSayTheSame) {
  entry.texts[0].provider_params = R"([["1","{{a}}"]])";
  const TemplateSource source = source_of(entry, rules);
  EXPECT_EQ(source.tenant, "acme");
  EXPECT_EQ(source.texts[0].provider_params[0].second, "{{a}}");
  const StoredTemplate back = stored_of(source, 1);
  EXPECT_EQ(back.texts, entry.texts);
  EXPECT_EQ(back.key, entry.key);
  EXPECT_EQ(source_of(back, rules), source);
  entry.tenant = 0;
  entry.texts[0].provider_params = "nonsense";
  EXPECT_EQ(source_of(entry, rules).tenant, "");
  EXPECT_TRUE(source_of(entry, rules).texts[0].provider_params.empty());
  entry.texts[0].provider_params = R"([["1"],["2","b"]])";
  EXPECT_EQ(source_of(entry, rules).texts[0].provider_params,
            (std::vector<std::pair<std::string, std::string>>{{"2", "b"}}));
}

TEST_F(Previewing, AllTemplatesAreReadPageByPage) {
  Bench bench;
  entry.type.clear();
  for (int i = 0; i < 501; ++i) {
    entry.key = "k" + std::to_string(i);
    ASSERT_TRUE(bench.session.save_templates(bench.now, {.actor = "me"}, std::span{&entry, 1}));
  }
  const auto all = all_templates(bench.session, 1);
  ASSERT_TRUE(all);
  const auto sources = sources_of(*all, rules);
  ASSERT_EQ(sources.size(), 501U);
  EXPECT_EQ(sources.back().key, "k500");
  bench.session.question_fails = 2;
  EXPECT_EQ(all_templates(bench.session, 1).error().code, ErrorCode::Unavailable);
}

TEST_F(Previewing, PartialsAreTakenFromWhatIsStored) {
  StoredTemplate foot = entry;
  foot.key = "foot";
  foot.channel.reset();
  foot.texts = {{.body = "bye"}};
  StoredTemplate resting = foot;
  resting.key = "resting";
  resting.active = false;
  StoredTemplate broken = foot;
  broken.key = "broken";
  broken.texts[0].body = "{{#a}}";
  const TemplateSet set = partials_among({entry, foot, resting, broken}, rules);
  const Partials* found = set.partials("acme", "en-US");
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->find("foot"), nullptr);
  EXPECT_EQ(found->find("resting"), nullptr);
  EXPECT_EQ(found->find("broken"), nullptr);
  EXPECT_EQ(set.partials("other", "en-US"), nullptr);
}

TEST(Preview, TheContactOfAPastMessageIsItsOwnOrTheOneItsRouteFound) {
  MessageView view;
  EXPECT_EQ(contact_of(view), "");
  view.deliveries.emplace_back();
  view.deliveries.back().delivery.contact = "found";
  EXPECT_EQ(contact_of(view), "found");
  view.message.contact = "named";
  EXPECT_EQ(contact_of(view), "named");
}

}  // namespace
}  // namespace postrider
