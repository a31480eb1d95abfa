#include "core/contact.h"

#include <gtest/gtest.h>

#include "core/quiet_hours.h"

namespace postrider {
namespace {

TEST(QuietHoursText, IsReadAndWritten) {
  EXPECT_EQ(parse_quiet_hours("22:00-08:00"), (QuietHours{22 * 60, 8 * 60}));
  EXPECT_EQ(parse_quiet_hours(" 12:30 - 13:15 "), (QuietHours{750, 795}));
  EXPECT_EQ(parse_quiet_hours("20:00-24:00"), (QuietHours{1200, 0}));
  EXPECT_EQ(to_text(QuietHours{22 * 60, 8 * 60 + 5}), "22:00-08:05");
  for (const char* wrong :
       {"", "22:00", "22:00-22:00", "25:00-08:00", "22:60-08:00", "22-8", "24:30-08:00", "00:00-24:00"}) {
    EXPECT_FALSE(parse_quiet_hours(wrong)) << wrong;
  }
  const std::string good = "22:00-08:00";
  for (const std::size_t digit : {0U, 1U, 3U, 4U, 6U, 7U, 9U, 10U}) {
    for (const char wrong : {'/', ':', 'x'}) {  // the neighbours of the digits, and a letter
      std::string text = good;
      text[digit] = wrong;
      EXPECT_FALSE(parse_quiet_hours(text)) << text;
    }
  }
  EXPECT_FALSE(parse_quiet_hours("22.00-08:00"));
}

TEST(QuietHoursText, AWindowIsHoursAndAZone) {
  const auto window = parse_quiet_window("22:00-08:00 Europe/Berlin");
  ASSERT_TRUE(window);
  EXPECT_EQ(to_text(*window), "22:00-08:00 Europe/Berlin");
  EXPECT_FALSE(parse_quiet_window("22:00-08:00"));
  EXPECT_FALSE(parse_quiet_window("at night Europe/Berlin"));
}

// Knows how far ahead a zone is, but not when its clocks show a time.
struct HalfKnown final : Zones {
  [[nodiscard]] bool knows(std::string_view) const override { return true; }
  [[nodiscard]] std::optional<Duration> offset_at(Instant, std::string_view) const override { return Duration{}; }
  [[nodiscard]] std::optional<Instant> moment_of(std::int64_t, std::string_view) const override { return {}; }
};

TEST(QuietHoursText, QuietHoursWhoseEndNobodyKnowsHoldUpNothing) {
  EXPECT_FALSE(quiet_until({0, 24 * 60 - 1}, "Mars/Base", instant_from_us(1'800'000'000'000'000), HalfKnown{}));
}

TEST(ContactAddresses, AreFoundByTheirChannel) {
  const Contact ada{.addresses = {{Channel::Email, "ada@example.org"}}};
  EXPECT_EQ(ada.address(Channel::Email), "ada@example.org");
  EXPECT_EQ(ada.address(Channel::Sms), "");
}

TEST(Wishes, OfTwoThatSayTheSameTheFirstHolds) {
  const std::vector<Preference> wishes{{.allowed = false, .source = "first"}, {.allowed = false, .source = "second"}};
  EXPECT_EQ(forbidding(wishes, Channel::Email, "news")->source, "first");
}

TEST(Wishes, TheMostSpecificOneHolds) {
  const std::vector<Preference> wishes{
      {.allowed = false, .source = "all"},
      {.category = "news", .allowed = true, .source = "category"},
      {.channel = Channel::Sms, .allowed = false, .source = "channel"},
      {.channel = Channel::Sms, .category = "code", .allowed = true, .source = "both"},
      {.channel = Channel::Email, .category = "news", .allowed = false, .source = "mail news"}};
  const auto says = [&](Channel channel, std::string_view category) {
    const Preference* wish = forbidding(wishes, channel, category);
    return wish == nullptr ? "yes" : wish->source;
  };
  EXPECT_EQ(says(Channel::Push, ""), "all");
  EXPECT_EQ(says(Channel::Push, "other"), "all");
  EXPECT_EQ(says(Channel::Push, "news"), "yes");
  EXPECT_EQ(says(Channel::Sms, "news"), "channel") << "the channel beats the category";
  EXPECT_EQ(says(Channel::Sms, "code"), "yes");
  EXPECT_EQ(says(Channel::Email, "news"), "mail news");
  EXPECT_EQ(forbidding({}, Channel::Email, "news"), nullptr);
}

TEST(Wishes, ExemptCategoriesPassAWishThatNamesNone) {
  const std::vector<std::string> exempt{"code"};
  const std::vector<Preference> general{{.channel = Channel::Sms, .allowed = false}};
  EXPECT_EQ(forbidding(general, Channel::Sms, "code", exempt), nullptr);
  EXPECT_NE(forbidding(general, Channel::Sms, "news", exempt), nullptr);
  EXPECT_NE(forbidding(general, Channel::Sms, "", exempt), nullptr);
  const std::vector<Preference> named{{.category = "code", .allowed = false}};
  EXPECT_NE(forbidding(named, Channel::Sms, "code", exempt), nullptr) << "it was refused by name";
}

TEST(Wishes, AreToldInWords) {
  EXPECT_EQ(words_of(Preference{.allowed = false}, "ada"), "contact \"ada\" opted out of every channel");
  EXPECT_EQ(words_of(Preference{.channel = Channel::Sms, .category = "news", .allowed = false, .source = "api"}, "ada"),
            "contact \"ada\" opted out of sms for news (api)");
}

TEST(SuppressionWords, TellCauseTimeAndEvidence) {
  Suppression s{.cause = SuppressionCause::HardBounce, .at = instant_from_us(1'772'000'000'000'000)};
  EXPECT_EQ(words_of(s), "hard_bounce on " + format_instant(s.at));
  s.evidence = "550 no such user";
  EXPECT_EQ(words_of(s), "hard_bounce on " + format_instant(s.at) + ": 550 no such user");
}

TEST(ComparableAddress, IsInSmallLettersForMailOnly) {
  EXPECT_EQ(comparable_address(Channel::Email, " Ada@Example.ORG "), "ada@example.org");
  EXPECT_EQ(comparable_address(Channel::Email, "ÄDA@example.org"), "Äda@example.org") << "only the letters of ASCII";
  EXPECT_EQ(comparable_address(Channel::Webhook, "https://Example.org/A"), "https://Example.org/A");
  EXPECT_EQ(comparable_address(Channel::Sms, "+919876543210"), "+919876543210");
}

TEST(SuppressionCauses, AreReadBackFromTheirNames) {
  for (int number = 1; number <= 5; ++number) {
    const auto cause = static_cast<SuppressionCause>(number);
    EXPECT_EQ(parse_suppression_cause(to_text(cause)), cause);
  }
  EXPECT_FALSE(parse_suppression_cause("mood"));
}

}  // namespace
}  // namespace postrider
