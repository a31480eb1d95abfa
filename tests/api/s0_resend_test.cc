// A manual resend: a second delivery beside the first, each with its own key, both visible.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/world.h"

namespace postrider::testing {
namespace {

constexpr std::string_view kResend = "/api/bookings/12345/resend-notification";

class ManualResend : public ::testing::Test {
 protected:
  std::string told(std::string_view more = "") {
    const std::string id =
        world.accepted(fmt::format(R"({{"type":"booking.confirmed","entity_id":"12345","correlation_id":"c-1",)"
                                   R"("payload":{{"email":"ada@example.org","name":"Ada"}}{}}})",
                                   more));
    world.expand();
    return id;
  }
  void sent() {
    world.call_ends(OutcomeKind::Accepted, Reason::AcceptedByProvider,
                    {.state = DeliveryState::Sent, .reason = Reason::AcceptedByProvider});
  }
  Answer resend(std::string_view body, std::vector<Header> headers = {}, Role role = Role::Operator) {
    return world.post(kResend, world.key(role), body, std::move(headers));
  }
  Answer logs() { return world.get("/api/communication-logs?bookingId=12345", world.key(Role::Operator)); }
  Answer look(const std::string& id) { return world.get("/api/v1/notifications/" + id, world.key(Role::Operator)); }
  std::string make_template(std::string_view type, std::string_view channel, std::string_view body) {
    const Answer made = world.post(
        "/api/message-templates", world.key(Role::Admin),
        fmt::format(R"({{"eventType":"{}","channel":"{}","subject":"S","body":"{}"}})", type, channel, body));
    EXPECT_EQ(made.status, 201) << made.body;
    return made.at("id");
  }
  World world;
};

TEST_F(ManualResend, IsASecondDeliveryAndTheFirstStaysAsItIs) {
  told();
  sent();
  const Answer before = logs();
  const Answer answer = resend(R"({"channel":"Email","requestId":"r-1","reason":"the guest lost it"})");
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.at("requestId"), "r-1");
  EXPECT_EQ(answer.at("idempotencyKey"), "manual:12345:email:booking:r-1");
  EXPECT_EQ(answer.at("resendOf"), before.at("0.id"));
  EXPECT_EQ(answer.at("status"), "Pending");
  EXPECT_EQ(answer.at("duplicate"), "false");
  ASSERT_FALSE(world.appeared.empty()) << "the engine is told";
  EXPECT_EQ(world.appeared.back().channel, Channel::Expand);
  world.expand();
  sent();
  const Answer after = logs();
  EXPECT_EQ(after.at("0.idempotencyKey"), "manual:12345:email:booking:r-1");
  EXPECT_EQ(after.at("0.messageId"), answer.at("id"));
  EXPECT_EQ(after.at("0.toAddress"), before.at("0.toAddress"));
  EXPECT_EQ(after.at("0.correlationId"), "c-1");
  EXPECT_EQ(after.at("0.status"), "Sent");
  EXPECT_EQ(after.at("1"), before.at("0")) << "the first is untouched";
  EXPECT_EQ(after.at("2"), "<none>");
  const Answer made = look(answer.at("id"));
  EXPECT_EQ(made.at("deliveries.0.subject"), "Hello Ada");
  EXPECT_EQ(made.at("reason.code"), "resent_by_operator");
  EXPECT_EQ(world.audit(), (std::vector<std::string>{"acme-operator resend: the guest lost it"}));
}

TEST_F(ManualResend, TheSameRequestAgainSendsNothingMore) {
  told();
  const Answer first = resend(R"({"channel":"email"})", {{"idempotency-key", "\"r-1\""}});
  EXPECT_EQ(first.status, 202) << first.body;
  EXPECT_EQ(first.at("requestId"), "r-1");
  world.expand();
  told(R"(,"version":"2")");  // something newer came between
  const Answer again = resend(R"({"channel":"Email","requestId":"r-1"})");
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.at("id"), first.at("id"));
  EXPECT_EQ(again.at("duplicate"), "true");
  world.expand();
  EXPECT_EQ(logs().at("3"), "<none>");
  EXPECT_EQ(world.audit().size(), 1U);
}

TEST_F(ManualResend, WithoutANameEachRequestIsAnother) {
  told();
  const Answer first = resend(R"({"channel":"Email"})");
  const Answer second = resend(R"({"channel":"Email"})");
  EXPECT_EQ(first.status, 202);
  EXPECT_EQ(second.status, 202);
  EXPECT_NE(first.at("requestId"), second.at("requestId"));
  world.expand();
  EXPECT_NE(logs().at("2"), "<none>");
}

TEST_F(ManualResend, ATemplateCanBeNamed) {
  told();
  const std::string reminder = make_template("booking.reminder", "Email", "Do not forget, {{name}}");
  const Answer answer = resend(fmt::format(R"({{"channel":"Email","templateId":{},"requestId":"r-1"}})", reminder));
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.at("templateId"), reminder);
  EXPECT_EQ(answer.at("idempotencyKey"), fmt::format("manual:12345:email:{}:r-1", reminder));
  world.expand();
  EXPECT_EQ(look(answer.at("id")).at("deliveries.0.body"), "Do not forget, Ada");
  EXPECT_EQ(logs().at("0.templateId"), reminder);
  const Answer by_key = resend(R"({"channel":"Email","templateId":"booking"})");
  ASSERT_EQ(by_key.status, 202) << by_key.body;
  world.expand();
  EXPECT_EQ(look(by_key.at("id")).at("deliveries.0.subject"), "Hello Ada");
}

TEST_F(ManualResend, WithoutOneTheTemplateThatIsInForceIsUsed) {
  told();
  const std::string stored = make_template("booking.confirmed", "Email", "Newer words for {{name}}");
  const Answer answer = resend(R"({"channel":"Email"})");
  EXPECT_EQ(answer.at("templateId"), stored) << answer.body;
  world.expand();
  EXPECT_EQ(look(answer.at("id")).at("deliveries.0.body"), "Newer words for Ada");
}

TEST_F(ManualResend, AMessageWithItsOwnWordsIsRepeatedWithThem) {
  world.accepted(
      R"({"type":"note","entity_id":"12345","channel":"email","recipient":"bob@example.net","subject":"S","body":"B"})");
  world.expand();
  const Answer answer = resend(R"({"channel":"Email","requestId":"r-1"})");
  EXPECT_EQ(answer.at("idempotencyKey"), "manual:12345:email:direct:r-1") << answer.body;
  world.expand();
  EXPECT_EQ(look(answer.at("id")).at("deliveries.0.body"), "B");
  EXPECT_EQ(look(answer.at("id")).at("deliveries.0.recipient"), "bob@example.net");
}

TEST_F(ManualResend, ATemplateThatCannotBeUsedIsRefused) {
  told();
  const std::string sms = make_template("booking.confirmed", "SMS", "x");
  const std::string off = make_template("booking.reminder", "Email", "x");
  world.put("/api/message-templates/" + off, world.key(Role::Admin), R"({"isActive":false})");
  const auto with = [&](const std::string& id) {
    return resend(fmt::format(R"({{"channel":"Email","templateId":{}}})", id)).code();
  };
  EXPECT_EQ(with(sms), "NOT_FOUND");
  EXPECT_EQ(with("99"), "NOT_FOUND");
  EXPECT_EQ(with(R"("nothing")"), "NOT_FOUND");
  EXPECT_EQ(with(off), "NOT_APPLICABLE");
  world.expand();
  EXPECT_EQ(logs().at("1"), "<none>");
}

TEST_F(ManualResend, WhatHasExpiredIsNotToldAgain) {
  told(fmt::format(R"(,"expires_at":"{}")", format_instant(world.clock.now() + std::chrono::hours{1})));
  EXPECT_EQ(resend(R"({"channel":"Email"})").status, 202);
  world.clock.advance(std::chrono::hours{2});
  EXPECT_EQ(resend(R"({"channel":"Email"})").code(), "EXPIRED");
}

TEST_F(ManualResend, IsPossibleHoweverOftenItWasDone) {
  told();
  for (int i = 0; i < 55; ++i) {
    ASSERT_EQ(resend(R"({"channel":"Email"})").status, 202) << i;
    world.expand();
  }
  EXPECT_EQ(resend(R"({"channel":"Email"})").status, 202) << "the first one is found behind all these";
}

TEST_F(ManualResend, ByAChannelThatIsNewForTheBookingTakesItsEvent) {
  world.accepted(
      R"({"type":"booking.confirmed","entity_id":"12345","payload":{"name":"Ada","phone":"+447700900123"}})");
  world.expand();
  EXPECT_EQ(resend(R"({"channel":"SMS"})").code(), "NOT_APPLICABLE") << "nobody wrote words for that";
  const std::string sms = make_template("booking.confirmed", "SMS", "Booked, {{name}}");
  const Answer answer = resend(R"({"channel":"SMS","requestId":"r-1"})");
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.at("resendOf"), "null");
  EXPECT_EQ(answer.at("idempotencyKey"), fmt::format("manual:12345:sms:{}:r-1", sms));
  world.expand();
  EXPECT_EQ(look(answer.at("id")).at("deliveries.0.body"), "Booked, Ada");
  EXPECT_EQ(look(answer.at("id")).at("deliveries.0.recipient"), "+447700900123");
}

TEST_F(ManualResend, WhoHadNoAddressThenIsToldOnceThereIsOne) {
  world.accepted(R"({"type":"booking.confirmed","entity_id":"12345","contact":"ada","payload":{"name":"Ada"}})");
  world.expand();
  ASSERT_EQ(
      world.put("/api/v1/contacts/ada", world.key(Role::Admin), R"({"addresses":{"email":"new@example.org"}})").status,
      201);
  const Answer answer = resend(R"({"channel":"Email"})");
  ASSERT_EQ(answer.status, 202) << answer.body;
  world.expand();
  EXPECT_EQ(look(answer.at("id")).at("deliveries.0.recipient"), "new@example.org");
}

TEST_F(ManualResend, ThereMustBeSomethingToRepeat) {
  EXPECT_EQ(resend(R"({"channel":"Email"})").code(), "NOT_FOUND");
  told();
  EXPECT_EQ(resend(R"({"channel":"WhatsApp"})").code(), "NOT_APPLICABLE");
  EXPECT_EQ(world.post(kResend, world.foreign_key(Role::Operator), R"({"channel":"Email"})").code(), "NOT_FOUND");
  EXPECT_EQ(world.post(kResend, world.key(Role::Ops), R"({"channel":"Email"})").at("error.field"), "tenant");
  EXPECT_EQ(world.post(std::string{kResend} + "?tenant=acme", world.key(Role::Ops), R"({"channel":"Email"})").status,
            202);
}

TEST_F(ManualResend, AWrongRequestIsRefused) {
  told();
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "INVALID_JSON"},
      {"{", "INVALID_JSON"},
      {"[]", "INVALID_FIELD"},
      {"{}", "INVALID_FIELD"},
      {R"({"channel":"Pigeon"})", "INVALID_FIELD"},
      {R"({"channel":null})", "INVALID_FIELD"},
      {R"({"channel":"Email","templateId":true})", "INVALID_FIELD"},
      {R"({"channel":"Email","requestId":""})", "INVALID_FIELD"},
      {R"({"channel":"Email","requestId":")" + std::string(101, 'x') + "\"}", "INVALID_FIELD"},
      {R"({"channel":"Email","reason":"a\nb"})", "INVALID_FIELD"},
      {R"({"channel":"Email","to":"eve@example.org"})", "UNKNOWN_FIELD"}};
  for (const auto& [body, code] : cases) EXPECT_EQ(resend(body).code(), code) << body;
  EXPECT_EQ(resend(R"({"channel":"Email","requestId":"a"})", {{"idempotency-key", "b"}}).code(), "INVALID_HEADER");
  EXPECT_EQ(resend(R"({"channel":"Email"})", {{"idempotency-key", ""}}).code(), "INVALID_HEADER");
  EXPECT_EQ(resend(R"({"channel":"Email"})", {}, Role::Viewer).code(), "FORBIDDEN");
  EXPECT_EQ(resend(R"({"channel":"Email"})", {}, Role::Producer).code(), "FORBIDDEN");
  EXPECT_EQ(world.stored(), 1U);
}

}  // namespace
}  // namespace postrider::testing
