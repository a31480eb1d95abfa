// What an operator has sent again: beside the first, under a key of its own, with what the event's route knows.
#include <gtest/gtest.h>

#include "core/expand.h"

namespace postrider {
namespace {

class Resend : public ::testing::Test {
 protected:
  Resend() {
    rules.tenants.push_back({.id = 1, .name = "acme"});
    rules.routes.push_back({.type = "booking.confirmed",
                            .recipients = {{.channel = Channel::Email, .field = "email"}},
                            .scopes = {{"listing", "listingId"}},
                            .schedule = {.field = "checkin"}});
    add("wide", 7, "");
    add("wide", 8, "10");
    rules.index();
  }
  void add(const std::string& key, std::int64_t id, const std::string& listing) {
    rules.templates.add({.id = id,
                         .key = key,
                         .type = "booking.confirmed",
                         .channel = Channel::Email,
                         .scope_type = listing.empty() ? "" : "listing",
                         .scope_id = listing,
                         .texts = {{.body = CompiledText::compile("Dear {{name}}").value()}}});
  }
  [[nodiscard]] Message resend() const {
    Message m;
    m.id = 1;
    m.uuid = make_uuid7(now, 1, 2);
    m.tenant = 1;
    m.tenant_name = "acme";
    m.type = "booking.confirmed";
    m.entity_id = "b-7";
    m.idempotency_key = "manual:b-7:email:7:r-1";
    m.payload = R"({"name":"Ada","listingId":10,"checkin":"2099-01-01"})";
    m.channel = Channel::Email;
    m.recipient = "ada@example.org";
    m.template_key = "#7";
    return m;
  }
  Expansion expand(const Message& m, std::string_view record = {}) {
    ExpandWith with{.rules = rules, .templates = rules.templates, .people = nobody, .now = now, .record = record};
    return postrider::expand(m, with, {0, 500});
  }

  Rules rules;
  People nobody;
  Instant now = instant_from_us(1'790'000'000'000'000);
};

TEST_F(Resend, HasItsOwnKeyReasonAndTemplateAndIsSentAtOnce) {
  const Expansion out = expand(resend());
  EXPECT_EQ(out.state, MessageState::Expanded);
  EXPECT_EQ(out.reason, Reason::ResentByOperator);
  ASSERT_EQ(out.deliveries.size(), 1U);
  const NewDelivery& made = out.deliveries[0];
  EXPECT_EQ(made.delivery.key, "manual:b-7:email:7:r-1");
  EXPECT_FALSE(made.key_is_own) << "only the store can tell that no other has it";
  EXPECT_EQ(made.delivery.template_id, 7) << "the one that was named, not the narrower one";
  EXPECT_EQ(made.delivery.body, "Dear Ada");
  EXPECT_EQ(made.placement.state, DeliveryState::Queued) << "whatever date the event is scheduled by";
}

TEST_F(Resend, NamesItsTemplateByKeyToo) {
  Message m = resend();
  m.template_key = "wide";
  EXPECT_EQ(expand(m).deliveries.at(0).delivery.template_id, 8) << "as the event's scope says";
  for (const char* wrong : {"#9", "#", "#7x", "#-7", "narrow"}) {
    m.template_key = wrong;
    EXPECT_EQ(expand(m).reason, Reason::TemplateNotFound) << wrong;
  }
}

TEST_F(Resend, ANumberIsOfAnActiveTemplateOfItsChannelAndTenant) {
  const auto add_like = [&](std::int64_t id, Channel channel, const std::string& tenant, bool active) {
    rules.templates.add({.id = id,
                         .key = "other",
                         .tenant = tenant,
                         .channel = channel,
                         .active = active,
                         .texts = {{.body = CompiledText::compile("x").value()}}});
  };
  add_like(20, Channel::Email, "acme", true);
  add_like(21, Channel::Email, "acme", false);
  add_like(22, Channel::Sms, "acme", true);
  add_like(23, Channel::Email, "another", true);
  Message m = resend();
  m.template_key = "#20";
  EXPECT_EQ(expand(m).deliveries.at(0).delivery.template_id, 20);
  for (const char* wrong : {"#21", "#22", "#23"}) {
    m.template_key = wrong;
    EXPECT_EQ(expand(m).reason, Reason::TemplateNotFound) << wrong;
  }
}

TEST_F(Resend, AnEventThatDoesNotSayItsScopeIsForTheWideOne) {
  Message m = resend();
  m.template_key = "wide";
  m.payload = "{}";
  EXPECT_EQ(expand(m).deliveries.at(0).delivery.template_id, 7);
}

TEST_F(Resend, AsksForTheRecordOfItsRoute) {
  rules.routes[0].context = ContextRule{.database = "app"};
  rules.routes[0].cancel_when = {.field = "status", .values = {"Cancelled"}};
  EXPECT_NE(needs_of(resend(), rules).context, nullptr);
  EXPECT_EQ(expand(resend()).reason, Reason::MissingData);
  EXPECT_EQ(expand(resend(), R"({"name":"Grace"})").deliveries.at(0).delivery.body, "Dear Grace");
  EXPECT_EQ(expand(resend(), R"({"status":"Cancelled"})").state, MessageState::Cancelled);
  Message plain = resend();
  plain.idempotency_key = "k";
  EXPECT_EQ(needs_of(plain, rules).context, nullptr);
}

TEST_F(Resend, WithoutAnAddressOfItsOwnAsksItsRoute) {
  rules.routes[0].context = ContextRule{.database = "app"};
  Message m = resend();
  m.recipient.clear();
  const Expansion out = expand(m, R"({"email":"fresh@example.org"})");
  EXPECT_EQ(out.deliveries.at(0).delivery.recipient, "fresh@example.org");
  EXPECT_EQ(expand(m, R"({"guest":1})").reason, Reason::NoRecipient);
}

TEST_F(Resend, IsOnlyWhatSaysSoAboutAnEntity) {
  EXPECT_TRUE(resend().is_resend());
  Message m = resend();
  m.entity_id.clear();
  EXPECT_FALSE(m.is_resend());
  m = resend();
  m.channel.reset();
  EXPECT_FALSE(m.is_resend());
  m = resend();
  m.list = "readers";
  EXPECT_FALSE(m.is_resend());
  m = resend();
  m.idempotency_key = "manually";
  EXPECT_FALSE(m.is_resend());
  EXPECT_EQ(expand(m).deliveries.at(0).delivery.key, format_uuid(m.uuid) + ":booking.confirmed:email:7");
}

}  // namespace
}  // namespace postrider
