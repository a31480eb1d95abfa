// Secrets in requests: sealed before anything is stored, told to nobody.
#include <gtest/gtest.h>

#include "api/secret_reader.h"
#include "api/world.h"
#include "base/text.h"

namespace postrider::testing {
namespace {

TEST(Secrets, AreSealedBeforeTheyAreStored) {
  World world;
  const std::string id = world.accepted(
      R"({"type":"booking.confirmed","secret":{"token":"hush-77\u00e9\n","pin":4711,"more":[true,null,{"a":1.5}],"e":{}}})");
  ASSERT_EQ(world.sealer.given.size(), 1U);
  EXPECT_EQ(world.sealer.given[0],
            "{\"token\":\"hush-77\u00e9\\n\",\"pin\":4711,\"more\":[true,null,{\"a\":1.5}],\"e\":{}}");
  const Answer seen = world.get("/api/v1/notifications/" + id, world.key(Role::Operator));
  EXPECT_EQ(seen.status, 200);
  for (const char* word : {"hush", "4711", "secret", "sealed", "77-hsuh"}) {
    EXPECT_EQ(seen.body.find(word), std::string::npos) << word;
  }
}

TEST(Secrets, ARepeatWithTheSameKeyIsTheSameMessage) {
  World world;
  const std::string message = R"({"type":"booking.confirmed","idempotency_key":"k","secret":{"token":"hush"}})";
  const std::string first = world.accepted(message);
  const Answer again = world.post("/api/v1/messages", world.key(Role::Producer), message);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.at("id"), first);
  const Answer without = world.post("/api/v1/messages", world.key(Role::Producer),
                                    R"({"type":"booking.confirmed","idempotency_key":"k"})");
  EXPECT_EQ(without.code(), "IDEMPOTENCY_KEY_REUSED");
}

TEST(Secrets, WithoutAKeyTheyAreRefused) {
  World world;
  world.sealer.has_key = false;
  const Answer refused =
      world.post("/api/v1/messages", world.key(Role::Producer), R"({"type":"a","secret":{"token":"hush"}})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.code(), "NO_SEAL_KEY");
  EXPECT_EQ(refused.at("error.field"), "secret");
  EXPECT_EQ(refused.body.find("hush"), std::string::npos);
  EXPECT_EQ(world.stored(), 0U);
  EXPECT_EQ(world.get("/api/v1/seal-key", world.key(Role::Producer)).code(), "NO_SEAL_KEY");
}

TEST(Secrets, AreObjectsOfBoundedSizeAndNeverToldInErrors) {
  World world;
  const std::string large = "{\"t\":\"hush" + std::string(16'384, 'x') + "\"}";
  std::string wide = R"({"t":"hush","l":[0)";
  while (wide.size() < 100'000) wide += ",0";
  wide += "]}";
  for (const std::string& secret :
       {std::string{"\"hush\""}, std::string{"[\"hush\"]"}, std::string{"7"}, large, wide}) {
    const Answer refused =
        world.post("/api/v1/messages", world.key(Role::Producer), R"({"type":"a","secret":)" + secret + "}");
    EXPECT_EQ(refused.code(), "INVALID_MESSAGE") << refused.body;
    EXPECT_EQ(refused.at("error.field"), "secret");
    EXPECT_EQ(refused.body.find("hush"), std::string::npos);
  }
  EXPECT_TRUE(world.sealer.given.empty());
  EXPECT_EQ(world
                .post("/api/v1/messages", world.key(Role::Producer),
                      "{\"type\":\"a\",\"secret\":{\"t\":\"" + std::string(16'384 - 8, 'x') + "\"}}")
                .status,
            202);
}

TEST(Secrets, ABoxIsCheckedForItsFormAndGoesNotTogetherWithASecret) {
  World world;
  const std::string box = to_base64(std::string(60, 'x'));
  const auto post = [&](const std::string& fields) {
    return world.post("/api/v1/messages", world.key(Role::Producer), R"({"type":"a",)" + fields + "}");
  };
  EXPECT_EQ(post("\"sealed\":\"" + box + "\"").status, 202);
  for (const std::string& wrong :
       {std::string{"no base64"}, to_base64(std::string(49, 'x')), std::string(30'000, 'A')}) {
    const Answer refused = post("\"sealed\":\"" + wrong + "\"");
    EXPECT_EQ(refused.code(), "INVALID_MESSAGE");
    EXPECT_EQ(refused.at("error.field"), "sealed");
  }
  const Answer both = post("\"sealed\":\"" + box + R"(","secret":{"t":"hush"})");
  EXPECT_EQ(both.code(), "INVALID_MESSAGE");
  EXPECT_EQ(both.body.find("hush"), std::string::npos);
  EXPECT_EQ(post(R"("secret":null)").status, 202) << "the same as leaving it out";
}

TEST(Secrets, ProducersGetTheKeyToSealWith) {
  World world;
  const Answer key = world.get("/api/v1/seal-key", world.key(Role::Producer));
  EXPECT_EQ(key.status, 200);
  EXPECT_EQ(key.at("name"), "1a2b3c4d");
  EXPECT_EQ(key.at("public_key"), "cHVibGlj");
  EXPECT_EQ(key.at("algorithm"), "crypto_box_seal");
  EXPECT_EQ(world.get("/api/v1/seal-key", "").status, 401);
}

TEST(Secrets, ABodyThatMayHoldOneIsKnown) {
  EXPECT_TRUE(may_hold_secret(R"({"secret":{}})"));
  EXPECT_TRUE(may_hold_secret(R"({"\u0073ecret":{}})"));
  EXPECT_FALSE(may_hold_secret(R"({"payload":{}})"));
}

}  // namespace
}  // namespace postrider::testing
