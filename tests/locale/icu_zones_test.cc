// Quiet hours by real clocks, on the two days of the year on which these are changed.
#include "locale/icu_zones.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

Instant at(std::string_view text) { return *parse_instant(text); }
std::int64_t local(std::string_view text) { return parse_written_time(text)->us; }

std::string until(std::string_view hours, std::string_view zone, std::string_view when) {
  const auto end = quiet_until(*parse_quiet_hours(hours), zone, at(when), icu_zones());
  return end ? format_instant(*end) : "not quiet";
}

TEST(Zones, TheOffsetIsThatOfTheSeason) {
  EXPECT_EQ(*icu_zones().offset_at(at("2026-01-15T12:00:00Z"), "Europe/Berlin"), std::chrono::hours{1});
  EXPECT_EQ(*icu_zones().offset_at(at("2026-07-15T12:00:00Z"), "Europe/Berlin"), std::chrono::hours{2});
  EXPECT_EQ(*icu_zones().offset_at(at("2026-07-15T12:00:00Z"), "Asia/Kolkata"), std::chrono::minutes{330});
  EXPECT_FALSE(icu_zones().offset_at(at("2026-07-15T12:00:00Z"), "Mars/Olympus"));
  EXPECT_FALSE(icu_zones().knows("Mars/Olympus"));
  EXPECT_TRUE(icu_zones().knows("America/New_York"));
}

TEST(Zones, ATimeThatComesTwiceIsTheFirstAndOneThatIsLeftOutIsTheEndOfTheGap) {
  EXPECT_EQ(*icu_zones().moment_of(local("2026-10-25T02:30:00"), "Europe/Berlin"), at("2026-10-25T00:30:00Z"));
  EXPECT_EQ(*icu_zones().moment_of(local("2026-03-29T02:30:00"), "Europe/Berlin"), at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(*icu_zones().moment_of(local("2026-03-29T03:00:00"), "Europe/Berlin"), at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(*icu_zones().moment_of(local("2026-06-01T08:00:00"), "Europe/Berlin"), at("2026-06-01T06:00:00Z"));
}

TEST(QuietHours, OverMidnightTheyEndInTheMorningOfTheContactsOwnZone) {
  EXPECT_EQ(until("22:00-08:00", "Europe/Berlin", "2026-06-01T21:00:00Z"), "2026-06-02T06:00:00.000Z");
  EXPECT_EQ(until("22:00-08:00", "Europe/Berlin", "2026-06-02T05:59:59Z"), "2026-06-02T06:00:00.000Z");
  EXPECT_EQ(until("22:00-08:00", "Europe/Berlin", "2026-06-02T06:00:00Z"), "not quiet") << "the end is not part of it";
  EXPECT_EQ(until("22:00-08:00", "Europe/Berlin", "2026-06-01T20:00:00Z"), "2026-06-02T06:00:00.000Z")
      << "the beginning is";
  EXPECT_EQ(until("22:00-08:00", "Asia/Kolkata", "2026-06-01T10:00:00Z"), "not quiet");
  EXPECT_EQ(until("12:00-13:30", "Asia/Kolkata", "2026-06-01T06:31:00Z"), "2026-06-01T08:00:00.000Z");
}

TEST(QuietHours, InTheNightInWhichAnHourIsLeftOutTheyEndByTheNewTime) {
  EXPECT_EQ(until("22:00-08:00", "Europe/Berlin", "2026-03-28T22:00:00Z"), "2026-03-29T06:00:00.000Z");
  EXPECT_EQ(until("22:00-02:30", "Europe/Berlin", "2026-03-28T22:00:00Z"), "2026-03-29T01:00:00.000Z")
      << "half past two does not exist: the clocks go on at one o'clock UTC";
}

TEST(QuietHours, InTheNightInWhichAnHourComesTwiceTheyAreNotCutShort) {
  EXPECT_EQ(until("22:00-08:00", "Europe/Berlin", "2026-10-24T22:00:00Z"), "2026-10-25T07:00:00.000Z");
  EXPECT_EQ(until("22:00-02:30", "Europe/Berlin", "2026-10-25T00:15:00Z"), "2026-10-25T00:30:00.000Z");
  EXPECT_EQ(until("22:00-02:30", "Europe/Berlin", "2026-10-25T01:15:00Z"), "2026-10-25T01:30:00.000Z")
      << "the second time that it is a quarter past two";
}

TEST(QuietHours, AZoneThatNobodyKnowsKeepsNothingQuiet) {
  EXPECT_EQ(until("00:00-23:59", "Mars/Olympus", "2026-10-25T01:15:00Z"), "not quiet");
}

TEST(QuietHours, AreReadAndWrittenStrictly) {
  EXPECT_EQ(to_text(*parse_quiet_hours("22:00-08:00")), "22:00-08:00");
  EXPECT_EQ(to_text(*parse_quiet_hours("22:30 - 24:00")), "22:30-00:00");
  for (const char* wrong :
       {"", "22:00", "22-8", "25:00-08:00", "22:60-08:00", "22:00-22:00", "2200-0800", "24:01-08:00"}) {
    EXPECT_FALSE(parse_quiet_hours(wrong)) << wrong;
  }
  const auto window = parse_quiet_window("22:00-08:00 Europe/Berlin");
  ASSERT_TRUE(window);
  EXPECT_EQ(window->zone, "Europe/Berlin");
  EXPECT_EQ(to_text(*window), "22:00-08:00 Europe/Berlin");
  EXPECT_FALSE(parse_quiet_window("22:00-08:00"));
}

}  // namespace
}  // namespace postrider
