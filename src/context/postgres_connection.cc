#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <array>

#include "base/limits.h"
#include "base/text.h"
#include "context/connection.h"
#include "context/record.h"

namespace postrider::context {
namespace {

using std::chrono::milliseconds;
using PgResult = std::unique_ptr<PGresult, decltype(&PQclear)>;

// The server ends a query that takes too long; only a server that does not answer at all is left waiting by us.
constexpr milliseconds kServerGrace{500};

// The types that have a form of their own in JSON (pg_type.dat, fixed for ever).
enum class Type : Oid {
  Bool = 16,
  Int8 = 20,
  Int2 = 21,
  Int4 = 23,
  Json = 114,
  Float4 = 700,
  Float8 = 701,
  Numeric = 1700,
  Jsonb = 3802
};

bool wait_for_socket(int socket, short events, SteadyTime until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

struct Options {
  std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed;
  [[nodiscard]] std::string_view password() const {
    for (const PQconninfoOption* each = parsed.get(); each != nullptr && each->keyword != nullptr; ++each) {
      if (std::string_view{each->keyword} == "password" && each->val != nullptr) return each->val;
    }
    return {};
  }
};

// What libpq says about a connection may quote the URL.
std::string without(std::string text, std::string_view password) {
  if (password.empty()) return text;
  for (std::size_t at = text.find(password); at != std::string::npos; at = text.find(password, at)) {
    text.replace(at, password.size(), "***");
    at += 3;
  }
  return text;
}

std::string said_by(const char* message) { return excerpt(printable(trim(message)), kExcerptBytesMax); }

ErrorCode code_of(std::string_view state) {
  constexpr std::array<std::string_view, 6> kRefused{"25006",           // it would write
                                                     "42601",           // no SQL
                                                     "42P02", "42P18",  // a parameter without a type
                                                     "0A000", "42P10"};
  for (const std::string_view each : kRefused) {
    if (state == each) return ErrorCode::Unsupported;
  }
  return state.starts_with("22") ? ErrorCode::Invalid : ErrorCode::Unavailable;  // 22: a value that is none of its type
}

class PostgresConnection final : public Connection {
 public:
  PostgresConnection(PGconn* connection, Duration timeout) : connection_(connection, PQfinish), timeout_(timeout) {}

  Result<Rows> ask(const Question& question) override {
    POSTRIDER_TRY_DONE(begin());
    auto rows = read(question);
    return end(std::move(rows));
  }

  Result<Done> understand(const ContextSql& sql) override {
    POSTRIDER_TRY_DONE(begin());
    PQsendPrepare(connection_.get(), "", sql.text.c_str(), 0, nullptr);
    return end(finish());
  }

  [[nodiscard]] bool is_sound() const override { return sound_ && PQstatus(connection_.get()) == CONNECTION_OK; }

 private:
  // Set for each transaction anew, so that this works behind a pooler too. After the first query a transaction cannot
  // be made a writing one any more, and it is rolled back whatever it did.
  Result<Done> begin() {
    until_ = std::chrono::steady_clock::now() + timeout_ + kServerGrace;
    const auto ms = std::max<std::int64_t>(1, std::chrono::duration_cast<milliseconds>(timeout_).count());
    const std::string text = fmt::format(
        "BEGIN READ ONLY; SET LOCAL statement_timeout = {0}; SET LOCAL lock_timeout = {0}; SET LOCAL "
        "idle_in_transaction_session_timeout = 10000; SET LOCAL client_min_messages = warning",
        ms);
    PQsendQuery(connection_.get(), text.c_str());
    return finish();
  }

  template <class T>
  Result<T> end(Result<T> result) {
    if (!is_sound()) return result;
    PQsendQuery(connection_.get(), "ROLLBACK");
    if (auto done = finish(); !done) sound_ = false;
    return result;
  }

  Result<Rows> read(const Question& question) {
    std::vector<const char*> values;
    for (const Value& value : question.values) {
      values.push_back(value.kind == JsonKind::Null ? nullptr : value.text.c_str());
    }
    // No types are given: the server takes them from where the values stand.
    const int sent = PQsendQueryParams(connection_.get(), question.sql.text.c_str(), static_cast<int>(values.size()),
                                       nullptr, values.data(), nullptr, nullptr, 0);
    if (sent == 0) return broken();
    PQsetSingleRowMode(connection_.get());
    Rows out;
    ByteBudget budget;
    for (;;) {
      POSTRIDER_TRY(result, next());
      if (!result) return out;
      const ExecStatusType status = PQresultStatus(result.get());
      if (status == PGRES_SINGLE_TUPLE && out.rows.size() >= question.rows_max) {
        // The rest would have to be read to use the connection again; it may be a whole table.
        sound_ = false;
        out.more = true;
        return out;
      }
      if (auto taken = take(result.get(), out, budget); !taken) {
        if (is_sound()) POSTRIDER_TRY_DONE(drain());
        return taken.error();
      }
    }
  }

  Result<Done> take(PGresult* result, Rows& out, ByteBudget& budget) {
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_SINGLE_TUPLE && status != PGRES_TUPLES_OK) {
      if (status == PGRES_FATAL_ERROR || status == PGRES_NONFATAL_ERROR) return error_of(result);
      sound_ = status == PGRES_COMMAND_OK && sound_;  // a COPY would have to be read to its end
      return Error{ErrorCode::Unsupported, "the query gives no columns; it must be a SELECT"};
    }
    std::vector<std::string> names;
    for (int column = 0; column < PQnfields(result); ++column) names.emplace_back(PQfname(result, column));
    POSTRIDER_TRY_DONE(check_columns(names));
    for (const std::string& name : names) out.has_entity_id = out.has_entity_id || name == kEntityColumn;
    if (status == PGRES_TUPLES_OK) return Done{};
    Row row;
    JsonWriter json;
    json.begin_object();
    for (int column = 0; column < PQnfields(result); ++column) {
      json.key(names[static_cast<std::size_t>(column)]);
      write_value(json, result, column);
      if (names[static_cast<std::size_t>(column)] == kEntityColumn && PQgetisnull(result, 0, column) == 0)
        row.entity_id = PQgetvalue(result, 0, column);
    }
    row.json = json.end_object().take();
    POSTRIDER_TRY_DONE(budget.take(row.json.size()));
    out.rows.push_back(std::move(row));
    return Done{};
  }

  static void write_value(JsonWriter& json, PGresult* result, int column) {
    if (PQgetisnull(result, 0, column) != 0) {
      json.null();
      return;
    }
    const std::string_view text{PQgetvalue(result, 0, column),
                                static_cast<std::size_t>(PQgetlength(result, 0, column))};
    switch (static_cast<Type>(PQftype(result, column))) {
      case Type::Bool: json.value(text == "t"); return;
      case Type::Int2:
      case Type::Int4:
      case Type::Int8: json.raw(text); return;
      case Type::Float4:
      case Type::Float8:
      case Type::Numeric: write_number(json, text); return;
      case Type::Json:
      case Type::Jsonb: write_json(json, text); return;
    }
    write_text(json, text);  // dates, texts, arrays, everything else
  }

  /// The next result of the command under way; null at its end.
  Result<PgResult> next() {
    while (PQisBusy(connection_.get()) != 0) {
      if (!wait_for_socket(PQsocket(connection_.get()), POLLIN, until_)) {
        sound_ = false;
        return Error{ErrorCode::Unavailable, fmt::format("no answer within {}", format_duration(timeout_))};
      }
      if (PQconsumeInput(connection_.get()) == 0) return broken();
    }
    return PgResult{PQgetResult(connection_.get()), PQclear};
  }

  // All results of a command that gives no rows; the first error counts.
  Result<Done> finish() {
    Result<Done> done = Done{};
    for (;;) {
      POSTRIDER_TRY(result, next());
      if (!result) break;
      if (done && PQresultStatus(result.get()) == PGRES_FATAL_ERROR) done = error_of(result.get());
    }
    if (done && PQstatus(connection_.get()) != CONNECTION_OK) return broken();
    return done;
  }
  Result<Done> drain() {
    for (std::size_t rows = 0;; ++rows) {
      POSTRIDER_TRY(result, next());
      if (!result) return Done{};
      if (rows >= kBatchMax) sound_ = false;
      if (!sound_) return Done{};
    }
  }

  Error broken() {
    sound_ = false;
    return {ErrorCode::Unavailable, said_by(PQerrorMessage(connection_.get()))};
  }
  static Error error_of(PGresult* result) {
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state == nullptr || message == nullptr) return {ErrorCode::Unavailable, said_by(PQresultErrorMessage(result))};
    return {code_of(state), fmt::format("{} ({})", said_by(message), state)};
  }

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  Duration timeout_;
  SteadyTime until_ = {};
  bool sound_ = true;
};

Result<Done> connect(PGconn* connection, const ContextDatabase& database) {
  const SteadyTime until = std::chrono::steady_clock::now() + database.timeout;
  if (connection == nullptr) return Error{ErrorCode::Exhausted, "out of memory"};
  PostgresPollingStatusType status = PGRES_POLLING_WRITING;
  while (PQstatus(connection) != CONNECTION_BAD) {
    const short events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!wait_for_socket(PQsocket(connection), events, until)) {
      return Error{ErrorCode::Unavailable, fmt::format("no connection within {}", format_duration(database.timeout))};
    }
    status = PQconnectPoll(connection);
    if (status == PGRES_POLLING_OK) return Done{};
    if (status == PGRES_POLLING_FAILED) break;
  }
  return Error{ErrorCode::Unavailable, said_by(PQerrorMessage(connection))};
}

}  // namespace

Result<std::unique_ptr<Connection>> open_postgres(const ContextDatabase& database) {
  const Options options{{PQconninfoParse(database.url.c_str(), nullptr), PQconninfoFree}};
  if (!options.parsed) return Error{ErrorCode::Unavailable, "its url cannot be read"};
  constexpr std::array<const char*, 5> kKeywords{"dbname", "fallback_application_name", "client_encoding",
                                                 "tcp_user_timeout", nullptr};
  const std::array<const char*, 5> values{database.url.c_str(), "postrider context", "UTF8", "10000", nullptr};
  PGconn* const raw = PQconnectStartParams(kKeywords.data(), values.data(), 1);
  auto connection = std::make_unique<PostgresConnection>(raw, database.timeout);
  if (auto connected = connect(raw, database); !connected)
    return Error{connected.error().code, without(connected.error().text, options.password())};
  return std::unique_ptr<Connection>(std::move(connection));
}

}  // namespace postrider::context
