#include "pipeline/outbox_row.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

TEST(Cancelling, WhatIsWantedNoMoreIsCancelledAndWhatCannotBeReadSaysSo) {
  Rules rules;
  rules.tenants = {{.id = 3, .name = "acme"}};
  rules.index();
  IdSource ids{1};
  const Instant now = instant_from_us(1'800'000'000'000'000);
  OutboxRow good;
  good.tenant = "acme";
  good.type = "paid";
  OutboxRow bad = good;
  bad.payload = "{";
  const std::vector<OutboxRow> rows{good, bad};
  const auto decided = cancelling(rules, ids, now, 7, "the guest called")(rows);
  ASSERT_EQ(decided.size(), 2U);
  EXPECT_EQ(decided[0].state, MessageState::Cancelled);
  EXPECT_EQ(decided[0].reason, Reason::CancelledWithEntity);
  EXPECT_EQ(decided[0].detail, "the guest called");
  EXPECT_EQ(decided[0].message.tenant, 3);
  EXPECT_TRUE(decided[0].deliveries.empty());
  EXPECT_EQ(decided[1].state, MessageState::Failed);
  EXPECT_EQ(decided[1].reason, Reason::InvalidPayload);
  EXPECT_NE(decided[0].message.id, decided[1].message.id);
}

}  // namespace
}  // namespace postrider
