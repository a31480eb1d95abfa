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

constexpr Instant instant_from_us(std::int64_t us) { return Instant{Duration{us}}; }
constexpr Instant kLastInstant = instant_from_us(253'402'300'799'999'999);  // the end of the year 9999
constexpr std::int64_t to_us(Instant at) { return at.time_since_epoch().count(); }

/// "2026-03-15T09:30:00.123Z" (milliseconds always shown; microseconds when they are not zero).
std::string format_instant(Instant at);
/// RFC 3339 with any offset, or a date alone (midnight UTC). Also SQLite's "YYYY-MM-DD HH:MM:SS" (UTC) and PostgreSQL's
/// "YYYY-MM-DD HH:MM:SS.ffffff+00". Empty when it is no time, or one outside the years 1970 to 9999.
std::optional<Instant> parse_instant(std::string_view text);
/// Sums of a few durations and an instant never leave the calendar.
constexpr Duration kLongestDuration = std::chrono::hours{24} * 36'500;
/// "250ms", "30s", "10m", "2h", "7d"; whole numbers only. Empty when it is none, or one above kLongestDuration.
std::optional<Duration> parse_duration(std::string_view text);
/// The shortest exact form of the above ("90s", "2m", "1500ms").
std::string format_duration(Duration d);

}  // namespace postrider
