#include "store/postgres/postgres_database.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "store/postgres/postgres_store.h"

namespace postrider::conformance {
namespace {

std::string server_url() {
  const char* url = std::getenv("POSTRIDER_TEST_PG");
  if (url == nullptr) throw std::runtime_error{"POSTRIDER_TEST_PG is not set: run this under tools/with-postgres"};
  return url;
}

// postgresql://user@host:port/dbname?… with another database.
std::string with_database(const std::string& url, const std::string& name) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t slash = url.find('/', host);
  const std::size_t query = url.find('?', host);
  return url.substr(0, std::min(slash, query)) + "/" + name + (query == std::string::npos ? "" : url.substr(query));
}

// Migrated once per server; every test's database is a copy of it. The lock keeps tests that start together apart.
constexpr const char* kTemplate = "postrider_test_template";
void make_template(PGconn* server) {
  run_sql(server, "SELECT pg_advisory_lock(7281)");
  const PgResult found = run_sql(server, fmt::format("SELECT 1 FROM pg_database WHERE datname = '{}'", kTemplate));
  if (PQntuples(found.get()) == 0) {
    run_sql(server, "CREATE DATABASE postrider_test_draft");
    {
      auto store = postgres::PostgresStore::open(with_database(server_url(), "postrider_test_draft"));
      if (!store) throw std::runtime_error{store.error().text};
      if (auto migrated = (*store)->migrate(); !migrated) throw std::runtime_error{migrated.error().text};
    }
    run_sql(server, fmt::format("ALTER DATABASE postrider_test_draft RENAME TO {}", kTemplate));
  }
  run_sql(server, "SELECT pg_advisory_unlock(7281)");
}

std::vector<std::string>& used_before() {
  static std::vector<std::string> urls;
  return urls;
}

// As it was after the migration.
constexpr const char* kEmpty = R"(DO $$
DECLARE
  one record;
BEGIN
  PERFORM set_config('session_replication_role', 'replica', true);  -- whatever refers to what
  FOR one IN SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'postrider'::regnamespace AND relkind IN ('r', 'p')
             AND NOT relispartition AND relname NOT IN ('schema_version', 'catalog') LOOP
    EXECUTE format('DELETE FROM %s', one.name);
  END LOOP;
  FOR one IN SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'postrider'::regnamespace AND relkind = 'S' LOOP
    PERFORM setval(one.name, 1, false);
  END LOOP;
  DELETE FROM postrider.catalog WHERE name <> 'templates';
  UPDATE postrider.catalog SET version = 1;
END $$)";

class PostgresUnderTest final : public Database {
 public:
  PostgresUnderTest() : application_(connect_to(database_.url())) { open(); }

  Store& store() override { return *store_; }
  void insert(const OutboxRow& row) override {
    std::string columns;
    std::string places;
    std::vector<const char*> values;
    const auto add = [&](const char* column, const std::string& value) {
      if (value.empty()) return;
      values.push_back(value.c_str());
      columns += (columns.empty() ? "" : ", ") + std::string{column};
      places += fmt::format("{}${}", places.empty() ? "" : ", ", values.size());
    };
    const std::string accepted = row.accepted ? std::to_string(*row.accepted) : "";
    add("accepted", accepted);
    add("id", row.id);
    add("tenant", row.tenant);
    add("topic", row.topic);
    add("type", row.type);
    add("entity_id", row.entity_id);
    add("version", row.version);
    add("idempotency_key", row.idempotency_key);
    add("payload", row.payload);
    add("lane", row.lane);
    add("due_at", row.due_at);
    add("expires_at", row.expires_at);
    add("channel", row.channel);
    add("recipient", row.recipient);
    add("contact", row.contact);
    add("subject", row.subject);
    add("body", row.body);
    if (!row.sealed.empty()) {
      values.push_back(row.sealed.c_str());
      columns += ", sealed";
      places += fmt::format(", decode(${}, 'base64')", values.size());
    }
    run_sql(application_.get(), fmt::format("INSERT INTO postrider.outbox ({}) VALUES ({})", columns, places), values);
  }
  std::vector<AuditLine> audit() override {
    const PgResult rows =
        run_sql(application_.get(), "SELECT actor, action, why, message, delivery FROM postrider.audit ORDER BY id");
    std::vector<AuditLine> lines;
    const auto id = [&](int row, int column) -> std::optional<RowId> {
      if (PQgetisnull(rows.get(), row, column) != 0) return std::nullopt;
      return std::stoll(PQgetvalue(rows.get(), row, column));
    };
    for (int i = 0; i < PQntuples(rows.get()); ++i) {
      lines.push_back({PQgetvalue(rows.get(), i, 0), PQgetvalue(rows.get(), i, 1), PQgetvalue(rows.get(), i, 2),
                       id(i, 3), id(i, 4)});
    }
    return lines;
  }
  void reopen() override {
    store_.reset();
    open();
  }

 private:
  void open() {
    auto opened = postgres::PostgresStore::open(database_.url());
    if (!opened) throw std::runtime_error{opened.error().text};
    store_ = std::move(*opened);
  }
  PostgresDatabase database_{PostgresDatabase::Kind::Emptied};
  PgConnection application_;
  std::unique_ptr<postgres::PostgresStore> store_;
};

}  // namespace

PgConnection connect_to(const std::string& url) {
  PgConnection connection{PQconnectdb(url.c_str()), PQfinish};
  if (PQstatus(connection.get()) != CONNECTION_OK) throw std::runtime_error{PQerrorMessage(connection.get())};
  return connection;
}

PgResult run_sql(PGconn* connection, const std::string& sql, const std::vector<const char*>& values) {
  PgResult result{PQexecParams(connection, sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                               nullptr, nullptr, 0),
                  PQclear};
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error{PQerrorMessage(connection)};
  return result;
}

PostgresDatabase::PostgresDatabase(Kind kind) : kind_(kind) {
  if (kind == Kind::Emptied && !used_before().empty()) {
    url_ = used_before().back();
    used_before().pop_back();
    run_sql(connect_to(url_).get(), kEmpty);
    return;
  }
  static std::atomic<int> counter{0};
  const std::string name = fmt::format("postrider_test_{}_{}", ::getpid(), counter++);
  const PgConnection server = connect_to(server_url());
  make_template(server.get());
  run_sql(server.get(), fmt::format("CREATE DATABASE {} TEMPLATE {}", name, kTemplate));
  url_ = with_database(server_url(), name);
}

PostgresDatabase::~PostgresDatabase() {
  if (kind_ == Kind::Emptied) used_before().push_back(url_);
}

StoreFactory postgres_factory() {
  return {"Postgres", [] { return std::unique_ptr<Database>{std::make_unique<PostgresUnderTest>()}; }, false};
}

}  // namespace postrider::conformance
