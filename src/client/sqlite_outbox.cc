#include <sqlite3.h>

#include <memory>

#include "client/columns.h"

namespace postrider {

Enqueued enqueue(sqlite3* connection, const OutboxMessage& message) {
  const client::Insert insert = client::plan(message, '?');
  const std::string sql =
      "INSERT INTO postrider_outbox (" + insert.names + ") VALUES (" + insert.places + ") RETURNING id";
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(connection, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK)
    return {.error = sqlite3_errmsg(connection)};
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement{raw, sqlite3_finalize};
  for (int i = 0; i < insert.count; ++i) {
    const std::string& value = *insert.values[static_cast<std::size_t>(i)];
    sqlite3_bind_text64(raw, i + 1, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  if (sqlite3_step(raw) != SQLITE_ROW) return {.error = sqlite3_errmsg(connection)};
  const auto* id = reinterpret_cast<const char*>(sqlite3_column_text(raw, 0));
  Enqueued done{.id = id == nullptr ? "" : id};
  // The row is there only when the statement has run to its end.
  if (sqlite3_step(raw) != SQLITE_DONE) return {.error = sqlite3_errmsg(connection)};
  return done;
}

}  // namespace postrider
