// Cancelling all that waits about one thing, by HTTP.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/world.h"

namespace postrider::testing {
namespace {

class Entities : public ::testing::Test {
 protected:
  std::string told(std::string_view entity, std::string_view more = "") {
    return world.accepted(fmt::format(
        R"({{"type":"booking.confirmed","entity_id":"{}","payload":{{"email":"ada@example.org"}}{}}})", entity, more));
  }
  Answer cancel(std::string_view entity, std::string_view body = "", Role role = Role::Operator) {
    return world.post(fmt::format("/api/v1/entities/{}/cancel", entity), world.key(role), body);
  }
  std::string at(std::string_view id, std::string_view path) {
    return world.get(fmt::format("/api/v1/notifications/{}", id), world.key(Role::Operator)).at(path);
  }
  World world;
};

TEST_F(Entities, EverythingThatWaitsIsCancelledAndTheRestIsTold) {
  const std::string sent = told("4711", R"(,"version":"1")");
  world.expand();
  world.call_ends(OutcomeKind::Accepted, Reason::AcceptedByProvider,
                  {.state = DeliveryState::Sent, .reason = Reason::AcceptedByProvider});
  const std::string queued = told("4711", R"(,"version":"2")");
  const std::string later = told("4711", R"(,"version":"3","due_at":"2099-01-01T00:00:00Z")");
  const std::string another = told("4712");
  world.expand();
  const std::string in_outbox = told("4711", R"(,"version":"4")");

  const Answer answer = cancel("4711", R"({"reason":"the guest cancelled"})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.at("action"), "cancel");
  EXPECT_EQ(answer.at("entity_id"), "4711");
  EXPECT_EQ(answer.at("changed"), "3");
  EXPECT_EQ(answer.at("deliveries"), "2");
  EXPECT_EQ(answer.at("messages"), "1");
  EXPECT_EQ(answer.at("not_cancelled.0.state"), "sent");
  EXPECT_EQ(answer.at("not_cancelled.0.count"), "1");
  EXPECT_EQ(answer.at("not_cancelled.0.why"), "it was sent before");
  EXPECT_EQ(answer.at("not_cancelled.1"), "<none>");
  for (const std::string& id : {queued, later}) {
    EXPECT_EQ(at(id, "deliveries.0.state"), "cancelled");
    EXPECT_EQ(at(id, "deliveries.0.reason.code"), "cancelled_with_entity");
    EXPECT_EQ(at(id, "deliveries.0.detail"), "the guest cancelled");
  }
  EXPECT_EQ(at(in_outbox, "state"), "cancelled");
  EXPECT_EQ(at(in_outbox, "reason.code"), "cancelled_with_entity");
  EXPECT_EQ(at(sent, "deliveries.0.state"), "sent");
  EXPECT_EQ(at(another, "deliveries.0.state"), "queued");
  EXPECT_EQ(world.audit(), (std::vector<std::string>(3, "acme-operator cancel: the guest cancelled")));

  const Answer again = cancel("4711");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.at("changed"), "0");
  EXPECT_EQ(again.at("not_cancelled.0.state"), "sent");
}

TEST_F(Entities, AnEntityThatNobodyKnowsHasNothingToCancel) {
  const Answer answer = cancel("4711");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.at("changed"), "0");
  EXPECT_EQ(answer.at("not_cancelled.0"), "<none>");
}

TEST_F(Entities, ATypeNarrowsIt) {
  const std::string id = told("4711");
  world.expand();
  EXPECT_EQ(cancel("4711", R"({"type":"booking.reminder"})").at("changed"), "0");
  EXPECT_EQ(cancel("4711", R"({"type":"booking.confirmed"})").at("changed"), "1");
  EXPECT_EQ(at(id, "status"), "cancelled");
}

TEST_F(Entities, TheIdInThePathIsPercentEncoded) {
  told("a/b c");
  EXPECT_EQ(cancel("a%2Fb%20c").at("changed"), "1");
  EXPECT_EQ(cancel("%ZZ").status, 404);
}

TEST_F(Entities, AnotherTenantsAreNotReached) {
  const std::string id = told("4711");
  world.expand();
  const std::string path = "/api/v1/entities/4711/cancel";
  EXPECT_EQ(world.post(path, world.foreign_key(Role::Operator), "").at("changed"), "0");
  EXPECT_EQ(world.post(path + "?tenant=globex", world.key(Role::Operator), "").code(), "TENANT_FORBIDDEN");
  EXPECT_EQ(world.post(path, world.key(Role::Ops), "").code(), "INVALID_PARAMETER") << "whose entity?";
  EXPECT_EQ(at(id, "deliveries.0.state"), "queued");
  EXPECT_EQ(world.post(path + "?tenant=acme", world.key(Role::Ops), "").at("changed"), "1");
}

TEST_F(Entities, AWrongOrderChangesNothing) {
  const std::string id = told("4711");
  world.expand();
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{", "INVALID_JSON"},
      {"[]", "INVALID_FIELD"},
      {R"({"reason":1})", "INVALID_FIELD"},
      {R"({"reason":"a\nb"})", "INVALID_FIELD"},
      {R"({"reason":")" + std::string(600, 'x') + "\"}", "INVALID_FIELD"},
      {R"({"type":[]})", "INVALID_FIELD"},
      {R"({"force":true})", "UNKNOWN_FIELD"}};
  for (const auto& [body, code] : cases) EXPECT_EQ(cancel("4711", body).code(), code) << body;
  EXPECT_EQ(cancel("4711", "", Role::Producer).code(), "FORBIDDEN");
  EXPECT_EQ(cancel("4711", "", Role::Viewer).code(), "FORBIDDEN");
  EXPECT_EQ(at(id, "deliveries.0.state"), "queued");
}

}  // namespace
}  // namespace postrider::testing
