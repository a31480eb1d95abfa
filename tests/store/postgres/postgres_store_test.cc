// What only this store has: its two forms of a record, the turns of those who claim, and times that only PostgreSQL
// knows.
#include "store/postgres/postgres_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <thread>

#include "store/postgres/connection.h"
#include "store/postgres/postgres_database.h"

namespace postrider::conformance {
std::vector<StoreFactory> store_factories() { return {}; }

namespace {

class PostgresOnly : public ::testing::Test {
 protected:
  std::string value(const std::string& sql) {
    const PgResult rows = run_sql(application.get(), sql);
    return PQntuples(rows.get()) == 0 ? "none" : PQgetvalue(rows.get(), 0, 0);
  }
  /// Until one of this database's sessions waits for a lock of another.
  void until_somebody_waits() {
    for (int tries = 0; tries < 2000; ++tries) {
      if (value(
              "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = "
              "current_database()") != "0")
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    ADD_FAILURE() << "nobody came to wait";
  }
  PostgresDatabase database;
  PgConnection application = connect_to(database.url());
  std::unique_ptr<postgres::PostgresStore> store = postgres::PostgresStore::open(database.url()).value();
  std::unique_ptr<StoreSession> session = store->open_session().value();
  Instant now = instant_from_us(1'790'000'000'000'000);
};

TEST_F(PostgresOnly, ABatchThatMeetsARowWhichIsThereAlreadyIsRecordedAllTheSame) {
  const std::string columns = "(lane, channel, tenant, position, id, node, fence, attempt, provider, guarantee)";
  run_sql(application.get(), "SELECT postrider.ensure_partitions(to_timestamp(1790000000))");
  const std::int64_t base = to_us(now) / 1000 - 1'704'067'200'000;
  const RowId first = base << 21U;
  for (const RowId id : {first, first + 1}) {
    const std::string text = std::to_string(id);
    run_sql(application.get(),
            "INSERT INTO postrider.queue " + columns + " VALUES (2, 1, 1, " + text + ", " + text + ", 3, 1, 1, 1, 1)");
  }
  run_sql(application.get(), "INSERT INTO postrider.settled (id, at, tenant, state, reason, detail) VALUES (" +
                                 std::to_string(first) + ", 1, 1, 3, 30, 'first')");
  std::vector<Completion> done;
  for (const RowId id : {first, first + 1}) {
    Completion completion;
    completion.lease = {Lane::Standard, Channel::Email, 1, id, id, 1, 1, 1, now};
    completion.verdict = {.state = DeliveryState::Delivered, .reason = Reason::AcceptedByProvider, .attempt = 1};
    completion.attempt = AttemptEnd{.outcome = OutcomeKind::Accepted, .started_at = now, .ended_at = now};
    done.push_back(completion);
  }
  const auto recorded = session->record(now, done);
  ASSERT_TRUE(recorded.has_value()) << recorded.error().text;
  EXPECT_EQ(*recorded, (std::vector{Recorded::Applied, Recorded::Applied}));
  EXPECT_EQ(value("SELECT count(*) FROM postrider.queue"), "0");
  EXPECT_EQ(value("SELECT count(*) FROM postrider.attempt"), "2");
  EXPECT_EQ(value("SELECT string_agg(detail, ',' ORDER BY id) FROM postrider.settled"), "first,");
}

TEST_F(PostgresOnly, AWrongPlaceMovesNobodyElsesRowAndItsOwnIsFoundByItsKey) {
  run_sql(application.get(), "SELECT postrider.ensure_partitions(to_timestamp(1790000000))");
  const RowId own = (to_us(now) / 1000 - 1'704'067'200'000) << 21U;
  for (const RowId id : {own, own + 1}) {
    const std::string text = std::to_string(id);
    run_sql(application.get(),
            "INSERT INTO postrider.queue (lane, channel, tenant, position, id, node, fence, attempt, provider, "
            "guarantee) VALUES (2, 1, 1, " +
                text + ", " + text + ", 3, 1, 1, 1, 1)");
  }
  ASSERT_EQ(value("SELECT ctid FROM postrider.queue WHERE id = " + std::to_string(own + 1)), "(0,2)");
  Completion completion;
  completion.lease = {Lane::Standard, Channel::Email, 1, own, own, 1, 1, 1, now};
  completion.lease.where = 2;  // block 0, second row: the other one's
  completion.verdict = {.state = DeliveryState::Delivered, .reason = Reason::AcceptedByProvider, .attempt = 1};
  completion.attempt = AttemptEnd{.outcome = OutcomeKind::Accepted, .started_at = now, .ended_at = now};
  const auto recorded = session->record(now, std::vector{completion});
  ASSERT_TRUE(recorded.has_value()) << recorded.error().text;
  EXPECT_EQ(*recorded, std::vector{Recorded::Applied});
  EXPECT_EQ(value("SELECT string_agg(id::text, ',') FROM postrider.queue"), std::to_string(own + 1));
}

// Positions are given at the INSERT and seen at the COMMIT, in any order. Looks begin behind what was taken, and must
// miss nobody.
class PostgresOutbox : public PostgresOnly {
 protected:
  PostgresOutbox() {
    session->use_ids(ids);
    run_sql(application.get(), "SELECT postrider.ensure_partitions(to_timestamp(1790000000))");
  }
  static std::string insert(const std::string& type, const std::string& lane = "standard") {
    return "INSERT INTO postrider.outbox (type, payload, lane) VALUES ('" + type + "', '{}', '" + lane + "')";
  }
  OutboxProgress progress = {};  // as the last look saw it
  /// The types that one look takes, in the order of their positions; each becomes an ignored message.
  std::vector<std::string> look() {
    std::vector<std::string> types;
    const auto report = session->expand(now, 1, 10, [&](std::span<const OutboxRow> rows) {
      std::vector<ExpandedMessage> decided;
      for (const OutboxRow& row : rows) {
        types.push_back(row.type);
        ExpandedMessage ignored;
        ignored.message.type = row.type;
        ignored.message.payload = "{}";
        ignored.message.id = ids.next(now);
        ignored.message.uuid = make_uuid7(now, 1, static_cast<std::uint64_t>(ignored.message.id));
        ignored.message.accepted_at = now;
        ignored.state = MessageState::Ignored;
        ignored.reason = Reason::NoRoute;
        decided.push_back(std::move(ignored));
      }
      return decided;
    });
    EXPECT_TRUE(report.has_value()) << report.error().text;
    if (report) progress = report->outbox;
    return types;
  }
  std::vector<std::string> look_for(Duration time) {
    std::vector<std::string> types;
    for (const Instant until = now + time; now < until; now += std::chrono::milliseconds{50})
      for (std::string& type : look()) types.push_back(std::move(type));
    return types;
  }
  IdSource ids{1};
};

TEST_F(PostgresOutbox, ARowThatIsCommittedLongAfterLaterOnesIsFound) {
  PgConnection slow = connect_to(database.url());
  run_sql(slow.get(), "BEGIN");
  run_sql(slow.get(), insert("slow"));
  PgConnection slow_and_urgent = connect_to(database.url());
  run_sql(slow_and_urgent.get(), "BEGIN");
  run_sql(slow_and_urgent.get(), insert("urgent", "priority"));
  std::vector<std::string> quick;
  for (int i = 0; i < 30; ++i) {
    run_sql(application.get(), insert("quick"));
    for (std::string& type : look_for(std::chrono::milliseconds{100})) quick.push_back(std::move(type));
  }
  EXPECT_EQ(quick, std::vector<std::string>(30, "quick"));
  run_sql(slow.get(), "COMMIT");
  EXPECT_EQ(look_for(std::chrono::seconds{11}), std::vector<std::string>{"slow"});
  run_sql(slow_and_urgent.get(), "COMMIT");
  EXPECT_EQ(look_for(std::chrono::seconds{11}), std::vector<std::string>{"urgent"});
  EXPECT_EQ(value("SELECT count(*) FROM postrider.outbox"), "0");
}

TEST_F(PostgresOutbox, APositionOfTheProducersOwnHidesNobody) {
  const std::string own = "INSERT INTO postrider.outbox (position, type, payload) VALUES (";
  run_sql(application.get(), own + "9223372036854775807, 'last', '{}'), (-5, 'first', '{}')");
  EXPECT_EQ(look(), (std::vector<std::string>{"first", "last"}));
  std::vector<std::string> found;
  for (int i = 0; i < 20; ++i) {
    run_sql(application.get(), insert("plain"));
    for (std::string& type : look_for(std::chrono::milliseconds{300})) found.push_back(std::move(type));
  }
  for (std::string& type : look_for(std::chrono::seconds{11})) found.push_back(std::move(type));
  EXPECT_EQ(found, std::vector<std::string>(20, "plain"));
}

TEST_F(PostgresOutbox, APriorityRowOvertakesWhateverWaitsWhenItComes) {
  for (int i = 0; i < 200; ++i) run_sql(application.get(), insert("other"));
  EXPECT_EQ(look_for(std::chrono::milliseconds{200}), std::vector<std::string>(40, "other"));
  PgConnection slow = connect_to(database.url());
  run_sql(slow.get(), "BEGIN");
  run_sql(slow.get(), insert("slow", "priority"));
  run_sql(application.get(), insert("urgent", "priority"));
  const auto next = look();
  EXPECT_EQ(std::count(next.begin(), next.end(), "urgent"), 1);
  now += std::chrono::milliseconds{300};
  run_sql(slow.get(), "COMMIT");
  const auto soon = look();
  EXPECT_EQ(std::count(soon.begin(), soon.end(), "slow"), 1) << "it was committed a moment later";
}

TEST_F(PostgresOutbox, ALookTellsHowFarItTookAndHowFarTheOutboxGoes) {
  for (int i = 0; i < 12; ++i) run_sql(application.get(), insert("other"));
  const std::int64_t first = std::stoll(value("SELECT min(position) FROM postrider.outbox"));
  ASSERT_EQ(look().size(), 10U);
  EXPECT_EQ(progress.newest, first + 11);
  EXPECT_EQ(progress.taken_to, first + 9);
  EXPECT_TRUE(progress.more);
  ASSERT_EQ(look().size(), 2U);
  EXPECT_EQ(progress.newest, first + 11);
  EXPECT_EQ(progress.taken_to, first + 11);
  EXPECT_FALSE(progress.more);
  ASSERT_TRUE(look().empty());
  EXPECT_EQ(progress.newest, 0);
}

TEST_F(PostgresOutbox, MorePriorityRowsThanOneLookTakesDoNotWaitForTheOthers) {
  for (int i = 0; i < 30; ++i) run_sql(application.get(), insert("urgent", "priority"));
  for (int i = 0; i < 30; ++i) run_sql(application.get(), insert("other"));
  const auto found = look_for(std::chrono::seconds{3});
  EXPECT_EQ(std::count(found.begin(), found.end(), "urgent"), 30);
  EXPECT_EQ(std::count(found.begin(), found.end(), "other"), 30);
}

// Rows that are one statement and one sync have no COMMIT whose answer could be looked at.
TEST_F(PostgresOutbox, WhatOnlyTheCommitRefusesIsNotTakenForKept) {
  NewMessage made;
  made.candidate.uuid = make_checked_uuid7(now, 1, 2);
  made.candidate.fresh = true;
  made.row.id = format_uuid(made.candidate.uuid);
  made.row.type = "row";
  made.row.payload = "{}";
  ASSERT_TRUE(made.is_row_only());
  const std::vector<IntakeGroup> groups{{made}};
  run_sql(application.get(),
          "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'too late'; "
          "END $$");
  run_sql(application.get(),
          "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON postrider.outbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
          "EXECUTE FUNCTION public.refuse()");
  const auto refused = session->accept(now, groups);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text.find("too late"), std::string::npos) << refused.error().text;
  EXPECT_EQ(value("SELECT count(*) FROM postrider.outbox"), "0");
  run_sql(application.get(), "DROP TRIGGER late ON postrider.outbox");
  const auto kept = session->accept(now, groups);
  ASSERT_TRUE(kept.has_value()) << kept.error().text;
  EXPECT_EQ(kept->front().front().verdict, Admission::New);
  EXPECT_EQ(value("SELECT count(*) FROM postrider.outbox"), "1");
}

// Rows that wait for anybody, with their deliveries.
class PostgresClaims : public PostgresOnly {
 protected:
  RowId first = (to_us(now) / 1000 - 1'704'067'200'000) << 21U;
  /// Every `step`-th of the deliveries waits; the others stand between them.
  void wait_for_a_claim(int count, int step = 1) {
    run_sql(application.get(), "SELECT postrider.ensure_partitions(to_timestamp(1790000000))");
    const std::string ids =
        " FROM generate_series(" + std::to_string(first) + "::bigint, " + std::to_string(first + count - 1) + ") AS i";
    run_sql(application.get(),
            "INSERT INTO postrider.delivery (id, message, uuid, tenant, template_version, channel, lane, guarantee, "
            "type, origin, traceparent, recipient, key, template, warnings, subject, body, html) "
            "SELECT i, i, gen_random_uuid(), 1, 1, 1, 2, 1, 't', '', '', 'ada@example.org', i::text, '', '', '', "
            "'body of ' || i, ''" +
                ids);
    run_sql(application.get(),
            "INSERT INTO postrider.queue (lane, channel, tenant, position, id, guarantee) SELECT 2, 1, 1, i, i, 1" +
                ids + " WHERE (i - " + std::to_string(first) + ") % " + std::to_string(step) + " = 0");
  }
  [[nodiscard]] static ClaimRequest request(NodeId node, int quota) {
    ClaimRequest wanted;
    wanted.node = node;
    wanted.lane = Lane::Standard;
    wanted.channel = Channel::Email;
    wanted.shares = {{1, quota, 1}};
    return wanted;
  }
};

TEST_F(PostgresClaims, NobodyWaitsForATurnThatNeverEnds) {
  wait_for_a_claim(20);
  // The turn of standard mail, kept as by a node that stands still in the middle of its claim.
  run_sql(application.get(), "BEGIN");
  run_sql(application.get(), "SELECT pg_advisory_xact_lock(x'506f7374'::int, 2 * 256 + 1)");
  const auto begun = std::chrono::steady_clock::now();
  const auto claimed = session->claim(now, request(3, 5));
  ASSERT_TRUE(claimed.has_value()) << claimed.error().text;
  EXPECT_EQ(claimed->size(), 5U);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds{200}) << "it did not wait for its turn";
  run_sql(application.get(), "COMMIT");
  EXPECT_EQ(session->claim(now, request(3, 50)).value().size(), 15U);
  EXPECT_EQ(value("SELECT count(*) FROM postrider.queue WHERE node = 3 AND fence = 1"), "20");
}

TEST_F(PostgresClaims, EveryClaimHasTheDeliveryOfItsOwnIdWhateverStandsBetweenThem) {
  for (const int step : {1, 2, 50}) {  // one behind the other, every second one, far apart
    wait_for_a_claim(2000, step);
    for (const std::size_t wanted : {20U, 20U}) {
      const auto claims = session->claim(now, request(3, static_cast<int>(wanted))).value();
      ASSERT_EQ(claims.size(), wanted) << step;
      for (const Claim& claim : claims) {
        EXPECT_EQ(claim.delivery.id, claim.lease.id);
        EXPECT_EQ(claim.delivery.message, claim.lease.id);
        EXPECT_EQ(claim.delivery.key, std::to_string(claim.lease.id));
        EXPECT_EQ(claim.delivery.body, "body of " + std::to_string(claim.lease.id));
        EXPECT_EQ(claim.delivery.recipient, "ada@example.org");
        EXPECT_EQ(claim.lease.fence, 1);
      }
    }
    run_sql(application.get(), "DELETE FROM postrider.queue");
    first += 10'000;
  }
}

TEST_F(PostgresClaims, ARowWhoseDeliveryIsGoneIsNotHandedOut) {
  wait_for_a_claim(40);
  run_sql(application.get(), "DELETE FROM postrider.delivery WHERE id = " + std::to_string(first + 7));
  EXPECT_EQ(session->claim(now, request(3, 40)).value().size(), 39U);
}

TEST_F(PostgresClaims, WhoCannotReadWhatItClaimedGivesItBack) {
  wait_for_a_claim(20);
  PgConnection keeper = connect_to(database.url());
  run_sql(keeper.get(), "BEGIN");
  run_sql(keeper.get(), "LOCK TABLE postrider.delivery IN ACCESS EXCLUSIVE MODE");
  std::thread cancels([&] {
    until_somebody_waits();
    run_sql(application.get(),
            "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database "
            "WHERE datname = current_database())");
  });
  const auto claimed = session->claim(now, request(3, 20));
  cancels.join();
  ASSERT_FALSE(claimed.has_value());
  EXPECT_EQ(claimed.error().code, ErrorCode::Unavailable) << claimed.error().text;
  run_sql(keeper.get(), "COMMIT");
  EXPECT_EQ(value("SELECT count(*) FROM postrider.queue WHERE node = 0 AND attempt = 0"), "20");
  EXPECT_EQ(session->claim(now, request(3, 20)).value().size(), 20U);
}

TEST_F(PostgresClaims, AMarkThatIsSetWhileAnOutcomeIsWrittenIsNotMissed) {
  struct Case {
    bool placed;  // else as of a row that was inserted already held
    DeliveryState state;
    const char* ends_as;
  };
  for (const Case& each : {Case{true, DeliveryState::Retrying, "9"}, Case{false, DeliveryState::Retrying, "9"},
                           Case{true, DeliveryState::Delivered, "4"}, Case{false, DeliveryState::Delivered, "4"}}) {
    wait_for_a_claim(1);
    const auto claims = session->claim(now, request(3, 1)).value();
    ASSERT_EQ(claims.size(), 1U);
    Completion completion;
    completion.lease = claims.front().lease;
    if (!each.placed) completion.lease.where = 0;
    completion.verdict = {.state = each.state, .reason = Reason::AcceptedByProvider, .due_at = now, .attempt = 1};
    completion.attempt = AttemptEnd{.outcome = OutcomeKind::Accepted, .started_at = now, .ended_at = now};
    PgConnection operators = connect_to(database.url());
    run_sql(operators.get(), "BEGIN");
    run_sql(operators.get(), "UPDATE postrider.queue SET cancel_reason = 70, cancel_why = 'opted out'");
    Result<std::vector<Recorded>> recorded = Error{ErrorCode::Invalid, "not yet"};
    std::thread writes([&] { recorded = session->record(now, std::vector{completion}); });
    until_somebody_waits();
    run_sql(operators.get(), "COMMIT");
    writes.join();
    ASSERT_TRUE(recorded.has_value()) << recorded.error().text;
    EXPECT_EQ(*recorded, std::vector{Recorded::Applied}) << each.placed << each.ends_as;
    EXPECT_EQ(value("SELECT count(*) FROM postrider.queue"), "0");
    EXPECT_EQ(value("SELECT state FROM postrider.settled WHERE id = " + std::to_string(first)), each.ends_as);
    EXPECT_EQ(value("SELECT count(*) FROM postrider.attempt WHERE delivery = " + std::to_string(first)), "1");
    first += 10'000;
  }
}

TEST_F(PostgresClaims, AMarkThatIsSetWhileItIsGivenBackIsNotMissed) {
  wait_for_a_claim(1);
  const auto claims = session->claim(now, request(3, 1)).value();
  ASSERT_EQ(claims.size(), 1U);
  PgConnection operators = connect_to(database.url());
  run_sql(operators.get(), "BEGIN");
  run_sql(operators.get(), "UPDATE postrider.queue SET cancel_reason = 70, cancel_why = 'opted out'");
  Result<Done> given = Error{ErrorCode::Invalid, "not yet"};
  std::thread gives([&] { given = session->give_back(now, std::vector{claims.front().lease}); });
  until_somebody_waits();
  run_sql(operators.get(), "COMMIT");
  gives.join();
  ASSERT_TRUE(given.has_value()) << given.error().text;
  EXPECT_EQ(value("SELECT count(*) FROM postrider.queue"), "0");
  EXPECT_EQ(value("SELECT state FROM postrider.settled"), "9");
}

TEST_F(PostgresClaims, WhatEndsTogetherIsRecordedEachWithItsOwnWords) {
  constexpr int kCount = 60;
  wait_for_a_claim(kCount);
  auto claims = session->claim(now, request(3, kCount)).value();
  ASSERT_EQ(claims.size(), static_cast<std::size_t>(kCount));
  std::rotate(claims.begin(), claims.begin() + 23, claims.end());
  std::vector<Completion> done;
  for (const Claim& claim : claims) {
    const std::string name = std::to_string(claim.lease.id);
    Completion completion;
    completion.lease = claim.lease;
    completion.verdict = {.state = DeliveryState::Delivered, .reason = Reason::AcceptedByProvider, .attempt = 1};
    completion.attempt = AttemptEnd{.outcome = OutcomeKind::Accepted,
                                    .provider_message_id = "id of " + name,
                                    .excerpt = claim.lease.id % 2 == 0 ? "words of " + name : "",
                                    .started_at = now,
                                    .ended_at = now + std::chrono::microseconds{claim.lease.id - first}};
    done.push_back(completion);
  }
  done[3].verdict = {.state = DeliveryState::Retrying, .reason = Reason::RateLimited, .due_at = now, .attempt = 1};
  done[5].lease.fence = 7;  // not this row's
  const auto recorded = session->record(now, done);
  ASSERT_TRUE(recorded.has_value()) << recorded.error().text;
  for (std::size_t i = 0; i < done.size(); ++i)
    EXPECT_EQ((*recorded)[i], i == 5 ? Recorded::Stale : Recorded::Applied) << i;
  EXPECT_EQ(value("SELECT count(*) FROM postrider.settled WHERE state = 4"), "58");
  EXPECT_EQ(value("SELECT string_agg(id::text, ',') FROM postrider.deferred"), std::to_string(done[3].lease.id));
  EXPECT_EQ(value("SELECT string_agg(id::text, ',') FROM postrider.queue"), std::to_string(done[5].lease.id));
  EXPECT_EQ(value("SELECT count(*) FROM postrider.attempt WHERE seq = 0 AND node = 3 AND fence = 1 AND attempt = 1 AND "
                  "provider_message_id = 'id of ' || delivery AND ended_at - started_at = delivery - " +
                  std::to_string(first) +
                  " AND excerpt = CASE WHEN delivery % 2 = 0 THEN 'words of ' || delivery ELSE '' END"),
            "59");
  // The same again, as by somebody whose answer was lost: nothing is there to be moved, and nothing is added.
  const auto again = session->record(now, done);
  ASSERT_TRUE(again.has_value()) << again.error().text;
  EXPECT_EQ(std::count(again->begin(), again->end(), Recorded::Applied), 0);
  EXPECT_EQ(value("SELECT count(*) FROM postrider.attempt WHERE seq = 0"), "59");
}

TEST_F(PostgresOnly, AnIdThatTheProducerDidNotGiveIsAVersion7OfNow) {
  const std::string hex = "replace(id::text, '-', '')";
  run_sql(application.get(),
          "INSERT INTO postrider.outbox (type, payload) SELECT 't', '{}' FROM generate_series(1, 5000) AS i");
  run_sql(application.get(), "SELECT postrider.enqueue('t', '{}') FROM generate_series(1, 100) AS i");
  EXPECT_EQ(value("SELECT count(DISTINCT id) FROM postrider.outbox"), "5100");
  EXPECT_EQ(value("SELECT count(*) FROM postrider.outbox WHERE substr(" + hex + ", 13, 1) = '7' AND substr(" + hex +
                  ", 17, 1) IN ('8', '9', 'a', 'b')"),
            "5100");
  EXPECT_EQ(value("SELECT count(*) FROM postrider.outbox WHERE abs(('x' || lpad(substr(" + hex +
                  ", 1, 12), 16, '0'))::bit(64)::bigint - extract(epoch FROM occurred_at) * 1000) < 1000"),
            "5100");
  for (const char* digit : {"8", "9", "a", "b"})
    EXPECT_NE(value("SELECT count(*) FROM postrider.outbox WHERE substr(" + hex + ", 17, 1) = '" + digit + "'"), "0");
}

/// What goes round with every batch, and those of it that name rows by their keys.
constexpr std::array kHot{"heads",
                          "heads_behind",
                          "claim",
                          "claim_once",
                          "claim_beside",
                          "claim_beside_once",
                          "deliveries_by_id",
                          "deliveries_in_a_row",
                          "release",
                          "outbox_any",
                          "outbox_take",
                          "dedup_find",
                          "expand_pick",
                          "queue_held",
                          "record_settled",
                          "record_settled_by_key",
                          "record",
                          "record_by_key",
                          "record_careful",
                          "promote",
                          "take_over",
                          "expired_queue",
                          "due_next",
                          "delivery_of",
                          "message_of",
                          "contacts_find",
                          "messages_of",
                          "message_states_of",
                          "message_states_drop",
                          "queue_held_many",
                          "queue_end_many",
                          "messages_with_deliveries",
                          "suppressions_find"};

TEST_F(PostgresOnly, NoHotStatementWalksThroughAWholeTableEvenWhereTheTablesAreEmpty) {
  run_sql(application.get(), "SELECT postrider.ensure_partitions(to_timestamp(1790000000))");
  run_sql(application.get(), "VACUUM ANALYZE");
  PQclear(PQexec(application.get(), postgres::kSessionSettings));  // several commands
  const auto plan_of = [&](const std::string& sql) {
    run_sql(application.get(), "PREPARE looked_at AS " + sql);
    const std::string count = value("SELECT cardinality(parameter_types) FROM pg_prepared_statements");
    std::string call = "EXPLAIN EXECUTE looked_at";
    for (int i = 0; i < std::stoi(count); ++i) call += i == 0 ? "(NULL" : ", NULL";
    const PgResult lines = run_sql(application.get(), call + (count == "0" ? "" : ")"));
    std::string plan;
    for (int i = 0; i < PQntuples(lines.get()); ++i) plan += std::string{PQgetvalue(lines.get(), i, 0)} + "\n";
    run_sql(application.get(), "DEALLOCATE looked_at");
    return plan;
  };
  const auto walks = [](const std::string& plan) {
    for (const char* sign :
         {"Seq Scan on ", "Hash Join", "Hash Right Join", "Hash Left Join", "Merge Join", "Bitmap Heap"})
      if (plan.find(sign) != std::string::npos) return true;
    return false;
  };
  for (const char* name : kHot) {
    const std::string plan = plan_of(store->statements().at(name));
    EXPECT_FALSE(walks(plan)) << name << ":\n" << plan;
  }
  EXPECT_TRUE(
      walks(plan_of("DELETE FROM postrider.queue q USING unnest($1::bigint[], $2::int[]) AS w(id, fence) "
                    "WHERE q.id = w.id AND q.fence = w.fence")))
      << "a statement that does is seen";
}

TEST_F(PostgresOnly, ATimeThatHasNoEndReachesWhoeverJudgesIt) {
  run_sql(
      application.get(),
      "INSERT INTO postrider.outbox (type, payload, due_at, expires_at) VALUES ('t', '{}', 'infinity', '-infinity')");
  std::vector<OutboxRow> seen;
  const auto look = [&](std::span<const OutboxRow> rows) -> std::vector<ExpandedMessage> {
    seen.assign(rows.begin(), rows.end());
    throw std::runtime_error{"only looking"};
  };
  EXPECT_FALSE(session->expand(now, 1, 10, look).has_value());
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].due_at, "infinity");
  EXPECT_EQ(seen[0].expires_at, "-infinity");
  EXPECT_EQ(value("SELECT count(*) FROM postrider.outbox"), "1") << "nothing was taken";
}

TEST_F(PostgresOnly, ATimeThatHasNoEndHidesNobodyWhileItWaits) {
  NewMessage made;
  made.candidate.uuid = make_checked_uuid7(now, 1, 2);
  made.row.id = format_uuid(made.candidate.uuid);
  made.row.tenant = "default";
  made.row.type = "t";
  made.row.payload = "{}";
  run_sql(application.get(), "INSERT INTO postrider.outbox (id, type, payload, due_at, expires_at) VALUES ('" +
                                 made.row.id + "', 't', '{}', 'infinity', '-infinity')");
  const auto listed = session->list({.count_max = 10});
  ASSERT_TRUE(listed.has_value()) << listed.error().text;
  EXPECT_EQ(listed->size(), 1U);
  const auto looked_at = session->message({}, made.candidate.uuid, {});
  EXPECT_TRUE(looked_at.has_value()) << looked_at.error().text;
  const auto accepted = session->accept(now, std::vector<IntakeGroup>{{made}});
  ASSERT_TRUE(accepted.has_value()) << accepted.error().text;
  EXPECT_EQ(accepted->front().front().verdict, Admission::KeyReused) << "the other one has times";
}

}  // namespace
}  // namespace postrider::conformance
