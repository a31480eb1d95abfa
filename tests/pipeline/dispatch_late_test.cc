// What happens between the claim and the call: texts that are written late, quiet hours, rates and limits of open
// calls.
#include <gtest/gtest.h>

#include "pipeline/world.h"

namespace postrider {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct Utc final : Zones {
  [[nodiscard]] bool knows(std::string_view zone) const override { return zone == "UTC"; }
  [[nodiscard]] std::optional<Duration> offset_at(Instant, std::string_view) const override { return Duration{}; }
  [[nodiscard]] std::optional<Instant> moment_of(std::int64_t local_us, std::string_view) const override {
    return instant_from_us(local_us);
  }
};

std::vector<RowId> claimed(World& world, std::vector<RowId> ids) {
  world.say_work();
  world.store_answers_claims();
  return ids;
}
RowId late_row(World& world) {
  const RowId id = world.queue(1).front();
  world.delivery(id).rendering = Rendering::Late;
  return id;
}
LateText text(const char* body) { return {.content = {.subject = "s", .body = body}, .template_version = 3}; }

TEST(DispatchLate, TheTextIsAskedForBeforeTheCallAndKeptWithTheOutcome) {
  World world;
  const RowId id = late_row(world);
  claimed(world, {id});
  EXPECT_TRUE(world.calling().empty()) << "there is no text yet";
  ASSERT_EQ(world.prepares.size(), 1U);
  EXPECT_FALSE(world.dispatcher.idle());
  world.text_comes(id, text("hello"));
  ASSERT_EQ(world.calling(), std::vector{id});
  world.provider_answers(id, "accepted");
  world.store_answers_records();
  ASSERT_TRUE(world.row(id).rendered);
  EXPECT_EQ(world.row(id).rendered->body, "hello");
  EXPECT_EQ(world.row(id).rendered->template_version, 3);
  EXPECT_TRUE(world.dispatcher.idle());
  EXPECT_EQ(world.used(), 0);
}

TEST(DispatchLate, AProviderThatAsksForTheMessagesKeyGetsItBeforeTheCall) {
  World world;
  world.adapter.asks_for_message_key = true;
  const RowId id = world.queue(1).front();
  claimed(world, {id});
  EXPECT_TRUE(world.calling().empty());
  ASSERT_EQ(world.prepares.size(), 1U);
  world.text_comes(id, text("hello"));
  EXPECT_EQ(world.calling(), std::vector{id});
  EXPECT_TRUE(world.prepares.empty()) << "asked once";
}

TEST(DispatchLate, ManyTextsAreOneQuestion) {
  World world{{.window = 64, .connections = 4}};
  std::vector<RowId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(late_row(world));
  claimed(world, ids);
  EXPECT_EQ(world.prepares.size(), 20U);
  EXPECT_EQ(world.prepares_asked, 1);
  for (const RowId id : ids) {
    if (!world.prepares.empty() && world.prepares.front().delivery == id) world.text_comes(id, text("x"));
  }
  EXPECT_LE(world.calling().size(), 4U);
}

TEST(DispatchLate, ATextWithASecretIsNotKeptAndTheAnswerIsBlackened) {
  World world;
  const RowId id = late_row(world);
  claimed(world, {id});
  LateText secret = text("your code is hush-1234");
  secret.secrets = {"accepted"};  // the scripted provider says "said accepted"
  secret.may_be_kept = false;
  world.text_comes(id, std::move(secret));
  world.provider_answers(id, "accepted");
  world.store_answers_records();
  EXPECT_FALSE(world.row(id).rendered);
  EXPECT_EQ(world.row(id).attempt_end->excerpt, "said ***");
}

// Keeps the beginning of an answer, as adapters do.
struct Quoting final : Provider {
  [[nodiscard]] CapabilityCard card() const override { return {}; }
  [[nodiscard]] Request compose(const Delivery&, std::string_view, Instant) const override { return LocalRequest{}; }
  [[nodiscard]] Outcome interpret(const Reply& reply, Instant) const override {
    const auto* http = std::get_if<HttpReply>(&reply);
    const std::string said = http != nullptr ? http->body : std::get<MailReply>(reply).text;
    const bool understood = said.find("hush-1234") != std::string::npos;
    return {.kind = understood ? OutcomeKind::Permanent : OutcomeKind::Unmapped,
            .reason = Reason::RequestRefused,
            .provider_message_id = said.substr(0, 15),
            .detail = said.substr(0, 20)};
  }
};

TEST(DispatchLate, ASecretThatTheExcerptCutsInTwoLeavesNoHalf) {
  const std::string said = "refused: code hush-1234 is too short";
  for (const Reply& reply : {Reply{HttpReply{400, {}, said}}, Reply{MailReply{MailStep::Body, 550, said}}}) {
    const Outcome outcome = interpret_discreetly(Quoting{}, reply, {}, {"hush-1234"});
    EXPECT_EQ(outcome.detail, "refused: code *** is");
    EXPECT_EQ(outcome.provider_message_id, "refused: code *");
    EXPECT_EQ(outcome.kind, OutcomeKind::Permanent) << "what it means is read from the answer as it came";
    EXPECT_EQ(interpret_discreetly(Quoting{}, reply, {}, {}).detail, "refused: code hush-1") << "there is no secret";
  }
}

TEST(DispatchLate, WhatIsNotToBeSentEndsWithoutACallOrAnAttempt) {
  World world;
  const RowId id = late_row(world);
  claimed(world, {id});
  world.text_comes(id, NotToBeSent{DeliveryState::Cancelled, Reason::CancelledByCondition, "status is Cancelled"});
  world.store_answers_records();
  EXPECT_EQ(world.row(id).verdict->state, DeliveryState::Cancelled);
  EXPECT_EQ(world.row(id).verdict->reason, Reason::CancelledByCondition);
  EXPECT_EQ(world.row(id).detail, "status is Cancelled");
  EXPECT_EQ(world.row(id).attempt, 0);
  EXPECT_FALSE(world.row(id).attempt_end);
  EXPECT_EQ(world.row(id).calls, 0);
  EXPECT_TRUE(world.dispatcher.idle());
}

TEST(DispatchLate, WhatCannotBeWrittenNowWaitsAndUsesNoAttempt) {
  World world;
  const RowId id = late_row(world);
  claimed(world, {id});
  world.text_comes(id, NotNow{Reason::ContextFailed, "no connection"});
  world.store_answers_records();
  EXPECT_EQ(world.row(id).verdict->state, DeliveryState::Retrying);
  EXPECT_EQ(world.row(id).verdict->reason, Reason::ContextFailed);
  EXPECT_EQ(world.row(id).verdict->due_at, world.now + minutes{1});
  EXPECT_EQ(world.row(id).attempt, 0);
  EXPECT_EQ(world.used(), 0);
}

TEST(DispatchLate, ATextThatComesWhenTheEngineStopsIsGivenBack) {
  World world;
  const RowId id = late_row(world);
  claimed(world, {id});
  world.stop();
  EXPECT_FALSE(world.dispatcher.idle()) << "the answer is still to come";
  world.text_comes(id, text("hello"));
  EXPECT_TRUE(world.calling().empty());
  world.store_answers_releases();
  EXPECT_EQ(world.row(id).state, RowState::Waiting);
  EXPECT_TRUE(world.dispatcher.idle());
}

TEST(DispatchLate, AnAtMostOnceRowWhoseTextIsBeingWrittenTakesAConnection) {
  World world{{.window = 16, .connections = 2, .guarantee = Guarantee::AtMostOnce}};
  const auto ids = world.queue(6, Lane::Priority, 1, 1, Guarantee::AtMostOnce);
  for (const RowId id : ids) world.delivery(id).rendering = Rendering::Late;
  world.say_work(Lane::Priority);
  for (int i = 0; i < 4; ++i) {
    world.store_answers_claims();
    world.look_at_heads();
  }
  EXPECT_EQ(world.prepares.size(), 2U) << "a crash must leave few of them unclear";
}

TEST(DispatchLate, QuietHoursAreLookedAtBeforeEachCall) {
  const Utc utc;
  World world{{.zones = &utc}};
  world.now = parse_instant("2027-03-01T23:30:00Z").value();
  world.beat();
  const RowId id = world.queue(1).front();
  world.delivery(id).quiet = "22:00-08:00 UTC";
  claimed(world, {id});
  EXPECT_TRUE(world.calling().empty());
  world.store_answers_records();
  EXPECT_EQ(world.row(id).verdict->state, DeliveryState::Retrying);
  EXPECT_EQ(world.row(id).verdict->reason, Reason::QuietHours);
  EXPECT_EQ(world.row(id).verdict->due_at, parse_instant("2027-03-02T08:00:00Z").value());
  EXPECT_EQ(world.row(id).attempt, 0);

  const RowId soon = world.queue(1).front();
  world.delivery(soon).quiet = "22:00-08:00 UTC";
  world.delivery(soon).expires_at = world.now + hours{2};
  claimed(world, {soon});
  world.store_answers_records();
  EXPECT_EQ(world.row(soon).verdict->state, DeliveryState::Expired) << "it would expire before they end";

  world.now = parse_instant("2027-03-02T08:00:00Z").value();
  world.beat();
  const RowId now = world.queue(1).front();
  world.delivery(now).quiet = "22:00-08:00 UTC";
  claimed(world, {now});
  EXPECT_EQ(world.calling(), std::vector{now});
}

TEST(DispatchLate, QuietHoursThatCannotBeReadHoldUpNothing) {
  const Utc zones;
  World world{{.zones = &zones}};
  const RowId garbled = world.queue(1).front();
  world.delivery(garbled).quiet = "at night";
  claimed(world, {garbled});
  EXPECT_EQ(world.calling(), std::vector{garbled});
  World clockless;
  const RowId id = clockless.queue(1).front();
  clockless.delivery(id).quiet = "00:00-23:59 UTC";
  claimed(clockless, {id});
  EXPECT_EQ(clockless.calling(), std::vector{id}) << "nobody here knows what time it is there";
}

TEST(DispatchLate, WhatExpiresAfterTheQuietHoursWaitsForTheirEnd) {
  const Utc zones;
  World world{{.zones = &zones}};
  world.now = parse_instant("2027-03-01T23:00:00Z").value();
  world.beat();
  const RowId id = world.queue(1).front();
  world.delivery(id).quiet = "22:00-08:00 UTC";
  world.delivery(id).expires_at = world.now + hours{20};
  claimed(world, {id});
  world.store_answers_records();
  EXPECT_EQ(world.row(id).verdict->reason, Reason::QuietHours);
}

TEST(DispatchLate, ATextThatComesAfterItsExpiryIsNotSent) {
  World world;
  const RowId id = late_row(world);
  world.delivery(id).expires_at = world.now + seconds{2};
  claimed(world, {id});
  world.pass(seconds{2});
  world.beat();
  world.text_comes(id, text("too late"));
  EXPECT_TRUE(world.calling().empty());
  world.store_answers_records();
  EXPECT_EQ(world.row(id).verdict->state, DeliveryState::Expired);
  EXPECT_FALSE(world.row(id).rendered) << "what was not sent is not kept as sent";
}

// Lets everything be answered at once for so long and counts the calls.
int calls_within(World& world, Duration time) {
  const auto before = world.dispatcher.counts().calls;
  for (Duration passed = {}; passed < time; passed += milliseconds{50}) {
    world.pass(milliseconds{50});
    world.beat();
    world.look_at_heads();
    world.store_answers_claims();
    world.provider_answers_all("accepted");
    world.store_answers_records();
  }
  return static_cast<int>(world.dispatcher.counts().calls - before);
}

TEST(Limits, AProvidersRateMakesWorkWaitAndSaysSo) {
  World world{{.window = 64, .provider_limit = {.per_second = 10, .burst = 5}}};
  world.queue(200);
  world.say_work();
  world.store_answers_claims();
  EXPECT_EQ(world.calling().size(), 5U) << "the burst, and no more";
  const int calls = calls_within(world, seconds{10});
  EXPECT_GE(calls, 95);
  EXPECT_LE(calls, 105);
  world.look_at_heads();
  ASSERT_EQ(world.dispatcher.waits().size(), 1U);
  EXPECT_EQ(world.dispatcher.waits()[0].reason, Reason::LimitedByRate);
  EXPECT_EQ(world.dispatcher.waits()[0].detail, "provider provider-1: 10 a second");
  EXPECT_EQ(world.dispatcher.waits()[0].group, (QueueGroup{Lane::Standard, kChannels[0], 1}));
}

TEST(Limits, TheNodesShareARate) {
  World world{{.window = 64, .provider_limit = {.per_second = 10, .burst = 1}}};
  world.queue(200);
  world.beat(2);
  const auto before = world.dispatcher.counts().calls;
  for (int i = 0; i < 200; ++i) {
    world.pass(milliseconds{50});
    world.beat(2);
    world.look_at_heads();
    world.store_answers_claims();
    world.provider_answers_all("accepted");
    world.store_answers_records();
  }
  const auto calls = world.dispatcher.counts().calls - before;
  EXPECT_GE(calls, 47U);
  EXPECT_LE(calls, 53U);
}

TEST(Limits, ATenantsRateHoldsUpNobodyElse) {
  World world{{.window = 64, .tenants = 2, .tenant_limit = {.per_second = 2, .burst = 1}}};
  world.queue(100, Lane::Standard, 1);
  const auto others = world.queue(100, Lane::Standard, 2);
  (void)calls_within(world, seconds{10});
  int mine = 0;
  for (const auto& [id, row] : world.rows) mine += row.delivery.tenant == 1 ? row.calls : 0;
  EXPECT_GE(mine, 19);
  EXPECT_LE(mine, 22);
  for (const RowId id : others) EXPECT_EQ(world.row(id).calls, 1) << "row " << id;
  ASSERT_EQ(world.dispatcher.waits().size(), 1U);
  EXPECT_EQ(world.dispatcher.waits()[0].detail, "tenant tenant-1: 2 a second");
}

TEST(Limits, ATenantHasSoManyOpenCallsAndNoMore) {
  World world{{.window = 64, .connections = 16, .tenants = 2, .tenant_limit = {.concurrency = 3}}};
  world.queue(20, Lane::Standard, 1);
  world.queue(5, Lane::Standard, 2);
  world.look_at_heads();
  for (int i = 0; i < 4; ++i) {
    world.store_answers_claims();
    world.look_at_heads();
  }
  EXPECT_EQ(world.calling().size(), 8U) << "three of the one, five of the other";
  ASSERT_EQ(world.dispatcher.waits().size(), 1U);
  EXPECT_EQ(world.dispatcher.waits()[0].reason, Reason::LimitedByConcurrency);
  EXPECT_EQ(world.dispatcher.waits()[0].detail, "tenant tenant-1: 3 at a time");
  world.drain();
  EXPECT_TRUE(world.dispatcher.waits().empty()) << "nothing waits any more";
}

TEST(Limits, WhatAClaimDidNotFindIsNotCounted) {
  World world{{.tenant_limit = {.per_second = 1, .burst = 4, .concurrency = 4}}};
  world.say_work();
  world.store_answers_claims();  // finds nothing
  const auto ids = world.queue(4);
  world.say_work();
  world.store_answers_claims();
  EXPECT_EQ(world.calling().size(), 4U);
}

TEST(TokenBucket, GathersUpToItsBurstAndGivesAtItsRate) {
  const Instant start = instant_from_us(1'000'000);
  TokenBucket bucket{{.per_second = 10, .burst = 20}, start};
  EXPECT_EQ(bucket.allows(100, start, 1), 20);
  bucket.take(20);
  EXPECT_EQ(bucket.allows(100, start, 1), 0);
  EXPECT_EQ(bucket.allows(100, start + milliseconds{500}, 1), 5);
  EXPECT_EQ(bucket.allows(3, start + milliseconds{500}, 1), 3);
  EXPECT_EQ(bucket.allows(100, start + hours{1}, 1), 20) << "no more than its burst gathers";
  EXPECT_EQ(bucket.allows(100, start + hours{1}, 4), 5) << "a quarter, when four share it";
  TokenBucket slow{{.per_second = 0.01}, start};
  EXPECT_EQ(slow.allows(5, start, 1), 1) << "one at least, or nothing would ever go";
  TokenBucket none;
  EXPECT_EQ(none.allows(7, start, 1), 7);
}

}  // namespace
}  // namespace postrider
