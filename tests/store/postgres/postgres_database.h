// A database of its own on the server that $POSTRIDER_TEST_PG names (tools/with-postgres starts one).
#pragma once
#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>

#include "store/conformance/harness.h"

namespace postrider::conformance {

/// Makes an empty, migrated database and gives its URL. Making and dropping one costs a busy disk a second, so it is
/// emptied and used again by the next test of this process, unless it has to be new; the server is thrown away anyway.
class PostgresDatabase {
 public:
  enum class Kind { New, Emptied };
  explicit PostgresDatabase(Kind kind = Kind::New);
  ~PostgresDatabase();
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  Kind kind_;
  std::string url_;
};

/// Runs SQL, throws what the server says.
using PgResult = std::unique_ptr<PGresult, void (*)(PGresult*)>;
PgResult run_sql(PGconn* connection, const std::string& sql, const std::vector<const char*>& values = {});
using PgConnection = std::unique_ptr<PGconn, void (*)(PGconn*)>;
PgConnection connect_to(const std::string& url);

StoreFactory postgres_factory();

}  // namespace postrider::conformance
