#include "context/application.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace postrider {
namespace {

namespace fs = std::filesystem;
using PgConnection = std::unique_ptr<PGconn, void (*)(PGconn*)>;

std::string server_url() {
  const char* url = std::getenv("POSTRIDER_TEST_PG");
  if (url == nullptr) throw std::runtime_error{"POSTRIDER_TEST_PG is not set: run this under tools/with-postgres"};
  return url;
}

PgConnection connect_to(const std::string& url) {
  PgConnection connection{PQconnectdb(url.c_str()), PQfinish};
  if (PQstatus(connection.get()) != CONNECTION_OK) throw std::runtime_error{PQerrorMessage(connection.get())};
  return connection;
}

void run_on(PGconn* connection, const std::string& sql) {
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result{PQexec(connection, sql.c_str()), PQclear};
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error{PQerrorMessage(connection)};
}

class PostgresApplication final : public Application {
 public:
  PostgresApplication() {
    static std::atomic<int> counter{0};
    name_ = fmt::format("application_{}_{}", ::getpid(), counter++);
    run_on(server_.get(), "CREATE DATABASE " + name_);
    const std::string url = server_url();
    const std::size_t slash = url.find('/', url.find("://") + 3);
    url_ = url.substr(0, slash) + "/" + name_;
  }

  void run(const std::string& sql) override { run_on(connect_to(url_).get(), sql); }
  [[nodiscard]] ContextDatabase database() const override {
    return {.name = "shop", .url = url_, .timeout = std::chrono::seconds{10}, .dialect = SqlDialect::Postgres};
  }
  [[nodiscard]] std::string slow_query() const override { return "SELECT pg_sleep(60)::text AS slept"; }
  void go_away() override {
    run_on(server_.get(), fmt::format("ALTER DATABASE {} ALLOW_CONNECTIONS false", name_));
    run_on(server_.get(),
           fmt::format("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{}'", name_));
  }
  void come_back() override { run_on(server_.get(), fmt::format("ALTER DATABASE {} ALLOW_CONNECTIONS true", name_)); }

 private:
  std::string name_;
  std::string url_;
  PgConnection server_ = connect_to(server_url());
};

class SqliteApplication final : public Application {
 public:
  SqliteApplication() {
    std::string name = (fs::temp_directory_path() / "postrider-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
    folder_ = name;
    run("PRAGMA journal_mode = WAL");
  }
  ~SqliteApplication() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  void run(const std::string& sql) override {
    sqlite3* db = nullptr;
    const bool opened = sqlite3_open(path().c_str(), &db) == SQLITE_OK;
    const bool done = opened && sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
    const std::string said = sqlite3_errmsg(db);
    sqlite3_close(db);
    if (!done) throw std::runtime_error{said};
  }
  [[nodiscard]] ContextDatabase database() const override {
    return {
        .name = "shop", .url = "sqlite:" + path(), .timeout = std::chrono::seconds{10}, .dialect = SqlDialect::Sqlite};
  }
  [[nodiscard]] std::string slow_query() const override {
    return "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000000) "
           "SELECT max(i) AS slept FROM n";
  }
  void go_away() override { fs::rename(path(), path() + ".away"); }
  void come_back() override { fs::rename(path() + ".away", path()); }

 private:
  [[nodiscard]] std::string path() const { return (folder_ / "shop.db").string(); }
  fs::path folder_;
};

}  // namespace

std::unique_ptr<Application> make_postgres_application() { return std::make_unique<PostgresApplication>(); }
std::unique_ptr<Application> make_sqlite_application() { return std::make_unique<SqliteApplication>(); }
std::vector<ApplicationKind> application_kinds() {
  return {{"Postgres", make_postgres_application}, {"Sqlite", make_sqlite_application}};
}

std::string spoken(const ContextRecord& record) {
  if (const auto* json = std::get_if<std::string>(&record)) return *json;
  if (const auto* failed = std::get_if<RecordFailed>(&record))
    return (failed->lasting ? "lasting: " : "passing: ") + failed->text;
  return std::holds_alternative<NoRecord>(record) ? "none" : "many";
}

std::string ask(ContextSource& source, const ContextRule& rule, const ContextAsk& one) {
  const std::vector<ContextAsk> asks{one};
  return spoken(source.load(rule, asks).at(0));
}

}  // namespace postrider
