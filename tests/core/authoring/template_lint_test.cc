#include "core/authoring/template_lint.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

class Lint : public ::testing::Test {
 protected:
  Lint() {
    rules.tenants.push_back({.id = 1, .name = "acme"});
    rules.tenants.back().writing.locales = {"en-US", "de-DE"};
    rules.tenants.push_back({.id = 2, .name = "other"});
    rules.tenants.back().writing.locale = "fr-FR";
    route().type = "booking.made";
    route().keys = {"bookingId", "guest.name", "guest.phone", "rooms.title", "extras", "checkinDate"};
    rules.index();
  }
  Route& route() {
    if (rules.routes.empty()) rules.routes.emplace_back();
    return rules.routes.front();
  }
  static TemplateSource entry(std::string_view body, Channel channel = Channel::Email) {
    TemplateSource out{.tenant = "acme", .key = "made", .type = "booking.made", .channel = channel};
    for (const char* locale : {"en-US", "de-DE"})
      out.texts.push_back({.locale = locale, .subject = "", .body = std::string{body}});
    return out;
  }
  static TemplateSource partial(std::string_view key, std::string_view body) {
    return {.tenant = "acme", .key = std::string{key}, .texts = {{.body = std::string{body}}}};
  }
  std::vector<Finding> find(const std::vector<TemplateSource>& sources,
                            const std::vector<TemplateSource>& others = {}) {
    rules.index();
    return lint({rules, sources, others});
  }
  /// What is said about the first language, and how much there is.
  std::string said(const std::vector<TemplateSource>& sources, const std::vector<TemplateSource>& others = {}) {
    std::string out;
    for (const Finding& finding : find(sources, others)) {
      if (finding.locale != "de-DE") out += (out.empty() ? "" : "; ") + finding.text;
    }
    return out;
  }
  Rules rules;
};

TEST_F(Lint, ASoundSetHasNothingToTell) {
  EXPECT_TRUE(find({entry("{{bookingId}} {{guest.name}} {{> footer}}"), partial("footer", "bye")}).empty());
}

TEST_F(Lint, EveryLanguageOfTheTenantMustBeThere) {
  TemplateSource source = entry("x");
  source.texts.pop_back();
  source.texts[0].origin.file = "made.tpl";
  const auto findings = find({source});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::MissingLocale);
  EXPECT_EQ(findings[0].weight, FindingWeight::Error);
  EXPECT_EQ(to_text(findings[0]),
            "made.tpl: error: made (email), de-DE: has no text in de-DE, a language of tenant acme");
  source.texts[0].locale.clear();
  EXPECT_TRUE(find({source}).empty()) << "a text for every language serves this one too";
}

TEST_F(Lint, AnEventHasOneActiveTemplate) {
  const TemplateSource first = entry("x");
  TemplateSource second = entry("y");
  second.key = "again";
  second.texts[0].origin.file = "again.tpl";
  const auto findings = find({first, second});
  ASSERT_EQ(findings.size(), 1U) << "of two, the second is told";
  EXPECT_EQ(findings[0].kind, FindingKind::Clash);
  EXPECT_EQ(to_text(findings[0]),
            "again.tpl: error: again (email): made (email) already is the active one of booking.made");
  EXPECT_EQ(find({second}, {first}).size(), 1U) << "one that is stored counts too";
  EXPECT_TRUE(find({first}, {first}).empty()) << "its own earlier version does not";
  TemplateSource resting = second;
  resting.active = false;
  EXPECT_TRUE(find({first, resting}).empty());
  second.scope_type = "listing";
  second.scope_id = "10";
  EXPECT_TRUE(find({first, second}).empty()) << "a narrower one stands beside it";
  second.scope_id = "11";
  TemplateSource third = second;
  third.key = "third";
  third.scope_type = "gnitsil";
  EXPECT_TRUE(find({first, second, third}).empty()) << "and so does one for another kind of thing";
}

TEST_F(Lint, TemplatesOfOtherChannelsTypesAndTenantsStandBesideIt) {
  const TemplateSource first = entry("x");
  TemplateSource by_sms = entry("y", Channel::Sms);
  by_sms.key = "by-sms";
  TemplateSource theirs = entry("z");
  theirs.key = "theirs";
  theirs.tenant = "emca";
  TemplateSource of_another_type = entry("w");
  of_another_type.key = "other";
  of_another_type.type = "booking.gone";
  for (const Finding& finding : find({by_sms, theirs, of_another_type, first}))
    EXPECT_NE(finding.kind, FindingKind::Clash);
}

TEST_F(Lint, AShapeThatIsNoneWithoutAnyTextIsToldWithoutAFile) {
  TemplateSource source = entry("x");
  source.texts.clear();
  source.key = "";
  const auto findings = find({source});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::Shape);
  EXPECT_EQ(findings[0].file, "");
}

TEST_F(Lint, AFallbackMakesItAWarning) {
  rules.tenants[0].writing.fallbacks = {"fr-FR", "en-US"};
  TemplateSource source = entry("x");
  source.texts.pop_back();
  const auto findings = find({source});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].weight, FindingWeight::Warning);
  EXPECT_FALSE(has_errors(findings));
}

TEST_F(Lint, ACommonTemplateServesEveryTenant) {
  TemplateSource source = entry("x");
  source.tenant.clear();
  const auto findings = find({source});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].locale, "fr-FR");
}

TEST_F(Lint, ALanguageOfTwoTenantsIsMissedOnce) {
  rules.tenants[1].writing.locale = "de-DE";
  TemplateSource source = entry("x");
  source.tenant.clear();
  source.texts.pop_back();
  const auto findings = find({source});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].text, "has no text in de-DE, a language of tenant acme");
}

TEST_F(Lint, ATemplateWithoutATextMissesEveryLanguage) {
  TemplateSource source = entry("x");
  source.texts.clear();
  std::vector<std::string> told;
  for (const Finding& each : find({source})) told.push_back(each.locale + each.file);
  EXPECT_EQ(told, (std::vector<std::string>{"en-US", "de-DE"}));
}

TEST_F(Lint, NamesAreKnownAsTheRendererFindsThem) {
  for (const char* known :
       {"{{bookingId}}", "{{BOOKINGID}}", "{{guest.name}}", "{{Guest.Phone}}", "{{guestName}}", "{{guestphone}}",
        "{{#guest}}{{name}}{{/guest}}", "{{^guest}}none{{/guest}}", "{{#rooms}}{{title}} {{bookingId}}{{/rooms}}",
        "{{extras.anything}}", "{{#extras}}{{whatever}}{{/extras}}", "{{#rooms}}{{.}}{{/rooms}}", "{{extrasParking}}",
        "{{contact.name}}", "{{contact.loyalty.level}}", "{{secret.otp}}", "{{checkinDate | date:medium}}",
        "{{! no }}"}) {
    EXPECT_EQ(said({entry(known)}), "") << known;
  }
}

TEST_F(Lint, NamesThatNoEventHasAreErrors) {
  EXPECT_EQ(said({entry("{{gustName}}")}), "\"gustName\" is no key of booking.made");
  EXPECT_EQ(said({entry("{{guest.fax}}")}), "\"guest.fax\" is no key of booking.made");
  EXPECT_EQ(said({entry("{{#rooms}}{{colour}}{{/rooms}}")}), "\"colour\" is no key of booking.made");
  EXPECT_EQ(said({entry("{{nope}} {{nope}} {{#nope}}{{/nope}}")}), "\"nope\" is no key of booking.made") << "once";
  const auto findings = find({entry("a\nb {{nope}}")});
  ASSERT_EQ(findings.size(), 2U) << "one in each language";
  EXPECT_EQ(findings[0].line, 2U);
  EXPECT_EQ(findings[0].part, "body");
  EXPECT_EQ(findings[0].kind, FindingKind::UnknownPlaceholder);
  EXPECT_EQ(to_text(findings[0]), "error: made (email), en-US, body, line 2: \"nope\" is no key of booking.made");
}

TEST_F(Lint, WhatIsInsideASectionIsKnownAsFarAsItIsDeclared) {
  route().keys = {"rooms.title", "rooms.address.city", "guest", "guest.name"};
  EXPECT_EQ(said({entry("{{#rooms}}{{title.short}}{{/rooms}}")}), "") << "a title as a whole is declared";
  EXPECT_EQ(said({entry("{{#rooms}}{{#address}}{{city}}{{/address}}{{/rooms}}")}), "");
  EXPECT_EQ(said({entry("{{#rooms}}{{address.street}}{{/rooms}}")}), "\"address.street\" is no key of booking.made");
  EXPECT_EQ(said({entry("{{guestName}}")}), "");
  EXPECT_EQ(said({entry("{{guestFax}}")}), "\"guestFax\" is no key of booking.made") << "of a guest the name is known";
}

TEST_F(Lint, EveryPartIsLookedAt) {
  TemplateSource source = entry("x", Channel::Sms);
  source.texts[0].subject = "{{a}}";
  source.texts[0].html = "{{b}}";
  source.texts[0].provider_template = source.texts[1].provider_template = "p";
  source.texts[0].provider_params = {{"1", "{{bookingId}}"}, {"2", "{{c}}"}};
  source.texts[0].origin = {.file = "f", .subject_line = 3, .params_line = 5, .body_line = 9, .html_line = 20};
  std::vector<std::string> told;
  for (const Finding& f : find({source})) {
    if (f.weight == FindingWeight::Error) told.push_back(f.part + ":" + std::to_string(f.line));
  }
  EXPECT_EQ(told, (std::vector<std::string>{"subject:3", "html:20", "provider_params:6"}));
}

TEST_F(Lint, WhatTheRouteNamesIsKnown) {
  Route& r = route();
  r.recipients = {{.channel = Channel::Email, .field = "to.mail"}};
  r.contact_field = "who";
  r.schedule.field = "startsAt";
  r.scopes = {{"listing", "listingId"}};
  r.cancel_when.field = "status";
  EXPECT_EQ(said({entry("{{to.mail}}{{who}}{{startsAt}}{{listingId}}{{status}}")}), "");
  EXPECT_EQ(said({entry("{{email}}")}), "\"email\" is no key of booking.made");
  r.recipients.clear();
  EXPECT_EQ(said({entry("{{email}}")}), "") << "where addresses come from when no route says";
}

TEST_F(Lint, TheColumnsOfTheContextQueryAreKnown) {
  route().context = ContextRule{"app", compile_context_sql("SELECT b.guest_name, count(*) AS nights FROM b "
                                                           "WHERE id = :entity_id AND x = :payload.region",
                                                           SqlDialect::Postgres)
                                           .value()};
  EXPECT_EQ(said({entry("{{guest_name}} {{nights}} {{region}} {{bookingId}}")}), "");
  EXPECT_EQ(said({entry("{{guest_fax}}")}), "\"guest_fax\" is no key of booking.made");
  route().keys.clear();
  EXPECT_EQ(said({entry("{{bookingId}}")}), "\"bookingId\" is no key of booking.made") << "the query declares enough";
  route().context->sql.text = "SELECT * FROM b";
  EXPECT_EQ(said({entry("{{bookingId}}")}), "") << "a star may be anything";
}

TEST_F(Lint, WhereNothingIsDeclaredNothingIsJudged) {
  route().keys.clear();
  EXPECT_EQ(said({entry("{{anything}}")}), "");
  TemplateSource elsewhere = entry("{{anything}}");
  elsewhere.type = "other.type";
  EXPECT_EQ(said({elsewhere}), "");
  route().keys = {"a"};
  elsewhere.type.clear();
  EXPECT_EQ(said({elsewhere}), "") << "any message may name it";
}

TEST_F(Lint, TheTenantsOwnRouteDecides) {
  rules.routes.push_back({.tenant = "acme", .type = "booking.made", .keys = {"own"}});
  EXPECT_EQ(said({entry("{{own}}")}), "");
  EXPECT_EQ(said({entry("{{bookingId}}")}), "\"bookingId\" is no key of booking.made");
  TemplateSource common = entry("{{own}} {{bookingId}}");
  common.tenant.clear();
  common.texts[0].locale.clear();
  EXPECT_EQ(said({common}), "") << "a common one may use what any of the routes has";
  rules.routes.push_back({.type = "booking.gone", .keys = {"other"}});
  common.texts[0].body = "{{other}}";
  EXPECT_EQ(said({common}), "\"other\" is no key of booking.made") << "of its own type";
  rules.routes[0].keys.clear();
  EXPECT_EQ(said({common}), "") << "one of the two routes says nothing, so anything may be";
}

TEST_F(Lint, WhatDoesNotCompileIsBroken) {
  const auto findings = find({entry("line one\n{{#open}} never closed")});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].kind, FindingKind::Broken);
  EXPECT_NE(findings[0].text.find("line 2"), std::string::npos) << findings[0].text;
  TemplateSource in_file = entry("line one\n{{#open}} never closed");
  in_file.texts[0].origin = {.file = "made.tpl", .body_line = 9};
  EXPECT_EQ(to_text(find({in_file})[0]),
            "made.tpl: error: made (email), en-US, body: line 10, column 1: {{#open}} is never closed");
}

TEST_F(Lint, PartialsMustBeThere) {
  EXPECT_EQ(said({entry("{{> footer}}")}), "there is no partial \"footer\"");
  EXPECT_EQ(said({entry("{{> footer}}")}, {partial("footer", "x")}), "") << "a stored one will do";
  TemplateSource resting = partial("footer", "x");
  resting.active = false;
  EXPECT_EQ(said({entry("{{> footer}}")}, {resting}), "there is no partial \"footer\"");
  TemplateSource theirs = partial("footer", "x");
  theirs.tenant = "other";
  EXPECT_EQ(said({entry("{{> footer}}")}, {theirs}), "there is no partial \"footer\"");
  theirs.tenant.clear();
  EXPECT_EQ(said({entry("{{> footer}}")}, {theirs}), "");
  TemplateSource german = partial("footer", "x");
  german.texts[0].locale = "de-DE";
  EXPECT_EQ(said({entry("{{> footer}}")}, {german}), "there is no partial \"footer\"");
}

TEST_F(Lint, WhatAPartialNamesMustBeAKeyOfTheEventThatIncludesIt) {
  EXPECT_EQ(said({entry("{{> footer}}")}, {partial("footer", "{{guest.name}} {{guestNmae}}")}),
            "\"guestNmae\", in the partial \"footer\", is no key of booking.made");
  EXPECT_EQ(
      said({entry("{{> outer}}")}, {partial("outer", "{{> footer}}"), partial("footer", "{{nobody}}{{> outer}}")}),
      "\"nobody\", in the partial \"footer\", is no key of booking.made");
  EXPECT_EQ(
      said({entry("{{#rooms}}{{> room}}{{/rooms}}")}, {partial("room", "{{title}} {{#rooms}}{{title}}{{/rooms}}")}),
      "");
  TemplateSource common = partial("footer", "{{nobody}}");
  common.tenant.clear();
  EXPECT_EQ(said({entry("{{> footer}}")}, {common, partial("footer", "bye")}), "") << "the tenant's own is the one";
  EXPECT_EQ(said({entry("{{> footer}}")}, {partial("footer", "bye"), common}), "") << "wherever it stands";
  EXPECT_EQ(said({entry("{{> footer}}")}, {partial("footer", "{{nobody}} {{nobody}}")}),
            "\"nobody\", in the partial \"footer\", is no key of booking.made")
      << "told once";
  EXPECT_EQ(said({entry("{{> footer}}")}, {partial("footer", "{{#nobody}}")}), "") << "a broken one names nothing";
  route().keys.clear();
  EXPECT_EQ(said({entry("{{> footer}}")}, {partial("footer", "{{nobody}}")}), "") << "nobody said what there is";
}

TEST_F(Lint, PartialsThatIncludeThemselves) {
  const std::vector<TemplateSource> endless{partial("a", "{{> b}}"), partial("b", "{{> a}}")};
  const auto findings = find(endless);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].kind, FindingKind::SelfIncluding);
  EXPECT_EQ(findings[0].weight, FindingWeight::Error);
  const auto tree = find({partial("tree", "{{name}}{{#children}}{{> tree}}{{/children}}")});
  ASSERT_EQ(tree.size(), 1U);
  EXPECT_EQ(tree[0].weight, FindingWeight::Warning);
  EXPECT_TRUE(
      find({partial("a", "{{> b}}"), partial("b", "{{> c}}"), partial("c", "{{> c2}}"), partial("c2", "x")}).empty());
}

TEST_F(Lint, WaysThatMeetAgainAreNoCircle) {
  EXPECT_TRUE(
      find({partial("a", "{{> b}}{{> c}}"), partial("b", "{{> d}}"), partial("c", "{{> d}}"), partial("d", "x")})
          .empty());
  const auto broken = find({partial("a", "{{> b}}"), partial("b", "{{#open}}")});
  ASSERT_EQ(broken.size(), 1U) << "what cannot be read includes nothing";
  EXPECT_EQ(broken[0].kind, FindingKind::Broken);
  EXPECT_EQ(broken[0].about, "b (partial)");
}

TEST_F(Lint, APartialWithoutATextIsInTheCircleOfTheCommonOne) {
  TemplateSource common = partial("a", "{{> a}}");
  common.tenant.clear();
  TemplateSource own = partial("a", "");
  own.texts.clear();
  std::vector<std::string> told;
  for (const Finding& each : find({own}, {common})) {
    if (each.kind == FindingKind::SelfIncluding) told.push_back(each.file + each.text);
  }
  EXPECT_EQ(told, std::vector<std::string>{"includes itself, without end"});
}

TEST_F(Lint, WhatsAppNeedsTheProvidersTemplate) {
  TemplateSource source = entry("x", Channel::WhatsApp);
  source.texts[1].provider_template = "made_v1";
  EXPECT_EQ(said({source}), "has no provider_template");
  source.texts[0].provider_template = "made_v1";
  EXPECT_EQ(said({source}), "");
}

TEST_F(Lint, SmsNeedsItWhereAnotherLanguageHasIt) {
  TemplateSource source = entry("x", Channel::Sms);
  EXPECT_FALSE(has_errors(find({source})));
  source.texts[1].provider_template = "dlt";
  EXPECT_TRUE(has_errors(find({source})));
}

TEST_F(Lint, AnSmsTellsWhatItCosts) {
  const auto findings = find({entry("Hi {{guestName}}", Channel::Sms)});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].weight, FindingWeight::Note);
  EXPECT_EQ(findings[0].text, "at least 1 segment (GSM-7), before its values are put in");
  EXPECT_NE(said({entry(std::string(200, 'x') + "नम", Channel::Sms)}).find("at least 4 segments (UCS-2)"),
            std::string::npos);
}

TEST_F(Lint, AnSmsThatCannotBeWrittenCostsNothing) {
  EXPECT_EQ(said({entry("{{#open}}", Channel::Sms)}), "line 1, column 1: {{#open}} is never closed");
  std::string endless;
  for (int i = 0; i < 20'000; ++i) endless += "{{k" + std::to_string(i) + "}}";
  TemplateSource source = entry(endless, Channel::Sms);
  source.type = "other.type";
  EXPECT_EQ(said({source}), "") << "rendering it takes too many steps";
}

TEST_F(Lint, ATextMustHaveABody) {
  TemplateSource source = entry("");
  EXPECT_EQ(said({source}), "has no body");
  source.texts[0].html = "<p>";
  EXPECT_EQ(said({source}), "");
  TemplateSource approved = entry("", Channel::WhatsApp);
  for (TextSource& text : approved.texts) text.provider_template = "made_v1";
  EXPECT_EQ(said({approved}), "") << "the provider has the text";
}

TEST_F(Lint, AShapeThatIsNoneIsToldAlone) {
  TemplateSource source = entry("{{nope}}");
  source.texts[0].locale = "not a tag";
  const auto findings = find({source});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::Shape);
}

TEST_F(Lint, ALanguageThatComesTwiceNamesTheSecondFile) {
  TemplateSource source = entry("x");
  source.texts.push_back(source.texts[0]);
  source.texts.back().origin.file = "again.tpl";
  const auto findings = find({source});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].file, "again.tpl");
}

TEST(Gather, FilesOfOneTemplateComeTogether) {
  const auto file = [](const char* locale, const char* name) {
    TemplateFile out;
    out.head = {.key = "made", .name = name, .channel = Channel::Email};
    out.text = {.locale = locale, .body = "x"};
    return out;
  };
  const Gathered sound = gather({file("en-US", "Made"), file("de-DE", ""), file("fr-FR", "Made")}, "acme");
  ASSERT_EQ(sound.templates.size(), 1U);
  EXPECT_TRUE(sound.problems.empty());
  EXPECT_EQ(sound.templates[0].tenant, "acme");
  EXPECT_EQ(sound.templates[0].texts.size(), 3U);
  TemplateFile resting = file("de-DE", "Gemacht");
  resting.head.active = false;
  TemplateFile other = file("en-US", "");
  other.head.channel = Channel::Sms;
  const Gathered wrong = gather({file("en-US", ""), file("fr-FR", "Made"), resting, other}, "acme");
  EXPECT_EQ(wrong.templates.size(), 2U);
  ASSERT_EQ(wrong.problems.size(), 2U);
  EXPECT_EQ(wrong.problems[0].text, "another file says name \"Made\", this one \"Gemacht\"");
  EXPECT_EQ(wrong.problems[1].text, "another file says active \"true\", this one \"false\"");
  EXPECT_TRUE(gather({resting, resting}, "acme").problems.empty());
  EXPECT_EQ(gather({resting, file("en-US", "")}, "acme").problems.at(0).text,
            "another file says active \"false\", this one \"true\"");
}

TEST(Finding, SaysWhereItIsAsFarAsThatIsKnown) {
  Finding finding{.about = "made (email)", .text = "is wrong"};
  EXPECT_EQ(to_text(finding), "error: made (email): is wrong");
  finding.locale = "de-DE";
  finding.part = "body";
  finding.line = 3;
  EXPECT_EQ(to_text(finding), "error: made (email), de-DE, body, line 3: is wrong");
  finding.file = "made.tpl";
  EXPECT_EQ(to_text(finding), "made.tpl:3: error: made (email), de-DE, body: is wrong");
  finding.line = 0;
  EXPECT_EQ(to_text(finding), "made.tpl: error: made (email), de-DE, body: is wrong");
}

TEST(Finding, EveryKindAndWeightHasAWord) {
  for (int i = 0; i <= static_cast<int>(FindingKind::SmsSegments); ++i)
    EXPECT_FALSE(to_text(static_cast<FindingKind>(i)).empty());
  for (int i = 0; i <= static_cast<int>(FindingWeight::Note); ++i)
    EXPECT_FALSE(to_text(static_cast<FindingWeight>(i)).empty());
}

}  // namespace
}  // namespace postrider
