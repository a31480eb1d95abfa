// Messages that come by HTTP: refused or prepared, all or nothing.
#include "pipeline/accept.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

constexpr Instant kNow = instant_from_us(1'800'000'000'000'000);

struct Desk {
  Rules rules;
  Prng dice{1};
  Desk() {
    rules.tenants = {{7, "acme", {}}};
    rules.index();
  }
  std::variant<IntakeGroup, RefusedMessage> prepare(std::vector<OutboxRow> rows) {
    return postrider::prepare(std::move(rows), rules, kNow, dice);
  }
};

OutboxRow row(std::string key = "") {
  OutboxRow out;
  out.tenant = "acme";
  out.type = "paid";
  out.idempotency_key = std::move(key);
  return out;
}

TEST(Prepare, EveryMessageGetsItsTenantItsIdAndItsCandidate) {
  Desk desk;
  const auto group = std::get<IntakeGroup>(desk.prepare({row("k"), row()}));
  ASSERT_EQ(group.size(), 2U);
  EXPECT_EQ(group[0].tenant, 7);
  const auto id = parse_uuid(group[0].row.id);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->bytes[6] >> 4, 7) << "a version 7 UUID";
  EXPECT_TRUE(is_checked(*id));
  EXPECT_EQ(group[0].candidate.uuid, *id);
  EXPECT_EQ(group[0].candidate.key, dedup_message(7, "k"));
  EXPECT_EQ(group[0].candidate.body, body_hash(row()));
  EXPECT_FALSE(group[1].candidate.key);
  EXPECT_FALSE(group[0].candidate.repeats_nothing());
  EXPECT_TRUE(group[1].candidate.repeats_nothing());
  EXPECT_NE(group[0].row.id, group[1].row.id);
}

TEST(Prepare, AnIdThatTheCallerChoseIsKept) {
  Desk desk;
  OutboxRow mine = row();
  mine.id = "018F0000-0000-7000-8000-000000000001";
  const auto group = std::get<IntakeGroup>(desk.prepare({mine}));
  EXPECT_EQ(format_uuid(group[0].candidate.uuid), "018f0000-0000-7000-8000-000000000001");
  EXPECT_FALSE(group[0].candidate.repeats_nothing());
  EXPECT_EQ(group[0].candidate.body, body_hash(row()));
}

TEST(Prepare, OneWrongMessageRefusesTheRequestWithItsIndex) {
  Desk desk;
  std::vector<OutboxRow> rows(1'000, row());
  rows[617].payload = "[]";
  const auto refused = std::get<RefusedMessage>(desk.prepare(rows));
  EXPECT_EQ(refused.index, 617U);
  EXPECT_EQ(refused.refusal.reason, Reason::InvalidPayload);
}

TEST(Prepare, AnUnknownTenantAndAPassedExpiryAreRefused) {
  Desk desk;
  OutboxRow foreign = row();
  foreign.tenant = "globex";
  EXPECT_EQ(std::get<RefusedMessage>(desk.prepare({foreign})).refusal.reason, Reason::UnknownTenant);
  OutboxRow late = row();
  late.expires_at = format_instant(kNow);
  const auto refused = std::get<RefusedMessage>(desk.prepare({late}));
  EXPECT_EQ(refused.refusal.reason, Reason::Expired);
  EXPECT_EQ(refused.refusal.field, "expires_at");
  late.expires_at = format_instant(kNow + std::chrono::seconds{1});
  EXPECT_TRUE(std::holds_alternative<IntakeGroup>(desk.prepare({late})));
}

}  // namespace
}  // namespace postrider
