// Put a message into the outbox inside your own transaction.
//
// Your change and the message commit together or not at all: call enqueue() between your BEGIN and your COMMIT, on the
// same connection. Nothing here begins, commits or rolls back anything, and no call waits for another producer. The
// outbox must be in the same database (PostgreSQL: schema `postrider`; SQLite: tables `postrider_…` in the same file).
//
// Link with libpostrider and with libpq or SQLite, whichever you use.
#pragma once
#include <string>
#include <string_view>

typedef struct pg_conn PGconn;  // as in libpq-fe.h
struct sqlite3;

namespace postrider {

/// Only type and payload are required. Empty text means: not given.
struct OutboxMessage {
  std::string type;            // what happened: "booking.confirmed"
  std::string payload = "{}";  // a JSON object
  std::string id = {};         // a UUID of your own; else one is made
  std::string tenant = {};     // else "default"
  std::string entity_id = {};  // the thing it is about
  std::string version = {};    // of that thing, so that the same fact can be told again after a change
  std::string idempotency_key = {};
  std::string lane = {};  // priority, standard, bulk
  std::string category = {};
  std::string locale = {};
  std::string origin = {};
  std::string topic = {};
  std::string correlation_id = {};
  std::string traceparent = {};
  std::string schema_version = {};
  std::string occurred_at = {};  // RFC 3339
  std::string due_at = {};
  std::string expires_at = {};
  std::string type_data = {};  // free JSON
  // A direct message:
  std::string channel = {};
  std::string recipient = {};
  std::string contact = {};
  std::string list = {};
  std::string subject = {};
  std::string body = {};
  std::string template_key = {};
};

/// The message's id, or what went wrong (then your transaction is as the database left it: roll it back).
struct Enqueued {
  std::string id = {};
  std::string error = {};
  explicit operator bool() const { return error.empty(); }
};

[[nodiscard]] Enqueued enqueue(PGconn* connection, const OutboxMessage& message);
[[nodiscard]] Enqueued enqueue(sqlite3* connection, const OutboxMessage& message);

}  // namespace postrider
