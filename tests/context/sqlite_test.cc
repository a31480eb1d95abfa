#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "context/application.h"

namespace postrider {
namespace {

struct SqliteContext : testing::Test {
  std::string ask(const std::string& query, ContextAsk one = {.tenant = "acme", .entity_id = "1", .payload = "{}"}) {
    return postrider::ask(*source, application->rule(query), one);
  }
  [[nodiscard]] std::string path() const { return application->database().url.substr(7); }
  std::unique_ptr<Application> application = make_sqlite_application();
  std::unique_ptr<ContextSource> source = make_context_source({application->database()});
};

TEST_F(SqliteContext, EveryTypeHasItsFormInJson) {
  application->run(
      "CREATE TABLE t (yes BOOLEAN, no bool, odd boolean, whole INTEGER, half REAL, far REAL, words TEXT, data JSON, "
      "bad JSON, bytes BLOB, blank TEXT)");
  application->run(
      "INSERT INTO t VALUES (1, 0, 7, -8, 1.5, 9e999, 'Grüße', '{\"a\": [1, null]}', '{\"a\":', x'ff00', NULL)");
  EXPECT_EQ(ask("SELECT * FROM t"),
            R"({"yes":true,"no":false,"odd":7,"whole":-8,"half":1.5,"far":"Inf","words":"Grüße",)"
            R"("data":{"a":[1,null]},"bad":"{\"a\":","bytes":"\\xff00","blank":null})");
}

TEST_F(SqliteContext, ValuesOfThePayloadKeepTheirTypes) {
  const ContextAsk one{.payload = R"({"whole":9007199254740993,"half":1.5,"yes":true,"words":"9"})"};
  EXPECT_EQ(ask("SELECT :payload.whole + 1 AS whole, :payload.half * 2 AS half, :payload.yes AS yes, "
                "typeof(:payload.words) AS words",
                one),
            R"({"whole":9007199254740994,"half":3,"yes":1,"words":"text"})");
}

TEST_F(SqliteContext, TextThatIsNoUtf8IsMadeReadable) {
  EXPECT_EQ(ask("SELECT CAST(x'41ff42' AS TEXT) AS words"), R"({"words":"A?B"})");
}

TEST_F(SqliteContext, NoOtherFileCanBeReached) {
  application->run("CREATE TABLE t (id integer)");
  const std::string other = path() + ".other";
  EXPECT_TRUE(
      ask("ATTACH '" + other + "' AS other").starts_with("lasting: database \"shop\": only reading is allowed"));
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_TRUE(ask("PRAGMA query_only = 0").starts_with("lasting: "));
  EXPECT_TRUE(ask("SELECT load_extension('x')").starts_with("passing: "));
  EXPECT_TRUE(ask("VACUUM INTO '" + other + "'").starts_with("lasting: "));
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_TRUE(ask("INSERT INTO t VALUES (1) RETURNING id").starts_with("lasting: database \"shop\": only reading"));
}

TEST_F(SqliteContext, FullTextTablesCanBeAsked) {
  application->run("CREATE VIRTUAL TABLE words USING fts5(text)");
  application->run("INSERT INTO words VALUES ('the quick brown fox')");
  EXPECT_EQ(ask("SELECT text FROM words WHERE words MATCH 'quick'"), R"({"text":"the quick brown fox"})");
  EXPECT_EQ(ask("SELECT text FROM words WHERE words MATCH 'brown'"), R"({"text":"the quick brown fox"})");
}

TEST_F(SqliteContext, WhatTheApplicationWritesIsSeenAtOnce) {
  application->run("CREATE TABLE t (n integer)");
  for (int i = 1; i <= 3; ++i) {
    application->run("INSERT INTO t VALUES (1)");
    EXPECT_EQ(ask("SELECT count(*) AS n FROM t"), "{\"n\":" + std::to_string(i) + "}");
  }
}

TEST_F(SqliteContext, AQueryLeavesNoLockBehind) {
  application->run("PRAGMA journal_mode = DELETE");
  application->run("CREATE TABLE t (n integer)");
  EXPECT_EQ(ask("SELECT count(*) AS n FROM t"), R"({"n":0})");
  application->run("INSERT INTO t VALUES (1), (2), (3)");
  EXPECT_EQ(ask("SELECT n FROM t"), "many");
  application->run("DELETE FROM t");  // would wait for a reader that is not at its end
  EXPECT_EQ(ask("SELECT count(*) AS n FROM t"), R"({"n":0})");
}

TEST_F(SqliteContext, AFileThatIsLockedIsWaitedForNoLongerThanTheTimeOut) {
  application->run("PRAGMA journal_mode = DELETE");
  application->run("CREATE TABLE t (n integer)");
  ContextDatabase database = application->database();
  database.timeout = std::chrono::milliseconds{100};
  source = make_context_source({database});
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(ask("SELECT count(*) AS n FROM t"), "passing: database \"shop\": the file was locked for 100ms");
  sqlite3_close(db);
  source = make_context_source({database});
  EXPECT_EQ(ask("SELECT count(*) AS n FROM t"), R"({"n":0})");
}

TEST_F(SqliteContext, AFileInThePlaceOfAnotherIsTheOneThatIsAsked) {
  application->run("CREATE TABLE t (n integer)");
  application->run("INSERT INTO t VALUES (1)");
  EXPECT_EQ(ask("SELECT n FROM t"), R"({"n":1})");
  const auto restored = make_sqlite_application();
  restored->run("PRAGMA journal_mode = DELETE");
  restored->run("CREATE TABLE t (n integer)");
  restored->run("INSERT INTO t VALUES (2)");
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path() + suffix);
  std::filesystem::rename(restored->database().url.substr(7), path());
  EXPECT_EQ(ask("SELECT n FROM t"), R"({"n":2})");
}

TEST_F(SqliteContext, AFileThatIsNoDatabaseIsTold) {
  std::ofstream{path(), std::ios::trunc} << std::string(4096, 'x');
  EXPECT_EQ(ask("SELECT 1 AS n"), "passing: database \"shop\": file is not a database");
}

}  // namespace
}  // namespace postrider
