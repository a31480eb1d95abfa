// What operators do by HTTP, and that each of it is applied, refused and told rightly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/world.h"

namespace postrider::testing {
namespace {

constexpr std::string_view kTold = R"({"type":"booking.confirmed","payload":{"email":"ada@example.org"}})";
const Verdict kGivenUp{.state = DeliveryState::Parked, .reason = Reason::RetriesUsedUp};

class Operate : public ::testing::Test {
 protected:
  Answer act(std::string_view id, std::string_view action, std::string_view body = "") {
    return world.post(fmt::format("/api/v1/notifications/{}/{}", id, action), world.key(Role::Operator), body);
  }
  std::string state(std::string_view id) {
    return world.get(fmt::format("/api/v1/notifications/{}", id), world.key(Role::Operator)).at("deliveries.0.state");
  }
  std::string parked() {
    const std::string id = world.accepted(kTold);
    world.expand();
    world.call_ends(OutcomeKind::Permanent, Reason::RequestRefused, kGivenUp);
    return id;
  }
  std::string retrying() {
    const std::string id = world.accepted(kTold);
    world.expand();
    world.call_ends(OutcomeKind::Transient, Reason::ServerBusy,
                    {.state = DeliveryState::Retrying,
                     .reason = Reason::ServerBusy,
                     .due_at = world.clock.now() + std::chrono::hours{1}});
    return id;
  }
  World world;
};

TEST_F(Operate, RetryPutsAParkedDeliveryBackAndWakesTheEngine) {
  const std::string id = parked();
  const Answer answer = act(id, "retry", R"({"why":"the provider is back"})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.at("action"), "retry");
  EXPECT_EQ(answer.at("id"), id);
  EXPECT_EQ(answer.at("changed"), "1");
  EXPECT_EQ(state(id), "queued");
  ASSERT_EQ(world.appeared.size(), 1U);
  EXPECT_EQ(world.appeared[0].channel, Channel::Email);
  const Answer again = act(id, "retry");
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.code(), "NOT_APPLICABLE");
  EXPECT_NE(again.at("error.message").find("queued"), std::string::npos) << again.body;
}

TEST_F(Operate, DiscardEndsAParkedDelivery) {
  const std::string id = parked();
  EXPECT_EQ(act(id, "discard", R"({"why":"out of date"})").status, 200);
  EXPECT_EQ(state(id), "discarded");
  EXPECT_EQ(act(id, "discard").status, 409);
}

TEST_F(Operate, CancelEndsWhatWaits) {
  const std::string id = retrying();
  EXPECT_EQ(act(id, "cancel").status, 200);
  EXPECT_EQ(state(id), "cancelled");
}

TEST_F(Operate, CancelOfWhatIsBeingSentMakesItsRetryTheEnd) {
  const std::string id = world.accepted(kTold);
  world.expand();
  world.begin_calls();
  const Answer answer = act(id, "cancel", R"({"why":"the booking is off"})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.at("changed"), "1");
  EXPECT_EQ(answer.at("marked"), "1");
  EXPECT_EQ(state(id), "sending");
  const Answer again = act(id, "cancel");
  EXPECT_EQ(again.code(), "NOT_APPLICABLE");
  const Answer told = world.get("/api/v1/explain?message=" + id, world.key(Role::Operator));
  EXPECT_NE(told.body.find("the booking is off"), std::string::npos) << told.body;
  EXPECT_NE(told.body.find("it is not tried again"), std::string::npos) << told.body;
  world.call_ends(OutcomeKind::Transient, Reason::ServerBusy,
                  {.state = DeliveryState::Retrying, .reason = Reason::ServerBusy, .due_at = world.clock.now()});
  EXPECT_EQ(state(id), "cancelled");
  world.promote();
  EXPECT_EQ(state(id), "cancelled");
}

TEST_F(Operate, CancelOfWhatIsBeingSentDoesNotUndoAnAcceptance) {
  const std::string id = world.accepted(kTold);
  world.expand();
  world.begin_calls();
  EXPECT_EQ(act(id, "cancel").at("marked"), "1");
  world.call_ends(OutcomeKind::Accepted, Reason::AcceptedByProvider,
                  {.state = DeliveryState::Sent, .reason = Reason::AcceptedByProvider});
  EXPECT_EQ(state(id), "sent");
}

TEST_F(Operate, DispatchReachesAMessageWhoseExpansionWaits) {
  const std::string key = world.key(Role::Admin);
  ASSERT_EQ(world.put("/api/v1/lists/guests", key, "{}").status, 201);
  ASSERT_LT(
      world
          .post("/api/v1/lists/guests/members", key, R"({"members":[{"channel":"email","address":"ada@example.org"}]})")
          .status,
      300);
  const std::string id = world.accepted(
      R"({"type":"news","channel":"email","list":"guests","subject":"Hello","body":"Hello","due_at":"2026-03-25T00:00:00Z"})");
  world.expand();
  const std::string path = "/api/v1/notifications/" + id;
  EXPECT_EQ(world.get(path, key).at("deliveries_total"), "0");
  EXPECT_EQ(act(id, "dispatch", R"({"why":"now"})").at("changed"), "1");
  EXPECT_FALSE(world.appeared.empty());
  world.promote();
  world.expand();
  EXPECT_EQ(state(id), "queued") << "what it makes is due at once too";
  EXPECT_EQ(act(id, "dispatch").code(), "NOT_APPLICABLE");
  EXPECT_EQ(world.audit().back(), "acme-operator dispatch: now");
}

TEST_F(Operate, DispatchMakesItDueAtOnce) {
  const std::string id = retrying();
  EXPECT_EQ(act(id, "dispatch").at("changed"), "1");
  world.promote();
  EXPECT_EQ(state(id), "queued");
}

TEST_F(Operate, DispatchAllIsOfTheKeysOwnTenant) {
  const std::string id = retrying();
  const Answer foreign = world.post("/api/v1/dispatch", world.foreign_key(Role::Operator), "");
  EXPECT_EQ(foreign.status, 200);
  EXPECT_EQ(foreign.at("changed"), "0");
  EXPECT_EQ(world.post("/api/v1/dispatch", world.key(Role::Operator), "").at("changed"), "1");
  world.promote();
  EXPECT_EQ(state(id), "queued");
}

TEST_F(Operate, ReplayExpandsAnIgnoredMessageAgain) {
  const std::string id = world.accepted(R"({"type":"nobody.knows","payload":{"email":"ada@example.org"}})");
  world.expand();
  EXPECT_EQ(act(id, "replay").status, 200);
  const std::string path = "/api/v1/notifications/" + id;
  EXPECT_EQ(world.get(path, world.key(Role::Operator)).at("reason.code"), "replayed");
  EXPECT_FALSE(world.appeared.empty());
  world.expand();
  EXPECT_EQ(world.get(path, world.key(Role::Operator)).at("status"), "ignored");
  EXPECT_EQ(act(parked(), "replay").code(), "NOT_APPLICABLE");
}

TEST_F(Operate, OneDeliveryOfAMessageCanBeNamed) {
  const std::string id = parked();
  const std::string delivery =
      world.get("/api/v1/notifications/" + id, world.key(Role::Operator)).at("deliveries.0.id");
  EXPECT_EQ(act(id, "retry", R"({"delivery":"123"})").code(), "NOT_FOUND");
  EXPECT_EQ(state(id), "parked");
  EXPECT_EQ(act(id, "retry", fmt::format(R"({{"delivery":"{}"}})", delivery)).status, 200);
}

TEST_F(Operate, AWrongOrderChangesNothing) {
  const std::string id = parked();
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{", "INVALID_JSON"},
      {"[]", "INVALID_MESSAGE"},
      {R"({"why":1})", "INVALID_MESSAGE"},
      {R"({"why":"a\nb"})", "INVALID_MESSAGE"},
      {R"({"why":")" + std::string(600, 'x') + "\"}", "INVALID_MESSAGE"},
      {R"({"delivery":5})", "INVALID_MESSAGE"},
      {R"({"delivery":"x"})", "INVALID_MESSAGE"},
      {R"({"force":true})", "UNKNOWN_FIELD"}};
  for (const auto& [body, code] : cases) EXPECT_EQ(act(id, "retry", body).code(), code) << body;
  const Answer plain = world.send({.method = "POST",
                                   .path = "/api/v1/notifications/" + id + "/retry",
                                   .key = world.key(Role::Operator),
                                   .body = "why=x",
                                   .headers = {{"content-type", "text/plain"}}});
  EXPECT_EQ(plain.status, 415);
  EXPECT_EQ(state(id), "parked");
}

TEST_F(Operate, EachChangeLeavesWhoDidItAndWhy) {
  const std::string id = parked();
  (void)act(id, "retry", R"({"why":"the provider is back"})");
  (void)act(id, "retry", R"({"why":"too late"})");
  (void)act(id, "cancel");
  EXPECT_EQ(world.audit(),
            (std::vector<std::string>{"acme-operator retry: the provider is back", "acme-operator cancel: "}));
}

TEST_F(Operate, WhatIsStillInTheOutboxCannotBeActedOn) {
  const std::string id = world.accepted(kTold);
  const Answer answer = act(id, "cancel");
  EXPECT_EQ(answer.status, 409);
  EXPECT_NE(answer.at("error.message").find("pending"), std::string::npos) << answer.body;
}

}  // namespace
}  // namespace postrider::testing
