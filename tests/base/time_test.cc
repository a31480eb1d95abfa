#include "base/time.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace postrider {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Instants, AreWrittenAsRfc3339InUtc) {
  EXPECT_EQ(format_instant(instant_from_us(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_instant(instant_from_us(1'773'567'000'123'000)), "2026-03-15T09:30:00.123Z");
  EXPECT_EQ(format_instant(instant_from_us(1'773'567'000'123'456)), "2026-03-15T09:30:00.123456Z");
  EXPECT_EQ(format_instant(kLastInstant), "9999-12-31T23:59:59.999999Z");
}

TEST(Instants, WhatIsWrittenIsReadBackExactly) {
  Prng dice{3};
  for (int round = 0; round < 20'000; ++round) {
    const Instant at = instant_from_us(static_cast<std::int64_t>(dice.below(to_us(kLastInstant) + 1ULL)));
    ASSERT_EQ(parse_instant(format_instant(at)), at) << format_instant(at);
  }
}

TEST(Instants, EveryUsualFormIsRead) {
  const auto wanted = instant_from_us(1'773'567'000'000'000);  // 2026-03-15T09:30:00Z
  for (const char* text :
       {"2026-03-15T09:30:00Z", "2026-03-15t09:30:00z", "2026-03-15T09:30:00.000Z", "2026-03-15T09:30:00+00:00",
        "2026-03-15T10:30:00+01:00", "2026-03-15T04:00:00-05:30", "2026-03-15T15:00:00+0530", "2026-03-15T23:30:00+14",
        "2026-03-14T10:30:00-23:00", "2026-03-15 09:30:00", "2026-03-15 09:30:00.000000+00", "2026-03-15T09:30:00,0Z",
        "2026-03-15 09:30:00-00:00", "2026-03-15T09:30Z"}) {
    EXPECT_EQ(parse_instant(text), wanted) << text;
  }
  EXPECT_EQ(parse_instant("2026-03-15"), parse_instant("2026-03-15T00:00:00Z"));
  EXPECT_EQ(parse_instant("2026-03-15T09:30:00.1234567899Z"), wanted + Duration{123'456});
}

TEST(WrittenTimes, KeepWhatWasNotWrittenOpen) {
  using Form = WrittenTime::Form;
  EXPECT_EQ(parse_written_time("2026-03-15")->form, Form::Date);
  EXPECT_EQ(parse_written_time("2026-03-15T09:30")->form, Form::Local);
  EXPECT_EQ(parse_written_time("2026-03-15 09:30:00.5")->form, Form::Local);
  EXPECT_EQ(parse_written_time("2026-03-15T09:30:00Z")->form, Form::Moment);
  EXPECT_EQ(parse_written_time("2026-03-15T09:30:00+05:30")->form, Form::Moment);
  EXPECT_EQ(parse_written_time("1969-12-31")->us, -86'400'000'000) << "people were born before 1970";
  EXPECT_TRUE(parse_written_time("1583-01-01"));
  EXPECT_FALSE(parse_written_time("1582-12-31"));
  EXPECT_FALSE(parse_written_time("2026-03-15T"));
  EXPECT_FALSE(parse_written_time("2026-03-15T09:30:00+"));
  EXPECT_FALSE(parse_written_time("2026-03-15 is a date"));
}

TEST(Instants, LeapDaysAndLeapSecondsExistOnlyWhereTheyDo) {
  EXPECT_TRUE(parse_instant("2024-02-29"));
  EXPECT_TRUE(parse_instant("2000-02-29"));
  EXPECT_FALSE(parse_instant("2023-02-29"));
  EXPECT_FALSE(parse_instant("2100-02-29"));
  EXPECT_EQ(parse_instant("2016-12-31T23:59:60Z"), parse_instant("2017-01-01T00:00:00Z"));
}

TEST(Instants, GarbageAndTimesOutsideTheCalendarAreNone) {
  for (const char* text : {"",
                           " ",
                           "now",
                           "infinity",
                           "-infinity",
                           "20260315",
                           "2026-3-15",
                           "2026-03-1",
                           "2026/03/15",
                           "26-03-15",
                           "2026-00-15",
                           "2026-13-15",
                           "2026-03-00",
                           "2026-03-32",
                           "2026-04-31",
                           "2026-03-15T",
                           "2026-03-15T9:30:00Z",
                           "2026-03-15T24:00:00Z",
                           "2026-03-15T09:60:00Z",
                           "2026-03-15T09:30:61Z",
                           "2026-03-15T09:30:00.Z",
                           "2026-03-15T09:30:00ZZ",
                           "2026-03-15T09:30:00 Z",
                           "2026-03-15T09:30:00+",
                           "2026-03-15T09:30:00+1",
                           "2026-03-15T09:30:00+05:",
                           "2026-03-15T09:30:00+05:3",
                           "2026-03-15T09:30:00+24:00",
                           "2026-03-15T09:30:00+01:60",
                           "2026-03-15T09:30:00+01:00:00",
                           " 2026-03-15",
                           "2026-03-15 ",
                           "1969-12-31T23:59:59Z",
                           "1970-01-01T00:00:00+01:00",
                           "0000-01-01",
                           "9999-12-31T23:59:59-00:01",
                           "+2026-03-15",
                           "-2026-03-15",
                           "２０２６-03-15"}) {
    EXPECT_FALSE(parse_instant(text)) << text;
  }
  EXPECT_FALSE(parse_instant(std::string_view{"2026-03-15T09:30:00\0", 20}));
}

TEST(Instants, EveryPrefixAndEveryChangedByteIsReadOrRefusedNeverMisused) {
  const std::string good = "2026-03-15T09:30:00.123456+01:30";
  for (std::size_t length = 0; length <= good.size(); ++length)
    (void)parse_instant(std::string_view{good}.substr(0, length));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = good;
      text[at] = static_cast<char>(byte);
      EXPECT_LE(parse_instant(text).value_or(kLastInstant), kLastInstant);
    }
  }
}

TEST(Durations, AreReadWithTheirUnits) {
  EXPECT_EQ(parse_duration("250ms"), milliseconds{250});
  EXPECT_EQ(parse_duration("30s"), seconds{30});
  EXPECT_EQ(parse_duration("10m"), minutes{10});
  EXPECT_EQ(parse_duration("2h"), hours{2});
  EXPECT_EQ(parse_duration("7d"), hours{168});
  EXPECT_EQ(parse_duration("0s"), seconds{0});
  for (const char* text : {"", "s", "10", "10 s", " 10s", "-1s", "+1s", "1.5s", "1S", "1sec", "10ms ", "99999999999s",
                           "1us", "1w", "0x1s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Durations, AreAtMostAHundredYearsSoThatAClockCanAddThemUp) {
  EXPECT_EQ(parse_duration("36500d"), kLongestDuration);
  for (const char* text : {"36501d", "876001h", "106751991d", "9999999999h"})
    EXPECT_FALSE(parse_duration(text)) << text;
  EXPECT_LT(parse_instant("2026-03-15").value() + kLongestDuration + kLongestDuration, kLastInstant);
}

TEST(Durations, HaveTheirShortestExactForm) {
  EXPECT_EQ(format_duration(seconds{90}), "90s");
  EXPECT_EQ(format_duration(minutes{2}), "2m");
  EXPECT_EQ(format_duration(milliseconds{1500}), "1500ms");
  EXPECT_EQ(format_duration(hours{48}), "2d");
  EXPECT_EQ(format_duration(seconds{0}), "0s");
}

TEST(Durations, WholeMillisecondsAreReadBackExactly) {
  Prng dice{5};
  for (int round = 0; round < 5'000; ++round) {
    const Duration d = milliseconds{static_cast<std::int64_t>(dice.below(9'999'999'999ULL))};
    ASSERT_EQ(parse_duration(format_duration(d)), d);
  }
}

}  // namespace
}  // namespace postrider
