// Who may do what: every route of the table against every role.
#include <gtest/gtest.h>

#include "api/route.h"
#include "api/world.h"

namespace postrider::testing {
namespace {

constexpr std::array kEveryRole{Role::Producer, Role::Viewer, Role::Operator, Role::Admin, Role::Ops, Role::Site};
constexpr std::string_view kSomeId = "0195a000-0000-7000-8000-000000000001";

std::string concrete(std::string_view pattern) {
  std::string path{pattern};
  const std::size_t at = path.find("{id}");
  return at == std::string::npos ? path : path.replace(at, 4, kSomeId);
}

// A preview is asked for with a body and changes nothing.
bool changes_something(const ApiRoute& route) {
  return route.method != "GET" && route.path.find("preview") == std::string_view::npos;
}

// Written out once more, so that a slip in the table or in may() is seen.
bool should_be_let_in(const ApiRoute& route, Role role) {
  if (!route.least) return true;
  if (role == Role::Site) return false;
  if (role == Role::Viewer && changes_something(route)) return false;
  return static_cast<int>(role) >= static_cast<int>(*route.least);
}

TEST(Routes, EveryRouteLetsInItsLeastRoleAndNobodyBelow) {
  World world;
  for (const ApiRoute& route : api_routes()) {
    for (const Role role : kEveryRole) {
      const Answer answer =
          world.send({.method = std::string{route.method}, .path = concrete(route.path), .key = world.key(role)});
      const std::string what =
          std::string{route.method} + " " + std::string{route.path} + " as " + std::string{to_text(role)};
      if (should_be_let_in(route, role)) {
        EXPECT_NE(answer.status, 401) << what;
        EXPECT_NE(answer.status, 403) << what;
      } else {
        EXPECT_EQ(answer.status, 403) << what;
        EXPECT_EQ(answer.code(), "FORBIDDEN") << what;
      }
    }
  }
}

TEST(Routes, WithoutAKeyOnlyHealthAndTheDocumentAreOpen) {
  World world;
  std::vector<std::string> open;
  for (const ApiRoute& route : api_routes()) {
    const Answer answer = world.send({.method = std::string{route.method}, .path = concrete(route.path)});
    if (answer.status == 401) {
      EXPECT_EQ(answer.code(), "UNAUTHENTICATED");
      EXPECT_EQ(answer.header("WWW-Authenticate"), "Bearer realm=\"postrider\"");
    } else {
      open.emplace_back(route.path);
    }
  }
  EXPECT_EQ(open, (std::vector<std::string>{"/healthz", "/readyz", "/openapi.json"}));
}

TEST(Routes, EveryRouteThatChangesSomethingSaysSo) {
  for (const ApiRoute& route : api_routes()) {
    EXPECT_EQ(route.does == Does::Changes, changes_something(route)) << route.path;
    EXPECT_TRUE(route.least.has_value() || route.does == Does::Reads) << route.path;
  }
}

TEST(Routes, AnUnknownPathIs404AndAnotherMethodIs405WithAllow) {
  World world;
  for (const std::string path : {"/", "/api/v1/messages/", "/api/v1/notifications//retry", "/api/v1/nothing",
                                 "/api/v1/notifications/a/b", "/api/v1/notifications/a/retry/", "/API/v1/messages"}) {
    const Answer answer = world.get(path, world.key(Role::Ops));
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(answer.code(), "NOT_FOUND") << path;
  }
  const Answer wrong = world.get("/api/v1/messages", world.key(Role::Ops));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.header("Allow"), "POST");
  EXPECT_EQ(wrong.code(), "METHOD_NOT_ALLOWED");
  EXPECT_EQ(world.send({.method = "DELETE", .path = "/healthz"}).header("Allow"), "GET");
}

TEST(Routes, EveryAnswerCarriesTheSecurityHeaders) {
  World world;
  const std::vector<Answer> answers{world.get("/healthz", ""), world.get("/nothing", ""),
                                    world.get("/api/v1/notifications", ""),
                                    world.get("/api/v1/notifications", world.key(Role::Viewer)),
                                    world.post("/api/v1/messages", world.key(Role::Producer), "{")};
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.header("Cache-Control"), "no-store");
  }
}

TEST(Routes, RequestsAreCountedByRouteAndStatus) {
  World world;
  (void)world.get("/healthz", "");
  (void)world.get("/healthz", "");
  (void)world.get("/nothing", "");
  (void)world.get("/api/v1/notifications/x", world.key(Role::Viewer));
  const auto counts = world.api->requests();
  EXPECT_EQ(counts.at({"/healthz", 200}), 2U);
  EXPECT_EQ(counts.at({"other", 404}), 1U);
  EXPECT_EQ(counts.at({"/api/v1/notifications/{id}", 404}), 1U);
}

TEST(Routes, MetricsAreOpenToTheMachineItselfAndToNobodyItSpeaksFor) {
  World world;
  EXPECT_EQ(world.send({.path = "/metrics", .peer = "127.0.0.1"}).body, "postrider_up 1\n");
  EXPECT_EQ(world.send({.path = "/metrics", .peer = "::1"}).status, 200);
  EXPECT_EQ(world.send({.path = "/metrics", .peer = "192.0.2.7"}).status, 401);
  EXPECT_EQ(world.send({.path = "/metrics", .peer = "1270.0.0.1"}).status, 401);
  EXPECT_EQ(
      world.send({.path = "/metrics", .headers = {{"x-forwarded-for", "203.0.113.9"}}, .peer = "127.0.0.1"}).status,
      401);
  EXPECT_EQ(world.get("/metrics", world.key(Role::Viewer)).status, 200);
  const Answer lite = world.send({.path = "/ops/metrics-lite", .peer = "127.0.0.1"});
  EXPECT_EQ(lite.body, "postrider_notifications_outbox_pending 1\n");
  EXPECT_EQ(lite.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(world.send({.path = "/ops/metrics-lite", .peer = "192.0.2.7"}).status, 401);
  EXPECT_EQ(world.get("/ops/metrics-lite", world.key(Role::Viewer)).status, 200);
}

TEST(Health, ReadinessFollowsTheStoreAndTellsNoSecrets) {
  World world;
  EXPECT_EQ(world.get("/readyz", "").at("status"), "ready");
  world.health = {.store_reachable = false, .last_error = "password=hunter2"};
  const Answer away = world.get("/readyz", "");
  EXPECT_EQ(away.status, 503);
  EXPECT_EQ(away.code(), "NOT_READY");
  EXPECT_FALSE(away.header("Retry-After").empty());
  EXPECT_EQ(away.body.find("hunter2"), std::string::npos);
  EXPECT_EQ(world.get("/healthz", "").status, 200);
}

}  // namespace
}  // namespace postrider::testing
