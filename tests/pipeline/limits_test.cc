// How many may be claimed, and what is told about the rest.
#include "pipeline/limits.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

struct Gate {
  Rules rules;
  Instant now = instant_from_us(1'000'000'000);
  QueueGroup group{Lane::Standard, Channel::Email, 1};

  Gate(Limit of_provider, Limit of_tenant) {
    rules.providers = {{.id = 1, .name = "mail", .channel = Channel::Email, .limit = of_provider}};
    rules.tenants = {{.id = 1, .name = "acme", .limit = of_tenant}};
    rules.index();
  }
  int allow(Limits& limits, int wanted) const { return limits.allow(rules.providers.front(), group, wanted, now); }
};

std::string told(const Limits& limits) { return limits.waits().empty() ? "" : limits.waits().front().detail; }

TEST(Limits, WhereThereIsNoneEverythingMayGo) {
  const Gate gate{{}, {}};
  Limits limits{gate.rules, gate.now};
  EXPECT_EQ(gate.allow(limits, 1000), 1000);
  EXPECT_EQ(told(limits), "");
}

TEST(Limits, WhatFitsIntoAllOfThemGoesAndNothingWaits) {
  const Gate gate{{.per_second = 10}, {.per_second = 10, .concurrency = 10}};
  Limits limits{gate.rules, gate.now};
  EXPECT_EQ(gate.allow(limits, 4), 4);
  EXPECT_EQ(told(limits), "");
  EXPECT_EQ(gate.allow(limits, 7), 6);
  EXPECT_NE(told(limits), "");
  limits.count_back(1, 1, 10);
  EXPECT_EQ(gate.allow(limits, 10), 10);
  EXPECT_EQ(told(limits), "") << "what was told before holds no more";
}

TEST(Limits, TheTighterOneIsTold) {
  const Gate by_provider{{.per_second = 3}, {.per_second = 5}};
  Limits first{by_provider.rules, by_provider.now};
  EXPECT_EQ(by_provider.allow(first, 9), 3);
  EXPECT_EQ(told(first), "provider mail: 3 a second");
  const Gate by_tenant{{.per_second = 5}, {.per_second = 3}};
  Limits second{by_tenant.rules, by_tenant.now};
  EXPECT_EQ(by_tenant.allow(second, 9), 3);
  EXPECT_EQ(told(second), "tenant acme: 3 a second");
}

TEST(Limits, ASlowRateIsToldByTheMinuteOrTheHour) {
  const auto told_of = [](double per_second) {
    const Gate gate{{.per_second = per_second, .burst = 1}, {}};
    Limits limits{gate.rules, gate.now};
    EXPECT_EQ(gate.allow(limits, 2), 1);
    return told(limits);
  };
  EXPECT_EQ(told_of(0.5), "provider mail: 30 a minute");
  EXPECT_EQ(told_of(1.0 / 3600), "provider mail: 1 an hour");
}

TEST(Limits, OfATenantsTwoTheOneThatHoldsUpIsTold) {
  const Gate open_calls{{}, {.per_second = 9, .concurrency = 2}};
  Limits first{open_calls.rules, open_calls.now};
  EXPECT_EQ(open_calls.allow(first, 5), 2);
  EXPECT_EQ(told(first), "tenant acme: 2 at a time");
  const Gate rate{{}, {.per_second = 2, .concurrency = 4}};
  Limits second{rate.rules, rate.now};
  EXPECT_EQ(rate.allow(second, 5), 2);
  EXPECT_EQ(told(second), "tenant acme: 2 a second");
  second.let_go(1);
  EXPECT_EQ(rate.allow(second, 5), 0) << "a call that ended gives no rate back";
}

}  // namespace
}  // namespace postrider
