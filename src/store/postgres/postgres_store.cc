#include "store/postgres/postgres_store.h"

#include <fmt/format.h>

#include <array>

#include "postgres_sql.h"
#include "store/postgres/session.h"

namespace postrider::postgres {
namespace {

constexpr std::array kMigrations{postgres_sql::k_0001_first, postgres_sql::k_0002_content,
                                 postgres_sql::k_0003_cancel_mark, postgres_sql::k_0004_outbox_one_index,
                                 postgres_sql::k_0005_outbox_id};
constexpr int kWanted = static_cast<int>(kMigrations.size());

int found_version(Connection& c) {
  if (!c.use("schema_any").any()) return 0;
  return static_cast<int>(c.use("schema_version").integer().value_or(0));
}

// Nothing here may hang on statistics or on another node that is migrating at the same time.
void apply(Connection& c) {
  Transaction transaction{c};
  c.use("schema_lock").query();
  const int found = found_version(c);
  if (found > kWanted) {
    throw Failure{ErrorCode::Conflict,
                  fmt::format("the tables are of version {}, newer than this program's {}; use a newer postrider",
                              found, kWanted)};
  }
  for (int version = found; version < kWanted; ++version) {
    if (version == 0) c.run("CREATE SCHEMA IF NOT EXISTS postrider");
    c.run(std::string{kMigrations[static_cast<std::size_t>(version)]}.c_str());
    c.use("schema_put").run(version + 1);
  }
  transaction.commit();
}

}  // namespace

PostgresStore::PostgresStore(std::string url)
    : url_(std::move(url)),
      statements_(parse_statements(std::array{
          postgres_sql::k_intake, postgres_sql::k_expand, postgres_sql::k_claim, postgres_sql::k_record,
          postgres_sql::k_promote, postgres_sql::k_nodes, postgres_sql::k_read, postgres_sql::k_operate,
          postgres_sql::k_keys, postgres_sql::k_templates, postgres_sql::k_people, postgres_sql::k_schema})) {
  const std::string record = statements_.at("record");
  const std::string by_key = with(record, "/* held */", statements_.at("record_held_by_key"));
  statements_["record"] = with(record, "/* held */", statements_.at("record_held_by_place"));
  statements_["record_by_key"] = by_key;
  const std::string settled = statements_.at("record_settled");
  statements_["record_settled"] = with(settled, "/* where */", statements_.at("settled_by_place"));
  statements_["record_settled_by_key"] = with(settled, "/* where */", statements_.at("settled_by_key"));
  for (const std::string_view name : {"deliveries_by_id", "deliveries_in_a_row", "take_over"}) {
    std::string& statement = statements_.at(std::string{name});
    statement = with(statement, "/* columns */", statements_.at("delivery_columns"));
  }
  for (const std::string_view name : {"claim", "claim_beside"}) {
    const std::string either = statements_.at(std::string{name});
    constexpr std::string_view kEither = "(q.guarantee = 2) = $6::bool";
    statements_[std::string{name}] = with(either, kEither, "q.guarantee <> 2 AND NOT $6::bool");
    statements_[std::string{name} + "_once"] = with(either, kEither, "q.guarantee = 2 AND $6::bool");
  }
  statements_["record_careful"] = with(by_key, "/* ON CONFLICT DO NOTHING */", "ON CONFLICT DO NOTHING");
}

Result<std::unique_ptr<PostgresStore>> PostgresStore::open(std::string url) {
  std::unique_ptr<PostgresStore> store(new PostgresStore(std::move(url)));
  try {
    Connection c{store->url_, store->statements_};
    c.ensure();
    const auto version = c.use("server_version").integer().value_or(0);
    if (version < 150000)
      return Error{ErrorCode::Unsupported,
                   fmt::format("PostgreSQL 15 or newer is needed, this is {}", version / 10000)};
    if (c.use("fsync_off").any())
      return Error{ErrorCode::Unsupported, "PostgreSQL runs with fsync = off: it would lose what it acknowledged"};
  } catch (const Failure& failure) {
    return failure.error();
  }
  return store;
}

Result<std::unique_ptr<StoreSession>> PostgresStore::open_session() {
  auto session = std::make_unique<PostgresSession>(url_, statements_);
  POSTRIDER_TRY_DONE(session->connect());
  return std::unique_ptr<StoreSession>(std::move(session));
}

Result<Done> PostgresSession::connect() {
  return run([](Connection&) { return Done{}; });
}

Result<Done> PostgresStore::migrate() {
  try {
    Connection c{url_, statements_};
    c.ensure();
    apply(c);
    return Done{};
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<Store::SchemaVersion> PostgresStore::schema_version() {
  try {
    Connection c{url_, statements_};
    c.ensure();
    return SchemaVersion{found_version(c), kWanted};
  } catch (const Failure& failure) {
    return failure.error();
  }
}

}  // namespace postrider::postgres
