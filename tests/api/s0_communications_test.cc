// The portal's panel of one booking, and its list of the outbox, in its own words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "api/world.h"
#include "base/text.h"

namespace postrider::testing {
namespace {

const Verdict kSaidSent{.state = DeliveryState::Sent, .reason = Reason::AcceptedByProvider};
const Verdict kSaidParked{.state = DeliveryState::Parked, .reason = Reason::RetriesUsedUp};

class Portal : public ::testing::Test {
 protected:
  std::string told(std::string_view more = "", std::string_view key = "") {
    return world.accepted(fmt::format(R"({{"type":"booking.confirmed","entity_id":"12345","correlation_id":"c-1",)"
                                      R"("payload":{{"email":"ada@example.org","name":"Ada","guestId":678}}{}}})",
                                      more),
                          key);
  }
  void sent() { world.call_ends(OutcomeKind::Accepted, Reason::AcceptedByProvider, kSaidSent); }
  Answer get(std::string_view path, Role role = Role::Operator) { return world.get(path, world.key(role)); }
  Answer logs(Role role = Role::Operator) { return get("/api/communication-logs?bookingId=12345", role); }
  Answer schedules(Role role = Role::Operator) { return get("/api/automation-schedules?bookingId=12345", role); }
  std::string next(const Answer& answer) {
    const std::string link = answer.header("Link");
    const std::size_t end = link.find(">; rel=\"next\"");
    return end == std::string::npos ? "" : link.substr(1, end - 1);
  }
  /// The first column of every page, in order.
  std::vector<std::string> walk(std::string path, const std::string& column) {
    std::vector<std::string> seen;
    while (!path.empty() && seen.size() < 100) {
      const Answer page = get(path);
      EXPECT_EQ(page.status, 200) << page.body;
      for (int i = 0; page.at(std::to_string(i)) != "<none>"; ++i)
        seen.push_back(page.at(fmt::format("{}.{}", i, column)));
      path = next(page);
    }
    return seen;
  }
  World world;
};

TEST_F(Portal, ALogHasEveryFieldOfWhatWasSent) {
  const std::string id = told();
  world.expand();
  world.clock.advance(std::chrono::seconds{3});
  sent();
  const Answer answer = logs();
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::vector<std::pair<std::string, std::string>> fields{
      {"messageId", id},
      {"tenantId", "acme"},
      {"bookingId", "12345"},
      {"guestId", "678"},
      {"channel", "Email"},
      {"eventType", "booking.confirmed"},
      {"toAddress", mask_address("ada@example.org")},
      {"templateId", "null"},
      {"templateKey", "booking"},
      {"templateVersion", "1"},
      {"correlationId", "c-1"},
      {"idempotencyKey", "12345:booking.confirmed:email:booking"},
      {"provider", "sandbox-mail"},
      {"providerMessageId", "there-1"},
      {"status", "Sent"},
      {"sentAtUtc", format_instant(world.clock.now())},
      {"attemptCount", "1"},
      {"lastError", "null"}};
  for (const auto& [name, value] : fields) EXPECT_EQ(answer.at("0." + name), value) << name;
  EXPECT_EQ(answer.at("0.id"), world.get("/api/v1/notifications/" + id, world.key(Role::Viewer)).at("deliveries.0.id"));
  EXPECT_NE(answer.at("0.createdAtUtc"), answer.at("0.sentAtUtc"));
  EXPECT_EQ(answer.at("1"), "<none>");
  EXPECT_TRUE(answer.header("Link").empty());
}

TEST_F(Portal, AStoredTemplateIsNamedByItsNumber) {
  const Answer made = world.post("/api/message-templates", world.key(Role::Admin),
                                 R"({"eventType":"booking.confirmed","channel":"Email","subject":"S","body":"x"})");
  told();
  world.expand();
  EXPECT_EQ(logs().at("0.templateId"), made.at("id"));
  EXPECT_EQ(logs().at("0.idempotencyKey"), "12345:booking.confirmed:email:" + made.at("id"));
}

TEST_F(Portal, ALogShowsNobodyAWholeAddress) {
  told();
  world.expand();
  for (const Role role : {Role::Viewer, Role::Operator, Role::Admin}) {
    EXPECT_EQ(logs(role).at("0.toAddress"), mask_address("ada@example.org"));
  }
}

TEST_F(Portal, ALogShowsNobodyAWholeAddressInAKeyEither) {
  world.rules.routes.front().recipients.front().shape = RecipientShape::Array;
  world.rules.index();
  told();
  world.expand();
  const std::string key = logs(Role::Admin).at("0.idempotencyKey");
  EXPECT_EQ(key, "12345:booking.confirmed:email:booking:" + mask_address("ada@example.org"));
}

TEST_F(Portal, ViewersSeeNoWholeAddress) {
  told();
  world.expand();
  world.call_ends(OutcomeKind::Permanent, Reason::InvalidRecipient, kSaidParked, "550 no such user ada@example.org");
  for (const Answer& answer : {logs(Role::Viewer), schedules(Role::Viewer)}) {
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body.find("ada@example.org"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(logs(Role::Viewer).at("0.toAddress"), mask_address("ada@example.org"));
}

TEST_F(Portal, EveryStateHasTheWordsOfThePortal) {
  const auto words = [&] { return logs().at("0.status") + " " + schedules().at("0.status"); };
  told();
  EXPECT_EQ(logs().body, "[]") << "nothing was made of it yet";
  EXPECT_EQ(schedules().at("0.status"), "Pending");
  EXPECT_EQ(schedules().at("0.id"), "null");
  world.expand();
  EXPECT_EQ(words(), "Pending Pending");
  EXPECT_EQ(schedules().at("0.completedAtUtc"), "null");

  const Instant due = world.clock.now() + std::chrono::minutes{5};
  world.call_ends(OutcomeKind::Transient, Reason::ServerBusy,
                  {.state = DeliveryState::Retrying, .reason = Reason::ServerBusy, .due_at = due}, "try later");
  EXPECT_EQ(words(), "Pending Pending");
  EXPECT_EQ(schedules().at("0.dueAtUtc"), format_instant(due));
  EXPECT_EQ(schedules().at("0.attemptCount"), "1");
  EXPECT_EQ(logs().at("0.lastError"), "the provider is temporarily unavailable: try later");

  world.clock.advance(std::chrono::minutes{6});
  world.promote();
  world.call_ends(OutcomeKind::Permanent, Reason::RequestRefused, kSaidParked);
  EXPECT_EQ(words(), "Failed Failed");
  EXPECT_EQ(logs().at("0.lastError"), "all attempts failed");
  EXPECT_EQ(schedules().at("0.completedAtUtc"), format_instant(world.clock.now()));

  const std::string id = logs().at("0.messageId");
  const std::string path = "/api/v1/notifications/" + id;
  EXPECT_EQ(world.post(path + "/discard", world.key(Role::Operator), "").status, 200);
  EXPECT_EQ(words(), "Failed Cancelled");

  told(R"(,"version":"2")");
  world.expand();
  sent();
  EXPECT_EQ(words(), "Sent Completed");
  told(R"(,"version":"3","due_at":"2099-01-01T00:00:00Z")");
  world.expand();
  EXPECT_EQ(schedules().at("0.dueAtUtc"), "2099-01-01T00:00:00.000Z");
  world.post("/api/v1/entities/12345/cancel", world.key(Role::Operator), R"({"reason":"no longer coming"})");
  EXPECT_EQ(words(), "Failed Cancelled");
  EXPECT_EQ(logs().at("0.lastError"), "everything that waited about its entity was cancelled: no longer coming");
}

TEST_F(Portal, AMessageThatBecameNothingIsAFailedOrACompletedSchedule) {
  world.accepted(
      R"({"type":"note","entity_id":"12345","channel":"email","recipient":"a@example.org","template":"none"})");
  world.expand();
  EXPECT_EQ(schedules().at("0.status"), "Failed");
  EXPECT_EQ(schedules().at("0.lastError"), "Template not found: template \"none\" for email");
  EXPECT_EQ(schedules().at("0.channel"), "null");
  EXPECT_EQ(logs().body, "[]");
  told();
  told();  // the same fact: nothing new is made
  world.expand();
  EXPECT_EQ(schedules().at("0.status"), "Pending");
  EXPECT_EQ(schedules().at("1.status"), "Completed") << "the repeat";
}

TEST_F(Portal, PagesAreLinkedWithoutGapsOrRepeats) {
  for (int i = 0; i < 5; ++i) {
    told(fmt::format(R"(,"version":"{}")", i));
    world.clock.advance(std::chrono::seconds{1});
    world.expand();
  }
  for (const std::string view : {"communication-logs", "automation-schedules"}) {
    const auto seen = walk(fmt::format("/api/{}?bookingId=12345&limit=2", view), "id");
    EXPECT_EQ(seen.size(), 5U) << view;
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 5U) << view;
    EXPECT_TRUE(std::is_sorted(seen.rbegin(), seen.rend())) << "newest first";
  }
  EXPECT_TRUE(next(get("/api/communication-logs?bookingId=12345&limit=5")).empty());
}

TEST_F(Portal, RowsOfTheOutboxStandBeforeTheRestAlsoWhereThePageIsFull) {
  told(R"(,"version":"1")");
  world.expand();
  told(R"(,"version":"2")");
  told(R"(,"version":"3")");
  const auto seen = walk("/api/automation-schedules?bookingId=12345&limit=2", "status");
  EXPECT_EQ(seen.size(), 3U);
}

TEST_F(Portal, OtherTenantsSeeNothingAndWhatIsWrongIsRefused) {
  told();
  world.expand();
  for (const std::string path : {"/api/communication-logs", "/api/automation-schedules"}) {
    EXPECT_EQ(world.get(path + "?bookingId=12345", world.foreign_key(Role::Operator)).body, "[]");
    EXPECT_EQ(get(path + "?bookingId=99").body, "[]");
    EXPECT_EQ(get(path).at("error.field"), "bookingId");
    EXPECT_EQ(get(path + "?bookingId=").at("error.field"), "bookingId");
    EXPECT_EQ(get(path + "?bookingId=1&limit=0").at("error.field"), "limit");
    EXPECT_EQ(get(path + "?bookingId=1&limit=201").at("error.field"), "limit");
    EXPECT_EQ(get(path + "?bookingId=1&cursor=x").at("error.field"), "cursor");
    EXPECT_EQ(get(path + "?bookingId=1&state=x").code(), "INVALID_PARAMETER");
    EXPECT_EQ(get(path + "?bookingId=1&tenant=globex").code(), "TENANT_FORBIDDEN");
    EXPECT_EQ(get(path + "?bookingId=1", Role::Producer).code(), "FORBIDDEN");
    EXPECT_NE(get(path + "?bookingId=12345", Role::Ops).body, "[]");
    EXPECT_EQ(get(path + "?bookingId=12345&tenant=globex", Role::Ops).body, "[]");
  }
}

TEST_F(Portal, TheOutboxListsEachMessageOnceWithItsStatus) {
  const std::string published = told(R"(,"topic":"booking.events","schema_version":"1")");
  world.clock.advance(std::chrono::seconds{10});
  world.expand();
  const std::string ignored = world.accepted(R"({"type":"nobody.knows","entity_id":"7","payload":{"a":1}})");
  world.expand();
  const std::string pending = told(R"(,"version":"2")");
  const Answer all = get("/ops/outbox?status=&from=&to=&tenantId=");
  ASSERT_EQ(all.status, 200) << all.body;
  EXPECT_EQ(all.at("0.id"), pending);
  EXPECT_EQ(all.at("0.status"), "Pending");
  EXPECT_EQ(all.at("1.id"), ignored);
  EXPECT_EQ(all.at("1.status"), "Failed");
  EXPECT_TRUE(all.at("1.lastError").starts_with("no route and no template knows this type")) << all.body;
  EXPECT_EQ(all.at("1.publishedAtUtc"), "null");
  const std::vector<std::pair<std::string, std::string>> fields{{"id", published},
                                                                {"tenantId", "acme"},
                                                                {"topic", "booking.events"},
                                                                {"eventType", "booking.confirmed"},
                                                                {"entityId", "12345"},
                                                                {"schemaVersion", "1"},
                                                                {"correlationId", "c-1"},
                                                                {"payloadJson.guestId", "678"},
                                                                {"status", "Published"},
                                                                {"nextAttemptUtc", "null"},
                                                                {"attemptCount", "0"},
                                                                {"lastError", "null"},
                                                                {"publishedAtUtc", format_instant(world.clock.now())}};
  for (const auto& [name, value] : fields) EXPECT_EQ(all.at("2." + name), value) << name;
  EXPECT_NE(all.at("2.createdAtUtc"), all.at("2.publishedAtUtc"));
  EXPECT_EQ(all.at("3"), "<none>");
}

TEST_F(Portal, TheOutboxIsFilteredByStatusTimeAndTenant) {
  told();
  world.expand();
  world.clock.advance(std::chrono::hours{2});
  world.accepted(R"({"type":"nobody.knows","payload":{}})");
  world.expand();
  told(R"(,"version":"2")", world.foreign_key(Role::Producer));
  const auto count = [&](const std::string& query, Role role) {
    const Answer answer = get("/ops/outbox?" + query, role);
    EXPECT_EQ(answer.status, 200) << answer.body;
    int rows = 0;
    while (answer.at(std::to_string(rows)) != "<none>") ++rows;
    return rows;
  };
  EXPECT_EQ(count("", Role::Ops), 3);
  EXPECT_EQ(count("", Role::Operator), 2);
  EXPECT_EQ(count("status=Published", Role::Ops), 1);
  EXPECT_EQ(count("status=failed", Role::Ops), 1);
  EXPECT_EQ(count("status=Pending", Role::Ops), 1);
  EXPECT_EQ(count("tenantId=globex", Role::Ops), 1);
  EXPECT_EQ(count("tenantId=acme&status=Pending", Role::Ops), 0);
  EXPECT_EQ(count("from=1h", Role::Ops), 2);
  EXPECT_EQ(count("to=" + format_instant(world.clock.now() - std::chrono::hours{1}), Role::Ops), 1);
  EXPECT_EQ(get("/ops/outbox?status=Sent").at("error.field"), "status");
  EXPECT_EQ(get("/ops/outbox?from=soon").at("error.field"), "from");
  EXPECT_EQ(get("/ops/outbox?tenantId=globex").code(), "TENANT_FORBIDDEN");
  EXPECT_EQ(get("/ops/outbox?tenantId=nobody", Role::Ops).code(), "UNKNOWN_TENANT");
  EXPECT_EQ(get("/ops/outbox", Role::Viewer).code(), "FORBIDDEN");
}

TEST_F(Portal, TheOutboxHasPages) {
  for (int i = 0; i < 5; ++i) {
    told(fmt::format(R"(,"version":"{}")", i));
    world.expand();
  }
  told(R"(,"version":"9")");
  const auto seen = walk("/ops/outbox?limit=2", "id");
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 6U);
}

TEST_F(Portal, WhatWaitsInTheOutboxIsOnMoreThanOnePageToo) {
  for (int i = 0; i < 3; ++i) {
    told(fmt::format(R"(,"version":"{}")", i));
    world.expand();
  }
  for (int i = 10; i < 17; ++i) told(fmt::format(R"(,"version":"{}")", i));  // while no engine runs
  for (const std::string query : {"?limit=2", "?limit=3", "?limit=7"}) {
    const auto seen = walk("/ops/outbox" + query, "id");
    EXPECT_EQ(seen.size(), 10U) << query;
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 10U) << query;
  }
  EXPECT_EQ(walk("/ops/outbox?status=Pending&limit=2", "id").size(), 7U);
  const Answer first = get("/ops/outbox?limit=2");
  world.expand();  // all of them have moved on
  EXPECT_EQ(get(next(first)).at("0.id"), first.at("0.id")) << "nothing is passed over";
  EXPECT_EQ(get("/ops/outbox?cursor=o").at("error.field"), "cursor");
  EXPECT_EQ(get("/ops/outbox?cursor=o7fffffffffffffff").at("error.field"), "cursor");
}

}  // namespace
}  // namespace postrider::testing
