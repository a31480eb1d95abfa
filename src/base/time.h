// Instants and durations are types; their one text form is RFC 3339 in UTC. No clock here: `now` is always an argument.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace postrider {

using Duration = std::chrono::microseconds;
using Instant = std::chrono::time_point<std::chrono::system_clock, Duration>;

/// A time of day, which may be corrected at any moment, and a time that only goes on. What is written down takes the
/// first; how long ago something was is asked of the second.
struct Moment {
  Instant now = {};
  Instant steady = {};
  constexpr Moment(Instant at) : now(at), steady(at) {}  // where no clock is ever corrected
  constexpr Moment(Instant now_, Instant steady_) : now(now_), steady(steady_) {}
};

constexpr Instant instant_from_us(std::int64_t us) { return Instant{Duration{us}}; }
constexpr Instant kLastInstant = instant_from_us(253'402'300'799'999'999);  // the end of the year 9999
constexpr std::int64_t to_us(Instant at) { return at.time_since_epoch().count(); }

/// "2026-03-15T09:30:00.123Z" (milliseconds always shown; microseconds when they are not zero).
std::string format_instant(Instant at);
/// RFC 3339 with any offset, or a date alone (midnight UTC). Also SQLite's "YYYY-MM-DD HH:MM:SS" (UTC) and PostgreSQL's
/// "YYYY-MM-DD HH:MM:SS.ffffff+00". Empty when it is no time, or one outside the years 1970 to 9999.
std::optional<Instant> parse_instant(std::string_view text);
/// The same forms in the years 1583 (the calendar's first whole one) to 9999, for people and not for the engine: what
/// was not written is not made up. A date alone has no time, and a time without an offset belongs to no zone.
struct WrittenTime {
  enum class Form : std::uint8_t { Date, Local, Moment };
  Form form = Form::Date;
  std::int64_t us = 0;  // since 1970; of a date or a local time as if it were UTC
};
std::optional<WrittenTime> parse_written_time(std::string_view text);
/// Sums of a few durations and an instant never leave the calendar.
constexpr Duration kLongestDuration = std::chrono::hours{24} * 36'500;
/// "250ms", "30s", "10m", "2h", "7d"; whole numbers only. Empty when it is none, or one above kLongestDuration.
std::optional<Duration> parse_duration(std::string_view text);
/// The shortest exact form of the above ("90s", "2m", "1500ms").
std::string format_duration(Duration d);

}  // namespace postrider
