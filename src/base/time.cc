#include "base/time.h"

#include <fmt/format.h>

#include <array>

namespace postrider {
namespace {

using std::chrono::sys_days;
using std::chrono::year_month_day;

struct Cursor {
  std::string_view text;
  bool ok = true;

  int digits(std::size_t count) {
    int value = 0;
    if (text.size() < count) ok = false;
    for (std::size_t i = 0; ok && i < count; ++i) {
      if (text[i] < '0' || text[i] > '9') ok = false;
      value = value * 10 + (text[i] - '0');
    }
    if (ok) text.remove_prefix(count);
    return value;
  }
  void expect(std::string_view any_of) {
    if (text.empty() || any_of.find(text.front()) == std::string_view::npos) {
      ok = false;
    } else {
      text.remove_prefix(1);
    }
  }
  [[nodiscard]] bool next_is(char c) const { return ok && !text.empty() && text.front() == c; }
};

std::int64_t fraction_us(Cursor& in) {
  std::int64_t us = 0;
  std::int64_t unit = 100'000;
  in.expect(".,");
  if (in.text.empty() || in.text.front() < '0' || in.text.front() > '9') in.ok = false;
  while (in.ok && !in.text.empty() && in.text.front() >= '0' && in.text.front() <= '9') {
    us += (in.text.front() - '0') * unit;
    unit /= 10;
    in.text.remove_prefix(1);
  }
  return us;
}

std::int64_t offset_seconds(Cursor& in) {
  if (in.text.empty()) return 0;  // SQLite writes no zone: UTC by its own convention.
  if (in.text == "Z" || in.text == "z") {
    in.text.remove_prefix(1);
    return 0;
  }
  const bool west = in.text.front() == '-';
  in.expect("+-");
  const int hours = in.digits(2);
  int minutes = 0;
  const bool colon = in.next_is(':');
  if (colon) in.text.remove_prefix(1);
  if (in.ok && (colon || !in.text.empty())) minutes = in.digits(2);
  if (hours > 23 || minutes > 59) in.ok = false;
  const std::int64_t seconds = hours * 3600 + minutes * 60;
  return west ? -seconds : seconds;
}

}  // namespace

std::optional<WrittenTime> parse_written_time(std::string_view text) {
  Cursor in{text};
  const int year = in.digits(4);
  in.expect("-");
  const int month = in.digits(2);
  in.expect("-");
  const int day = in.digits(2);
  if (!in.ok) return std::nullopt;
  const year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                            std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok() || year < 1583) return std::nullopt;
  std::int64_t us = std::chrono::duration_cast<Duration>(sys_days{date}.time_since_epoch()).count();
  if (in.text.empty()) return WrittenTime{WrittenTime::Form::Date, us};
  in.expect("Tt ");
  const int hour = in.digits(2);
  in.expect(":");
  const int minute = in.digits(2);
  int second = 0;
  if (in.next_is(':')) {
    in.text.remove_prefix(1);
    second = in.digits(2);
    if (in.next_is('.') || in.next_is(',')) us += fraction_us(in);
  }
  if (!in.ok || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const WrittenTime::Form form = in.text.empty() ? WrittenTime::Form::Local : WrittenTime::Form::Moment;
  us += (hour * 3600LL + minute * 60LL + second - offset_seconds(in)) * 1'000'000;
  if (!in.ok || !in.text.empty()) return std::nullopt;
  return WrittenTime{form, us};
}

std::optional<Instant> parse_instant(std::string_view text) {
  const auto written = parse_written_time(text);
  if (!written || written->us < 0 || written->us > to_us(kLastInstant)) return std::nullopt;
  return instant_from_us(written->us);
}

std::string format_instant(Instant at) {
  const auto days = std::chrono::floor<std::chrono::days>(at);
  const year_month_day date{days};
  const std::chrono::hh_mm_ss clock{at - days};
  const std::int64_t us = clock.subseconds().count();
  const std::string whole = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                        clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (us % 1000 == 0) return fmt::format("{}.{:03}Z", whole, us / 1000);
  return fmt::format("{}.{:06}Z", whole, us);
}

namespace {
struct Unit {
  std::string_view name;
  std::int64_t us;
};
constexpr std::array kUnits{Unit{"d", 86'400'000'000}, Unit{"h", 3'600'000'000}, Unit{"m", 60'000'000},
                            Unit{"s", 1'000'000}, Unit{"ms", 1'000}};
}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  std::int64_t number = 0;
  std::size_t at = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9' && at < 10) number = number * 10 + (text[at++] - '0');
  if (at == 0) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.substr(at) != unit.name) continue;
    if (number > kLongestDuration.count() / unit.us) return std::nullopt;
    return Duration{number * unit.us};
  }
  return std::nullopt;
}

std::string format_duration(Duration d) {
  for (const Unit& unit : kUnits) {
    if (d.count() != 0 && d.count() % unit.us == 0) return fmt::format("{}{}", d.count() / unit.us, unit.name);
  }
  return d.count() == 0 ? "0s" : fmt::format("{}us", d.count());
}

}  // namespace postrider
