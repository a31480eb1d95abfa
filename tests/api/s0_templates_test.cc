// The portal's view of templates, in its own words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/world.h"

namespace postrider::testing {
namespace {

constexpr std::string_view kPath = "/api/message-templates";
constexpr std::string_view kWhatsApp =
    R"({"eventType":"booking.confirmed","channel":"WhatsApp","body":"Hi {{guestName}}","isActive":true,"language":"en-US"})";

class MessageTemplates : public ::testing::Test {
 protected:
  Answer post(std::string_view json) { return world.post(kPath, world.key(Role::Admin), json); }
  Answer put(const std::string& id, std::string_view json) {
    return world.put(fmt::format("{}/{}", kPath, id), world.key(Role::Admin), json);
  }
  Answer get(std::string_view rest = "") {
    return world.get(fmt::format("{}{}", kPath, rest), world.key(Role::Viewer));
  }
  World world;
};

TEST_F(MessageTemplates, AreMadeListedAndRead) {
  const Answer made = post(kWhatsApp);
  ASSERT_EQ(made.status, 201) << made.body;
  const Answer list = get();
  const Answer one = get("/" + made.at("id"));
  for (const auto& [answer, at] : {std::pair{made, ""}, {list, "0."}, {one, ""}}) {
    const auto field = [&, from = &answer, start = std::string{at}](std::string_view name) {
      return from->at(start + std::string{name});
    };
    EXPECT_EQ(field("id"), made.at("id"));
    EXPECT_EQ(field("eventType"), "booking.confirmed");
    EXPECT_EQ(field("channel"), "WhatsApp");
    EXPECT_EQ(field("body"), "Hi {{guestName}}");
    EXPECT_EQ(field("subject"), "");
    EXPECT_EQ(field("isActive"), "true");
    EXPECT_EQ(field("templateVersion"), "1");
    EXPECT_EQ(field("language"), "en-US");
    EXPECT_EQ(field("scopeType"), "");
    EXPECT_EQ(field("scopeId"), "");
    EXPECT_EQ(field("key"), "booking.confirmed");
  }
  EXPECT_EQ(made.at("warnings.0.code"), "missing_provider_template");
  EXPECT_EQ(world.catalog_changes, 1);
  const Answer same = world.get("/api/v1/templates/" + made.at("id"), world.key(Role::Viewer));
  EXPECT_EQ(same.at("texts.0.body"), "Hi {{guestName}}");
}

TEST_F(MessageTemplates, TheListIsFiltered) {
  post(kWhatsApp);
  post(R"({"eventType":"booking.confirmed","channel":"sms","body":"x","isActive":false})");
  post(R"({"eventType":"other","channel":"Email","body":"y","scopeType":"listing","scopeId":"10"})");
  EXPECT_EQ(get("?channel=SMS").at("0.isActive"), "false");
  EXPECT_EQ(get("?channel=whatsapp").at("1.id"), "<none>");
  EXPECT_EQ(get("?eventType=other").at("0.scopeId"), "10");
  EXPECT_EQ(get("?isActive=true").at("1.eventType"), "other");
  EXPECT_EQ(get("?isActive=true").at("2.id"), "<none>");
  EXPECT_EQ(get("?eventType=&channel=&isActive=").at("2.eventType"), "other") << "nothing was chosen";
  EXPECT_EQ(get("?language=de-DE").body, "[]");
  EXPECT_EQ(get("?channel=pigeon").code(), "INVALID_PARAMETER");
  EXPECT_EQ(get("?isActive=1").code(), "INVALID_PARAMETER");
}

TEST_F(MessageTemplates, AScopesIdMayBeTheNumberThatItIsInThePortal) {
  const Answer made = post(R"({"eventType":"other","channel":"Email","body":"y","scopeType":"listing","scopeId":10})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.at("scopeId"), "10");
  EXPECT_EQ(post(R"({"eventType":"x","channel":"Email","body":"y","scopeType":"listing","scopeId":[10]})").status, 400);
}

TEST_F(MessageTemplates, AnUpdateMakesAVersionAndKeepsTheOtherLanguages) {
  const std::string id = post(kWhatsApp).at("id");
  const Answer german =
      post(R"({"eventType":"booking.confirmed","channel":"WhatsApp","body":"Hallo","language":"de-DE"})");
  EXPECT_EQ(german.status, 201) << german.body;
  EXPECT_EQ(german.at("id"), id) << "another language of the same template";
  EXPECT_EQ(german.at("language"), "de-DE");
  EXPECT_EQ(post(kWhatsApp).code(), "CONFLICT");
  const Answer changed = put(id, R"({"id":1,"body":"Hey {{guestName}}","templateVersion":7})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.at("templateVersion"), "3") << "versions are counted here";
  EXPECT_EQ(changed.at("language"), "en-US");
  EXPECT_EQ(get(fmt::format("/{}?language=de-DE", id)).at("body"), "Hallo");
  EXPECT_EQ(get(fmt::format("/{}?language=fr-FR", id)).status, 404);
  EXPECT_EQ(put(id, R"({"isActive":false})").at("isActive"), "false");
  EXPECT_EQ(put(id, R"({"language":"de-DE","body":"Na"})").at("body"), "Na");
  EXPECT_EQ(put(id, R"({"channel":"SMS"})").code(), "INVALID_TEMPLATE");
}

TEST_F(MessageTemplates, WhatIsWrongIsRefused) {
  EXPECT_EQ(post(R"({"channel":"SMS","body":"x"})").at("error.field"), "eventType");
  EXPECT_EQ(post(R"({"eventType":"a","body":"x"})").at("error.field"), "channel");
  EXPECT_EQ(post(R"({"eventType":"a","channel":"SMS"})").at("error.field"), "body");
  EXPECT_EQ(post(R"({"eventType":"a","channel":"SMS","body":"{{#x}}"})").code(), "INVALID_TEMPLATE");
  EXPECT_EQ(post(R"({"eventType":"a","channel":"SMS","body":"x","isActive":1})").code(), "INVALID_TEMPLATE");
  EXPECT_EQ(post(R"({"eventType":"a","channel":"SMS","body":"x","EventTypo":1})").code(), "UNKNOWN_FIELD");
  EXPECT_EQ(get().body, "[]");
}

TEST_F(MessageTemplates, AreDeletedOrDeactivated) {
  const std::string unused = post(kWhatsApp).at("id");
  const auto remove = [&](const std::string& id, Role role = Role::Admin) {
    return world.remove(fmt::format("{}/{}", kPath, id), world.key(role));
  };
  EXPECT_EQ(remove(unused, Role::Operator).code(), "FORBIDDEN");
  EXPECT_EQ(remove(unused).at("deleted"), "true");
  const std::string used =
      post(R"({"eventType":"booking.confirmed","channel":"Email","subject":"S","body":"x"})").at("id");
  world.accepted(R"({"type":"booking.confirmed","payload":{"email":"ada@example.org"}})");
  world.expand();
  EXPECT_EQ(remove(used).at("deleted"), "false");
  EXPECT_EQ(get("/" + used).at("isActive"), "false");
  EXPECT_EQ(remove("77").status, 404);
}

TEST_F(MessageTemplates, OtherTenantsSeeNothing) {
  const std::string id = post(kWhatsApp).at("id");
  const std::string foreign = world.foreign_key(Role::Admin);
  EXPECT_EQ(world.get(kPath, foreign).body, "[]");
  EXPECT_EQ(world.get(fmt::format("{}/{}", kPath, id), foreign).status, 404);
  EXPECT_EQ(world.put(fmt::format("{}/{}", kPath, id), foreign, R"({"body":"x"})").status, 404);
  EXPECT_EQ(world.remove(fmt::format("{}/{}", kPath, id), foreign).status, 404);
}

}  // namespace
}  // namespace postrider::testing
