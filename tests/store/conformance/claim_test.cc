#include <set>

#include "base/limits.h"
#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

TEST_P(Claiming, AClaimTakesTheOldestUpToTheQuota) {
  const auto sent = w.send(5);
  const auto claims = w.claim(3);
  ASSERT_EQ(claims.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(claims[i].lease.id, sent[i].deliveries[0]);
  EXPECT_EQ(w.claim(10).size(), 2U);
  EXPECT_TRUE(w.claim(10).empty());
}

TEST_P(Claiming, AClaimWritesFenceAttemptProviderAndTimeBeforeItReturns) {
  const Sent sent = w.send_one();
  const Claim claim = w.claim_one();
  EXPECT_EQ(claim.lease.fence, 1);
  EXPECT_EQ(claim.lease.attempt, 1);
  EXPECT_EQ(claim.lease.provider, w.mail);
  EXPECT_EQ(claim.lease.claimed_at, w.now);
  EXPECT_EQ(claim.lease.tenant, w.acme);
  EXPECT_EQ(claim.lease.lane, Lane::Standard);
  EXPECT_EQ(claim.lease.channel, Channel::Email);
  const DeliveryView view = w.look(sent);
  EXPECT_EQ(view.state, DeliveryState::Sending);
  EXPECT_EQ(view.attempts, 1);
  EXPECT_EQ(view.provider, "mail");
  EXPECT_EQ(view.since, w.now);
}

TEST_P(Claiming, AClaimCarriesTheWholeDelivery) {
  const Plan plan{.lane = Lane::Priority,
                  .guarantee = Guarantee::Reconcile,
                  .key = "e1:t:email:welcome",
                  .expires_at = w.now + std::chrono::hours{1}};
  const Sent sent = w.send_one(plan);
  const Delivery d = w.claim_one(plan).delivery;
  EXPECT_EQ(d.id, sent.deliveries[0]);
  EXPECT_EQ(d.message, sent.id);
  EXPECT_EQ(d.message_uuid, sent.uuid);
  EXPECT_EQ(d.tenant, w.acme);
  EXPECT_EQ(d.guarantee, Guarantee::Reconcile);
  EXPECT_EQ(d.lane, Lane::Priority);
  EXPECT_EQ(d.type, "booking.made");
  EXPECT_EQ(d.origin, "shop");
  EXPECT_EQ(d.traceparent, "00-1");
  EXPECT_EQ(d.recipient, "ada@example.org");
  EXPECT_EQ(d.key, plan.key);
  EXPECT_EQ(d.template_key, "welcome");
  EXPECT_EQ(d.template_version, 3);
  EXPECT_EQ(d.subject, "Hello");
  EXPECT_EQ(d.body, "Dear Ada");
  EXPECT_EQ(d.html, "<p>Dear Ada</p>");
  EXPECT_EQ(d.warnings, "no value for x");
  EXPECT_EQ(d.expires_at, plan.expires_at);
}

TEST_P(Claiming, LanesAndChannelsAreQueuesOfTheirOwn) {
  w.send_one({.channel = Channel::Sms, .lane = Lane::Bulk});
  EXPECT_TRUE(w.claim(10).empty());
  EXPECT_TRUE(w.claim(10, {.channel = Channel::Sms}).empty());
  EXPECT_EQ(w.claim(10, {.channel = Channel::Sms, .lane = Lane::Bulk}).size(), 1U);
}

TEST_P(Claiming, EachTenantGetsItsOwnQuotaAndProvider) {
  w.send(4);
  w.send(4, {}, w.row("t", "other"));
  ClaimRequest request = w.request(0);
  request.shares = {{w.acme, 1, w.mail}, {w.other, 3, w.sandbox}, {99, 5, w.mail}};
  const auto claims = must(w.a->claim(w.now, request));
  ASSERT_EQ(claims.size(), 4U);
  EXPECT_EQ(claims[0].lease.tenant, w.acme);
  EXPECT_EQ(claims[0].lease.provider, w.mail);
  EXPECT_EQ(claims[1].lease.tenant, w.other);
  EXPECT_EQ(claims[3].lease.provider, w.sandbox);
}

TEST_P(Claiming, NoRowIsClaimedByTwoSessions) {
  w.send(6);
  const Node b = w.join("b");
  std::set<RowId> seen;
  for (int i = 0; i < 3; ++i) {
    for (const Claim& c : w.claim(1)) EXPECT_TRUE(seen.insert(c.lease.id).second);
    ClaimRequest request = w.request(1);
    request.node = b.id;
    for (const Claim& c : must(b->claim(w.now, request))) EXPECT_TRUE(seen.insert(c.lease.id).second);
  }
  EXPECT_EQ(seen.size(), 6U);
}

TEST_P(Claiming, AtMostOnceRowsAreClaimedApart) {
  const Sent once = w.send_one({.guarantee = Guarantee::AtMostOnce});
  const Sent often = w.send_one();
  const Sent reconcile = w.send_one({.guarantee = Guarantee::Reconcile});
  const auto prefetched = w.claim(10);
  ASSERT_EQ(prefetched.size(), 2U);
  EXPECT_EQ(prefetched[0].lease.id, often.deliveries[0]);
  EXPECT_EQ(prefetched[1].lease.id, reconcile.deliveries[0]);
  const auto direct = w.claim(10, {}, ClaimWhat::AtMostOnceOnly);
  ASSERT_EQ(direct.size(), 1U);
  EXPECT_EQ(direct[0].lease.id, once.deliveries[0]);
}

TEST_P(Claiming, ARowWithAllItsCallsBehindItIsNotClaimed) {
  const Sent sent = w.send_one();
  for (int call = 1; call <= kCallsPerDeliveryMax; ++call) {
    const Claim claim = w.claim_one();
    ASSERT_EQ(claim.lease.attempt, call);
    ASSERT_EQ(claim.lease.fence, call);
    Completion again = w.completion(claim, DeliveryState::Retrying);
    again.verdict.due_at = w.now;
    w.record(again);
    must(w.a->promote(w.now, 10));
    w.pass(std::chrono::milliseconds{1});
  }
  EXPECT_TRUE(w.claim(10).empty());
  EXPECT_EQ(w.look(sent).state, DeliveryState::Queued);
}

TEST_P(Claiming, ExpandWorkIsNotClaimedAsADelivery) {
  w.send_one({.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true});
  ClaimRequest request = w.request(5);
  request.channel = Channel::Expand;
  EXPECT_EQ(error_of(w.a->claim(w.now, request)), ErrorCode::Invalid);
}

TEST_P(Claiming, HeadsNameEveryGroupThatHasRowsHeldOrNot) {
  EXPECT_TRUE(must(w.a->heads(Look::Everywhere)).empty());
  const Instant early = w.now;
  w.send(3);
  w.send(2, {.channel = Channel::Sms, .lane = Lane::Priority}, w.row("t", "other"));
  w.pass(std::chrono::minutes{5});
  w.send(2);
  w.send_one({.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true});
  w.claim(10);
  const auto heads = must(w.a->heads(Look::Everywhere));
  ASSERT_EQ(heads.size(), 3U);
  EXPECT_EQ(heads[0].group, (QueueGroup{Lane::Priority, Channel::Sms, w.other}));
  EXPECT_EQ(heads[1].group, (QueueGroup{Lane::Standard, Channel::Expand, w.acme}));
  EXPECT_EQ(heads[2].group, (QueueGroup{Lane::Standard, Channel::Email, w.acme}));
  EXPECT_EQ(heads[2].oldest, std::chrono::floor<std::chrono::milliseconds>(early));
}

TEST_P(Claiming, ALookBehindTheLastClaimsFindsWhatCameSince) {
  EXPECT_TRUE(must(w.a->heads(Look::BehindClaims)).empty()) << "nothing was queued yet";
  const auto names_mail = [&] {
    const auto heads = must(w.a->heads(Look::BehindClaims));
    return std::any_of(heads.begin(), heads.end(), [&](const QueueHead& head) {
      return head.group == QueueGroup{Lane::Standard, Channel::Email, w.acme};
    });
  };
  w.send(3);
  EXPECT_EQ(w.claim(2).size(), 2U);
  EXPECT_TRUE(names_mail()) << "one was left";
  EXPECT_EQ(w.claim(2).size(), 1U);
  w.pass(std::chrono::seconds{3});
  w.send(1);
  EXPECT_TRUE(names_mail());
  EXPECT_EQ(w.claim(2).size(), 1U);
}

TEST_P(Claiming, AReleasedRowIsWaitingAgainAndHasUsedNoAttempt) {
  const auto sent = w.send(2);
  const auto claims = w.claim(2);
  const Lease leases[] = {claims[0].lease};
  must(w.a->give_back(w.now, leases));
  const DeliveryView view = w.look(sent[0]);
  EXPECT_EQ(view.state, DeliveryState::Queued);
  EXPECT_EQ(view.attempts, 0);
  const Claim again = w.claim_one();
  EXPECT_EQ(again.lease.id, sent[0].deliveries[0]);
  EXPECT_EQ(again.lease.attempt, 1);
  EXPECT_EQ(again.lease.fence, 2);
}

TEST_P(Claiming, AStaleReleaseIsIgnored) {
  const Sent sent = w.send_one();
  const Claim first = w.claim_one();
  const Lease leases[] = {first.lease};
  must(w.a->give_back(w.now, leases));
  const Claim second = w.claim_one();
  must(w.a->give_back(w.now, leases));
  EXPECT_EQ(w.look(sent).state, DeliveryState::Sending);
  EXPECT_EQ(w.record(w.completion(second, DeliveryState::Sent)), Recorded::Applied);
  must(w.a->give_back(w.now, leases));
  EXPECT_EQ(w.look(sent).state, DeliveryState::Sent);
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Claiming);
}  // namespace postrider::conformance
