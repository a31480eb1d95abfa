#include "api/auth.h"

#include <gtest/gtest.h>

#include "api/world.h"
#include "base/text.h"

namespace postrider::testing {
namespace {

using std::chrono::seconds;
constexpr std::string_view kList = "/api/v1/notifications";

HttpIn with_headers(std::vector<Header> headers) {
  HttpIn in;
  in.headers = std::move(headers);
  return in;
}

TEST(Keys, ANewOneIsLongDifferentEachTimeAndStoredAsAHash) {
  const std::string key = new_api_key();
  EXPECT_TRUE(key.starts_with("pr_"));
  EXPECT_EQ(key.size(), 3U + 64U);
  EXPECT_NE(key, new_api_key());
  EXPECT_EQ(api_key_hash(key), to_hex(sha256(key)));
}

TEST(Keys, TheBearerKeyIsReadStrictly) {
  const auto read = [](std::vector<Header> headers) {
    return std::string{bearer_key(with_headers(std::move(headers)))};
  };
  EXPECT_EQ(read({{"authorization", "Bearer pr_a"}}), "pr_a");
  EXPECT_EQ(read({{"authorization", "bearer   pr_a "}}), "pr_a");
  EXPECT_EQ(read({}), "");
  EXPECT_EQ(read({{"authorization", "Bearer"}}), "");
  EXPECT_EQ(read({{"authorization", "Bearer pr_"}}), "");
  EXPECT_EQ(read({{"authorization", "Basic pr_a"}}), "");
  EXPECT_EQ(read({{"authorization", "Bearer secret"}}), "");
  EXPECT_EQ(read({{"authorization", "Bearer pr_" + std::string(500, 'a')}}), "");
  EXPECT_EQ(read({{"authorization", "Bearer pr_a"}, {"authorization", "Bearer pr_b"}}), "");
}

TEST(Keys, AWrongOneIs401AndItsHashIsNoKey) {
  World world;
  const Answer wrong = world.get(kList, "pr_" + std::string(64, '0'));
  EXPECT_EQ(wrong.status, 401);
  EXPECT_EQ(wrong.code(), "UNAUTHENTICATED");
  EXPECT_NE(wrong.header("WWW-Authenticate").find("invalid_token"), std::string::npos);
  EXPECT_EQ(world.get(kList, "pr_" + api_key_hash(world.key(Role::Viewer))).status, 401);
  EXPECT_EQ(world.get(kList, world.key(Role::Viewer).substr(0, 60)).status, 401);
}

TEST(Keys, ARevokedOneIsRefusedWithinFiveSeconds) {
  World world;
  ASSERT_EQ(world.get(kList, world.key(Role::Viewer)).status, 200);
  const auto keys = world.session->keys().value();
  for (const ApiKey& key : keys) {
    if (key.name != "acme-viewer") continue;
    ASSERT_TRUE(world.session->revoke_key(world.clock.now(), key.id));
  }
  world.clock.advance(seconds{5} + Duration{1});
  EXPECT_EQ(world.get(kList, world.key(Role::Viewer)).status, 401);
  EXPECT_EQ(world.get(kList, world.key(Role::Operator)).status, 200);
}

TEST(Keys, ANewOneIsKnownAfterASecondAtMost) {
  World world;
  ASSERT_EQ(world.get(kList, world.key(Role::Viewer)).status, 200);  // the keys are read
  const std::string key = new_api_key();
  ApiKey row{.name = "late", .hash = api_key_hash(key), .tenant = world.rules.tenants[0].id, .role = Role::Viewer};
  ASSERT_TRUE(world.session->add_key(world.clock.now(), row));
  EXPECT_EQ(world.get(kList, key).status, 401);  // a flood of wrong keys does not reach the store
  world.clock.advance(seconds{1} + Duration{1});
  EXPECT_EQ(world.get(kList, key).status, 200);
}

TEST(Keys, OneOfNoTenantIsForOpsOnly) {
  World world;
  const std::string key = new_api_key();
  ASSERT_TRUE(
      world.session->add_key(world.clock.now(), {.name = "odd", .hash = api_key_hash(key), .role = Role::Admin}));
  EXPECT_EQ(world.get(kList, key).status, 401);
}

TEST(Keys, WithTheStoreAwayNobodyIsLetInOnOldKnowledge) {
  World world;
  ASSERT_EQ(world.get("/healthz", "").status, 200);
  world.store->away = true;
  const Answer answer = world.post("/api/v1/messages", world.key(Role::Producer), R"({"type":"a"})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.code(), "STORE_UNAVAILABLE");
  EXPECT_FALSE(answer.header("Retry-After").empty());
  EXPECT_EQ(answer.body.find("hunter2"), std::string::npos);
  world.store->away = false;
  EXPECT_EQ(world.post("/api/v1/messages", world.key(Role::Producer), R"({"type":"a"})").status, 202);
}

TEST(Roles, ARoleHasAName) {
  for (const Role role : {Role::Producer, Role::Viewer, Role::Operator, Role::Admin, Role::Ops, Role::Site}) {
    EXPECT_EQ(parse_role(to_text(role)), role);
  }
  EXPECT_FALSE(parse_role("root"));
}

TEST(Tenants, NamingAnotherOneIsForbiddenWhetherItExistsOrNot) {
  World world;
  for (const std::string name : {"globex", "nobody"}) {
    const Answer query = world.get(std::string{kList} + "?tenant=" + name, world.key(Role::Admin));
    EXPECT_EQ(query.status, 403);
    EXPECT_EQ(query.code(), "TENANT_FORBIDDEN");
    const Answer body =
        world.post("/api/v1/messages", world.key(Role::Producer), R"({"type":"a","tenant":")" + name + "\"}");
    EXPECT_EQ(body.status, 403);
    EXPECT_EQ(body.code(), "TENANT_FORBIDDEN");
  }
  EXPECT_EQ(world.get(std::string{kList} + "?tenant=acme", world.key(Role::Admin)).status, 200);
  EXPECT_EQ(world.stored(), 0U);
}

TEST(Tenants, AnotherTenantsIdDoesNotExist) {
  World world;
  const std::string id = world.accepted(R"({"type":"booking.confirmed","payload":{"email":"ada@example.org"}})");
  const std::string path = std::string{kList} + "/" + id;
  EXPECT_EQ(world.get(path, world.key(Role::Producer)).status, 200);
  const Answer missing =
      world.get(std::string{kList} + "/0195a000-0000-7000-8000-000000000001", world.foreign_key(Role::Admin));
  for (const std::string& where : {path, "/api/v1/explain?message=" + id}) {
    const Answer foreign = world.get(where, world.foreign_key(Role::Admin));
    EXPECT_EQ(foreign.status, 404);
    EXPECT_EQ(foreign.body, missing.body);
  }
  world.expand();
  for (const std::string action : {"retry", "discard", "cancel", "dispatch", "replay"}) {
    EXPECT_EQ(world.post(path + "/" + action, world.foreign_key(Role::Admin), "").status, 404) << action;
  }
  EXPECT_EQ(world.get(kList, world.foreign_key(Role::Admin)).at("notifications"), "[]");
}

TEST(Tenants, OpsCrossesThem) {
  World world;
  const std::string acme = world.accepted(R"({"type":"a"})");
  const std::string globex = world.accepted(R"({"type":"a"})", world.foreign_key(Role::Producer));
  const std::string ops = world.key(Role::Ops);
  EXPECT_EQ(world.get(std::string{kList} + "/" + acme, ops).at("tenant"), "acme");
  EXPECT_EQ(world.get(std::string{kList} + "/" + globex, ops).at("tenant"), "globex");
  EXPECT_EQ(world.get(std::string{kList} + "/" + globex + "?tenant=acme", ops).status, 404);
  EXPECT_EQ(world.get(std::string{kList} + "?tenant=globex", ops).at("notifications.0.id"), globex);
  EXPECT_EQ(world.get(std::string{kList} + "?tenant=nobody", ops).code(), "UNKNOWN_TENANT");
  EXPECT_EQ(world.post("/api/v1/messages", ops, R"({"type":"a","tenant":"nobody"})").code(), "UNKNOWN_TENANT");
  const std::string named = world.accepted(R"({"type":"a","tenant":"globex"})", ops);
  EXPECT_EQ(world.get(std::string{kList} + "/" + named, world.foreign_key(Role::Viewer)).at("tenant"), "globex");
  const Answer by_query = world.post("/api/v1/messages?tenant=acme", ops, R"({"type":"a"})");
  EXPECT_EQ(world.get(std::string{kList} + "/" + by_query.at("id"), ops).at("tenant"), "acme");
  EXPECT_EQ(world.get(std::string{kList} + "/" + world.accepted(R"({"type":"a"})", ops), ops).at("tenant"), "default");
}

}  // namespace
}  // namespace postrider::testing
