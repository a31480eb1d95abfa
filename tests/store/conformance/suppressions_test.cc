#include <fmt/format.h>

#include <algorithm>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

Suppression of(const World& w, std::string address, Channel channel = Channel::Email) {
  return {.tenant = w.acme,
          .channel = channel,
          .address = std::move(address),
          .cause = SuppressionCause::Unsubscribe,
          .evidence = "clicked the link"};
}
Acted suppress(World& w, const std::vector<Suppression>& wanted) {
  return must(w.a->suppress(w.now, w.by_ada, wanted));
}
std::vector<Suppression> find(World& w, std::vector<SuppressionRef> refs) { return must(w.a->find_suppressions(refs)); }

TEST_P(Suppressions, AnAddressIsKeptWithItsEvidence) {
  EXPECT_FALSE(must(w.a->any_suppression()));
  const Acted acted = suppress(w, {of(w, "Ada@Example.org")});
  EXPECT_EQ(acted.changed, 1U);
  EXPECT_TRUE(acted.groups.empty());
  EXPECT_TRUE(must(w.a->any_suppression()));
  const auto found = find(w, {{w.acme, Channel::Email, "ada@example.org"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].address, "Ada@Example.org") << "as it came";
  EXPECT_EQ(found[0].cause, SuppressionCause::Unsubscribe);
  EXPECT_EQ(found[0].evidence, "clicked the link");
  EXPECT_EQ(found[0].at, w.now);
}

TEST_P(Suppressions, TheFirstEvidenceStays) {
  suppress(w, {of(w, "ada@example.org")});
  const Instant first = w.now;
  w.pass(seconds{1});
  Suppression again = of(w, "ADA@example.org");
  again.cause = SuppressionCause::Complaint;
  again.evidence = "another story";
  EXPECT_EQ(suppress(w, {again, again}).changed, 0U);
  const auto found = find(w, {{w.acme, Channel::Email, "ada@example.org"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence, "clicked the link");
  EXPECT_EQ(found[0].at, first);
}

TEST_P(Suppressions, MailAddressesAreTheSameInAnyCaseAndOthersAreNot) {
  suppress(w, {of(w, "ada@example.org"), of(w, "https://example.org/Hook", Channel::Webhook)});
  EXPECT_EQ(find(w, {{w.acme, Channel::Email, "ADA@EXAMPLE.ORG"}}).size(), 1U);
  EXPECT_TRUE(find(w, {{w.acme, Channel::Webhook, "https://example.org/hook"}}).empty());
  EXPECT_TRUE(find(w, {{w.acme, Channel::Sms, "ada@example.org"}}).empty()) << "another channel";
  EXPECT_TRUE(find(w, {{w.other, Channel::Email, "ada@example.org"}}).empty()) << "another tenant";
  EXPECT_TRUE(find(w, {{w.acme, Channel::Email, std::string{"ada\0", 4}}}).empty());
}

TEST_P(Suppressions, ManyAreFoundAtOnce) {
  std::vector<Suppression> many;
  for (int i = 0; i < 1100; ++i) many.push_back(of(w, fmt::format("c{}@example.org", i)));
  EXPECT_EQ(suppress(w, many).changed, 1100U);
  std::vector<SuppressionRef> refs;
  for (int i = 900; i < 1400; ++i) refs.push_back({w.acme, Channel::Email, fmt::format("C{}@example.org", i)});
  EXPECT_EQ(find(w, refs).size(), 200U);
  EXPECT_TRUE(find(w, {}).empty());
}

TEST_P(Suppressions, PagesFollowEachOtherByTheirCursor) {
  suppress(w, {of(w, "b@example.org"), of(w, "A@example.org"), of(w, "+15551234567", Channel::Sms),
               of(w, "c:d@example.org")});
  Suppression theirs = of(w, "theirs@example.org");
  theirs.tenant = w.other;
  suppress(w, {theirs});
  std::vector<std::string> seen;
  SuppressionFilter filter{.tenant = w.acme, .count_max = 1};
  for (;;) {
    const SuppressionPage page = must(w.a->suppressions(filter));
    ASSERT_EQ(page.items.size(), 1U);
    seen.push_back(page.items[0].address);
    if (page.next.empty()) break;
    filter.after = page.next;
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"A@example.org", "b@example.org", "c:d@example.org", "+15551234567"}));
  filter.after = "nonsense";
  EXPECT_EQ(error_of(w.a->suppressions(filter)), ErrorCode::Invalid);
}

TEST_P(Suppressions, TheyAreFoundByChannelAndAddress) {
  suppress(w, {of(w, "a@example.org"), of(w, "+15551234567", Channel::Sms), of(w, "+15551234567", Channel::WhatsApp)});
  EXPECT_EQ(must(w.a->suppressions({.tenant = w.acme, .channel = Channel::Sms})).items.size(), 1U);
  EXPECT_EQ(must(w.a->suppressions({.tenant = w.acme, .address = "+15551234567"})).items.size(), 2U);
  EXPECT_EQ(must(w.a->suppressions({.tenant = w.acme, .address = "A@example.org"})).items.size(), 1U);
  const SuppressionFilter both{.tenant = w.acme, .channel = Channel::WhatsApp, .address = "+15551234567"};
  EXPECT_EQ(must(w.a->suppressions(both)).items.size(), 1U);
  EXPECT_TRUE(must(w.a->suppressions({.tenant = w.other})).items.empty());
}

TEST_P(Suppressions, WhatWaitsForTheAddressEnds) {
  const Sent queued = w.send_one();
  const Sent scheduled = w.send_one({.placement = {DeliveryState::Retrying, Reason::Scheduled, "", w.now + hours{1}}});
  const Sent elsewhere = w.send_one({.recipient = "bob@example.org"});
  const Sent by_sms = w.send_one({.channel = Channel::Sms});
  const Sent theirs = w.send_one({}, w.row("t", "other"));
  suppress(w, {of(w, "Ada@Example.org")});
  for (const Sent* ended : {&queued, &scheduled}) {
    const DeliveryView view = w.look(*ended);
    EXPECT_EQ(view.state, DeliveryState::Suppressed);
    EXPECT_EQ(view.reason, Reason::SuppressedAddress);
    EXPECT_EQ(view.detail, fmt::format("unsubscribe on {}: clicked the link", format_instant(w.now)));
  }
  for (const Sent* kept : {&elsewhere, &by_sms, &theirs}) EXPECT_EQ(w.look(*kept).state, DeliveryState::Queued);
}

TEST_P(Suppressions, WhatIsBeingSentIsMarkedAndWhatEndedIsLeftAlone) {
  const Sent parked = w.send_one();
  w.park(w.claim_one());
  const Sent retried = w.send_one();
  Completion again = w.completion(w.claim_one(), DeliveryState::Retrying);
  again.verdict.due_at = w.now;
  w.record(again);
  must(w.a->promote(w.now, 10));
  EXPECT_EQ(w.look(retried).state, DeliveryState::Queued);
  const Sent sent = w.send_one({.lane = Lane::Priority});
  w.record(w.completion(w.claim_one({.lane = Lane::Priority}), DeliveryState::Sent));
  const Sent sending = w.send_one({.lane = Lane::Bulk});
  w.claim_one({.lane = Lane::Bulk});
  suppress(w, {of(w, "ada@example.org")});
  EXPECT_EQ(w.look(parked).state, DeliveryState::Parked);
  EXPECT_EQ(w.look(retried).state, DeliveryState::Suppressed) << "it stood behind its own id";
  EXPECT_EQ(w.look(sent).state, DeliveryState::Sent);
  EXPECT_EQ(w.look(sending).state, DeliveryState::Sending);
  EXPECT_EQ(w.look(sending).reason, Reason::SuppressedAddress);
}

TEST_P(Suppressions, AKnownSuppressionStillEndsWhatWaits) {
  suppress(w, {of(w, "ada@example.org")});
  const Sent slipped_through = w.send_one();
  EXPECT_EQ(suppress(w, {of(w, "ada@example.org")}).changed, 0U);
  EXPECT_EQ(w.look(slipped_through).state, DeliveryState::Suppressed);
}

TEST_P(Suppressions, ARetryDoesNotWriteToASuppressedAddress) {
  const Sent parked = w.send_one({.recipient = "Ada@example.org"});
  w.park(w.claim_one());
  const Sent other = w.send_one({.recipient = "bob@example.org"});
  w.park(w.claim_one());
  suppress(w, {of(w, "ada@Example.org")});
  EXPECT_EQ(w.look(parked).state, DeliveryState::Parked) << "for a person to decide";
  const std::vector<RowId> both{parked.deliveries[0], other.deliveries[0]};
  w.pass(seconds{1});
  EXPECT_EQ(must(w.a->retry(w.now, w.by_ada, both)).changed, 2U);
  const DeliveryView view = w.look(parked);
  EXPECT_EQ(view.state, DeliveryState::Suppressed);
  EXPECT_EQ(view.reason, Reason::SuppressedAddress);
  EXPECT_NE(view.detail.find("clicked the link"), std::string::npos) << view.detail;
  EXPECT_EQ(view.since, w.now);
  EXPECT_EQ(w.look(other).state, DeliveryState::Queued);
  const auto audit = w.database->audit();
  ASSERT_EQ(audit.size(), 3U);
  EXPECT_EQ(audit[1].action, "retry");
}

TEST_P(Suppressions, TheyCanBeTakenOff) {
  suppress(w, {of(w, "Ada@example.org")});
  const std::vector<SuppressionRef> refs{{w.acme, Channel::Email, "ada@Example.org"},
                                         {w.acme, Channel::Email, "nobody@example.org"}};
  OperatorAction theirs = w.by_ada;
  theirs.tenant = w.other;
  EXPECT_EQ(error_of(w.a->unsuppress(w.now, theirs, refs)), ErrorCode::Invalid);
  EXPECT_EQ(must(w.a->unsuppress(w.now, w.by_ada, refs)), 1U);
  EXPECT_FALSE(must(w.a->any_suppression()));
  EXPECT_EQ(must(w.a->unsuppress(w.now, w.by_ada, refs)), 0U);
}

TEST_P(Suppressions, EveryChangeLeavesAnAuditRow) {
  const Sent sent = w.send_one();
  suppress(w, {of(w, "ada@example.org"), of(w, "bob@example.org")});
  const std::vector<SuppressionRef> refs{{w.acme, Channel::Email, "ada@example.org"}};
  must(w.a->unsuppress(w.now, w.by_ada, refs));
  const auto audit = w.database->audit();
  ASSERT_EQ(audit.size(), 4U);
  EXPECT_EQ(std::count_if(audit.begin(), audit.end(), [](const AuditLine& l) { return l.action == "suppress"; }), 3);
  EXPECT_EQ(
      std::count_if(audit.begin(), audit.end(), [&](const AuditLine& l) { return l.delivery == sent.deliveries[0]; }),
      1);
  EXPECT_EQ(audit[3].action, "unsuppress");
  EXPECT_EQ(audit[3].actor, "ada");
}

POSTRIDER_FOR_EVERY_STORE(Suppressions);

}  // namespace
}  // namespace postrider::conformance
