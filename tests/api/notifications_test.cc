// What became of messages: one, lists, pages, masks, the sandbox.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "api/query.h"
#include "api/world.h"

namespace postrider::testing {
namespace {

constexpr std::string_view kList = "/api/v1/notifications";
constexpr std::string_view kBooking =
    R"({"type":"booking.confirmed","entity_id":"4711","payload":{"name":"Ada","email":"ada@example.org","phone":"+491701234567","hook":"https://example.org/secret-path"}})";
const Verdict kSent{.state = DeliveryState::Sent, .reason = Reason::AcceptedByProvider};
const Verdict kParked{.state = DeliveryState::Parked, .reason = Reason::RetriesUsedUp};

std::string path_of(std::string_view id) { return fmt::format("{}/{}", kList, id); }

TEST(Notification, TellsTheWholeStory) {
  World world;
  const std::string id = world.accepted(kBooking);
  EXPECT_EQ(world.get(path_of(id), world.key(Role::Operator)).at("state"), "pending");
  world.expand();
  Verdict again{.state = DeliveryState::Retrying, .reason = Reason::Timeout, .due_at = world.clock.now()};
  world.call_ends(OutcomeKind::Unclear, Reason::Timeout, again, "nothing came");
  EXPECT_EQ(world.get(path_of(id), world.key(Role::Operator)).at("status"), "retrying");
  world.promote();
  world.call_ends(OutcomeKind::Accepted, Reason::AcceptedByProvider, kSent, "250 ok for ada@example.org");

  const Answer seen = world.get(path_of(id), world.key(Role::Operator));
  const std::map<std::string, std::string> expected{
      {"status", "sent"},
      {"state", "expanded"},
      {"reason.code", "expanded"},
      {"possible_duplicate", "true"},
      {"deliveries.0.state", "sent"},
      {"deliveries.0.reason.code", "accepted_by_provider"},
      {"deliveries.0.reason.words", "the provider accepted it"},
      {"deliveries.0.channel", "email"},
      {"deliveries.0.recipient", "ada@example.org"},
      {"deliveries.0.subject", "Hello Ada"},
      {"deliveries.0.attempt_count", "2"},
      {"deliveries.0.possible_duplicate", "true"},
      {"deliveries.0.attempts.0.outcome", "unclear"},
      {"deliveries.0.attempts.0.reason.code", "timeout"},
      {"deliveries.0.attempts.1.outcome", "accepted"},
      {"deliveries.0.attempts.1.provider", "sandbox-mail"},
      {"deliveries.0.attempts.1.provider_message_id", "there-1"},
      {"deliveries.0.attempts.1.excerpt", "250 ok for ada@example.org"},
      {"deliveries.0.attempts.1.late", "false"},
      {"providerNames", R"(["sandbox-mail","sandbox-mail"])"},
      {"providerMessageIds", R"([null,"there-1"])"},
  };
  for (const auto& [path, value] : expected) EXPECT_EQ(seen.at(path), value) << path << "\n" << seen.body;
}

TEST(Notification, AViewerSeesNoWholeAddressAnywhere) {
  World world;
  const std::string id = world.accepted(
      R"({"type":"booking.confirmed","entity_id":"ada@example.org","idempotency_key":"welcome:ada@example.org",
          "payload":{"name":"Ada","email":"ada@example.org","phone":"+491701234567","hook":"https://example.org/secret-path",
                     "text":"Write to bob@example.net, or call +4915112345678."}})");
  world.expand();
  world.call_ends(OutcomeKind::Permanent, Reason::InvalidRecipient, kParked, "550 <ada@example.org> unknown");
  const std::vector<std::string> paths{path_of(id), std::string{kList}, "/api/v1/explain?message=" + id,
                                       "/api/v1/explain?recipient=ada@example.org"};
  for (const std::string& path : paths) {
    const Answer seen = world.get(path, world.key(Role::Viewer));
    ASSERT_EQ(seen.status, 200) << path;
    for (const std::string_view hidden :
         {"ada@example.org", "bob@example.net", "+491701234567", "+4915112345678", "secret-path"}) {
      EXPECT_EQ(seen.body.find(hidden), std::string::npos) << hidden << " in " << seen.body;
    }
    EXPECT_NE(seen.body.find("a•••@example.org"), std::string::npos) << seen.body;
  }
  for (const Role role : {Role::Operator, Role::Admin, Role::Ops}) {
    EXPECT_NE(world.get(path_of(id), world.key(role)).body.find("ada@example.org"), std::string::npos);
  }
}

TEST(Notification, AProducerSeesStatesAndNothingElse) {
  World world;
  const std::string id = world.accepted(kBooking);
  world.expand();
  const Answer seen = world.get(path_of(id), world.key(Role::Producer));
  EXPECT_EQ(seen.at("status"), "pending");
  EXPECT_EQ(seen.at("deliveries.0.state"), "queued");
  for (const std::string_view hidden : {"example.org", "Ada", "payload", "recipient", "attempts\""}) {
    EXPECT_EQ(seen.body.find(hidden), std::string::npos) << hidden << " in " << seen.body;
  }
}

TEST(Notification, ManyDeliveriesAreCountedAndShownPageByPage) {
  World world;
  const std::string admin = world.key(Role::Admin);
  ASSERT_EQ(world.put("/api/v1/lists/all", admin, "{}").status, 201);
  std::string members;
  for (int i = 0; i < 250; ++i)
    members += fmt::format(R"({}{{"channel":"email","address":"u{}@example.org"}})", i == 0 ? "" : ",", i);
  ASSERT_LT(world.post("/api/v1/lists/all/members", admin, R"({"members":[)" + members + "]}").status, 300);
  const std::string id = world.accepted(
      R"({"type":"news","channel":"email","list":"all","subject":"Hello","body":"Hello","payload":{"token":"device-42"}})");
  world.expand();
  world.call_ends(OutcomeKind::Permanent, Reason::InvalidRecipient, kParked);  // the first hundred
  const Answer first = world.get(path_of(id), admin);
  EXPECT_EQ(first.at("deliveries_total"), "250");
  EXPECT_EQ(first.at("deliveries_by_state.parked"), "100");
  EXPECT_EQ(first.at("deliveries_by_state.queued"), "150");
  EXPECT_EQ(first.at("status"), "pending") << "as all of them are, not as those on the page";
  EXPECT_EQ(first.at("deliveries.99.state"), "parked");
  EXPECT_EQ(first.at("deliveries.100"), "<none>");
  EXPECT_EQ(first.at("payload.token"), "device-42");
  std::set<std::string> seen;
  std::string cursor;
  for (int page = 0; page < 5; ++page) {
    const Answer answer = world.get(path_of(id) + "?limit=90" + (cursor.empty() ? "" : "&cursor=" + cursor), admin);
    for (int i = 0; answer.at(fmt::format("deliveries.{}.id", i)) != "<none>"; ++i)
      EXPECT_TRUE(seen.insert(answer.at(fmt::format("deliveries.{}.recipient", i))).second);
    cursor = answer.at("next");
    if (cursor == "null") break;
  }
  EXPECT_EQ(cursor, "null");
  EXPECT_EQ(seen.size(), 250U);
  EXPECT_EQ(world.get(path_of(id) + "?limit=0", admin).code(), "INVALID_PARAMETER");
  EXPECT_EQ(world.get(path_of(id) + "?cursor=x", admin).code(), "INVALID_PARAMETER");
  const Answer viewer = world.get(path_of(id), world.key(Role::Viewer));
  EXPECT_EQ(viewer.at("payload"), "null") << "it may name recipients who are not on this page";
  EXPECT_EQ(world.get(path_of(id), world.key(Role::Producer)).at("deliveries_total"), "250");
  const Answer told = world.get("/api/v1/explain?message=" + id, admin);
  EXPECT_NE(told.body.find("Turned into 250 deliveries."), std::string::npos);
  EXPECT_NE(told.body.find("The other 150 deliveries are not told one by one. Where all of them are: 150 queued, 100 "
                           "parked."),
            std::string::npos)
      << told.body;
}

TEST(Notification, WhatIsNotThereIs404) {
  World world;
  for (const std::string id : {"0195a000-0000-7000-8000-000000000001", "x", "..", "%2e%2e", "1"}) {
    EXPECT_EQ(world.get(path_of(id), world.key(Role::Ops)).code(), "NOT_FOUND") << id;
  }
}

TEST(List, ShowsMessagesWithoutDeliveriesToo) {
  World world;
  const std::string expanded = world.accepted(kBooking);
  const std::string ignored = world.accepted(R"({"type":"nobody.knows"})");
  world.expand();
  const std::string pending = world.accepted(R"({"type":"nobody.knows"})");
  const std::string viewer = world.key(Role::Viewer);
  const auto ids = [&](std::string_view query) {
    std::set<std::string> found;
    const Answer page = world.get(fmt::format("{}?{}", kList, query), viewer);
    EXPECT_EQ(page.status, 200) << query;
    for (int i = 0; page.at(fmt::format("notifications.{}", i)) != "<none>"; ++i) {
      found.insert(page.at(fmt::format("notifications.{}.id", i)));
    }
    return found;
  };
  using Ids = std::set<std::string>;
  EXPECT_EQ(ids(""), (Ids{expanded, ignored, pending}));
  EXPECT_EQ(ids("state=ignored"), Ids{ignored});
  EXPECT_EQ(ids("state=pending"), Ids{pending});
  EXPECT_EQ(ids("state=queued"), Ids{expanded});
  EXPECT_EQ(ids("type=booking.confirmed"), Ids{expanded});
  EXPECT_EQ(ids("channel=email"), Ids{expanded});
  EXPECT_EQ(ids("channel=sms"), Ids{});
  EXPECT_EQ(ids("recipient=ada%40example.org"), Ids{expanded});
  EXPECT_EQ(ids("from=1h"), (Ids{expanded, ignored, pending}));
  EXPECT_EQ(ids("to=2026-01-01"), Ids{});
}

TEST(List, PagesByKeysetWithoutGapsOrRepeats) {
  World world;
  std::set<std::string> sent;
  const auto accept = [&](int count) {
    for (int i = 0; i < count; ++i) {
      world.clock.advance(std::chrono::milliseconds{1});
      sent.insert(world.accepted(fmt::format(
          R"({{"type":"booking.confirmed","entity_id":"{}","payload":{{"email":"a@example.org"}}}})", sent.size())));
    }
  };
  accept(23);
  world.expand();
  accept(5);  // still in the outbox: on the first page
  for (const int limit : {1, 3, 4, 7, 28, 200}) {
    std::vector<std::string> seen;
    std::string cursor;
    int pages = 0;
    do {
      const Answer page =
          world.get(fmt::format("{}?limit={}{}", kList, limit, cursor.empty() ? "" : "&cursor=" + cursor),
                    world.key(Role::Viewer));
      ASSERT_EQ(page.status, 200) << page.body;
      int count = 0;
      for (; page.at(fmt::format("notifications.{}", count)) != "<none>"; ++count) {
        seen.push_back(page.at(fmt::format("notifications.{}.id", count)));
      }
      EXPECT_LE(count, limit);
      cursor = page.at("next");
      ASSERT_LT(++pages, 100);
    } while (cursor != "null");
    const std::set<std::string> unique{seen.begin(), seen.end()};
    EXPECT_EQ(unique.size(), seen.size()) << "limit " << limit;
    // The newest of the outbox fill the first page at most.
    EXPECT_EQ(seen.size(), 23U + static_cast<std::size_t>(std::min(limit, 5))) << "limit " << limit;
  }
}

TEST(List, AnotherTenantsCursorShowsNothing) {
  World world;
  (void)world.accepted(kBooking);
  world.expand();
  const Answer page = world.get(fmt::format("{}?cursor={}", kList, format_cursor(std::numeric_limits<RowId>::max())),
                                world.foreign_key(Role::Viewer));
  EXPECT_EQ(page.at("notifications"), "[]");
}

TEST(List, WrongParametersAreNamed) {
  World world;
  const std::vector<std::pair<std::string, std::string>> cases{
      {"limit=0", "limit"},         {"limit=201", "limit"},
      {"limit=-1", "limit"},        {"limit=1x", "limit"},
      {"limit=", "limit"},          {"cursor=zz", "cursor"},
      {"cursor=", "cursor"},        {"cursor=ffffffffffffffff", "cursor"},
      {"state=lost", "state"},      {"channel=pigeon", "channel"},
      {"from=then", "from"},        {"to=1.5h", "to"},
      {"limit=1&limit=2", "limit"}, {"page=2", "page"},
      {"type=%zz", "type"},         {"type=a%00b", "type"},
      {"type=%ff", "type"}};
  for (const auto& [query, field] : cases) {
    const Answer answer = world.get(fmt::format("{}?{}", kList, query), world.key(Role::Viewer));
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_EQ(answer.code(), "INVALID_PARAMETER") << query;
    EXPECT_EQ(answer.at("error.field"), field) << query;
  }
}

TEST(Query, PercentEncodingIsReadStrictly) {
  EXPECT_EQ(percent_decode("a%20b+c", Plus::IsSpace), "a b c");
  EXPECT_EQ(percent_decode("a%2Bb+c", Plus::Stays), "a+b+c");
  EXPECT_FALSE(percent_decode("%", Plus::Stays));
  EXPECT_FALSE(percent_decode("%4", Plus::Stays));
  EXPECT_FALSE(percent_decode("%C0%AF", Plus::Stays));
  EXPECT_EQ(parse_cursor(format_cursor(123456789)), 123456789);
  EXPECT_FALSE(parse_cursor("0000000000000000"));
  EXPECT_FALSE(parse_cursor("-000000000000001"));
}

TEST(Sandbox, ShowsWhatWouldHaveBeenSentPageByPage) {
  World world;
  const std::string first = world.accepted(kBooking);
  world.expand();
  world.call_ends(OutcomeKind::Accepted, Reason::AcceptedByProvider, kSent);
  world.clock.advance(std::chrono::seconds{1});
  const std::string second =
      world.accepted(R"({"type":"note","channel":"email","recipient":"bob@example.net","subject":"S","body":"B"})",
                     world.foreign_key(Role::Producer));
  world.expand();
  world.call_ends(OutcomeKind::Accepted, Reason::AcceptedByProvider, kSent);

  const std::string path = "/api/v1/sandbox/messages";
  const Answer own = world.get(path, world.key(Role::Operator));
  EXPECT_EQ(own.at("messages.0.id"), first);
  EXPECT_EQ(own.at("messages.0.provider"), "sandbox-mail");
  EXPECT_EQ(own.at("messages.0.recipient"), "ada@example.org");
  EXPECT_EQ(own.at("messages.0.subject"), "Hello Ada");
  EXPECT_EQ(own.at("messages.0.body"), "We write to ada@example.org about your booking.");
  EXPECT_EQ(own.at("messages.0.type"), "booking.confirmed");
  EXPECT_EQ(own.at("messages.0.calls"), "1");
  EXPECT_EQ(own.at("messages.1"), "<none>");
  const Answer masked = world.get(path, world.key(Role::Viewer));
  EXPECT_EQ(masked.body.find("ada@example.org"), std::string::npos);

  const Answer page = world.get(path + "?limit=1", world.key(Role::Ops));
  EXPECT_EQ(page.at("messages.0.id"), second);
  const Answer rest = world.get(path + "?limit=1&cursor=" + page.at("next"), world.key(Role::Ops));
  EXPECT_EQ(rest.at("messages.0.id"), first);
  EXPECT_EQ(rest.at("next"), "null");
}

}  // namespace
}  // namespace postrider::testing
