// Quiet hours against a clock that the test sets; time zones of the real world are tests/locale's.
#include "core/quiet_hours.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

/// One zone, an hour ahead; at 02:00 on the second day of 2026 its clocks go back to UTC, so that 01:00 to 02:00 comes
/// twice.
class GoesBack final : public Zones {
 public:
  [[nodiscard]] bool knows(std::string_view zone) const override { return zone == "Here"; }
  [[nodiscard]] std::optional<Duration> offset_at(Instant at, std::string_view zone) const override {
    if (!knows(zone)) return std::nullopt;
    return at < changes ? std::chrono::hours{1} : std::chrono::hours{0};
  }
  [[nodiscard]] std::optional<Instant> moment_of(std::int64_t local_us, std::string_view) const override {
    const Instant first = instant_from_us(local_us) - std::chrono::hours{1};
    if (!end_is_known) return std::nullopt;
    return first < changes ? first : instant_from_us(local_us);
  }
  Instant changes = parse_instant("2026-01-02T01:00:00Z").value();
  bool end_is_known = true;
};

struct Night {
  GoesBack zones;
  std::string until(std::string_view hours, std::string_view at, std::string_view zone = "Here") const {
    const auto end = quiet_until(parse_quiet_hours(hours).value(), zone, parse_instant(at).value(), zones);
    return end ? format_instant(*end) : "not quiet";
  }
};

TEST(QuietHours, BeginWithTheirFirstMinuteAndEndBeforeTheirLast) {
  const Night night;
  EXPECT_EQ(night.until("14:00-15:00", "2026-01-01T12:59:59Z"), "not quiet");
  EXPECT_EQ(night.until("14:00-15:00", "2026-01-01T13:00:00Z"), "2026-01-01T14:00:00.000Z");
  EXPECT_EQ(night.until("14:00-15:00", "2026-01-01T13:59:59Z"), "2026-01-01T14:00:00.000Z");
  EXPECT_EQ(night.until("14:00-15:00", "2026-01-01T14:00:00Z"), "not quiet");
}

TEST(QuietHours, GoOverMidnight) {
  const Night night;
  EXPECT_EQ(night.until("22:00-08:00", "2026-01-01T20:59:59Z"), "not quiet");
  EXPECT_EQ(night.until("22:00-08:00", "2026-01-03T22:00:00Z"), "2026-01-04T08:00:00.000Z");
  EXPECT_EQ(night.until("22:00-08:00", "2026-01-04T07:59:59Z"), "2026-01-04T08:00:00.000Z");
  EXPECT_EQ(night.until("22:00-08:00", "2026-01-04T08:00:00Z"), "not quiet");
}

TEST(QuietHours, AnEndThatComesTwiceIsTheSecondOneWhenTheFirstIsOver) {
  const Night night;
  EXPECT_EQ(night.until("22:00-01:30", "2026-01-02T00:15:00Z"), "2026-01-02T00:30:00.000Z");
  EXPECT_EQ(night.until("22:00-01:30", "2026-01-02T01:15:00Z"), "2026-01-02T01:30:00.000Z");
}

TEST(QuietHours, WhereNobodyKnowsTheTimeNothingIsQuiet) {
  Night night;
  EXPECT_EQ(night.until("00:00-23:59", "2026-01-01T12:00:00Z", "Nowhere"), "not quiet");
  night.zones.end_is_known = false;
  EXPECT_EQ(night.until("00:00-23:59", "2026-01-01T12:00:00Z"), "not quiet");
}

}  // namespace
}  // namespace postrider
