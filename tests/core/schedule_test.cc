// When a delivery is due: at a time that its message names, or by a date that the event carries.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "core/expand.h"

namespace postrider {
namespace {

/// Two hours ahead of UTC, wherever one is.
class TwoAhead final : public Zones {
 public:
  [[nodiscard]] bool knows(std::string_view) const override { return true; }
  [[nodiscard]] std::optional<Duration> offset_at(Instant, std::string_view) const override {
    return std::chrono::hours{2};
  }
  [[nodiscard]] std::optional<Instant> moment_of(std::int64_t us, std::string_view) const override {
    return instant_from_us(us) - std::chrono::hours{2};
  }
};

class ByDate : public ::testing::Test {
 protected:
  ByDate() {
    rules.tenants.push_back({.id = 1, .name = "acme"});
    rules.routes.push_back({.type = "booking.reminder",
                            .recipients = {{.channel = Channel::Email, .field = "email"}},
                            .schedule = {.field = "checkinDate", .offset = -std::chrono::hours{24}}});
    rules.templates.add({.key = "reminder",
                         .type = "booking.reminder",
                         .channel = Channel::Email,
                         .texts = {{.body = CompiledText::compile("See you").value()}}});
    rules.index();
  }
  [[nodiscard]] Expansion expand(const std::string& payload, const std::string& due_at = {}) const {
    Message m;
    m.id = 1;
    m.uuid = make_uuid7(now, 1, 2);
    m.tenant = 1;
    m.tenant_name = "acme";
    m.type = "booking.reminder";
    m.payload = payload;
    if (!due_at.empty()) m.due_at = parse_instant(due_at);
    return postrider::expand(m, rules, now, {0, 500});
  }
  [[nodiscard]] Placement placed(const std::string& date, const std::string& due_at = {}) const {
    return expand(R"({"email":"ada@example.org","checkinDate":")" + date + "\"}", due_at).deliveries.at(0).placement;
  }

  Rules rules;
  Instant now = parse_instant("2026-03-01T00:00:00Z").value();
};

TEST_F(ByDate, ADeliveryIsDueAtTheRoutesOffsetFromADateOfTheEvent) {
  const Placement later = placed("2026-03-15T14:00:00Z");
  EXPECT_EQ(later.state, DeliveryState::Retrying);
  EXPECT_EQ(later.reason, Reason::Scheduled);
  EXPECT_EQ(later.due_at, parse_instant("2026-03-14T14:00:00Z"));
  EXPECT_EQ(placed("2026-03-15").due_at, parse_instant("2026-03-14T00:00:00Z"));
  const TwoAhead zones;
  rules.zones = &zones;
  EXPECT_EQ(placed("2026-03-15").due_at, parse_instant("2026-03-13T22:00:00Z")) << "midnight where the tenant is";
  EXPECT_EQ(placed("2026-03-15T14:00:00Z").due_at, parse_instant("2026-03-14T14:00:00Z")) << "a moment is one";
}

TEST_F(ByDate, WhatWouldHaveBeenDueBeforeIsSentAtOnce) {
  EXPECT_EQ(placed("2026-03-01T12:00:00Z").state, DeliveryState::Queued);
}

TEST_F(ByDate, AMessagesOwnTimeGoesFirst) {
  EXPECT_EQ(placed("2026-03-15T14:00:00Z", "2026-03-02T00:00:00Z").due_at, parse_instant("2026-03-02T00:00:00Z"));
}

TEST_F(ByDate, AListIsLookedAtWhenItsMessageIsDue) {
  Route& route = rules.routes.front();
  route.list = "guests";
  rules.index();
  Message m;
  m.tenant = 1;
  m.tenant_name = "acme";
  m.type = "booking.reminder";
  m.payload = R"({"checkinDate":"2026-03-15T14:00:00Z"})";
  EXPECT_EQ(needs_of(m, rules).not_before, parse_instant("2026-03-14T14:00:00Z"));
  m.due_at = parse_instant("2026-03-02T00:00:00Z");
  EXPECT_EQ(needs_of(m, rules).not_before, m.due_at);
  m.due_at.reset();
  m.payload = R"({"checkinDate":"soon"})";
  EXPECT_EQ(needs_of(m, rules).not_before, std::nullopt) << "it fails at once, and says why";
  route.context = ContextRule{.database = "app"};
  m.payload = R"({"checkinDate":"2026-03-15T14:00:00Z"})";
  EXPECT_EQ(needs_of(m, rules).not_before, std::nullopt) << "the record may say another date";
  EXPECT_EQ(due_by(m, rules, R"({"checkinDate":"2026-04-15T14:00:00Z"})"), parse_instant("2026-04-14T14:00:00Z"));
}

TEST_F(ByDate, WhatCannotBeReadOrBelongsToNobodyIsDueAtOnce) {
  Message m;
  m.tenant = 1;
  m.tenant_name = "acme";
  m.type = "booking.reminder";
  const auto with = [](const std::string& more) { return R"({"checkinDate":"2026-03-15T14:00:00Z",)" + more + "}"; };
  m.payload = with(R"("more":"")");
  EXPECT_TRUE(due_by(m, rules, {}));
  const std::string much(3 * kPayloadBytesMax, 'x');
  m.payload = with("\"more\":\"" + much + "\"");
  EXPECT_EQ(due_by(m, rules, "{\"much\":\"" + much + "\"}"), std::nullopt) << "too much together";
  m.payload = with(R"("more":"")");
  m.tenant = 99;
  EXPECT_EQ(due_by(m, rules, {}), std::nullopt);
}

TEST_F(ByDate, AMessageWhoseDateIsNoneFailsAndSaysSo) {
  const Expansion broken = expand(R"({"email":"ada@example.org","checkinDate":"soon"})");
  EXPECT_EQ(broken.state, MessageState::Failed);
  EXPECT_EQ(broken.reason, Reason::InvalidSchedule);
  EXPECT_EQ(broken.detail, "checkinDate is \"soon\"");
  EXPECT_EQ(expand(R"({"email":"ada@example.org"})").detail, "checkinDate is missing");
}

TEST_F(ByDate, ADateThatLeavesTheCalendarIsNone) {
  const auto detail = [&](const std::string& date) {
    const Expansion out = expand(R"({"email":"ada@example.org","checkinDate":")" + date + "\"}");
    EXPECT_EQ(out.reason, Reason::InvalidSchedule);
    return out.detail;
  };
  EXPECT_EQ(detail("1970-01-01T23:59:59Z"), "checkinDate leaves the calendar") << "a day before that there was no time";
  rules.routes.front().schedule.offset = std::chrono::hours{24};
  EXPECT_EQ(detail("9999-12-31T00:00:00Z"), "checkinDate leaves the calendar");
  EXPECT_EQ(placed("9999-12-30T00:00:00Z").due_at, parse_instant("9999-12-31T00:00:00Z"));
}

TEST_F(ByDate, WhatWaitsIsWrittenFromTheRecordOfThatDay) {
  rules.routes.front().context = ContextRule{.database = "app"};
  const auto rendering = [&](std::string_view record) {
    Message m;
    m.uuid = make_uuid7(now, 1, 2);
    m.tenant = 1;
    m.tenant_name = "acme";
    m.type = "booking.reminder";
    m.payload = R"({"email":"ada@example.org"})";
    const People nobody;
    const ExpandWith with{.rules = rules, .templates = rules.templates, .people = nobody, .now = now, .record = record};
    return postrider::expand(m, with, {0, 500}).deliveries.at(0).delivery;
  };
  const Delivery waits = rendering(R"({"checkinDate":"2026-03-15"})");
  EXPECT_EQ(waits.rendering, Rendering::Late);
  EXPECT_EQ(waits.body, "");
  const Delivery at_once = rendering(R"({"checkinDate":"2026-03-01"})");
  EXPECT_EQ(at_once.rendering, Rendering::Early);
  EXPECT_EQ(at_once.body, "See you");
}

}  // namespace
}  // namespace postrider
