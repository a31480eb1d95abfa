// Stored templates by HTTP: made, changed, removed, previewed, and used by the next event.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/world.h"

namespace postrider::testing {
namespace {

constexpr std::string_view kTemplate =
    R"({"key":"confirmed","name":"Confirmed","type":"booking.confirmed","channel":"email",)"
    R"("texts":[{"locale":"en-US","subject":"Hello {{name}}","body":"Dear {{name}}, see you.","html":"<p>{{name}}</p>"}]})";
constexpr std::string_view kBookingTemplate =
    R"({"type":"booking.confirmed","payload":{"email":"ada@example.org","name":"Ada"}})";

class StoredTemplates : public ::testing::Test {
 protected:
  Answer post(std::string_view json) { return world.post("/api/v1/templates", world.key(Role::Admin), json); }
  std::string made(std::string_view json = kTemplate) {
    const Answer answer = post(json);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.at("id");
  }
  static std::string path(const std::string& id, std::string_view rest = "") {
    return fmt::format("/api/v1/templates/{}{}", id, rest);
  }
  Answer get(const std::string& id, std::string_view rest = "", Role role = Role::Viewer) {
    return world.get(path(id, rest), world.key(role));
  }
  Answer put(const std::string& id, std::string_view json) { return world.put(path(id), world.key(Role::Admin), json); }
  Answer preview(const std::string& id, std::string_view json, Role role = Role::Viewer) {
    return world.post(path(id, "/preview"), world.key(role), json);
  }
  Answer delivery(std::string_view message = kBookingTemplate) {
    const std::string id = world.accepted(message);
    world.expand();
    return world.get("/api/v1/notifications/" + id, world.key(Role::Operator));
  }
  World world;
};

TEST_F(StoredTemplates, WhatIsMadeIsAnsweredAndReadBack) {
  const Answer answer = post(kTemplate);
  EXPECT_EQ(answer.status, 201) << answer.body;
  for (const Answer& each : {answer, get(answer.at("id"))}) {
    EXPECT_EQ(each.at("tenant"), "acme");
    EXPECT_EQ(each.at("key"), "confirmed");
    EXPECT_EQ(each.at("name"), "Confirmed");
    EXPECT_EQ(each.at("type"), "booking.confirmed");
    EXPECT_EQ(each.at("channel"), "email");
    EXPECT_EQ(each.at("scope_type"), "");
    EXPECT_EQ(each.at("active"), "true");
    EXPECT_EQ(each.at("version"), "1");
    EXPECT_EQ(each.at("texts.0.subject"), "Hello {{name}}");
    EXPECT_EQ(each.at("texts.0.html"), "<p>{{name}}</p>");
    EXPECT_EQ(each.at("created_at"), "2026-02-25T06:13:20.000Z");
  }
  EXPECT_EQ(answer.at("warnings"), "[]");
  EXPECT_EQ(world.catalog_changes, 1);
  EXPECT_EQ(world.audit().at(0), "acme-admin template_create: ");
}

TEST_F(StoredTemplates, TheNextEventIsWrittenByIt) {
  const std::string id = made();
  const Answer first = delivery();
  EXPECT_EQ(first.at("deliveries.0.body"), "Dear Ada, see you.") << first.body;
  EXPECT_EQ(first.at("deliveries.0.template_version"), "1");
  ASSERT_EQ(put(id, R"({"texts":[{"locale":"en-US","body":"Hi {{name}}"}]})").at("version"), "2");
  const Answer second = delivery();
  EXPECT_EQ(second.at("deliveries.0.body"), "Hi Ada");
  EXPECT_EQ(second.at("deliveries.0.template_version"), "2");
  EXPECT_EQ(get(id, "?version=1").at("texts.0.body"), "Dear {{name}}, see you.");
  EXPECT_EQ(get(id, "?version=3").status, 404);
  EXPECT_EQ(get(id, "?version=x").code(), "INVALID_PARAMETER");
}

TEST_F(StoredTemplates, WhatAnUpdateLeavesOutStaysAsItIs) {
  const std::string id = made();
  const Answer renamed = put(id, R"({"name":"Other"})");
  EXPECT_EQ(renamed.at("name"), "Other") << renamed.body;
  EXPECT_EQ(renamed.at("type"), "booking.confirmed");
  EXPECT_EQ(renamed.at("texts.0.body"), "Dear {{name}}, see you.");
  const Answer resting = put(id, R"({"active":false})");
  EXPECT_EQ(resting.at("active"), "false");
  EXPECT_EQ(resting.at("version"), "2") << "the flag makes no version";
  const Answer same = put(id, R"({"key":"confirmed","channel":"email"})");
  EXPECT_EQ(same.status, 200);
  EXPECT_EQ(put(id, R"({"key":"other"})").code(), "INVALID_TEMPLATE");
  EXPECT_EQ(put(id, R"({"channel":"sms"})").code(), "INVALID_TEMPLATE");
  EXPECT_EQ(put(id, R"({"scope_type":"listing","scope_id":"1"})").code(), "INVALID_TEMPLATE");
}

TEST_F(StoredTemplates, UnknownPlaceholdersAreWarnedOf) {
  world.rules.routes.push_back({.tenant = "acme", .type = "declared", .keys = {"name"}});
  world.rules.index();
  const Answer answer = post(
      R"({"key":"d","type":"declared","channel":"email","texts":[{"locale":"en-US","subject":"{{name}}","body":"a\n{{nmae}}"}]})");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.at("warnings.0.code"), "unknown_placeholder") << answer.body;
  EXPECT_EQ(answer.at("warnings.0.locale"), "en-US");
  EXPECT_EQ(answer.at("warnings.0.part"), "body");
  EXPECT_EQ(answer.at("warnings.0.line"), "2");
  EXPECT_EQ(answer.at("warnings.0.message"), "\"nmae\" is no key of declared");
  EXPECT_EQ(answer.at("warnings.1.code"), "<none>");
}

TEST_F(StoredTemplates, WhatIsWrongIsRefusedAndNothingIsStored) {
  const auto code = [&](std::string_view json) { return post(json).code(); };
  EXPECT_EQ(code("{"), "INVALID_JSON");
  EXPECT_EQ(code("[]"), "INVALID_TEMPLATE");
  EXPECT_EQ(code(R"({"channel":"email"})"), "INVALID_TEMPLATE");
  EXPECT_EQ(code(R"({"key":"a"})"), "INVALID_TEMPLATE");
  EXPECT_EQ(code(R"({"key":"a","channel":"pigeon"})"), "INVALID_TEMPLATE");
  EXPECT_EQ(code(R"({"key":1,"channel":"sms"})"), "INVALID_TEMPLATE");
  EXPECT_EQ(code(R"({"key":"a","channel":"sms","active":"yes"})"), "INVALID_TEMPLATE");
  EXPECT_EQ(code(R"({"key":"a","channel":"sms","colour":"red"})"), "UNKNOWN_FIELD");
  EXPECT_EQ(code(R"({"key":"a","channel":"sms","texts":{}})"), "INVALID_TEMPLATE");
  EXPECT_EQ(code(R"({"key":"a","channel":"sms","texts":["x"]})"), "INVALID_TEMPLATE");
  EXPECT_EQ(code(R"({"key":"a","channel":"sms","texts":[{"colour":"x"}]})"), "UNKNOWN_FIELD");
  EXPECT_EQ(code(R"({"key":"a","channel":"sms","texts":[{"locale":"de_DE"}]})"), "INVALID_TEMPLATE");
  EXPECT_EQ(code(R"({"key":"a","channel":"sms","texts":[{"provider_params":[["1","x"]]}]})"), "INVALID_TEMPLATE");
  EXPECT_EQ(code(R"({"key":"a","channel":"sms","scope_type":"listing"})"), "INVALID_TEMPLATE");
  const Answer broken = post(R"({"key":"a","channel":"sms","texts":[{"locale":"en-US","body":"x\n{{#a}}"}]})");
  EXPECT_EQ(broken.status, 400);
  EXPECT_EQ(broken.code(), "INVALID_TEMPLATE");
  EXPECT_EQ(broken.at("error.field"), "body");
  EXPECT_NE(broken.at("error.message").find("line 2"), std::string::npos) << broken.body;
  EXPECT_EQ(
      world.send({.method = "POST", .path = "/api/v1/templates", .key = world.key(Role::Admin), .body = "x"}).code(),
      "UNSUPPORTED_MEDIA_TYPE");
  EXPECT_EQ(world.get("/api/v1/templates", world.key(Role::Viewer)).at("templates"), "[]");
  EXPECT_EQ(world.catalog_changes, 0);
}

TEST_F(StoredTemplates, ASecondOneForTheSameIsAConflict) {
  made();
  const Answer again = post(kTemplate);
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.code(), "CONFLICT");
  EXPECT_EQ(post(R"({"key":"other","type":"booking.confirmed","channel":"email"})").code(), "CONFLICT");
  EXPECT_EQ(
      post(R"({"key":"other","type":"booking.confirmed","channel":"email","scope_type":"listing","scope_id":"1"})")
          .status,
      201);
}

TEST_F(StoredTemplates, RolesAndTenants) {
  const std::string id = made();
  EXPECT_EQ(world.post("/api/v1/templates", world.key(Role::Operator), kTemplate).code(), "FORBIDDEN");
  EXPECT_EQ(world.put(path(id), world.key(Role::Operator), "{}").code(), "FORBIDDEN");
  EXPECT_EQ(world.remove(path(id), world.key(Role::Viewer)).code(), "FORBIDDEN");
  EXPECT_EQ(world.get(path(id), world.key(Role::Producer)).code(), "FORBIDDEN");
  const std::string foreign = world.foreign_key(Role::Admin);
  EXPECT_EQ(world.get(path(id), foreign).status, 404);
  EXPECT_EQ(world.put(path(id), foreign, "{}").status, 404);
  EXPECT_EQ(world.remove(path(id), foreign).status, 404);
  EXPECT_EQ(world.post(path(id, "/preview"), foreign, "{}").status, 404);
  EXPECT_EQ(world.get("/api/v1/templates", foreign).at("templates"), "[]");
  EXPECT_EQ(world.get("/api/v1/templates?tenant=acme", foreign).code(), "TENANT_FORBIDDEN");
  EXPECT_EQ(get(id).status, 200);
  EXPECT_EQ(get("0").status, 404);
  EXPECT_EQ(get("abc").status, 404);
  EXPECT_EQ(get("99999999999999999999").status, 404);
}

TEST_F(StoredTemplates, OpsMakesTheCommonOnes) {
  const Answer common = world.post("/api/v1/templates", world.key(Role::Ops), kTemplate);
  ASSERT_EQ(common.status, 201) << common.body;
  EXPECT_EQ(common.at("tenant"), "null");
  EXPECT_EQ(get(common.at("id")).status, 200) << "every tenant reads them";
  EXPECT_EQ(put(common.at("id"), R"({"name":"mine"})").status, 404) << "and changes none";
  const Answer own = world.post("/api/v1/templates?tenant=globex", world.key(Role::Ops), kTemplate);
  EXPECT_EQ(own.at("tenant"), "globex");
}

TEST_F(StoredTemplates, TheListIsFilteredAndPaged) {
  made();
  made(R"({"key":"b","type":"other","channel":"sms","active":false})");
  made(R"({"key":"footer","channel":"partial","texts":[{"body":"bye"}]})");
  const auto keys = [&](std::string_view query) {
    const Answer answer = world.get(fmt::format("/api/v1/templates{}", query), world.key(Role::Viewer));
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::string out;
    for (int i = 0; answer.at(fmt::format("templates.{}.key", i)) != "<none>"; ++i)
      out += answer.at(fmt::format("templates.{}.key", i)) + " ";
    return out;
  };
  EXPECT_EQ(keys(""), "confirmed b footer ");
  EXPECT_EQ(keys("?type=other"), "b ");
  EXPECT_EQ(keys("?channel=email"), "confirmed ");
  EXPECT_EQ(keys("?active=false"), "b ");
  EXPECT_EQ(keys("?key=footer"), "footer ");
  const Answer page = world.get("/api/v1/templates?limit=2", world.key(Role::Viewer));
  EXPECT_NE(page.at("next"), "null");
  EXPECT_EQ(keys("?limit=2&cursor=" + page.at("next")), "footer ");
  EXPECT_EQ(world.get("/api/v1/templates?limit=3", world.key(Role::Viewer)).at("next"), "null");
  EXPECT_EQ(world.get("/api/v1/templates?active=maybe", world.key(Role::Viewer)).code(), "INVALID_PARAMETER");
  EXPECT_EQ(world.get("/api/v1/templates?channel=pigeon", world.key(Role::Viewer)).code(), "INVALID_PARAMETER");
  EXPECT_EQ(world.get("/api/v1/templates?cursor=x", world.key(Role::Viewer)).code(), "INVALID_PARAMETER");
}

TEST_F(StoredTemplates, RemovedWhenUnusedAndDeactivatedWhenUsed) {
  const std::string unused = made(R"({"key":"b","channel":"sms"})");
  EXPECT_EQ(world.remove(path(unused), world.key(Role::Admin)).at("result"), "deleted");
  EXPECT_EQ(get(unused).status, 404);
  const std::string used = made();
  EXPECT_EQ(delivery().at("deliveries.0.body"), "Dear Ada, see you.");
  const Answer removed = world.remove(path(used), world.key(Role::Admin));
  EXPECT_EQ(removed.at("result"), "deactivated") << removed.body;
  EXPECT_EQ(get(used).at("active"), "false");
  EXPECT_EQ(delivery().at("deliveries.0.body"), "We write to ada@example.org about your booking.")
      << "the configuration's own takes its place";
}

TEST_F(StoredTemplates, AScopeIsChosenByTheEvent) {
  world.rules.routes[0].scopes = {{"listing", "listingId"}};
  made();
  made(R"({"key":"confirmed","type":"booking.confirmed","channel":"email","scope_type":"listing","scope_id":"10",)"
       R"("texts":[{"locale":"en-US","body":"Ten"}]})");
  EXPECT_EQ(delivery(R"({"type":"booking.confirmed","payload":{"email":"a@example.org","listingId":10}})")
                .at("deliveries.0.body"),
            "Ten");
  EXPECT_EQ(delivery(R"({"type":"booking.confirmed","payload":{"email":"a@example.org","listingId":11,"name":"B"}})")
                .at("deliveries.0.body"),
            "Dear B, see you.");
}

TEST_F(StoredTemplates, APreviewIsWhatWouldBeSent) {
  const std::string id = made();
  const Answer answer = preview(id, R"({"data":{"name":"<Ada>"}})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.at("id"), id);
  EXPECT_EQ(answer.at("version"), "1");
  EXPECT_EQ(answer.at("locale"), "en-US");
  EXPECT_EQ(answer.at("subject"), "Hello <Ada>");
  EXPECT_EQ(answer.at("body"), "Dear <Ada>, see you.");
  EXPECT_EQ(answer.at("html"), "<p>&lt;Ada&gt;</p>");
  EXPECT_EQ(answer.at("warnings"), "[]");
  EXPECT_EQ(answer.at("sms"), "null");
  EXPECT_EQ(preview(id, "{}").at("warnings.0"), "no value for name");
  put(id, R"({"texts":[{"locale":"en-US","body":"Hi {{name}}"}]})");
  EXPECT_EQ(preview(id, R"({"data":{"name":"A"}})").at("body"), "Hi A");
  EXPECT_EQ(preview(id, R"({"data":{"name":"A"},"version":1})").at("body"), "Dear A, see you.");
  EXPECT_EQ(preview(id, R"({"version":9})").status, 404);
  EXPECT_EQ(preview(id, R"({"locale":"de-DE"})").code(), "CANNOT_RENDER");
  EXPECT_EQ(preview(id, R"({"data":[]})").code(), "INVALID_TEMPLATE");
  EXPECT_EQ(preview(id, R"({"version":0})").code(), "INVALID_TEMPLATE");
  EXPECT_EQ(preview(id, R"({"colour":1})").code(), "UNKNOWN_FIELD");
  EXPECT_EQ(world.stored(), 0U) << "nothing is sent";
}

TEST_F(StoredTemplates, APreviewOfAPastMessageHidesAddressesFromViewers) {
  const std::string id =
      made(R"({"key":"m","type":"x","channel":"email","texts":[{"locale":"en-US","body":"{{name}} at {{email}}"}]})");
  const std::string message = world.accepted(kBookingTemplate);
  world.expand();
  const std::string body = fmt::format(R"({{"message":"{}"}})", message);
  EXPECT_EQ(preview(id, body, Role::Operator).at("body"), "Ada at ada@example.org");
  const std::string seen = preview(id, body).at("body");
  EXPECT_EQ(seen.find("ada@example.org"), std::string::npos) << seen;
  EXPECT_TRUE(seen.starts_with("Ada at ")) << seen;
  EXPECT_EQ(preview(id, R"({"data":{"name":"B","email":"b@example.org"}})").at("body"), "B at b@example.org")
      << "the caller's own words";
  EXPECT_EQ(preview(id, R"({"message":"nonsense"})").status, 404);
  EXPECT_EQ(preview(id, fmt::format(R"({{"message":"{}","data":{{}}}})", message)).code(), "INVALID_TEMPLATE");
  const std::string theirs = world.accepted(kBookingTemplate, world.foreign_key(Role::Producer));
  world.expand();
  EXPECT_EQ(preview(id, fmt::format(R"({{"message":"{}"}})", theirs), Role::Admin).status, 404);
}

TEST_F(StoredTemplates, WhatIsNotSavedCanBePreviewedToo) {
  made(R"({"key":"footer","channel":"partial","texts":[{"body":"bye {{name}}"}]})");
  const auto unsaved = [&](std::string_view json) {
    return world.post("/api/v1/template-preview", world.key(Role::Viewer), json);
  };
  const Answer answer = unsaved(
      R"({"template":{"channel":"sms","texts":[{"locale":"en-US","body":"Hi {{name}}, {{> footer}}",)"
      R"("provider_template":"dlt","provider_params":[{"name":"1","text":"{{name}}!"}]}]},"data":{"name":"Ada"}})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.at("body"), "Hi Ada, bye Ada");
  EXPECT_EQ(answer.at("sms.segments"), "1");
  EXPECT_EQ(answer.at("sms.alphabet"), "GSM-7");
  EXPECT_EQ(answer.at("provider_template"), "dlt");
  EXPECT_EQ(answer.at("provider_params.0.text"), "Ada!");
  EXPECT_EQ(unsaved("{}").code(), "INVALID_TEMPLATE");
  EXPECT_EQ(unsaved(R"({"template":{"texts":[]}})").code(), "INVALID_TEMPLATE");
  EXPECT_EQ(unsaved(R"({"template":{"channel":"sms","colour":1}})").code(), "UNKNOWN_FIELD");
  const Answer broken = unsaved(R"({"template":{"channel":"sms","texts":[{"locale":"en-US","body":"{{#a}}"}]}})");
  EXPECT_EQ(broken.code(), "CANNOT_RENDER");
  EXPECT_EQ(world.get("/api/v1/templates?channel=sms", world.key(Role::Viewer)).at("templates"), "[]");
}

TEST_F(StoredTemplates, TheAnswersAreThoseOfTheDocument) {
  const auto document = JsonDocument::parse(world.get("/openapi.json", "").body);
  ASSERT_TRUE(document);
  using Names = std::set<std::string>;
  const auto names = [](JsonView object) {
    Names found;
    for (const auto& [name, value] : object.members()) found.emplace(name);
    return found;
  };
  const auto schema = [&](const std::string& name) {
    return names(*document->root().find_path("components.schemas." + name + ".properties"));
  };
  const auto members = [&](const Answer& answer, const std::string& inside = "") {
    const auto parsed = JsonDocument::parse(answer.body);
    return names(inside.empty() ? parsed->root() : *parsed->root().find_path(inside));
  };
  const Answer saved = post(kTemplate);
  const std::string id = saved.at("id");
  EXPECT_EQ(members(saved), schema("SavedTemplate"));
  EXPECT_EQ(members(get(id)), schema("Template"));
  EXPECT_EQ(members(world.get("/api/v1/templates", world.key(Role::Viewer))), schema("TemplateList"));
  EXPECT_EQ(members(preview(id, "{}")), schema("Preview"));
  EXPECT_EQ(members(world.get("/api/message-templates/" + id, world.key(Role::Viewer))), schema("MessageTemplate"));
  EXPECT_EQ(members(world.put("/api/message-templates/" + id, world.key(Role::Admin), "{}")),
            schema("SavedMessageTemplate"));
  EXPECT_EQ(members(world.remove(path(id), world.key(Role::Admin))), schema("TemplateRemoved"));
  const std::string other = made(kTemplate);
  EXPECT_EQ(members(world.remove("/api/message-templates/" + other, world.key(Role::Admin))),
            schema("MessageTemplateRemoved"));
}

}  // namespace
}  // namespace postrider::testing
