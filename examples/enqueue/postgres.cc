// usage: enqueue_postgres postgresql://…
#include <libpq-fe.h>

#include <cstdio>
#include <memory>

#include "postrider/outbox.h"

namespace {
bool run(PGconn* connection, const char* sql) {
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result{PQexec(connection, sql), PQclear};
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) return true;
  std::fprintf(stderr, "%s", PQerrorMessage(connection));
  return false;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection{PQconnectdb(argv[1]), PQfinish};
  PGconn* const c = connection.get();
  if (!run(c, "CREATE TABLE IF NOT EXISTS booking (id text PRIMARY KEY, status text NOT NULL)")) return 1;
  if (!run(c, "BEGIN")) return 1;
  if (!run(c, "INSERT INTO booking VALUES ('cpp-1', 'confirmed') ON CONFLICT (id) DO UPDATE SET status = 'confirmed'"))
    return 1;
  const postrider::Enqueued enqueued = postrider::enqueue(c, {.type = "booking.confirmed",
                                                              .payload = R"({"bookingId":"cpp-1"})",
                                                              .entity_id = "cpp-1",
                                                              .idempotency_key = "booking:cpp-1:confirmed:1"});
  if (!enqueued) {
    std::fprintf(stderr, "%s\n", enqueued.error.c_str());
    run(c, "ROLLBACK");
    return 1;
  }
  if (!run(c, "COMMIT")) return 1;
  std::printf("%s\n", enqueued.id.c_str());
}
