#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "context/application.h"

namespace postrider {
namespace {

struct PostgresContext : testing::Test {
  std::string ask(const std::string& query, ContextAsk one = {.tenant = "acme", .entity_id = "1", .payload = "{}"}) {
    return postrider::ask(*source, application->rule(query), one);
  }
  std::unique_ptr<Application> application = make_postgres_application();
  std::unique_ptr<ContextSource> source = make_context_source({application->database()});
};

TEST_F(PostgresContext, EveryTypeHasItsFormInJson) {
  EXPECT_EQ(ask("SELECT true AS yes, 7::int2 AS small, -8::bigint AS big, 1.5::float8 AS half, 12.50 AS price, "
                "1e20::float8 AS far, 'NaN'::float8 AS nan, '-Infinity'::float8 AS less, "
                "123456789012345678901234567890 AS long, 0.1234567890123456789 AS fine, "
                "date '2026-03-15' AS day, timestamptz '2026-03-15 09:30:00+00' AS at, "
                "'{\"a\": [1, null]}'::jsonb AS data, '{\"k\":1,\"k\":2}'::json AS twice, "
                "ARRAY[1,2] AS list, '\\xff'::bytea AS bytes, NULL::text AS nothing"),
            R"({"yes":true,"small":7,"big":-8,"half":1.5,"price":12.50,"far":1e+20,"nan":"NaN","less":"-Infinity",)"
            R"("long":"123456789012345678901234567890","fine":"0.1234567890123456789","day":"2026-03-15",)"
            R"("at":"2026-03-15 09:30:00+00","data":{"a":[1,null]},"twice":"{\"k\":1,\"k\":2}",)"
            R"("list":"{1,2}","bytes":"\\xff","nothing":null})");
}

TEST_F(PostgresContext, AnIdThatIsNoneOfTheColumnsTypeFailsAlone) {
  application->run("CREATE TABLE booking (id integer, guest text)");
  application->run("INSERT INTO booking SELECT i, 'G' || i FROM generate_series(1, 50) i");
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE id = :entity_id", {.entity_id = "b-1"}),
            "lasting: database \"shop\": invalid input syntax for type integer: \"b-1\" (22P02)");
  std::vector<std::string> ids;
  for (int i = 1; i <= 50; ++i) ids.push_back(std::to_string(i));
  ids[20] = "b-1";
  std::vector<ContextAsk> asks;
  for (const std::string& id : ids) asks.push_back({.tenant = "acme", .entity_id = id});
  const auto answers =
      source->load(application->rule("SELECT id AS entity_id, guest FROM booking WHERE id = ANY(:entity_ids)"), asks);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i == 20) {
      EXPECT_TRUE(spoken(answers[i]).starts_with("lasting: ")) << spoken(answers[i]);
    } else {
      EXPECT_EQ(spoken(answers[i]), "{\"entity_id\":" + ids[i] + ",\"guest\":\"G" + ids[i] + "\"}");
    }
  }
}

TEST_F(PostgresContext, ThreeHundredAreOneQuery) {
  application->run("CREATE TABLE booking (id text, guest text)");
  application->run("INSERT INTO booking SELECT 'b' || i, 'G' || i FROM generate_series(1, 300) i");
  std::vector<std::string> ids;
  for (int i = 1; i <= 300; ++i) ids.push_back("b" + std::to_string(i));
  std::vector<ContextAsk> asks;
  for (const std::string& id : ids) asks.push_back({.tenant = "acme", .entity_id = id});
  const ContextRule rule = application->rule(
      "SELECT id AS entity_id, guest, "
      "statement_timestamp()::text AS asked FROM booking WHERE id = ANY(:entity_ids)");
  const auto answers = source->load(rule, asks);
  std::string asked;
  for (const ContextRecord& each : answers) {
    const auto* json = std::get_if<std::string>(&each);
    ASSERT_NE(json, nullptr) << spoken(each);
    const std::string at = json->substr(json->find("\"asked\":"));
    if (asked.empty()) asked = at;
    EXPECT_EQ(at, asked) << "one statement has one time";
  }
}

TEST_F(PostgresContext, TheTransactionCannotBeMadeAWritingOne) {
  application->run("CREATE TABLE booking (id integer)");
  application->run(
      "CREATE FUNCTION sneak() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN "
      "PERFORM set_config('transaction_read_only', 'off', true); INSERT INTO booking VALUES (1); RETURN 1; END $$");
  EXPECT_TRUE(ask("SELECT sneak() AS n").starts_with("passing: ")) << ask("SELECT sneak() AS n");
  EXPECT_TRUE(ask("SET TRANSACTION READ WRITE").starts_with("lasting: "));
  EXPECT_EQ(ask("SELECT count(*) AS n FROM booking"), R"({"n":0})");
  EXPECT_NE(ask("INSERT INTO booking VALUES (1) RETURNING id").find("read-only transaction (25006)"),
            std::string::npos);
  EXPECT_TRUE(ask("COPY booking TO STDOUT").starts_with("lasting: "));
  EXPECT_EQ(ask("SELECT count(*) AS n FROM booking"), R"({"n":0})");
}

TEST_F(PostgresContext, ALockIsNotWaitedForLongerThanTheTimeOut) {
  application->run("CREATE TABLE booking (id integer)");
  ContextDatabase database = application->database();
  database.timeout = std::chrono::milliseconds{200};
  source = make_context_source({database});
  std::thread holder(
      [&] { application->run("BEGIN; LOCK TABLE booking IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT"); });
  std::string said;
  for (int i = 0; i < 50 && !said.starts_with("passing: "); ++i) {  // until the lock is there
    said = ask("SELECT count(*) AS n FROM booking");
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  holder.join();
  EXPECT_TRUE(said.ends_with("timeout (55P03)") || said.ends_with("timeout (57014)")) << said;
  EXPECT_EQ(ask("SELECT count(*) AS n FROM booking"), R"({"n":0})");
}

TEST_F(PostgresContext, ConnectionsThatWereCutWhileIdleAreReplacedUnnoticed) {
  EXPECT_EQ(ask("SELECT 1 AS n"), R"({"n":1})");
  application->run(
      "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
      "pg_backend_pid()");
  EXPECT_EQ(ask("SELECT 1 AS n"), R"({"n":1})");
}

TEST_F(PostgresContext, EightThreadsOpenNoMoreConnectionsThanAllowed) {
  const ContextRule rule = application->rule(
      "SELECT count(*) AS n FROM (SELECT pg_sleep(0.01)) slept, pg_stat_activity "
      "WHERE datname = current_database() AND application_name = 'postrider context'");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const std::string said = postrider::ask(*source, rule, {});
        if (said != R"({"n":1})" && said != R"({"n":2})") ++wrong;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(PostgresContext, NoErrorHoldsThePassword) {
  for (const char* url : {"postgresql://me:hunter2@127.0.0.1:1/shop", "postgresql://me:hunter2@127.0.0.1:notaport/shop",
                          "postgresql://me:hunter2@[::1/shop", "postgresql://me:hun%zzter2@127.0.0.1/shop",
                          "postgresql://hunter2:hunter2@127.0.0.1:1/hunter2"}) {
    ContextDatabase database = application->database();
    database.url = url;
    source = make_context_source({database});
    const std::string said = ask("SELECT 1 AS n");
    EXPECT_TRUE(said.starts_with("passing: database \"shop\": ")) << said;
    EXPECT_EQ(said.find("hunter2"), std::string::npos) << said;
    EXPECT_EQ(said.find("ter2"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace postrider
