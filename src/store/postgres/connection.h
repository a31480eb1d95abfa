// libpq behind a few plain types: parameters and rows in binary form, statements prepared once per connection. Errors
// are thrown as Failure and end at the session's verbs.
#pragma once
#include <libpq-fe.h>

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/crypto.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/reason.h"
#include "store/statements.h"

namespace postrider::postgres {

class Failure : public std::exception {
 public:
  Failure(ErrorCode code, std::string text, bool again = false) : error_{code, std::move(text)}, again_(again) {}
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] bool worth_another_try() const { return again_; }  // serialization failure, deadlock
  [[nodiscard]] const char* what() const noexcept override { return error_.text.c_str(); }

 private:
  Error error_;
  bool again_;
};

/// Somebody else held a lock for longer than the statement may wait; nothing happened.
class LockTimeout final : public Failure {
 public:
  using Failure::Failure;
};

enum class Type : std::uint32_t {
  Bool = 16,
  Bytes = 17,
  Tid = 27,
  Int8 = 20,
  Int2 = 21,
  Int4 = 23,
  Text = 25,
  Json = 114,
  TimestampTz = 1184,
  Uuid = 2950
};

/// One parameter that is an array, in PostgreSQL's binary form.
class Array {
 public:
  explicit Array(Type type);
  void add_int2(int value);
  void add_int4(std::int64_t value);
  void add_int8(std::int64_t value);
  void add_flag(bool value);
  void add_tid(std::uint64_t block_and_offset);
  void add(std::string_view text);
  void add(const std::array<std::uint8_t, 16>& uuid);
  void add_null();
  void add_time(Instant at) { add_int8(to_us(at)); }
  void add_time(const std::optional<Instant>& at) { at ? add_int8(to_us(*at)) : add_null(); }
  /// The wire form; call once, at the end.
  const std::string& finish();
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  void length(std::int32_t bytes);
  std::string bytes_;
  std::uint32_t count_ = 0;
  bool nulls_ = false;
};

/// Rows for COPY in PostgreSQL's binary form: the quickest way in for many whole rows.
class CopyRows {
 public:
  explicit CopyRows(std::size_t rows_expected = 0) : bytes_wanted_(rows_expected * kRowBytes) {}
  /// `columns` values follow, in the order of the statement.
  void row(int columns);
  CopyRows& int2(std::int64_t value);
  CopyRows& int4(std::int64_t value);
  CopyRows& int8(std::int64_t value);
  CopyRows& text(std::string_view value);
  CopyRows& bytes(std::string_view value) { return text(value); }
  CopyRows& uuid(const std::array<std::uint8_t, 16>& value);
  CopyRows& null();
  CopyRows& time(const std::optional<Instant>& at) { return at ? int8(to_us(*at)) : null(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  friend class Connection;
  static constexpr std::size_t kRowBytes = 512;  // about; a row may be larger
  std::size_t bytes_wanted_;
  std::string bytes_;
};

class Params {
 public:
  Params& int2(int value);
  Params& int4(std::int64_t value);
  Params& int8(std::int64_t value);
  Params& time(Instant at) { return int8(to_us(at)); }
  Params& text(std::string_view value);
  Params& bytes(std::string value);
  Params& uuid(const std::array<std::uint8_t, 16>& value);
  Params& flag(bool value);
  Params& null();
  Params& array(Array& value);
  Params& time(const std::optional<Instant>& at) { return at ? int8(to_us(*at)) : null(); }
  Params& optional_int4(const std::optional<TenantId>& value) { return value ? int4(*value) : null(); }
  Params& optional_text(std::string_view value) { return value.empty() ? null() : text(value); }

 private:
  friend class Connection;
  /// Copies what was only pointed at.
  void keep();
  struct Value {
    std::string own = {};
    const char* data = nullptr;  // null: `own`
    std::size_t size = 0;
    bool null = false;
  };
  std::vector<Value> values_;
};

class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, PQclear) {}
  [[nodiscard]] int count() const { return PQntuples(result_.get()); }
  [[nodiscard]] bool empty() const { return count() == 0; }
  [[nodiscard]] std::int64_t affected() const;
  /// The answer to a COMMIT that could only roll back.
  [[nodiscard]] bool is_rollback() const { return std::string_view{PQcmdStatus(result_.get())} == "ROLLBACK"; }
  [[nodiscard]] bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  /// Any of the integer types.
  [[nodiscard]] std::int64_t number(int row, int column) const;
  [[nodiscard]] int small(int row, int column) const { return static_cast<int>(number(row, column)); }
  [[nodiscard]] bool flag(int row, int column) const;
  [[nodiscard]] std::uint64_t tid(int row, int column) const;
  [[nodiscard]] std::string text(int row, int column) const;  // null is empty
  [[nodiscard]] std::array<std::uint8_t, 16> uuid(int row, int column) const;
  [[nodiscard]] Instant time(int row, int column) const { return instant_from_us(number(row, column)); }
  [[nodiscard]] std::optional<Instant> optional_time(int row, int column) const {
    return is_null(row, column) ? std::nullopt : std::optional{time(row, column)};
  }

 private:
  std::unique_ptr<PGresult, void (*)(PGresult*)> result_;
};

class Connection;

/// The rows of a query in text form, read one after the other: for everything that is not hot.
class TextRows {
 public:
  explicit TextRows(PGresult* result) : result_(result, PQclear) {}
  bool next() { return ++row_ < PQntuples(result_.get()); }
  [[nodiscard]] bool is_null(int column) const { return PQgetisnull(result_.get(), row_, column) != 0; }
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] Instant instant(int column) const { return instant_from_us(integer(column)); }
  [[nodiscard]] std::optional<Instant> maybe_instant(int column) const {
    return is_null(column) ? std::nullopt : std::optional{instant(column)};
  }
  [[nodiscard]] std::optional<std::int64_t> maybe_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional{integer(column)};
  }
  [[nodiscard]] Uuid uuid(int column) const;
  template <class Number>
  [[nodiscard]] Number number(int column) const {
    return static_cast<Number>(integer(column));
  }
  template <class Enum>
  [[nodiscard]] Enum one_of(int column, Enum first, Enum last) const {
    const std::int64_t value = integer(column);
    if (value < static_cast<std::int64_t>(first) || value > static_cast<std::int64_t>(last)) {
      throw Failure{ErrorCode::Corrupt, "a number outside its list"};
    }
    return static_cast<Enum>(value);
  }
  [[nodiscard]] Reason reason(int column) const;
  [[nodiscard]] std::int64_t affected() const;

 private:
  std::unique_ptr<PGresult, void (*)(PGresult*)> result_;
  int row_ = -1;
};

/// A statement by its name, with arguments in text form: PostgreSQL reads them as its casts say.
class TextStatement {
 public:
  TextStatement(Connection& connection, std::string_view name) : connection_(connection), name_(name) {}
  template <class... Arguments>
  int run(const Arguments&... arguments) {
    return static_cast<int>(query(arguments...).affected());
  }
  template <class... Arguments>
  TextRows query(const Arguments&... arguments) {
    std::vector<std::optional<std::string>> values;
    (values.push_back(as_text(arguments)), ...);
    return execute(values);
  }
  template <class... Arguments>
  std::optional<std::int64_t> integer(const Arguments&... arguments) {
    TextRows rows = query(arguments...);
    return rows.next() ? rows.maybe_integer(0) : std::nullopt;
  }
  template <class... Arguments>
  bool any(const Arguments&... arguments) {
    return integer(arguments...).value_or(0) != 0;
  }

 private:
  using Text = std::optional<std::string>;
  static Text as_text(std::nullptr_t) { return std::nullopt; }
  static Text as_text(std::string_view value) { return std::string{value}; }
  static Text as_text(const std::string& value) { return value; }
  static Text as_text(const char* value) { return std::string{value}; }
  static Text as_text(Instant value) { return std::to_string(to_us(value)); }
  static Text as_text(const Uuid& value) { return format_uuid(value); }
  static Text as_text(const Hash128& value) { return format_uuid(Uuid{value.bytes}); }
  static Text as_text(bool value) { return value ? "true" : "false"; }
  /// An array, as PostgreSQL writes it.
  static Text as_text(const std::vector<std::int64_t>& values);
  static Text as_text(const std::vector<std::string>& values);
  template <class Number>
  requires(std::is_integral_v<Number> || std::is_enum_v<Number>) static Text as_text(Number value) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  template <class Value>
  static Text as_text(const std::optional<Value>& value) {
    return value ? as_text(*value) : std::nullopt;
  }
  TextRows execute(const std::vector<Text>& values);

  Connection& connection_;
  std::string_view name_;
};

// Plans are pinned: statistics of a queue that is empty one moment and full the next lead the planner astray.
inline constexpr const char* kSessionSettings =
    "SET search_path = postrider, pg_catalog; SET synchronous_commit = on; SET jit = off; SET plan_cache_mode = "
    "force_generic_plan;"
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET statement_timeout = '20s'; SET lock_timeout = '10s';"
    "SET idle_in_transaction_session_timeout = '10s'; SET client_encoding = 'UTF8'; SET TimeZone = 'UTC'; SET "
    "client_min_messages = warning";

class Connection {
 public:
  Connection(std::string url, const Statements& statements) : url_(std::move(url)), statements_(statements) {}

  /// Connects (again) when there is no good connection. Throws Unavailable.
  void ensure();
  Rows query(std::string_view name, const Params& params = {});
  /// A statement that writes by itself: a connection that breaks during it leaves it open whether it happened.
  Rows write(std::string_view name, const Params& params);
  /// The same right after another statement, in one transaction of the two, which the server ends by itself: whoever
  /// stops here keeps no lock. The answer is the second one's.
  Rows write_after(std::string_view before, const Params& before_params, std::string_view name, const Params& params);
  void copy(std::string_view name, CopyRows& rows);
  /// A statement whose answer nobody needs: it goes to the server with the next one, or with the COMMIT.
  void later(std::string_view name, Params params);
  void run(const char* sql);  // our own fixed SQL, several statements allowed
  /// Goes to the server together with the first statement.
  void begin() { begin_pending_ = true; }
  void commit();
  void rollback();
  TextStatement use(std::string_view name) { return {*this, name}; }
  [[noreturn]] static void fail_corrupt(const char* what) { throw Failure{ErrorCode::Corrupt, what}; }

 private:
  friend class TextStatement;
  const char* prepared(std::string_view name);
  struct Step {
    const char* statement = nullptr;  // prepared, or BEGIN or COMMIT themselves
    Params params = {};
  };
  Rows execute(std::string_view name, const Params& params, ErrorCode when_lost);
  /// All in one round trip; the answer of the last one. They must be few: nothing is read while they are sent.
  Rows pipeline(const std::vector<Step>& steps, ErrorCode when_lost);
  bool send(const char* statement, const Params& params);
  /// What waits for a next statement that cannot be sent together with it.
  void flush();
  [[noreturn]] void fail(PGresult* result, ErrorCode when_lost);

  std::string url_;
  const Statements& statements_;
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_{nullptr, PQfinish};
  std::set<std::string, std::less<>> prepared_;
  bool begin_pending_ = false;
  std::vector<Step> later_;
};

/// Rolls back unless committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) { connection_.begin(); }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    connection_.commit();
    open_ = false;  // not before: what fails on the way leaves the transaction open on the server
  }

 private:
  Connection& connection_;
  bool open_ = true;
};

/// Everything inside sees one state: a row that moves from one table to another meanwhile is in exactly one of them.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection) : connection_(connection) {
    connection_.run("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  }
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Connection& connection_;
};

}  // namespace postrider::postgres
