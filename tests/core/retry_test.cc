// Delays, presets and which policy is chosen.
#include "core/retry.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/prng.h"
#include "core/rules.h"

namespace postrider {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::vector<Duration> delays(const Policy& policy) {  // after each call but the last
  std::vector<Duration> out;
  for (int attempt = 1; attempt < policy.attempts_max; ++attempt) out.push_back(retry_delay(policy, attempt, 0));
  return out;
}

TEST(RetryDelay, TheBookingPresetWaitsOneTwoFourEightMinutesOverFiveCalls) {
  const Policy policy = *preset_policy("booking");
  EXPECT_EQ(policy.attempts_max, 5);
  EXPECT_EQ(delays(policy), (std::vector<Duration>{minutes{1}, minutes{2}, minutes{4}, minutes{8}}));
  EXPECT_EQ(retry_delay(policy, 5, 0), minutes{16});
  EXPECT_EQ(retry_delay(policy, 6, 0), minutes{16});
}

struct ChannelPreset {
  std::string_view name;
  int calls;
  Duration base, cap, jitter, timeout;
};

TEST(RetryDelay, TheChannelPresetsCarryTheirPublishedNumbers) {
  for (const ChannelPreset& wanted :
       {ChannelPreset{"sms", 4, seconds{3}, seconds{120}, seconds{1}, seconds{20}},
        ChannelPreset{"email", 6, seconds{5}, seconds{600}, seconds{1}, seconds{30}},
        ChannelPreset{"push", 3, seconds{2}, seconds{300}, milliseconds{500}, seconds{15}}}) {
    const Policy policy = *preset_policy(wanted.name);
    EXPECT_EQ(policy.attempts_max, wanted.calls) << wanted.name;
    EXPECT_EQ(policy.timeout, wanted.timeout) << wanted.name;
    for (int n = 0; n < 12; ++n) {
      const Duration plain = std::min<Duration>(wanted.base * (1 << n), wanted.cap);
      EXPECT_EQ(retry_delay(policy, n + 1, 0), plain) << wanted.name << " " << n;
      const auto most = static_cast<std::uint64_t>(wanted.jitter.count()) - 1;
      EXPECT_EQ(retry_delay(policy, n + 1, most), plain + wanted.jitter - Duration{1}) << wanted.name << " " << n;
    }
  }
}

TEST(RetryDelay, TheLadderHasFiveStepsAndStaysOnItsLast) {
  Policy policy = *preset_policy("ladder");
  const std::vector<Duration> steps{seconds{30}, minutes{2}, minutes{10}, minutes{30}, hours{2}};
  EXPECT_EQ(policy.attempts_max, 5);
  EXPECT_EQ(delays(policy), (std::vector<Duration>(steps.begin(), steps.begin() + 4)));
  policy.attempts_max = 6;
  EXPECT_EQ(delays(policy), steps) << "six calls use all five delays";
  EXPECT_EQ(retry_delay(policy, 50, 0), hours{2});
}

TEST(RetryDelay, FixedIsTheSameEveryTime) {
  const Policy policy = *preset_policy("fixed");
  for (int attempt = 1; attempt <= 100; ++attempt) EXPECT_EQ(retry_delay(policy, attempt, 0), policy.base);
}

TEST(RetryDelay, TheLanePresetsAreThreeTimesFifteenAndSixTimesThirtySeconds) {
  EXPECT_EQ(preset_policy("lane-priority")->attempts_max, 3);
  EXPECT_EQ(preset_policy("lane-priority")->timeout, seconds{15});
  for (const std::string_view lane : {"lane-standard", "lane-bulk"}) {
    EXPECT_EQ(preset_policy(lane)->attempts_max, 6) << lane;
    EXPECT_EQ(preset_policy(lane)->timeout, seconds{30}) << lane;
  }
}

TEST(RetryDelay, StaysWithinCapPlusJitterForAnyAttemptAndDraw) {
  Prng dice{1};
  for (const std::string_view name : preset_policy_names()) {
    Policy policy = *preset_policy(name);
    const Duration longest = policy.kind == PolicyKind::Ladder  ? policy.ladder.back()
                             : policy.kind == PolicyKind::Fixed ? policy.base
                                                                : policy.cap;
    for (int round = 0; round < 200; ++round) {
      const int attempt = 1 + static_cast<int>(dice.below(2'000'000'000));
      const Duration wait = retry_delay(policy, attempt, dice.next());
      EXPECT_GE(wait, Duration{0});
      EXPECT_LE(wait, longest + policy.jitter) << name << " " << attempt;
    }
  }
}

TEST(RetryDelay, AnEmptyLadderFallsBackToItsBase) {
  EXPECT_EQ(retry_delay({.kind = PolicyKind::Ladder, .base = seconds{9}}, 3, 0), seconds{9});
}

TEST(Presets, AnUnknownNameIsNone) { EXPECT_FALSE(preset_policy("hourly")); }

// --- choosing

PolicyRule rule(std::string origin, std::optional<Channel> channel, std::string type, std::optional<Lane> lane,
                int attempts_max) {
  return {std::move(origin), channel, std::move(type), lane, {.attempts_max = attempts_max}};
}
const PolicyQuery kQuery{"auth", Channel::Sms, "otp", Lane::Priority};

TEST(ChoosePolicy, WithoutARuleTheLanesPresetHolds) {
  EXPECT_EQ(choose_policy({}, kQuery).attempts_max, 3);
  EXPECT_EQ(choose_policy({}, {"auth", Channel::Sms, "otp", Lane::Standard}).attempts_max, 6);
  EXPECT_EQ(choose_policy({}, {"auth", Channel::Sms, "otp", Lane::Bulk}).attempts_max, 6);
}

TEST(ChoosePolicy, ARuleThatDiffersInAnyFieldDoesNotMatch) {
  const std::vector<PolicyRule> others{rule("orders", {}, "", {}, 11), rule("", Channel::Email, "", {}, 12),
                                       rule("", {}, "receipt", {}, 13), rule("", {}, "", Lane::Bulk, 14),
                                       rule("auth", Channel::Email, "otp", {}, 15)};
  EXPECT_EQ(choose_policy(others, kQuery).attempts_max, 3);
}

// All sixteen sets of fields at once, in both orders: the one with more fields wins, and among equals the order is
// origin, channel, type, lane.
TEST(ChoosePolicy, TheMostSpecificOfAllRulesWinsWhateverTheirOrder) {
  const auto bits_of = [](int set) {
    return std::array{(set & 8) != 0, (set & 4) != 0, (set & 2) != 0, (set & 1) != 0};
  };
  const auto rank = [&](int set) {
    const auto bits = bits_of(set);
    return std::pair{bits[0] + bits[1] + bits[2] + bits[3], set};
  };
  for (int present = 1; present < (1 << 16); present += 7) {  // a seventh of all families of rules
    std::vector<PolicyRule> rules;
    int best = -1;
    for (int set = 0; set < 16; ++set) {
      if ((present >> set & 1) == 0) continue;
      const auto bits = bits_of(set);
      rules.push_back(rule(bits[0] ? "auth" : "", bits[1] ? std::optional{Channel::Sms} : std::nullopt,
                           bits[2] ? "otp" : "", bits[3] ? std::optional{Lane::Priority} : std::nullopt, 100 + set));
      if (best < 0 || rank(set) > rank(best)) best = set;
    }
    ASSERT_EQ(choose_policy(rules, kQuery).attempts_max, 100 + best) << present;
    std::reverse(rules.begin(), rules.end());
    ASSERT_EQ(choose_policy(rules, kQuery).attempts_max, 100 + best) << present;
  }
}

TEST(ChoosePolicy, AProvidersOwnPolicyGoesBeforeEveryRule) {
  Rules rules;
  rules.policies = {rule("auth", Channel::Sms, "otp", Lane::Priority, 9)};
  Delivery delivery;
  delivery.origin = "auth";
  delivery.channel = Channel::Sms;
  delivery.type = "otp";
  delivery.lane = Lane::Priority;
  const ProviderRule plain{.id = 1};
  ProviderRule stubborn{.id = 2};
  stubborn.own_policy = Policy{.attempts_max = 77};
  EXPECT_EQ(rules.policy_for(delivery, &plain).attempts_max, 9);
  EXPECT_EQ(rules.policy_for(delivery, &stubborn).attempts_max, 77);
  EXPECT_EQ(rules.policy_for(delivery, nullptr).attempts_max, 9);
}

}  // namespace
}  // namespace postrider
