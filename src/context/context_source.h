// Records from the application's own databases, PostgreSQL or SQLite: read-only, bounded in time, rows and bytes.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "ports/context.h"

namespace postrider {

struct ContextDatabase {
  std::string name = {};
  std::string url = {};                        // postgresql://… or sqlite:PATH
  int connections = 2;                         // at most; each is opened when it is needed
  Duration timeout = std::chrono::seconds{2};  // for a free connection, for connecting, and for one query
  SqlDialect dialect = SqlDialect::Postgres;
};

/// Opens nothing yet: a database that is down is found out by those who ask it.
std::unique_ptr<ContextSource> make_context_source(std::vector<ContextDatabase> databases);

/// Whether the database answers, and would take these queries. Runs none of them.
Result<Done> check_context_database(const ContextDatabase& database, const std::vector<ContextSql>& queries);

}  // namespace postrider
