#include "core/language.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"

namespace postrider {
namespace {

using Tags = std::vector<std::string>;

std::vector<std::string> ranges_of(std::string_view header) {
  const auto ranges = acceptable_ranges(header);
  return {ranges.begin(), ranges.end()};
}
std::string looked_up(std::string_view header, const Tags& available) {
  const auto ranges = acceptable_ranges(header);
  const auto match = look_up_language(ranges, available);
  return match ? std::string{match->locale} + " by " + std::string{match->range} : "nothing";
}

TEST(AcceptLanguage, RangesAreOrderedByWeightAndThenByPlace) {
  EXPECT_EQ(ranges_of("da, en-gb;q=0.8, en;q=0.7"), (Tags{"da", "en-gb", "en"}));
  EXPECT_EQ(ranges_of("en;q=0.1,de;q=0.9 ,fr"), (Tags{"fr", "de", "en"}));
  EXPECT_EQ(ranges_of("a;q=0.5, b;q=0.500, c;q=.5, d; q=0.5, e ;Q=1.0"), (Tags{"e", "a", "b", "d"}));
  EXPECT_EQ(ranges_of("de;q=0.001, fr;q=0.002"), (Tags{"fr", "de"}));
  EXPECT_EQ(ranges_of("*;q=0.1, de"), (Tags{"de", "*"}));
}

TEST(AcceptLanguage, WhatIsNotAcceptableOrMalformedIsLeftOut) {
  EXPECT_EQ(ranges_of(""), Tags{});
  EXPECT_EQ(ranges_of(" , ,,"), Tags{});
  EXPECT_EQ(ranges_of("en;q=0, de;q=0.000, fr"), Tags{"fr"});
  for (const char* bad :
       {"en;q=2",          "en;q=1.001",       "en;q=-1", "en;q=0.1234", "en;q=",   "en;q", "en;q=abc",
        "en;level=1",      "en;q=0.5;q=1",     "en_US",   "e n",         "-en",     "en-",  "en--us",
        "toolonglanguage", "en-toolongsubtag", "1en",     "*-de",        "en;q =1", "é"}) {
    EXPECT_EQ(ranges_of(std::string{bad} + ", fr"), Tags{"fr"}) << bad;
  }
}

TEST(AcceptLanguage, ASubtagIsOfLettersAndBehindTheFirstOfDigitsToo) {
  for (int code = 33; code < 127; ++code) {
    const char c = static_cast<char>(code);
    if (std::string_view{",;-*"}.find(c) != std::string_view::npos) continue;  // they mean something
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
    EXPECT_EQ(ranges_of(std::string{"e"} + c + ", fr").size(), letter ? 2U : 1U) << c;
    EXPECT_EQ(ranges_of(std::string{"en-"} + c + ", fr").size(), letter || digit ? 2U : 1U) << c;
    EXPECT_EQ(ranges_of(std::string{"en;q=0."} + c + ", fr").size(), digit && c != '0' ? 2U : 1U) << c;
    EXPECT_EQ(ranges_of(std::string{"en;q=0"} + c + "5, fr").size(), c == '.' ? 2U : 1U) << c;
  }
}

TEST(AcceptLanguage, AnEndlessHeaderIsReadOnlySoFar) {
  std::string header = "fr;q=0.1";
  for (int i = 0; i < 10'000; ++i) header += ",de";
  EXPECT_EQ(ranges_of(header).size(), 64U);
}

TEST(LanguageLookUp, ARangeIsCutFromItsEndBeforeTheNextIsTried) {
  const Tags tags{"en-US", "en", "es", "de-CH", "zh-Hant", "zh"};
  EXPECT_EQ(looked_up("en-GB", tags), "en by en-GB");
  EXPECT_EQ(looked_up("es-AR, en-US;q=0.9", tags), "es by es-AR");
  EXPECT_EQ(looked_up("fr, de-CH-1996;q=0.5", tags), "de-CH by de-CH-1996");
  EXPECT_EQ(looked_up("zh-hant-cn", tags), "zh-Hant by zh-hant-cn");
  EXPECT_EQ(looked_up("fr, it, nl", tags), "nothing");
}

TEST(LanguageLookUp, ASingleLetterGoesWithWhatFollowsIt) {
  EXPECT_EQ(looked_up("zh-Hant-x-ab-cd", {"zh-Hant-x", "zh"}), "zh by zh-Hant-x-ab-cd");
  EXPECT_EQ(looked_up("zh-Hant-x-a-b", {"zh-Hant-x-a-b"}), "zh-Hant-x-a-b by zh-Hant-x-a-b");
  EXPECT_EQ(looked_up("i-klingon", {"i", "en"}), "nothing");
}

TEST(LanguageLookUp, ARangeNeverMatchesMoreThanItSays) {
  EXPECT_EQ(looked_up("de", {"de-CH", "de-DE"}), "nothing");
  EXPECT_EQ(looked_up("en-USA", {"en-US"}), "nothing");
}

TEST(LanguageLookUp, AStarSaysNothing) {
  EXPECT_EQ(looked_up("*", {"en"}), "nothing");
  EXPECT_EQ(looked_up("*, de;q=0.1", {"en", "de"}), "de by de");
}

// --- who decides

const Tags kTenantLocales{"en-US", "es", "es-MX", "de"};

TEST(ChooseLocale, TheContactDecidesBeforeTheHeaderTheTenantAndTheSystem) {
  LocaleWishes wishes{
      .contact = "de", .accept_language = "es", .tenant_default = "es-MX", .tenant_locales = kTenantLocales};
  EXPECT_EQ(choose_locale(wishes).locale, "de");
  EXPECT_EQ(choose_locale(wishes).source, LocaleSource::Contact);
  wishes.contact = "";
  EXPECT_EQ(choose_locale(wishes).locale, "es");
  EXPECT_EQ(choose_locale(wishes).source, LocaleSource::AcceptLanguage);
  wishes.accept_language = "fr";
  EXPECT_EQ(choose_locale(wishes).locale, "es-MX");
  EXPECT_EQ(choose_locale(wishes).source, LocaleSource::TenantDefault);
  wishes.tenant_default = "";
  EXPECT_EQ(choose_locale(wishes).locale, "en-US");
  EXPECT_EQ(choose_locale(wishes).source, LocaleSource::SystemDefault);
}

TEST(ChooseLocale, AContactsWishIsTakenLiterallyInTheTenantsSpelling) {
  const auto chosen = [](std::string_view contact) {
    return choose_locale({.contact = contact, .tenant_default = "en-US", .tenant_locales = kTenantLocales}).locale;
  };
  EXPECT_EQ(chosen("es_mx"), "es-MX");
  EXPECT_EQ(chosen(" DE "), "de");
  EXPECT_EQ(chosen("fr-CA"), "fr-CA") << "a template that lacks it is an error, not another language in silence";
  EXPECT_EQ(chosen("not a tag!"), "en-US");
  EXPECT_EQ(chosen("*"), "en-US");
}

TEST(ChooseLocale, TheHeaderIsLookedUpOrTakenLiterallyByItsFirstRange) {
  LocaleWishes wishes{
      .accept_language = "*, es-AR;q=0.9, de;q=0.5", .tenant_default = "en-US", .tenant_locales = kTenantLocales};
  EXPECT_EQ(choose_locale(wishes).locale, "es");
  EXPECT_EQ(choose_locale(wishes).range, "es-AR");
  wishes.matching = LocaleMatching::Exact;
  EXPECT_EQ(choose_locale(wishes).locale, "es-AR");
  wishes.accept_language = "*";
  EXPECT_EQ(choose_locale(wishes).locale, "en-US");
}

TEST(TemplateLocale, ALocaleThatATemplateLacksIsAnErrorUnlessThereIsAChain) {
  const Tags has{"en-US", "es"};
  EXPECT_EQ(locale_of_template({"order_confirmed", has, {}}, "ES").value(), "es");
  const auto refused = locale_of_template({"order_confirmed", has, {}}, "es-MX");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::NotFound);
  EXPECT_EQ(refused.error().text, "Template order_confirmed not found for locale es-MX");
  const Tags chain{"fr", "es", "en-US"};
  EXPECT_EQ(locale_of_template({"order_confirmed", has, chain}, "es-MX").value(), "es");
  EXPECT_FALSE(locale_of_template({"order_confirmed", {}, chain}, "es-MX"));
}

TEST(AcceptLanguageVectors, EveryPublicCaseGivesWhatItExpects) {
  const std::filesystem::path path =
      std::filesystem::path{POSTRIDER_PUBLIC_CASES} / "vectors/accept-language.public.json";
  if (!std::filesystem::is_regular_file(path)) GTEST_SKIP() << "the public cases are not in " << path;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  const auto document = JsonDocument::parse(all.str());
  ASSERT_TRUE(document) << document.error().text;
  const auto cases = document->root().find("cases")->items();
  EXPECT_GE(cases.size(), 11U);
  for (const JsonView one : cases) {
    const std::string_view id = *one.find("id")->text();
    const std::string_view header = *one.find("accept_language")->text();
    Tags available;
    for (const JsonView tag : one.find("available")->items()) available.emplace_back(*tag.text());
    Tags wanted;
    for (const JsonView range : one.find_path("expect.priority_list")->items()) wanted.emplace_back(*range.text());
    EXPECT_EQ(ranges_of(header), wanted) << id;
    const ChosenLocale chosen = choose_locale(
        {.accept_language = header, .tenant_default = *one.find("default")->text(), .tenant_locales = available});
    EXPECT_EQ(chosen.locale, *one.find_path("expect.match")->text()) << id;
    const bool by_default = chosen.source == LocaleSource::TenantDefault;
    EXPECT_EQ(by_default ? "default" : chosen.range, *one.find_path("expect.matched_by")->text()) << id;
  }
}

}  // namespace
}  // namespace postrider
