// Somebody does not want it, while a node has it in its hands: the call may be under way, but there is no other after
// it.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

enum class Way : std::uint8_t { Suppression, OptOut };
constexpr Way kWays[] = {Way::Suppression, Way::OptOut};

class UnwantedWhileSending : public Conformance {
 protected:
  // Of each way its own person, so that one way does not end what the other is to end.
  static std::string who(Way way) { return way == Way::Suppression ? "sue" : "otto"; }
  static Plan to(Way way, Plan plan = {}) {
    plan.recipient = who(way) + "@example.org";
    plan.contact = who(way);
    plan.category = "news";
    return plan;
  }
  static Reason reason(Way way) { return way == Way::Suppression ? Reason::SuppressedAddress : Reason::OptedOut; }

  void say_no(Way way, const Node& node) {
    if (way == Way::Suppression) {
      const std::vector<Suppression> wanted{
          {.tenant = w.acme, .address = who(way) + "@example.org", .evidence = "link"}};
      must(node->suppress(w.now, w.by_ada, wanted));
    } else {
      Contact contact;
      contact.tenant = w.acme;
      contact.key = who(way);
      contact.preferences = {{Channel::Email, "news", false, "link", w.now}};
      const std::vector<Contact> wanted{contact};
      must(node->save_contacts(w.now, w.by_ada, wanted, {}));
    }
    said_at_ = w.now;
  }
  void say_no(Way way) { say_no(way, w.a); }

  void expect_marked(const Sent& sent, Way way) {
    const DeliveryView view = w.look(sent);
    EXPECT_EQ(view.state, DeliveryState::Sending);
    EXPECT_EQ(view.reason, reason(way));
    EXPECT_EQ(view.detail, words(way));
  }
  void expect_ended(const Sent& sent, Way way) {
    const DeliveryView view = w.look(sent);
    EXPECT_EQ(view.state, DeliveryState::Suppressed) << who(way);
    EXPECT_EQ(view.reason, reason(way));
    EXPECT_EQ(view.detail, words(way));
    EXPECT_EQ(view.since, w.now);
    w.pass(std::chrono::hours{24});
    must(w.a->promote(w.now, 10));
    EXPECT_TRUE(w.claim(10).empty()) << "nothing is left that could be called";
  }
  [[nodiscard]] std::string words(Way way) const {
    return way == Way::Suppression ? fmt::format("operator on {}: link", format_instant(said_at_))
                                   : "contact \"otto\" opted out of email for news (link)";
  }

  Claim claim_by(const Node& node) {
    ClaimRequest request = w.request(1);
    request.node = node.id;
    return must(node->claim(w.now, request)).at(0);
  }

 private:
  Instant said_at_ = {};
};

TEST_P(UnwantedWhileSending, MarksItAndLeavesItWithItsNode) {
  for (const Way way : kWays) {
    const Sent sent = w.send_one(to(way));
    const Claim claim = w.claim_one();
    say_no(way);
    expect_marked(sent, way);
    const auto audit = w.database->audit();
    const auto noted = std::find_if(audit.begin(), audit.end(),
                                    [&](const AuditLine& line) { return line.delivery == sent.deliveries[0]; });
    ASSERT_NE(noted, audit.end());
    EXPECT_EQ(noted->action, way == Way::Suppression ? "suppress" : "opt_out");
    EXPECT_EQ(noted->actor, "ada");
    EXPECT_EQ(w.record(w.completion(claim, DeliveryState::Sent)), Recorded::Applied) << "the lease is still the node's";
  }
}

TEST_P(UnwantedWhileSending, MakesItsRetryTheEnd) {
  for (const Way way : kWays) {
    const Sent sent = w.send_one(to(way));
    const Claim claim = w.claim_one();
    say_no(way);
    w.pass(std::chrono::seconds{1});
    EXPECT_EQ(w.record(w.completion(claim, DeliveryState::Retrying)), Recorded::Applied);
    EXPECT_EQ(w.look(sent).tries.size(), 1U) << "the call is on record all the same";
    EXPECT_EQ(w.look(sent).attempts, 1);
    expect_ended(sent, way);
  }
}

TEST_P(UnwantedWhileSending, ChangesNothingAboutACallThatWasAccepted) {
  for (const Way way : kWays) {
    for (const DeliveryState end : {DeliveryState::Sent, DeliveryState::Delivered}) {
      const Sent sent = w.send_one(to(way));
      const Claim claim = w.claim_one();
      say_no(way);
      EXPECT_EQ(w.record(w.completion(claim, end)), Recorded::Applied);
      EXPECT_EQ(w.look(sent).state, end);
      EXPECT_NE(w.look(sent).reason, reason(way));
      // A wish that stood before ends nothing: the next round has to say it anew.
      if (way == Way::OptOut) must(w.a->remove_contacts(w.now, w.by_ada, std::vector{ContactRef{w.acme, who(way)}}));
    }
  }
}

TEST_P(UnwantedWhileSending, HoldsForWhatIsParkedWhenItIsRetried) {
  for (const Way way : kWays) {
    const Sent sent = w.send_one(to(way));
    const Sent other = w.send_one();
    w.park(w.claim_one());
    w.park(w.claim_one());
    say_no(way);
    EXPECT_EQ(w.look(sent).state, DeliveryState::Parked) << "that is for an operator to decide";
    w.pass(std::chrono::seconds{1});
    const std::vector<RowId> both{sent.deliveries[0], other.deliveries[0]};
    EXPECT_EQ(must(w.a->retry(w.now, w.by_ada, both)).changed, 2U);
    EXPECT_EQ(w.look(other).state, DeliveryState::Queued);
    w.record(w.completion(w.claim_one(), DeliveryState::Sent));
    EXPECT_EQ(w.look(other).state, DeliveryState::Sent);
    EXPECT_EQ(w.look(sent).tries.size(), 1U);
    const auto audit = w.database->audit();
    const auto noted = std::find_if(audit.begin(), audit.end(), [&](const AuditLine& line) {
      return line.delivery == sent.deliveries[0] && line.action == "retry";
    });
    EXPECT_NE(noted, audit.end());
    expect_ended(sent, way);
  }
}

TEST_P(UnwantedWhileSending, LeavesExemptCategoriesToARetry) {
  const Sent sent = w.send_one(to(Way::OptOut));
  w.park(w.claim_one());
  Contact contact{.tenant = w.acme, .key = who(Way::OptOut)};
  contact.preferences = {{Channel::Email, "", false, "link", w.now}};
  const std::vector<Contact> wanted{contact};
  must(w.a->save_contacts(w.now, w.by_ada, wanted, {}));
  OperatorAction action = w.by_ada;
  action.exempt = {{w.acme, {"news"}}};
  EXPECT_EQ(must(w.a->retry(w.now, action, sent.deliveries)).changed, 1U);
  EXPECT_EQ(w.look(sent).state, DeliveryState::Queued);
}

TEST_P(UnwantedWhileSending, EndsWhatIsGivenBackUnsent) {
  for (const Way way : kWays) {
    const Sent unwanted = w.send_one(to(way));
    const Sent other = w.send_one();
    const auto claims = w.claim(2);
    ASSERT_EQ(claims.size(), 2U);
    say_no(way);
    const Lease leases[] = {claims[0].lease, claims[1].lease};
    must(w.a->give_back(w.now, leases));
    EXPECT_EQ(w.look(other).state, DeliveryState::Queued);
    EXPECT_EQ(w.look(unwanted).attempts, 0) << "there was no call";
    w.record(w.completion(w.claim_one(), DeliveryState::Sent));
    expect_ended(unwanted, way);
  }
}

TEST_P(UnwantedWhileSending, OutlivesTheNode) {
  for (const Way way : kWays) {
    const Sent sent = w.send_one(to(way));
    const Node lost = w.join("lost" + who(way));
    const Claim claim = claim_by(lost);
    say_no(way);
    must(w.a->remove(lost.id));
    const auto taken = must(w.a->take_over(w.now, w.a.id, 10));
    ASSERT_EQ(taken.size(), 1U);
    expect_marked(sent, way);
    Completion unclear = w.completion(taken[0], DeliveryState::Retrying);
    unclear.attempt_fence = claim.lease.fence;
    unclear.attempt = w.attempt(OutcomeKind::Unclear, Reason::NodeLost);
    EXPECT_EQ(w.record(unclear), Recorded::Applied);
    EXPECT_EQ(w.look(sent).tries.at(0).outcome, OutcomeKind::Unclear);
    EXPECT_EQ(w.record(w.completion(claim, DeliveryState::Sent)), Recorded::Stale);
    EXPECT_EQ(w.look(sent).tries.size(), 2U) << "the late answer is on record";
    expect_ended(sent, way);
  }
}

// It may have been sent, and somebody has to look at that: saying that it was not wanted would hide it.
TEST_P(UnwantedWhileSending, LeavesParkedWhatIsNotTriedAgainAnyway) {
  for (const Way way : kWays) {
    const Sent sent = w.send_one(to(way, {.guarantee = Guarantee::AtMostOnce}));
    const Node lost = w.join("lost" + who(way));
    ClaimRequest request = w.request(1, {}, ClaimWhat::AtMostOnceOnly);
    request.node = lost.id;
    const Claim claim = must(lost->claim(w.now, request)).at(0);
    say_no(way);
    must(w.a->remove(lost.id));
    Completion unclear = w.completion(must(w.a->take_over(w.now, w.a.id, 10)).at(0), DeliveryState::Parked);
    unclear.verdict.reason = Reason::UnclearNotRepeated;
    unclear.attempt_fence = claim.lease.fence;
    unclear.attempt = w.attempt(OutcomeKind::Unclear, Reason::NodeLost);
    EXPECT_EQ(w.record(unclear), Recorded::Applied);
    EXPECT_EQ(w.look(sent).state, DeliveryState::Parked);
    EXPECT_EQ(w.look(sent).reason, Reason::UnclearNotRepeated);
  }
}

// At most once does not mean that what certainly did not leave is not tried again.
TEST_P(UnwantedWhileSending, EndsAtMostOnceToo) {
  for (const Way way : kWays) {
    const Sent sent = w.send_one(to(way, {.guarantee = Guarantee::AtMostOnce}));
    const Claim claim = w.claim(1, {}, ClaimWhat::AtMostOnceOnly).at(0);
    say_no(way);
    Completion refused = w.completion(claim, DeliveryState::Retrying);
    refused.attempt = w.attempt(OutcomeKind::NotSent, Reason::ConnectFailed);
    EXPECT_EQ(w.record(refused), Recorded::Applied);
    expect_ended(sent, way);
  }
}

TEST_P(UnwantedWhileSending, FindsWhatWasPromotedBefore) {
  for (const Way way : kWays) {
    const Sent sent = w.send_one(to(way));
    Completion again = w.completion(w.claim_one(), DeliveryState::Retrying);
    again.verdict.due_at = w.now;
    w.record(again);
    must(w.a->promote(w.now, 10));
    const Claim claim = w.claim_one();
    say_no(way);
    expect_marked(sent, way);
    w.record(w.completion(claim, DeliveryState::Retrying));
    expect_ended(sent, way);
  }
}

TEST_P(UnwantedWhileSending, LeavesWhatTheWishDoesNotMean) {
  const Sent other_category = w.send_one({.contact = "otto", .category = "billing"});
  const Sent other_person = w.send_one();
  const auto claims = w.claim(2);
  for (const Way way : kWays) say_no(way);
  for (const Claim& claim : claims) w.record(w.completion(claim, DeliveryState::Retrying));
  EXPECT_EQ(w.look(other_category).state, DeliveryState::Retrying);
  EXPECT_EQ(w.look(other_person).state, DeliveryState::Retrying);
}

// The state follows the reason of the mark, and the first mark stays.
TEST_P(UnwantedWhileSending, TheFirstNoIsTheOneThatIsTold) {
  for (const Way way : kWays) {
    const Sent first_cancelled = w.send_one(to(way));
    const Sent first_unwanted = w.send_one(to(way));
    const auto claims = w.claim(2);
    EXPECT_EQ(must(w.a->cancel(w.now, w.by_ada, first_cancelled.deliveries)).marked, 1U);
    say_no(way);
    EXPECT_EQ(must(w.a->cancel(w.now, w.by_ada, first_unwanted.deliveries)).changed, 0U) << "it was called off before";
    for (const Claim& claim : claims) w.record(w.completion(claim, DeliveryState::Retrying));
    EXPECT_EQ(w.look(first_cancelled).state, DeliveryState::Cancelled);
    EXPECT_EQ(w.look(first_cancelled).reason, Reason::CancelledByOperator);
    EXPECT_EQ(w.look(first_cancelled).detail, "because");
    EXPECT_EQ(w.look(first_unwanted).state, DeliveryState::Suppressed);
    EXPECT_EQ(w.look(first_unwanted).reason, reason(way));
  }
}

TEST_P(UnwantedWhileSending, ErasesTheSecretWithTheLastDelivery) {
  for (const Way way : kWays) {
    OutboxRow row = w.row();
    row.sealed = "c2VhbGVk";
    const Sent sent = w.send_one(to(way, {.deliveries = 2}), row);
    const auto claims = w.claim(2);
    say_no(way);
    w.record(w.completion(claims.at(0), DeliveryState::Retrying));
    EXPECT_EQ(w.look(sent.uuid).message.sealed, "c2VhbGVk");
    const Lease rest[] = {claims.at(1).lease};
    must(w.a->give_back(w.now, rest));
    EXPECT_EQ(w.look(sent.uuid).message.sealed, "");
  }
}

TEST_P(UnwantedWhileSending, ThoseInOneBatchEndEachInItsOwnWay) {
  const Sent suppressed = w.send_one(to(Way::Suppression));
  const Sent opted_out = w.send_one(to(Way::OptOut));
  const Sent cancelled = w.send_one();
  const Sent untouched = w.send_one();
  const auto claims = w.claim(4);
  for (const Way way : kWays) say_no(way);
  must(w.a->cancel(w.now, w.by_ada, cancelled.deliveries));
  std::vector<Completion> ends;
  for (const Claim& claim : claims) ends.push_back(w.completion(claim, DeliveryState::Retrying));
  for (const Recorded each : must(w.a->record(w.now, ends))) EXPECT_EQ(each, Recorded::Applied);
  EXPECT_EQ(w.look(suppressed).state, DeliveryState::Suppressed);
  EXPECT_EQ(w.look(suppressed).reason, Reason::SuppressedAddress);
  EXPECT_EQ(w.look(opted_out).state, DeliveryState::Suppressed);
  EXPECT_EQ(w.look(opted_out).reason, Reason::OptedOut);
  EXPECT_EQ(w.look(cancelled).state, DeliveryState::Cancelled);
  EXPECT_EQ(w.look(untouched).state, DeliveryState::Retrying);
}

// All at one address, ended by one transaction, while the node that holds them records them in an order of its own.
TEST_P(UnwantedWhileSending, RacesWithTheRecordAndNeverLoses) {
  constexpr int kRows = 40;
  for (int round = 0; round < 6; ++round) {
    const Way way = kWays[round % 2];
    const std::vector<Sent> sent = w.send(kRows, to(way));
    const auto claims = w.claim(kRows);
    ASSERT_EQ(claims.size(), static_cast<std::size_t>(kRows));
    const Node desk = w.join("desk" + std::to_string(round));
    std::vector<Completion> ends;
    for (const Claim& claim : claims) ends.push_back(w.completion(claim, DeliveryState::Retrying));
    std::reverse(ends.begin(), ends.end());
    std::thread recording{[&] {
      for (std::size_t i = 0; i < ends.size(); i += 5) must(w.a->record(w.now, std::span{ends}.subspan(i, 5)));
    }};
    say_no(way, desk);
    recording.join();
    for (const Sent& each : sent) EXPECT_EQ(w.look(each).state, DeliveryState::Suppressed) << "round " << round;
    if (way == Way::OptOut) must(w.a->remove_contacts(w.now, w.by_ada, std::vector{ContactRef{w.acme, who(way)}}));
  }
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(UnwantedWhileSending);
}  // namespace postrider::conformance
