#include "core/quiet_hours.h"

namespace postrider {
namespace {

constexpr std::int64_t kMinuteUs = 60'000'000;
constexpr std::int64_t kDayUs = 24 * 60 * kMinuteUs;

constexpr std::int64_t floor_day(std::int64_t us) { return us - ((us % kDayUs) + kDayUs) % kDayUs; }

}  // namespace

std::optional<Instant> quiet_until(const QuietHours& hours, std::string_view zone, Instant at, const Zones& zones) {
  const auto offset = zones.offset_at(at, zone);
  if (!offset) return std::nullopt;
  const std::int64_t local = to_us(at) + offset->count();
  const std::int64_t today = floor_day(local);
  const std::int64_t from = hours.from_minute * kMinuteUs;
  const std::int64_t until = hours.until_minute * kMinuteUs;
  const std::int64_t time = local - today;
  const bool over_midnight = from > until;
  const bool quiet = over_midnight ? time >= from || time < until : time >= from && time < until;
  if (!quiet) return std::nullopt;
  const std::int64_t end = today + until + (over_midnight && time >= from ? kDayUs : 0);
  const auto moment = zones.moment_of(end, zone);
  if (!moment) return std::nullopt;
  // When the clocks went back, the end may come twice, and the first time may be over.
  return *moment > at ? *moment : at + Duration{end - local};
}

std::string to_text(const QuietWindow& window) { return to_text(window.hours) + " " + window.zone; }

std::optional<QuietWindow> parse_quiet_window(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto hours = parse_quiet_hours(text.substr(0, space));
  if (!hours) return std::nullopt;
  return QuietWindow{*hours, std::string{text.substr(space + 1)}};
}

}  // namespace postrider
