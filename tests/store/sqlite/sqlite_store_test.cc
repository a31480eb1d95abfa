// What only SQLite has: one file, one lock, one disk, and an application that may share all of them.
#include "store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <set>
#include <stdexcept>
#include <thread>

#include "store/sqlite/temporary_folder.h"

namespace postrider::sqlite {
namespace {

using conformance::TemporaryFolder;

class SqliteFile : public ::testing::Test {
 protected:
  std::unique_ptr<SqliteStore> open(SqliteOptions options = {}) {
    options.path = path;
    auto store = SqliteStore::open(options);
    if (!store) throw std::runtime_error{store.error().text};
    return std::move(*store);
  }
  std::unique_ptr<SqliteStore> migrated(SqliteOptions options = {}) {
    auto store = open(std::move(options));
    if (const auto done = store->migrate(); !done) throw std::runtime_error{done.error().text};
    return store;
  }
  std::unique_ptr<StoreSession> session(SqliteStore& store) {
    auto opened = store.open_session();
    if (!opened) throw std::runtime_error{opened.error().text};
    (*opened)->use_ids(ids);
    return std::move(*opened);
  }
  ExpandDecision ignore_all() {
    return [this](std::span<const OutboxRow> rows) {
      std::vector<ExpandedMessage> out;
      for (const OutboxRow& row : rows) {
        seen.push_back(row);
        ExpandedMessage& m = out.emplace_back();
        m.message = read_row(row).message;
        m.message.id = ids.next(now);
        if (m.message.uuid == Uuid{}) m.message.uuid = make_uuid7(now, 1, static_cast<std::uint64_t>(m.message.id));
        m.state = MessageState::Ignored;
        m.reason = Reason::NoRoute;
      }
      return out;
    };
  }

  TemporaryFolder folder;
  std::string path = folder.file("app.db");
  IdSource ids{0};
  Instant now = instant_from_us(1'790'000'000'000'000);
  std::vector<OutboxRow> seen;
};

/// The application's own connection.
class Application {
 public:
  explicit Application(const std::string& path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error{sqlite3_errmsg(db_)};
    sqlite3_busy_timeout(db_, 5000);
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application() { sqlite3_close(db_); }
  void run(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error{sqlite3_errmsg(db_)};
    }
  }

 private:
  sqlite3* db_ = nullptr;
};

TEST_F(SqliteFile, ANewFileIsReadableByItsOwnerOnly) {
  const auto store = migrated();
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(SqliteFile, AFileInAFolderThatIsNotThereIsRefusedInWords) {
  const auto store = SqliteStore::open({.path = folder.file("no/such/folder.db")});
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::Unavailable);
  EXPECT_NE(store.error().text.find("no/such/folder.db"), std::string::npos);
}

TEST_F(SqliteFile, ASecondEngineIsRefusedAndToldWhoTheFirstIs) {
  const auto first = migrated();
  const auto second = open();
  ASSERT_TRUE(first->lock_for_serving().has_value());
  ASSERT_TRUE(first->lock_for_serving().has_value());
  const auto refused = second->lock_for_serving();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::Conflict);
  EXPECT_NE(refused.error().text.find(std::to_string(::getpid())), std::string::npos) << refused.error().text;
}

TEST_F(SqliteFile, TheLockGoesWithItsEngine) {
  {
    const auto first = migrated();
    ASSERT_TRUE(first->lock_for_serving().has_value());
  }
  EXPECT_TRUE(open()->lock_for_serving().has_value());
}

TEST_F(SqliteFile, WithoutTablesASessionSaysWhatToDo) {
  const auto store = open();
  const auto version = store->schema_version();
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(version->found, 0);
  const auto refused = store->open_session();
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text.find("postrider migrate"), std::string::npos);
}

TEST_F(SqliteFile, TablesOfANewerVersionAreLeftAlone) {
  const auto store = migrated();
  Application{path}.run("INSERT INTO postrider_schema (version) VALUES (99)");
  const auto migrate = store->migrate();
  ASSERT_FALSE(migrate.has_value());
  EXPECT_EQ(migrate.error().code, ErrorCode::Conflict);
  EXPECT_EQ(store->open_session().error().code, ErrorCode::Conflict);
}

TEST_F(SqliteFile, AMigrationThatCannotBeFinishedLeavesNothing) {
  Application{path}.run("CREATE TABLE postrider_parked (mine TEXT)");
  const auto store = open();
  EXPECT_FALSE(store->migrate().has_value());
  EXPECT_EQ(store->schema_version()->found, 0);
  Application{path}.run("DROP TABLE postrider_parked");
  EXPECT_TRUE(store->migrate().has_value());
}

TEST_F(SqliteFile, TheTablesStandBesideTheApplicationsOwn) {
  Application app{path};
  app.run("CREATE TABLE booking (id INTEGER PRIMARY KEY, guest TEXT); INSERT INTO booking (guest) VALUES ('Ada')");
  const auto store = migrated({.shared_with_application = true});
  const auto s = session(*store);
  app.run(
      "BEGIN IMMEDIATE; UPDATE booking SET guest = 'Bob';"
      "INSERT INTO postrider_outbox (type, payload) VALUES ('booking.changed', '{}'); COMMIT");
  EXPECT_EQ(s->stats({})->outbox, 1U);
}

TEST_F(SqliteFile, APlainInsertInTheApplicationsTransactionComesAndGoesWithIt) {
  const auto store = migrated();
  const auto s = session(*store);
  Application app{path};
  app.run("BEGIN IMMEDIATE; INSERT INTO postrider_outbox (type, payload) VALUES ('a', '{}'); ROLLBACK");
  EXPECT_EQ(s->expand(now, 1, 10, ignore_all())->rows, 0U);
  app.run("BEGIN IMMEDIATE; INSERT INTO postrider_outbox (type, payload) VALUES ('b', '{}')");
  EXPECT_EQ(s->stats({})->outbox, 0U) << "not committed yet";
  app.run("COMMIT");
  EXPECT_EQ(s->expand(now, 1, 10, ignore_all())->rows, 1U);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].type, "b");
  EXPECT_EQ(seen[0].tenant, "default");
  const auto id = parse_uuid(seen[0].id);
  ASSERT_TRUE(id.has_value()) << seen[0].id;
  EXPECT_EQ(id->bytes[6] >> 4, 7);
  EXPECT_EQ(id->bytes[8] >> 6, 2);
}

TEST_F(SqliteFile, TheIdsThatTheTableMakesAreNewEachTimeAndOfNow) {
  const auto store = migrated();
  const auto s = session(*store);
  Application app{path};
  for (int i = 0; i < 50; ++i) app.run("INSERT INTO postrider_outbox (type, payload) VALUES ('b', '{}')");
  s->expand(now, 1, 100, ignore_all()).value();
  std::set<std::string> ids_seen;
  for (const OutboxRow& row : seen) ids_seen.insert(row.id);
  EXPECT_EQ(ids_seen.size(), 50U);
  std::int64_t ms = 0;
  const auto id = parse_uuid(seen[0].id);
  ASSERT_TRUE(id.has_value());
  for (std::size_t i = 0; i < 6; ++i) ms = ms << 8 | id->bytes[i];
  const auto clock =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  EXPECT_LT(std::abs(clock.count() - ms), 60'000);
}

TEST_F(SqliteFile, WhateverAProducerBindsIsTakenAndJudgedLater) {
  const auto store = migrated();
  const auto s = session(*store);
  Application{path}.run(
      "INSERT INTO postrider_outbox (accepted, id, tenant, type, payload, entity_id, version, due_at, idempotency_key)"
      "VALUES ('nonsense', NULL, NULL, 4711, x'7b7d', 12.5, x'ff00ff', 1700000000, x'')");
  EXPECT_EQ(s->expand(now, 1, 10, ignore_all())->rows, 1U);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_FALSE(seen[0].accepted.has_value());
  EXPECT_EQ(seen[0].id, "");
  EXPECT_EQ(seen[0].tenant, "default");
  EXPECT_EQ(seen[0].type, "4711");
  EXPECT_EQ(seen[0].payload, "{}");
  EXPECT_EQ(seen[0].entity_id, "12.5");
  EXPECT_EQ(seen[0].version, std::string("\xff\0\xff", 3));
  EXPECT_EQ(seen[0].due_at, "1700000000");
  EXPECT_EQ(seen[0].idempotency_key, "");
}

TEST_F(SqliteFile, ADatabaseInUtf16IsReadLikeAnyOther) {
  Application{path}.run("PRAGMA encoding = 'UTF-16le'; CREATE TABLE mine (a TEXT)");
  const auto store = migrated();
  const auto s = session(*store);
  Application{path}.run("INSERT INTO postrider_outbox (type, payload) VALUES ('Grüße', x'7b7d')");
  EXPECT_EQ(s->expand(now, 1, 10, ignore_all())->rows, 1U);
  EXPECT_EQ(seen.at(0).type, "Grüße");
  EXPECT_EQ(seen.at(0).payload, "{}");
}

TEST_F(SqliteFile, AForeignWriterIsWaitedFor) {
  const auto store = migrated();
  const auto s = session(*store);
  Application app{path};
  app.run("BEGIN IMMEDIATE; INSERT INTO postrider_outbox (type, payload) VALUES ('a', '{}')");
  std::thread later{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    app.run("COMMIT");
  }};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(s->tenants(std::vector<std::string>{"acme"}).has_value());
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{100});
  later.join();
}

TEST_F(SqliteFile, AForeignWriterThatNeverEndsIsNotWaitedForForEver) {
  const auto store = migrated();
  const auto s = session(*store);
  Application app{path};
  app.run("BEGIN IMMEDIATE");
  const auto begin = std::chrono::steady_clock::now();
  const auto refused = s->tenants(std::vector<std::string>{"acme"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{8});
  EXPECT_TRUE(s->stats({}).has_value()) << "reading goes on";
  app.run("ROLLBACK");
  EXPECT_TRUE(s->tenants(std::vector<std::string>{"acme"}).has_value());
}

TEST_F(SqliteFile, AFullDiskRefusesInWordsAndLeavesTheDataWhole) {
  const auto store = migrated({.pages_max = 200});
  const auto s = session(*store);
  std::size_t stored = 0;
  Error error;
  for (int i = 0; i < 1000; ++i) {
    OutboxRow row;
    const Uuid uuid = make_uuid7(now, static_cast<std::uint64_t>(i), 1);
    row.id = format_uuid(uuid);
    row.type = "t";
    row.payload = std::string(20'000, 'x');
    const std::vector<IntakeGroup> groups{{{row, 1, {.tenant = 1, .uuid = uuid}}}};
    const auto accepted = s->accept(now, groups);
    if (!accepted) {
      error = accepted.error();
      break;
    }
    ++stored;
  }
  EXPECT_EQ(error.code, ErrorCode::Exhausted);
  EXPECT_NE(error.text.find("full"), std::string::npos) << error.text;
  EXPECT_GT(stored, 10U);
  EXPECT_EQ(s->stats({})->outbox, stored);
  EXPECT_TRUE(store->check().has_value());
  Application{path}.run("DELETE FROM postrider_outbox");
  EXPECT_TRUE(s->tenants(std::vector<std::string>{"acme"}).has_value()) << "with room again it goes on";
}

TEST_F(SqliteFile, AnExpansionThatDoesNotFitIsRolledBackWhole) {
  const auto store = migrated({.pages_max = 250});
  const auto s = session(*store);
  Application app{path};
  for (int i = 0; i < 8; ++i) app.run("INSERT INTO postrider_outbox (type, payload) VALUES ('t', '{}')");
  const auto result = s->expand(now, 1, 10, [&](std::span<const OutboxRow> rows) {
    auto out = ignore_all()(rows);
    for (ExpandedMessage& m : out) m.message.payload = std::string(200'000, 'x');
    return out;
  });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::Exhausted);
  EXPECT_EQ(s->stats({})->outbox, 8U);
  EXPECT_TRUE(s->list({.state = "ignored"})->empty());
  EXPECT_EQ(s->expand(now, 1, 10, ignore_all())->rows, 8U);
}

TEST_F(SqliteFile, AFileThatIsNoDatabaseIsRefusedWithWhatToDo) {
  std::ofstream{path} << std::string(8192, 'x');
  const auto store = SqliteStore::open({.path = path});
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::Corrupt);
  EXPECT_NE(store.error().text.find("backup"), std::string::npos) << store.error().text;
}

TEST_F(SqliteFile, ADamagedFileIsFoundByTheCheck) {
  {
    const auto store = migrated();
    const auto s = session(*store);
    Application app{path};
    for (int i = 0; i < 300; ++i) {
      app.run("INSERT INTO postrider_outbox (type, payload) VALUES ('t', '" + std::string(500, 'x') + "')");
    }
    EXPECT_TRUE(store->check().has_value());
  }
  {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(0, std::ios::end);
    const auto size = static_cast<std::streamoff>(file.tellp());
    for (std::streamoff at = size - 20 * 4096; at < size; at += 4096) {
      file.seekp(at);
      file << std::string(2000, '\x5a');
    }
  }
  const auto store = open();
  const auto checked = store->check();
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().code, ErrorCode::Corrupt);
  const auto s = session(*store);
  const auto expanded = s->expand(now, 1, 1000, ignore_all());
  ASSERT_FALSE(expanded.has_value());
  EXPECT_EQ(expanded.error().code, ErrorCode::Corrupt);
}

TEST_F(SqliteFile, TheDataVersionMovesWhenAnybodyWrites) {
  const auto store = migrated();
  const auto s = session(*store);
  const auto before = store->data_version();
  EXPECT_EQ(store->data_version(), before);
  Application{path}.run("INSERT INTO postrider_outbox (type, payload) VALUES ('t', '{}')");
  const auto after = store->data_version();
  EXPECT_NE(after, before);
  s->tenants(std::vector<std::string>{"acme"}).value();
  EXPECT_NE(store->data_version(), after);
}

TEST_F(SqliteFile, TheJournalIsCopiedBackAndDoesNotGrowWithoutEnd) {
  const auto store = migrated();
  const auto s = session(*store);
  for (int i = 0; i < 400; ++i) {
    OutboxRow row;
    const Uuid uuid = make_uuid7(now, static_cast<std::uint64_t>(i), 1);
    row.id = format_uuid(uuid);
    row.type = "t";
    row.payload = std::string(60'000, 'x');
    const std::vector<IntakeGroup> groups{{{row, 1, {.tenant = 1, .uuid = uuid}}}};
    s->accept(now, groups).value();
  }
  struct stat info = {};
  ASSERT_EQ(::stat((path + "-wal").c_str(), &info), 0);
  EXPECT_LT(info.st_size, 8 << 20) << "24 MB were written";
}

TEST_F(SqliteFile, BetweenItsTransactionsASharingWriterLeavesTheLockFree) {
  const auto store = migrated({.shared_with_application = true});
  const auto s = session(*store);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) s->tenants(std::vector<std::string>{"t" + std::to_string(i)}).value();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{19});
}

}  // namespace
}  // namespace postrider::sqlite
