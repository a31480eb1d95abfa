#include <libpq-fe.h>

#include <memory>

#include "client/columns.h"

namespace postrider {

Enqueued enqueue(PGconn* connection, const OutboxMessage& message) {
  const client::Insert insert = client::plan(message, '$');
  std::array<const char*, client::kColumns.size()> values{};
  for (int i = 0; i < insert.count; ++i) {
    const std::string& value = *insert.values[static_cast<std::size_t>(i)];
    if (value.find('\0') != std::string::npos) return {.error = "a value contains a NUL"};
    values[static_cast<std::size_t>(i)] = value.c_str();
  }
  const std::string sql =
      "INSERT INTO postrider.outbox (" + insert.names + ") VALUES (" + insert.places + ") RETURNING id";
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result{
      PQexecParams(connection, sql.c_str(), insert.count, nullptr, values.data(), nullptr, nullptr, 0), PQclear};
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) return {.error = PQerrorMessage(connection)};
  return {.id = PQgetvalue(result.get(), 0, 0)};
}

}  // namespace postrider
