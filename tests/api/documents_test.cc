// The documents say what the code does: routes, roles, error codes, in both directions.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "api/errors.h"
#include "api/route.h"
#include "api/world.h"
#include "base/text.h"

namespace postrider::testing {
namespace {

std::string read_document(std::string_view name) {
  std::ifstream in{std::string{POSTRIDER_SOURCE_DIR} + "/docs/reference/" + std::string{name}};
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

std::string role_word(const ApiRoute& route) { return route.least ? std::string{to_text(*route.least)} : "none"; }

class OpenApi : public ::testing::Test {
 protected:
  std::string text = read_document("openapi.json");
  Result<JsonDocument> document = JsonDocument::parse(text);
};

TEST_F(OpenApi, IsServedAsItIs) {
  World world;
  const Answer served = world.get("/openapi.json", "");
  EXPECT_EQ(served.content_type, "application/json");
  EXPECT_TRUE(served.body == text);
}

TEST_F(OpenApi, ListsExactlyTheRoutesWithTheirRoles) {
  ASSERT_TRUE(document) << document.error().text;
  std::set<std::string> documented;
  const auto paths = document->root().find("paths");
  ASSERT_TRUE(paths);
  for (const auto& [path, operations] : paths->members()) {
    for (const auto& [method, operation] : operations.members()) {
      const auto role = operation.find("x-least-role");
      ASSERT_TRUE(role) << path;
      documented.insert(std::string{method} + " " + std::string{path} + " " + role->spoken());
      EXPECT_EQ(operation.find("security")->json() == "[]", role->spoken() == "none") << path;
    }
  }
  std::set<std::string> routed;
  for (const ApiRoute& route : api_routes()) {
    routed.insert(lower(route.method) + " " + std::string{route.path} + " " + role_word(route));
  }
  EXPECT_EQ(documented, routed);
}

std::vector<std::string> references(JsonView at) {
  std::vector<std::string> found;
  for (const JsonView item : at.items()) {
    for (std::string& one : references(item)) found.push_back(std::move(one));
  }
  for (const auto& [name, value] : at.members()) {
    if (name == "$ref") found.push_back(value.spoken());
    for (std::string& one : references(value)) found.push_back(std::move(one));
  }
  return found;
}

TEST_F(OpenApi, HasNoReferenceToNothingAndNothingUnused) {
  ASSERT_TRUE(document) << document.error().text;
  EXPECT_TRUE(document->root().find("openapi")->spoken().starts_with("3.1"));
  std::set<std::string> used;
  for (const std::string& reference : references(document->root())) {
    ASSERT_TRUE(reference.starts_with("#/")) << reference;
    std::optional<JsonView> at = document->root();
    for (const std::string_view step : split(std::string_view{reference}.substr(2), '/')) {
      at = at->find(step);
      ASSERT_TRUE(at) << reference;
    }
    used.insert(reference);
  }
  for (const std::string_view kind : {"schemas", "responses", "parameters"}) {
    const auto components = document->root().find_path("components." + std::string{kind});
    ASSERT_TRUE(components);
    for (const auto& [name, value] : components->members()) {
      EXPECT_TRUE(used.contains("#/components/" + std::string{kind} + "/" + std::string{name})) << name;
    }
  }
}

// Every member that an answer has must be in its schema.
TEST_F(OpenApi, DescribesWhatIsAnswered) {
  ASSERT_TRUE(document) << document.error().text;
  World world;
  const std::string id =
      world.accepted(R"({"type":"note","channel":"email","recipient":"bob@example.net","subject":"S","body":"B"})");
  world.expand();
  world.call_ends(OutcomeKind::Accepted, Reason::AcceptedByProvider,
                  {.state = DeliveryState::Sent, .reason = Reason::AcceptedByProvider});
  const auto names = [](JsonView object) {
    std::set<std::string> found;
    for (const auto& [name, value] : object.members()) found.emplace(name);
    return found;
  };
  const auto schema = [&](const std::string& path) {
    return names(*document->root().find_path("components.schemas." + path + ".properties"));
  };
  const auto answered = [&](const std::string& path, Role role, const std::string& inside) {
    const auto parsed = JsonDocument::parse(world.get(path, world.key(role)).body);
    std::optional<JsonView> at = parsed->root();
    for (const std::string_view step : split(inside, '.')) {
      if (!step.empty()) at = at->is_array() ? at->items().at(0) : *at->find(step);
    }
    return names(*at);
  };
  const std::string path = "/api/v1/notifications/" + id;
  EXPECT_EQ(answered(path, Role::Operator, ""), schema("Notification"));
  EXPECT_EQ(answered(path, Role::Producer, ""), schema("NotificationState"));
  EXPECT_EQ(answered(path, Role::Producer, "deliveries.0"), schema("DeliveryState"));
  EXPECT_EQ(answered(path, Role::Operator, "deliveries.0.attempts.0"), schema("Attempt"));
  EXPECT_EQ(answered("/api/v1/notifications", Role::Viewer, ""), schema("NotificationList"));
  EXPECT_EQ(answered("/api/v1/notifications", Role::Viewer, "notifications.0"), schema("ListItem"));
  EXPECT_EQ(answered("/api/v1/sandbox/messages", Role::Viewer, "messages.0"), schema("SandboxMessage"));
  const auto put = [&](const std::string& at, const std::string& body) {
    const auto status = world
                            .send({.method = "PUT",
                                   .path = at,
                                   .key = world.key(Role::Admin),
                                   .body = body,
                                   .headers = {{"content-type", "application/json"}}})
                            .status;
    EXPECT_EQ(status, 201) << at;
  };
  put("/api/v1/contacts/ada", R"({"preferences":[{"allowed":false}]})");
  put("/api/v1/lists/team", "{}");
  EXPECT_EQ(world.post("/api/v1/lists/team/members", world.key(Role::Admin), R"({"contact":"ada"})").status, 200);
  EXPECT_EQ(world
                .post("/api/v1/suppressions", world.key(Role::Operator),
                      R"({"channel":"email","address":"a@example.org","evidence":"asked"})")
                .status,
            200);
  EXPECT_EQ(answered("/api/v1/contacts", Role::Viewer, ""), schema("ContactList"));
  EXPECT_EQ(answered("/api/v1/contacts/ada", Role::Viewer, ""), schema("Contact"));
  EXPECT_EQ(answered("/api/v1/contacts/ada/preferences", Role::Viewer, ""), schema("Preferences"));
  EXPECT_EQ(answered("/api/v1/contacts/ada/preferences", Role::Viewer, "preferences.0"), schema("Preference"));
  EXPECT_EQ(answered("/api/v1/lists", Role::Viewer, ""), schema("Lists"));
  EXPECT_EQ(answered("/api/v1/lists/team", Role::Viewer, ""), schema("List"));
  EXPECT_EQ(answered("/api/v1/lists/team/members", Role::Viewer, "members.0"), schema("Member"));
  EXPECT_EQ(answered("/api/v1/suppressions", Role::Viewer, ""), schema("Suppressions"));
  EXPECT_EQ(answered("/api/v1/suppressions", Role::Viewer, "suppressions.0"), schema("Suppression"));
  world.accepted(R"({"type":"note","entity_id":"7","channel":"email","recipient":"bob@example.net","body":"B"})");
  world.expand();
  EXPECT_EQ(answered("/api/communication-logs?bookingId=7", Role::Viewer, "0"), schema("CommunicationLog"));
  EXPECT_EQ(answered("/api/automation-schedules?bookingId=7", Role::Viewer, "0"), schema("AutomationSchedule"));
  EXPECT_EQ(answered("/ops/outbox", Role::Operator, "0"), schema("OutboxMessage"));
  const auto posted = [&](const std::string& to, const std::string& body) {
    const auto parsed = JsonDocument::parse(world.post(to, world.key(Role::Operator), body).body);
    return names(parsed->root());
  };
  EXPECT_EQ(posted("/api/bookings/7/resend-notification", R"({"channel":"Email"})"), schema("Resent"));
  EXPECT_EQ(posted("/api/v1/entities/7/cancel", ""), schema("EntityCancelled"));
  std::set<std::string> delivery = schema("DeliveryState");
  const auto both = document->root().find_path("components.schemas.Delivery.allOf")->items();
  for (const std::string& name : names(*both.at(1).find("properties"))) delivery.insert(name);
  EXPECT_EQ(answered(path, Role::Operator, "deliveries.0"), delivery);
}

TEST(HttpPage, HasARowForEveryRoute) {
  const std::string page = read_document("http.md");
  std::size_t rows = 0;
  for (const std::string_view line : split(page, '\n')) {
    if (line.starts_with("| `/")) ++rows;
  }
  EXPECT_EQ(rows, api_routes().size());
  for (const ApiRoute& route : api_routes()) {
    const std::string row =
        "| `" + std::string{route.path} + "` | " + std::string{route.method} + " | " + role_word(route) + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

TEST(ErrorsPage, HasARowForEveryCodeAndNoOther) {
  const std::string page = read_document("errors.md");
  const std::string own = page.substr(0, page.find("## From the server"));
  std::set<std::string> documented;
  for (const std::string_view line : split(own, '\n')) {
    if (!line.starts_with("| `")) continue;
    const auto cells = split(line, '|');
    documented.insert(std::string{trim(cells.at(1))} + std::string{trim(cells.at(2))});
  }
  std::set<std::string> real;
  for (const ApiErrorCode code : kApiErrorCodes) {
    real.insert("`" + std::string{to_text(code)} + "`" + std::to_string(status_of(code)));
  }
  EXPECT_EQ(documented, real);
}

}  // namespace
}  // namespace postrider::testing
