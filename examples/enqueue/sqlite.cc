// usage: enqueue_sqlite FILE
#include <sqlite3.h>

#include <cstdio>
#include <memory>

#include "postrider/outbox.h"

namespace {
bool run(sqlite3* connection, const char* sql) {
  if (sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return true;
  std::fprintf(stderr, "%s\n", sqlite3_errmsg(connection));
  return false;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sqlite3* raw = nullptr;
  sqlite3_open(argv[1], &raw);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> connection{raw, sqlite3_close};
  sqlite3_busy_timeout(raw, 5000);
  if (!run(raw, "PRAGMA synchronous = FULL")) return 1;
  if (!run(raw, "CREATE TABLE IF NOT EXISTS booking (id TEXT PRIMARY KEY, status TEXT NOT NULL)")) return 1;
  if (!run(raw, "BEGIN IMMEDIATE")) return 1;
  if (!run(raw,
           "INSERT INTO booking VALUES ('cpp-1', 'confirmed') ON CONFLICT (id) DO UPDATE SET status = 'confirmed'"))
    return 1;
  const postrider::Enqueued enqueued = postrider::enqueue(raw, {.type = "booking.confirmed",
                                                                .payload = R"({"bookingId":"cpp-1"})",
                                                                .entity_id = "cpp-1",
                                                                .idempotency_key = "booking:cpp-1:confirmed:1"});
  if (!enqueued) {
    std::fprintf(stderr, "%s\n", enqueued.error.c_str());
    run(raw, "ROLLBACK");
    return 1;
  }
  if (!run(raw, "COMMIT")) return 1;
  std::printf("%s\n", enqueued.id.c_str());
}
