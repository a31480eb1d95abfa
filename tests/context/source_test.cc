// What every database has to answer, whatever its dialect.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/text.h"
#include "context/application.h"

namespace postrider {
namespace {

using std::chrono::milliseconds;

class Context : public testing::TestWithParam<ApplicationKind> {
 protected:
  void SetUp() override {
    application->run("CREATE TABLE booking (id integer PRIMARY KEY, tenant text, guest text, status text)");
    application->run(
        "INSERT INTO booking VALUES (1, 'acme', 'Asha', 'Confirmed'), (2, 'acme', 'Bo', 'Cancelled'), "
        "(3, 'other', 'Cy', 'Confirmed')");
    application->run("CREATE TABLE note (id text, words text)");
  }
  void within(Duration timeout, int connections = 2) {
    ContextDatabase database = application->database();
    database.timeout = timeout;
    database.connections = connections;
    source = make_context_source({database});
  }
  std::string ask(const std::string& query, ContextAsk one = {.tenant = "acme", .entity_id = "1", .payload = "{}"}) {
    return postrider::ask(*source, application->rule(query), one);
  }
  std::vector<std::string> ask_many(const std::string& query, const std::vector<std::string>& ids,
                                    std::string_view tenant = "acme") {
    std::vector<ContextAsk> asks;
    for (const std::string& id : ids) asks.push_back({.tenant = tenant, .entity_id = id, .payload = "{}"});
    std::vector<std::string> out;
    for (const ContextRecord& record : source->load(application->rule(query), asks)) out.push_back(spoken(record));
    return out;
  }
  // The bookings of :entity_ids, as each dialect writes it.
  [[nodiscard]] std::string batch(const std::string& columns = "id AS entity_id, guest") const {
    const bool array = application->database().dialect == SqlDialect::Postgres;
    return "SELECT " + columns + " FROM booking WHERE id " +
           (array ? "= ANY(:entity_ids)" : "IN (SELECT value FROM json_each(:entity_ids))");
  }
  [[nodiscard]] std::string batch_of_notes() const {
    const bool array = application->database().dialect == SqlDialect::Postgres;
    return std::string{"SELECT id AS entity_id, words FROM note WHERE id "} +
           (array ? "= ANY(:entity_ids)" : "IN (SELECT value FROM json_each(:entity_ids))");
  }

  std::unique_ptr<Application> application = GetParam().make();
  std::unique_ptr<ContextSource> source = make_context_source({application->database()});
};
INSTANTIATE_TEST_SUITE_P(Databases, Context, testing::ValuesIn(application_kinds()),
                         [](const auto& kind) { return std::string{kind.param.name}; });

TEST_P(Context, ARowBecomesAnObjectOfItsColumns) {
  EXPECT_EQ(ask("SELECT guest, status, id, NULL AS blank FROM booking WHERE id = :entity_id AND tenant = :tenant"),
            R"({"guest":"Asha","status":"Confirmed","id":1,"blank":null})");
}

TEST_P(Context, NoRowIsNoRecordAndTwoAreTooMany) {
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE id = :entity_id AND tenant = 'nobody'"), "none");
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE tenant = :tenant"), "many");
  EXPECT_EQ(ask("SELECT a.id FROM booking a, booking b, booking c"), "many")
      << "of 27 rows no more than needed is read";
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE id = :entity_id"), R"({"guest":"Asha"})") << "and it goes on";
}

TEST_P(Context, WithoutAnEntityIdNothingIsEqualToIt) {
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE id = :entity_id", {.tenant = "acme", .entity_id = ""}), "none");
}

TEST_P(Context, ValuesOfThePayloadAreFoundByTheirPath) {
  const ContextAsk one{.tenant = "acme", .payload = R"({"booking":{"number":2},"paid":true,"none":null})"};
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE id = :payload.booking.number", one), R"({"guest":"Bo"})");
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE guest = :payload.absent OR guest = :payload.none", one), "none");
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE id = 1 AND guest = :payload.booking", one), "none")
      << "an object is its JSON as text";
}

TEST_P(Context, AttemptsToInjectSqlStayData) {
  for (const std::string id : {"1' OR '1'='1", "x'; DROP TABLE booking; --", R"(a","b)", R"({a,b})", R"(\)", R"("])",
                               "NULL", "", "1) OR (1=1", "Grüße 👋"}) {
    EXPECT_EQ(ask("SELECT words FROM note WHERE id = :entity_id", {.tenant = "acme", .entity_id = id}), "none") << id;
    EXPECT_EQ(ask_many(batch_of_notes(), {id, "other"}), (std::vector<std::string>{"none", "none"})) << id;
    if (id.empty()) continue;
    std::string quoted;
    for (const char c : id) quoted += c == '\'' ? std::string{"''"} : std::string{c};
    application->run("INSERT INTO note VALUES ('" + quoted + "', 'mine')");
    EXPECT_EQ(ask("SELECT words FROM note WHERE id = :entity_id", {.tenant = "acme", .entity_id = id}),
              R"({"words":"mine"})")
        << id;
    EXPECT_TRUE(ask_many(batch_of_notes(), {"other", id}).at(1).ends_with(R"("words":"mine"})")) << id;
    application->run("DELETE FROM note");
  }
  EXPECT_EQ(ask("SELECT count(*) AS n FROM booking"), R"({"n":3})");
}

TEST_P(Context, AValueThatADatabaseWouldCutOffIsRefused) {
  const std::string id{"1\0 and more", 11};
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE id = :entity_id", {.tenant = "acme", .entity_id = id}),
            "lasting: database \"shop\": the value of :entity_id holds a NUL character");
  EXPECT_EQ(ask_many(batch(), {id, "1"}).at(1), R"({"entity_id":1,"guest":"Asha"})") << "and fails nobody else";
}

TEST_P(Context, NothingCanBeWritten) {
  for (const char* query : {"INSERT INTO booking VALUES (9, 'acme', :entity_id, '') RETURNING id",
                            "UPDATE booking SET guest = 'X' RETURNING id", "DELETE FROM booking", "DROP TABLE booking",
                            "CREATE TABLE mine (id integer)"}) {
    EXPECT_TRUE(ask(query).starts_with("lasting: database \"shop\": ")) << query << ": " << ask(query);
  }
  EXPECT_NE(ask("SELECT 1 AS one; DELETE FROM booking").find("lasting: "), std::string::npos);
  EXPECT_EQ(ask("SELECT count(*) AS n FROM booking"), R"({"n":3})");
}

TEST_P(Context, WhatIsNoQueryIsToldAndMayPassOnlyWhereItCould) {
  EXPECT_NE(ask("SELECT absent FROM booking").find("absent"), std::string::npos);
  EXPECT_TRUE(ask("SELECT guest FROM tomorrow").starts_with("passing: ")) << "the table may come with the next release";
  EXPECT_TRUE(ask("SELEC guest FROM booking").starts_with("lasting: ")) << "what is no SQL stays so";
  EXPECT_TRUE(ask("SELECT guest FROM booking WHERE (id = 1").starts_with("lasting: "));
  EXPECT_EQ(ask("SELECT id, guest AS id FROM booking"),
            "lasting: database \"shop\": the query gives the column \"id\" twice; name one of them with AS");
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE id = :entity_id"), R"({"guest":"Asha"})") << "and it goes on";
}

TEST_P(Context, AQueryThatTakesTooLongIsEnded) {
  within(milliseconds{200});
  const auto begun = std::chrono::steady_clock::now();
  const std::string said = ask(application->slow_query());
  EXPECT_TRUE(said.starts_with("passing: database \"shop\": ")) << said;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds{5});
  EXPECT_EQ(ask("SELECT guest FROM booking WHERE id = :entity_id"), R"({"guest":"Asha"})") << "and it goes on";
}

TEST_P(Context, ManyAreAskedForAtOnceAndMatchedByTheirId) {
  EXPECT_EQ(ask_many(batch(), {"2", "7", "1", "2", ""}),
            (std::vector<std::string>{R"({"entity_id":2,"guest":"Bo"})", "none", R"({"entity_id":1,"guest":"Asha"})",
                                      R"({"entity_id":2,"guest":"Bo"})", "none"}));
  EXPECT_EQ(ask_many(batch() + " AND tenant = :tenant", {"1", "3"}, "other"),
            (std::vector<std::string>{"none", R"({"entity_id":3,"guest":"Cy"})"}));
}

TEST_P(Context, TwoRowsForOneIdAreTooManyForThatOneOnly) {
  application->run("INSERT INTO note VALUES ('a', 'one'), ('a', 'two'), ('b', 'three')");
  EXPECT_EQ(ask_many(batch_of_notes(), {"a", "b"}),
            (std::vector<std::string>{"many", R"({"entity_id":"b","words":"three"})"}));
}

TEST_P(Context, ABatchWithoutTheIdsOfItsRowsIsRefused) {
  const std::string refused =
      "lasting: database \"shop\": a query with :entity_ids must give each row's id in a column named entity_id";
  EXPECT_EQ(ask_many(batch("id, guest"), {"1", "2"}), (std::vector<std::string>{refused, refused}));
  EXPECT_EQ(ask_many(batch("id, guest"), {"8", "9"}), (std::vector<std::string>{refused, refused}))
      << "with no row too";
}

TEST_P(Context, ManyMoreIdsThanOneQueryTakesAreAllAnswered) {
  application->run(
      "INSERT INTO note WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1300) "
      "SELECT 'n' || i, 'words ' || i FROM n");
  std::vector<std::string> ids;
  for (int i = 1300; i > 0; --i) ids.push_back("n" + std::to_string(i));
  const auto answers = ask_many(batch_of_notes(), ids);
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(answers[i], "{\"entity_id\":\"" + ids[i] + "\",\"words\":\"words " + ids[i].substr(1) + "\"}");
}

TEST_P(Context, ABatchThatGivesAWholeTableIsRefused) {
  application->run(
      "INSERT INTO note WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001) "
      "SELECT 'n' || i, '' FROM n");
  const bool array = application->database().dialect == SqlDialect::Postgres;
  const std::string all = std::string{"SELECT id AS entity_id FROM note WHERE "} +
                          (array ? "cardinality(:entity_ids::text[]) > 0" : ":entity_ids <> ''");
  EXPECT_EQ(ask_many(all, {"n1"}).at(0), "lasting: database \"shop\": the query gives more than 10000 rows for 1 ids");
  EXPECT_EQ(ask_many(batch(), {"1"}).at(0), R"({"entity_id":1,"guest":"Asha"})") << "and it goes on";
}

TEST_P(Context, ARecordThatIsTooLargeIsRefusedAlone) {
  application->run("INSERT INTO note VALUES ('small', 'x')");
  application->run("INSERT INTO note SELECT 'large', '" + std::string(1'100'000, 'x') + "'");
  const auto answers = ask_many(batch_of_notes(), {"large", "small"});
  EXPECT_EQ(answers.at(0), "lasting: the record is larger than 1024 KiB");
  EXPECT_EQ(answers.at(1), R"({"entity_id":"small","words":"x"})");
}

TEST_P(Context, ADatabaseThatGoesAwayAndComesBackIsAskedAgain) {
  const std::string query = "SELECT guest FROM booking WHERE id = :entity_id";
  EXPECT_EQ(ask(query), R"({"guest":"Asha"})");
  application->go_away();
  const std::string gone = ask(query);
  EXPECT_TRUE(gone.starts_with("passing: database \"shop\": ")) << gone;
  application->come_back();
  // A refusal that was long in coming, as it can be on a busy machine, is a reason to leave the database alone for a
  // while.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{45};
  std::string back = ask(query);
  while (back.starts_with("passing: ") && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds{20});
    back = ask(query);
  }
  EXPECT_EQ(back, R"({"guest":"Asha"})");
}

TEST_P(Context, ManyThreadsShareFewConnections) {
  within(std::chrono::seconds{20}, 2);
  const ContextRule rule = application->rule("SELECT guest FROM booking WHERE id = :entity_id");
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (postrider::ask(*source, rule, {.tenant = "acme", .entity_id = "1", .payload = "{}"}) ==
            R"({"guest":"Asha"})")
          ++right;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(right, 400);
}

TEST_P(Context, TheDoctorTellsWhetherItAnswersAndTakesTheQueries) {
  const auto checked = [&](const std::string& query) {
    return check_context_database(application->database(), {application->rule(query).sql});
  };
  EXPECT_TRUE(checked("SELECT guest FROM booking WHERE id = :entity_id"));
  EXPECT_FALSE(checked("SELECT gast FROM booking WHERE id = :entity_id"));
  EXPECT_FALSE(checked("SELECT FROM WHERE"));
  application->go_away();
  EXPECT_FALSE(check_context_database(application->database(), {}));
  application->come_back();
}

TEST(ContextDatabases, OneThatNobodyKnowsIsTold) {
  const auto source = make_context_source({});
  EXPECT_EQ(ask(*source, {.database = "shop", .sql = {.text = "SELECT 1"}}, {}),
            "lasting: there is no database \"shop\"");
}

}  // namespace
}  // namespace postrider
