#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/world.h"

namespace postrider::testing {
namespace {

constexpr std::string_view kSuppressions = "/api/v1/suppressions";

class SuppressionsApi : public ::testing::Test {
 protected:
  Answer add(std::string_view json) { return w.change("POST", kSuppressions, w.key(Role::Operator), json); }
  Answer look(std::string_view query, Role role = Role::Operator) {
    return w.get(fmt::format("{}{}", kSuppressions, query), w.key(role));
  }
  World w;
};

TEST_F(SuppressionsApi, OneIsAddedWithItsEvidenceAndTakenOff) {
  EXPECT_EQ(add(R"({"channel":"email","address":"Ada@Example.org","cause":"complaint","evidence":"wrote to us"})")
                .at("added"),
            "1");
  const Answer seen = look("?address=ada@example.org");
  EXPECT_EQ(seen.at("suppressions.0.address"), "Ada@Example.org");
  EXPECT_EQ(seen.at("suppressions.0.cause"), "complaint");
  EXPECT_EQ(seen.at("suppressions.0.evidence"), "wrote to us");
  EXPECT_EQ(seen.at("suppressions.0.at"), format_instant(w.clock.now()));
  EXPECT_EQ(add(R"({"channel":"email","address":"ada@example.org","evidence":"again"})").at("added"), "0");
  const std::string same = R"({"channel":"email","address":"ADA@example.org"})";
  EXPECT_EQ(w.change("DELETE", kSuppressions, w.key(Role::Operator), same).at("removed"), "1");
  EXPECT_EQ(w.change("DELETE", kSuppressions, w.key(Role::Operator), same).status, 404);
  EXPECT_EQ(w.audit(), (std::vector<std::string>{"acme-operator suppress: ", "acme-operator unsuppress: "}));
}

TEST_F(SuppressionsApi, AViewerSeesThemMaskedOnEveryPage) {
  add(R"([{"channel":"email","address":"ada@example.org","evidence":"ada@example.org asked"},
          {"channel":"email","address":"bob@example.org","evidence":"asked"},
          {"channel":"sms","address":"+15551234567","evidence":"STOP"}])");
  std::string cursor;
  int seen = 0;
  for (; seen < 5; ++seen) {
    const Answer page = look("?limit=1" + cursor, Role::Viewer);
    EXPECT_EQ(page.body.find("ada@example.org"), std::string::npos) << page.body;
    EXPECT_EQ(page.body.find("5551234567"), std::string::npos);
    if (page.at("next") == "null") break;
    cursor = "&cursor=" + page.at("next");
  }
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(look("?channel=sms").at("suppressions.0.address"), "+15551234567");
  EXPECT_EQ(look("?channel=sms").at("suppressions.1"), "<none>");
  EXPECT_EQ(look("?limit=2").at("suppressions.1.address"), "bob@example.org");
  EXPECT_EQ(look("?limit=2&cursor=" + look("?limit=2").at("next")).at("suppressions.0.channel"), "sms");
}

TEST_F(SuppressionsApi, NobodyIsSilencedWithoutAWord) {
  EXPECT_EQ(add(R"({"channel":"email","address":"a@example.org"})").at("error.field"), "evidence");
  EXPECT_EQ(add(R"({"channel":"email","address":"a@example.org","evidence":" "})").at("error.field"), "evidence");
  EXPECT_EQ(add(R"({"channel":"email","address":"nobody","evidence":"x"})").at("error.field"), "address");
  EXPECT_EQ(add(R"({"address":"a@example.org","evidence":"x"})").at("error.field"), "channel");
  EXPECT_EQ(add(R"({"channel":"email","address":"a@example.org","evidence":"x","cause":"mood"})").at("error.field"),
            "cause");
  EXPECT_EQ(add(R"({"channel":"email","address":"a@example.org","evidence":"x","y":1})").code(), "UNKNOWN_FIELD");
  EXPECT_EQ(look("?channel=fax").at("error.field"), "channel");
  EXPECT_EQ(look("?cursor=x").at("error.field"), "cursor");
  EXPECT_EQ(look("").at("suppressions"), "[]");
}

TEST_F(SuppressionsApi, WhatWaitsEndsAndWhatComesIsNotSent) {
  const std::string message = R"({"type":"note","channel":"email","recipient":"ada@example.org","body":"B"})";
  const std::string waiting = w.accepted(message);
  w.expand();
  add(R"({"channel":"email","address":"ada@example.org","evidence":"clicked"})");
  const std::string later = w.accepted(message);
  w.expand();
  for (const std::string& id : {waiting, later}) {
    const Answer seen = w.get("/api/v1/notifications/" + id, w.key(Role::Operator));
    EXPECT_EQ(seen.at("deliveries.0.state"), "suppressed");
    EXPECT_EQ(seen.at("deliveries.0.reason.code"), "suppressed_address");
    EXPECT_EQ(seen.at("deliveries.0.detail"), fmt::format("operator on {}: clicked", format_instant(w.clock.now())));
  }
}

TEST_F(SuppressionsApi, WhatIsBeingSentIsNotTriedAgain) {
  const std::string id = w.accepted(R"({"type":"note","channel":"email","recipient":"ada@example.org","body":"B"})");
  w.expand();
  w.begin_calls();
  add(R"({"channel":"email","address":"ada@example.org","evidence":"clicked"})");
  const auto state = [&] {
    return w.get("/api/v1/notifications/" + id, w.key(Role::Operator)).at("deliveries.0.state");
  };
  const auto story = [&] { return w.get("/api/v1/explain?message=" + id, w.key(Role::Operator)).body; };
  const std::string why =
      fmt::format("the address is on the suppression list (operator on {}: clicked)", format_instant(w.clock.now()));
  EXPECT_EQ(state(), "sending");
  EXPECT_NE(story().find("may be under way; " + why + ": it is not tried again."), std::string::npos) << story();
  w.call_ends(OutcomeKind::Unclear, Reason::Timeout,
              {.state = DeliveryState::Retrying, .reason = Reason::Timeout, .due_at = w.clock.now()});
  EXPECT_EQ(state(), "suppressed");
  EXPECT_NE(story().find("not tried again; " + why), std::string::npos) << story();
  EXPECT_EQ(story().find("not sent"), std::string::npos) << "it may have been sent: " << story();
  w.promote();
  EXPECT_EQ(state(), "suppressed");
}

TEST_F(SuppressionsApi, TenantsHaveTheirOwn) {
  add(R"({"channel":"email","address":"ada@example.org","evidence":"clicked"})");
  EXPECT_EQ(w.get(kSuppressions, w.foreign_key(Role::Operator)).at("suppressions"), "[]");
  EXPECT_EQ(w.change("DELETE", kSuppressions, w.foreign_key(Role::Operator),
                     R"({"channel":"email","address":"ada@example.org"})")
                .status,
            404);
}

}  // namespace
}  // namespace postrider::testing
