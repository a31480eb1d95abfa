#include "locale/icu_formatter.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/rendering.h"

namespace postrider {
namespace {

using testing::render;

std::string written(std::string_view text, std::string_view data, std::string_view locale,
                    std::string_view zone = "UTC", Spaces spaces = Spaces::AsWritten) {
  const Rendered out =
      render(text, data, {.formatter = &icu_formatter(), .locale = locale, .zone = zone, .spaces = spaces});
  EXPECT_TRUE(out.unformatted.empty()) << text << " with " << data << " in " << locale;
  return out.text;
}

TEST(IcuFormatter, DatesAreWrittenAsTheLocaleDoes) {
  const std::string_view data = R"({"d":"2026-03-15"})";
  EXPECT_EQ(written("{{d | date:short}}", data, "en-US"), "3/15/26");
  EXPECT_EQ(written("{{d | date:medium}}", data, "en-US"), "Mar 15, 2026");
  EXPECT_EQ(written("{{d | date}}", data, "en-US"), "Mar 15, 2026");
  EXPECT_EQ(written("{{d | date:long}}", data, "en-US"), "March 15, 2026");
  EXPECT_EQ(written("{{d | date:full}}", data, "en-US"), "Sunday, March 15, 2026");
  EXPECT_EQ(written("{{d | date:medium}}", data, "de-DE"), "15.03.2026");
  EXPECT_EQ(written("{{d | date:long}}", data, "de"), "15. März 2026");
  EXPECT_EQ(written("{{d | date:long}}", data, "es-MX"), "15 de marzo de 2026");
  EXPECT_EQ(written("{{d | date:long}}", data, "ja-JP"), "2026年3月15日");
}

TEST(IcuFormatter, PatternsAndSkeletonsAreIcus) {
  const std::string_view data = R"({"d":"2026-03-15","at":"2026-03-15T14:05:00Z"})";
  EXPECT_EQ(written("{{d | date:dd-MMM-yyyy}}", data, "en-US"), "15-Mar-2026");
  EXPECT_EQ(written("{{d | date:EEEE 'the' d.}}", data, "en-GB"), "Sunday the 15.");
  EXPECT_EQ(written("{{d | date:::yMMMd}}", data, "en-US"), "Mar 15, 2026");
  EXPECT_EQ(written("{{d | date:::yMMMd}}", data, "de"), "15. März 2026");
  EXPECT_EQ(written("{{at | time:HH:mm}}", data, "en-US"), "14:05");
  EXPECT_EQ(written("{{at | datetime:yyyy-MM-dd'T'HH:mm}}", data, "en-US"), "2026-03-15T14:05");
}

TEST(IcuFormatter, AMomentIsShownInTheZoneAndWhatHasNoOffsetAsItWasWritten) {
  const std::string_view data =
      R"({"at":"2026-03-15T23:30:00Z","local":"2026-03-15T23:30:00","date":"2026-03-15","old":"1949-05-23"})";
  EXPECT_EQ(written("{{at | time:HH:mm}} {{at | date:d}}", data, "de", "Europe/Berlin"), "00:30 16");
  EXPECT_EQ(written("{{at | time:HH:mm}} {{at | date:d}}", data, "de", "America/New_York"), "19:30 15")
      << "summer time there";
  EXPECT_EQ(written("{{at | time:HH:mm}} {{at | date:d}}", data, "de", "Asia/Kolkata"), "05:00 16");
  EXPECT_EQ(written("{{local | time:HH:mm}} {{local | date:d}}", data, "de", "Asia/Kolkata"), "23:30 15");
  EXPECT_EQ(written("{{date | date:d}} {{old | date:long}}", data, "de", "America/New_York"), "15 23. Mai 1949");
}

TEST(IcuFormatter, NumbersMoneyAndPercent) {
  const std::string_view data = R"({"n":1234567.891,"m":"1234.50","i":1234,"p":0.25,"big":"12345678901234567890.12"})";
  EXPECT_EQ(written("{{n | number}}", data, "en-US"), "1,234,567.891");
  EXPECT_EQ(written("{{n | number}}", data, "de-DE"), "1.234.567,891");
  EXPECT_EQ(written("{{n | number}}", data, "hi-IN"), "12,34,567.891");
  EXPECT_EQ(written("{{n | number:integer}}", data, "en-US"), "1,234,568");
  EXPECT_EQ(written("{{i | number:0.00}}", data, "de"), "1234,00");
  EXPECT_EQ(written("{{i | number:::compact-short}}", data, "en-US"), "1.2K");
  EXPECT_EQ(written("{{p | number:percent}}", data, "en-US"), "25%");
  EXPECT_EQ(written("{{m | currency:USD}}", data, "en-US"), "$1,234.50");
  EXPECT_EQ(written("{{m | currency:EUR}}", data, "de-DE"), "1.234,50\u00a0€");
  EXPECT_EQ(written("{{m | currency:INR}}", data, "en-IN"), "₹1,234.50");
  EXPECT_EQ(written("{{i | currency:JPY}}", data, "en-US"), "¥1,234") << "yen have no decimals";
  EXPECT_EQ(written("{{big | currency:USD}}", data, "en-US"), "$12,345,678,901,234,567,890.12") << "no digit is lost";
}

TEST(IcuFormatter, PluralFormsFollowTheGrammarOfTheLanguage) {
  const auto forms = [](std::string_view locale) {
    std::string out;
    for (const char* n : {"0", "1", "2", "5", "11", "21", "1.5"}) {
      if (!out.empty()) out += ' ';
      out += icu_formatter().plural_form(locale, n);
    }
    return out;
  };
  EXPECT_EQ(forms("en-US"), "other one other other other other other");
  EXPECT_EQ(forms("ru"), "many one few many many one other");
  EXPECT_EQ(forms("ar"), "zero one two few many many other");
  EXPECT_EQ(forms("ja"), "other other other other other other other");
  EXPECT_EQ(forms("fr"), "one one other other other other one");
  EXPECT_EQ(written("{{n | plural:one=# ночь; few=# ночи; many=# ночей; other=# ночи}}", R"({"n":1003})", "ru"),
            "1\u00a0003 ночи");
}

TEST(IcuFormatter, SpacesArePlainWhereAnSmsWouldPayForThem) {
  const std::string_view data = R"({"at":"2026-03-15T14:05:00Z","m":1234.5})";
  const std::string_view text = "{{at | time:short}} {{m | currency:EUR}}";
  EXPECT_EQ(written(text, data, "fr-FR"), "14:05 1\u202f234,50\u00a0€");
  EXPECT_EQ(written(text, data, "fr-FR", "UTC", Spaces::Plain), "14:05 1 234,50 €");
  EXPECT_EQ(written(text, data, "en-US", "UTC", Spaces::Plain), "2:05 PM €1,234.50");
}

TEST(IcuFormatter, WhatCannotBeWrittenIsLeftAlone) {
  struct Odd {
    std::string_view text;
    std::string_view locale;
    std::string_view zone;
  };
  for (const Odd& odd : {Odd{"{{v | date:foo bar}}", "en-US", "UTC"}, Odd{"{{v | date}}", "not a locale", "UTC"},
                         Odd{"{{v | date}}", "", "UTC"}, Odd{"{{v | date}}", "en-US", "Mars/Olympus"},
                         Odd{"{{v | date}}", "en-US", ""}, Odd{"{{v | date:'open}}", "en-US", "Nowhere"}}) {
    const Rendered out = render(odd.text, R"({"v":"2026-03-15T00:00:00Z"})",
                                {.formatter = &icu_formatter(), .locale = odd.locale, .zone = odd.zone});
    EXPECT_EQ(out.text, "2026-03-15T00:00:00Z") << odd.text << odd.locale << odd.zone;
    EXPECT_EQ(out.unformatted.size(), 1U) << odd.text << odd.locale << odd.zone;
  }
  for (const std::string_view text :
       {"{{v | number:0.0.0}}", "{{v | number:::no-such-thing}}", "{{v | currency:code}}"}) {
    const Rendered out = render(text, R"({"v":5,"code":"not money"})", {.formatter = &icu_formatter()});
    EXPECT_EQ(out.text, "5") << text;
    EXPECT_EQ(out.unformatted.size(), 1U) << text;
  }
}

TEST(IcuFormatter, ALanguageThatNobodyKnowsIsWrittenAsEnUsWhateverTheEnvironmentSays) {
  EXPECT_EQ(written("{{d | date:long}}", R"({"d":"2026-03-15"})", "tlh"), "March 15, 2026");
  EXPECT_TRUE(is_known_locale("de-AT"));
  EXPECT_FALSE(is_known_locale("de_AT "));
  EXPECT_TRUE(is_known_zone("Asia/Kolkata"));
  EXPECT_FALSE(is_known_zone("Asia/Atlantis"));
}

TEST(IcuFormatter, MoreFormsThanAreKeptAreStillWrittenRight) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 600; ++i) {
      const std::string text = "{{d | date:'" + std::to_string(i) + "' d}}";
      ASSERT_EQ(written(text, R"({"d":"2026-03-15"})", "en-US"), std::to_string(i) + " 15");
    }
  }
}

TEST(IcuFormatter, ManyThreadsWriteAtOnceAndNoneDisturbsAnother) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      const std::string data = R"({"d":"2026-03-1)" + std::to_string(t) + R"(","n":)" + std::to_string(1000 + t) + "}";
      const std::string wanted = "Mar 1" + std::to_string(t) + ", 2026 1,00" + std::to_string(t) + " nights";
      for (int i = 0; i < 300; ++i) {
        ASSERT_EQ(written("{{d | date}} {{n | plural:one=# night; other=# nights}}", data, "en-US"), wanted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace postrider
