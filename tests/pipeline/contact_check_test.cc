#include "pipeline/contact_check.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

Contact good() {
  Contact c;
  c.key = "ada";
  c.addresses = {{Channel::Email, "ada@example.org"}, {Channel::Sms, "+919876543210"}};
  c.preferences = {{.category = "news", .allowed = false}};
  return c;
}
std::string field_of(const std::optional<FieldProblem>& problem) { return problem ? problem->field : ""; }

TEST(ContactCheck, AGoodContactIsTaken) {
  EXPECT_EQ(field_of(problem_of(good(), {})), "");
  Contact foreign = good();
  foreign.locale = "anything";
  foreign.timezone = "Mars/Base";
  EXPECT_EQ(field_of(problem_of(foreign, {})), "") << "nobody knows better";
}

TEST(ContactCheck, NamesTheFieldThatIsWrong) {
  const auto wrong = [](auto change) {
    Contact c = good();
    change(c);
    return field_of(problem_of(c, {.is_locale = [](std::string_view tag) { return tag == "en-GB"; }}));
  };
  EXPECT_EQ(wrong([](Contact& c) { c.key.clear(); }), "key");
  EXPECT_EQ(wrong([](Contact& c) { c.key = " ada"; }), "key");
  EXPECT_EQ(wrong([](Contact& c) { c.key = std::string(513, 'x'); }), "key");
  EXPECT_EQ(wrong([](Contact& c) { c.name = "a\nb"; }), "name");
  EXPECT_EQ(wrong([](Contact& c) { c.name = "\xFF"; }), "name");
  EXPECT_EQ(wrong([](Contact& c) { c.locale = "xx"; }), "locale");
  EXPECT_EQ(wrong([](Contact& c) { c.addresses.push_back({Channel::Sms, "+15551234567"}); }), "addresses.sms");
  EXPECT_EQ(wrong([](Contact& c) { c.addresses[0].address = "nobody"; }), "addresses.email");
  EXPECT_EQ(wrong([](Contact& c) { c.preferences.push_back({.category = "news"}); }), "preferences");
  EXPECT_EQ(wrong([](Contact& c) { c.preferences.resize(101); }), "preferences");
  EXPECT_EQ(wrong([](Contact& c) { c.attributes = "[1]"; }), "attributes");
  EXPECT_EQ(wrong([](Contact& c) { c.attributes = "{"; }), "attributes");
  EXPECT_EQ(wrong([](Contact& c) { c.attributes = "{\"a\":\"" + std::string(20000, 'x') + "\"}"; }), "attributes");
}

struct OneZone final : Zones {
  [[nodiscard]] bool knows(std::string_view zone) const override { return zone == "UTC"; }
  [[nodiscard]] std::optional<Duration> offset_at(Instant, std::string_view) const override { return Duration{}; }
  [[nodiscard]] std::optional<Instant> moment_of(std::int64_t us, std::string_view) const override {
    return instant_from_us(us);
  }
};

TEST(ContactCheck, ZonesLocalesAndWishesAreTextsToo) {
  const OneZone zones;
  const auto wrong = [&](auto change, const Zones* known = nullptr) {
    Contact c = good();
    change(c);
    return field_of(problem_of(c, {.zones = known}));
  };
  const std::string endless(100'000, 'x');
  EXPECT_EQ(wrong([](Contact& c) { c.timezone = "UTC"; }, &zones), "");
  EXPECT_EQ(wrong([](Contact& c) { c.timezone = "Mars/Base"; }, &zones), "timezone");
  EXPECT_EQ(wrong([&](Contact& c) { c.timezone = endless; }), "timezone");
  EXPECT_EQ(wrong([&](Contact& c) { c.locale = endless; }), "locale");
  EXPECT_EQ(wrong([](Contact& c) { c.key = "\xFF"; }), "key");
  EXPECT_EQ(wrong([](Contact& c) { c.preferences[0].category = "a\nb"; }), "preferences.category");
  EXPECT_EQ(wrong([](Contact& c) { c.preferences[0].source = "a\nb"; }), "preferences.source");
  Contact twice = good();
  twice.preferences = {{.channel = Channel::Sms}, {.channel = Channel::Sms}};
  EXPECT_EQ(problem_of(twice, {})->what, "name sms twice");
  twice.preferences = {{.category = "news"}, {.category = "news"}};
  EXPECT_EQ(problem_of(twice, {})->what, "name every channel twice for news");
  EXPECT_EQ(field_of(problem_of(ListMember{.channel = Channel::Email, .address = "ada@example.org"})), "");
}

TEST(ContactCheck, MembersAndSuppressions) {
  EXPECT_EQ(field_of(problem_of(ListMember{.contact = "ada"})), "");
  EXPECT_EQ(field_of(problem_of(ListMember{.contact = "a\tb"})), "contact");
  EXPECT_EQ(field_of(problem_of(ListMember{.channel = Channel::Sms, .address = "1"})), "address");
  Suppression s{.address = "ada@example.org", .evidence = "asked"};
  EXPECT_EQ(field_of(problem_of(s)), "");
  s.evidence = "  ";
  EXPECT_EQ(field_of(problem_of(s)), "evidence");
  s.address = "x";
  EXPECT_EQ(field_of(problem_of(s)), "address");
}

}  // namespace
}  // namespace postrider
