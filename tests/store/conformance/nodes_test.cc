#include <set>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

TEST_P(Membership, NoTwoLivingNodesShareASlotAndNoNumberComesTwice) {
  const Node b = w.join("b");
  const Node c = w.join("c");
  EXPECT_EQ((std::set{w.a.slot, b.slot, c.slot}).size(), 3U);
  EXPECT_EQ((std::set{w.a.id, b.id, c.id}).size(), 3U);
  must(w.a->remove(c.id));
  const Node d = w.join("c");
  EXPECT_NE(d.id, c.id);
  EXPECT_NE(d.slot, w.a.slot);
  EXPECT_NE(d.slot, b.slot);
}

// Found by the simulator: a node that had been taken for dead woke up and made the same id as the one that had its slot
// by then; a message that was acknowledged ended as the duplicate of itself.
TEST_P(Membership, ASlotIsNotGivenAgainWhileItsLastOwnerMayWakeUp) {
  std::set<int> seen{w.a.slot};
  for (int i = 0; i < 20; ++i) {
    const Node next = w.join("next");
    EXPECT_TRUE(seen.insert(next.slot).second) << next.slot;
    must(w.a->remove(next.id));
  }
}

TEST_P(Membership, ABeatShowsAllNodesAndMovesItsOwn) {
  const Node b = w.join("b");
  auto peers = must(w.a->beat(w.now, w.a.id));
  ASSERT_EQ(peers.size(), 2U);
  EXPECT_EQ(peers[0].node, w.a.id);
  EXPECT_EQ(peers[0].beats, 1);
  EXPECT_EQ(peers[1].node, b.id);
  EXPECT_EQ(peers[1].beats, 0);
  must(b->beat(w.now, b.id));
  peers = must(w.a->beat(w.now, w.a.id));
  EXPECT_EQ(peers[0].beats, 2);
  EXPECT_EQ(peers[1].beats, 1);
}

TEST_P(Membership, ANodeThatWasDeclaredDeadLearnsItAtItsNextBeat) {
  const Node b = w.join("b");
  must(w.a->remove(b.id));
  EXPECT_EQ(error_of(b->beat(w.now, b.id)), ErrorCode::Conflict);
  must(w.a->remove(b.id));
}

TEST_P(Membership, ADutyIsKeptByOneUntilItRunsOut) {
  const Node b = w.join("b");
  const Duration ttl = std::chrono::seconds{6};
  EXPECT_EQ(must(w.a->lead(w.now, w.a.id, "purge", ttl)), 1);
  EXPECT_EQ(must(b->lead(w.now, b.id, "purge", ttl)), std::nullopt);
  EXPECT_EQ(must(b->lead(w.now, b.id, "reap", ttl)), 1);
  w.pass(std::chrono::seconds{5});
  EXPECT_EQ(must(w.a->lead(w.now, w.a.id, "purge", ttl)), 1);
  w.pass(std::chrono::seconds{5});
  EXPECT_EQ(must(b->lead(w.now, b.id, "purge", ttl)), std::nullopt);
  w.pass(std::chrono::seconds{1});
  EXPECT_EQ(must(b->lead(w.now, b.id, "purge", ttl)), 2);
  EXPECT_EQ(must(w.a->lead(w.now, w.a.id, "purge", ttl)), std::nullopt);
}

TEST_P(Membership, ADutyTakenUpAgainAfterItRanOutIsANewEpoch) {
  const Duration ttl = std::chrono::seconds{6};
  EXPECT_EQ(must(w.a->lead(w.now, w.a.id, "purge", ttl)), 1);
  w.pass(std::chrono::seconds{6});
  EXPECT_EQ(must(w.a->lead(w.now, w.a.id, "purge", ttl)), 2);
}

TEST_P(Membership, TheDutyOfADeadNodeIsFreeAtOnce) {
  const Node b = w.join("b");
  must(b->lead(w.now, b.id, "purge", std::chrono::hours{1}));
  must(w.a->remove(b.id));
  EXPECT_EQ(must(w.a->lead(w.now, w.a.id, "purge", std::chrono::seconds{6})), 2);
}

TEST_P(Membership, NamesKeepTheirNumbersForEver) {
  EXPECT_EQ(w.acme, 1);
  EXPECT_EQ(w.other, 2);
  EXPECT_EQ(must(w.a->tenants(std::vector<std::string>{"other", "third", "acme", "third"})),
            (std::vector<TenantId>{2, 3, 1, 3}));
  EXPECT_EQ(must(w.a->providers(std::vector<std::string>{"sandbox", "sms", "mail"})),
            (std::vector<ProviderId>{2, 3, 1}));
  w.a.session.reset();
  w.database->reopen();
  w.a = w.join("again");
  EXPECT_EQ(must(w.a->tenants(std::vector<std::string>{"third"})), (std::vector<TenantId>{3}));
  EXPECT_TRUE(must(w.a->tenants(std::vector<std::string>{})).empty());
}

TEST_P(Membership, TheDatabaseKnowsWhatTimeItIs) { EXPECT_TRUE(w.a->database_now().has_value()); }

TEST_P(Membership, AMigratedStoreIsOfThisVersionAndMigratingAgainDoesNothing) {
  w.send_one();
  must(w.database->store().migrate());
  const auto version = must(w.database->store().schema_version());
  EXPECT_EQ(version.found, version.wanted);
  EXPECT_GT(version.wanted, 0);
  EXPECT_EQ(must(w.a->stats({})).queued, 1U);
}

TEST_P(Keys, AKeyIsKeptRevokedAndNeverLost) {
  const ApiKey made =
      must(w.a->add_key(w.now, {.name = "shop", .hash = "aa", .tenant = w.acme, .role = Role::Producer}));
  EXPECT_NE(made.id, 0);
  EXPECT_EQ(made.created_at, w.now);
  must(w.a->add_key(w.now, {.name = "ops", .hash = "bb", .role = Role::Ops}));
  w.pass(std::chrono::seconds{1});
  must(w.a->revoke_key(w.now, made.id));
  w.pass(std::chrono::seconds{1});
  must(w.a->revoke_key(w.now, made.id));
  const auto keys = must(w.a->keys());
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].name, "shop");
  EXPECT_EQ(keys[0].hash, "aa");
  EXPECT_EQ(keys[0].tenant, w.acme);
  EXPECT_EQ(keys[0].role, Role::Producer);
  EXPECT_EQ(keys[0].revoked_at, w.now - std::chrono::seconds{1});
  EXPECT_EQ(keys[1].tenant, std::nullopt);
  EXPECT_EQ(keys[1].role, Role::Ops);
  EXPECT_FALSE(keys[1].revoked_at.has_value());
}

TEST_P(Keys, TheSameKeyTwiceIsRefused) {
  must(w.a->add_key(w.now, {.name = "shop", .hash = "aa"}));
  EXPECT_EQ(error_of(w.a->add_key(w.now, {.name = "other", .hash = "aa"})), ErrorCode::Conflict);
  EXPECT_EQ(must(w.a->keys()).size(), 1U);
}

TEST_P(Keys, AnUnknownKeyCannotBeRevoked) { EXPECT_EQ(error_of(w.a->revoke_key(w.now, 4711)), ErrorCode::NotFound); }

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Membership);
POSTRIDER_FOR_EVERY_STORE(Keys);
}  // namespace postrider::conformance
