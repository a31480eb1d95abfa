// SQLite's C API behind values. Inside this folder an error is a thrown Failure; it ends in Writer and in
// SqliteSession, which turn it into an Error. Nothing here is thread-safe.
#pragma once
#include <sqlite3.h>

#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/crypto.h"
#include "base/ids.h"
#include "base/result.h"
#include "core/reason.h"

namespace postrider::sqlite {

class Failure : public std::exception {
 public:
  explicit Failure(Error error) : error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] const char* what() const noexcept override { return error_.text.c_str(); }

 private:
  Error error_;
};

/// Throws the Failure that a result code of SQLite stands for.
[[noreturn]] void fail(sqlite3* db, int code);
[[noreturn]] void fail_corrupt(std::string_view what);

class Statement;

/// The rows of one query. Ends the query when it goes.
class Rows {
 public:
  explicit Rows(Statement& statement) : statement_(statement) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows();

  bool next();
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  /// A text, a number written out, or a blob's bytes as they are; empty for null.
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] Instant instant(int column) const { return instant_from_us(integer(column)); }
  [[nodiscard]] std::optional<Instant> maybe_instant(int column) const;
  [[nodiscard]] std::optional<std::int64_t> maybe_integer(int column) const;
  [[nodiscard]] Uuid uuid(int column) const;
  [[nodiscard]] std::optional<Uuid> maybe_uuid(int column) const;
  [[nodiscard]] std::optional<Hash128> maybe_hash(int column) const;
  template <class Number>
  [[nodiscard]] Number number(int column) const {
    return static_cast<Number>(integer(column));
  }
  /// A stored number of an enum whose values run from `first` to `last`.
  template <class Enum>
  [[nodiscard]] Enum one_of(int column, Enum first, Enum last) const {
    const std::int64_t value = integer(column);
    if (value < static_cast<std::int64_t>(first) || value > static_cast<std::int64_t>(last)) {
      fail_corrupt("a number outside its list");
    }
    return static_cast<Enum>(value);
  }
  [[nodiscard]] Reason reason(int column) const;

 private:
  Statement& statement_;
};

/// A statement that was prepared once.
class Statement {
 public:
  Statement(sqlite3* db, sqlite3_stmt* handle) : db_(db), handle_(handle) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(handle_); }

  /// Runs a statement that gives no rows; how many it changed. The arguments are bound without a copy.
  template <class... Arguments>
  int run(const Arguments&... arguments) {
    int index = 0;
    (bind(++index, arguments, SQLITE_STATIC), ...);
    return run_bound();
  }
  /// Starts a query. Its arguments are copied, as its rows outlive the call.
  template <class... Arguments>
  Rows query(const Arguments&... arguments) {
    int index = 0;
    (bind(++index, arguments, SQLITE_TRANSIENT), ...);
    return Rows{*this};
  }
  /// The first column of the first row.
  template <class... Arguments>
  std::optional<std::int64_t> integer(const Arguments&... arguments) {
    Rows rows = query(arguments...);
    return rows.next() ? rows.maybe_integer(0) : std::nullopt;
  }
  template <class... Arguments>
  bool any(const Arguments&... arguments) {
    return integer(arguments...).value_or(0) != 0;
  }

 private:
  friend class Rows;
  friend class RowBinder;
  int run_bound() {
    const int code = sqlite3_step(handle_);
    sqlite3_reset(handle_);
    if (code != SQLITE_DONE && code != SQLITE_ROW) fail(db_, code);
    return sqlite3_changes(db_);
  }
  void bind(int index, std::nullptr_t, sqlite3_destructor_type) { check(sqlite3_bind_null(handle_, index)); }
  void bind(int index, std::string_view value, sqlite3_destructor_type life) {
    check(sqlite3_bind_text64(handle_, index, value.data() == nullptr ? "" : value.data(), value.size(), life,
                              SQLITE_UTF8));
  }
  void bind(int index, Instant value, sqlite3_destructor_type) {
    check(sqlite3_bind_int64(handle_, index, to_us(value)));
  }
  void bind(int index, const Uuid& value, sqlite3_destructor_type life) {
    check(sqlite3_bind_blob(handle_, index, value.bytes.data(), 16, life));
  }
  void bind(int index, const Hash128& value, sqlite3_destructor_type life) {
    check(sqlite3_bind_blob(handle_, index, value.bytes.data(), 16, life));
  }
  template <class Number>
  requires(std::is_integral_v<Number> || std::is_enum_v<Number>) void bind(int index, Number value,
                                                                           sqlite3_destructor_type) {
    check(sqlite3_bind_int64(handle_, index, static_cast<std::int64_t>(value)));
  }
  template <class Value>
  void bind(int index, const std::optional<Value>& value, sqlite3_destructor_type life) {
    if (value) {
      bind(index, *value, life);
    } else {
      bind(index, nullptr, life);
    }
  }
  void check(int code) {
    if (code != SQLITE_OK) [[unlikely]]
      fail(db_, code);
  }

  sqlite3* db_;
  sqlite3_stmt* handle_;
};

/// Binds the rows of one INSERT one behind the other. What they point to is not copied: it has to live until run().
class RowBinder {
 public:
  explicit RowBinder(Statement& statement) : statement_(statement) {}
  template <class... Arguments>
  void add(const Arguments&... arguments) {
    (statement_.bind(++index_, arguments, SQLITE_STATIC), ...);
  }
  void run() { statement_.run_bound(); }

 private:
  Statement& statement_;
  int index_ = 0;
};

enum class Access : bool { ReadOnly, ReadWrite };

class Connection {
 public:
  /// Throws Failure. Sets what belongs to every connection; a writer's journal is the Writer's matter.
  Connection(const std::string& path, Access access);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Statements without parameters, several at once.
  void execute(const std::string& sql);
  /// The statement of that name from the .sql files, prepared on first use.
  Statement& use(std::string_view name);
  /// What a PRAGMA answers.
  std::string pragma(const std::string& text);
  [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }
  [[nodiscard]] std::int64_t last_id() const { return sqlite3_last_insert_rowid(db_); }
  [[nodiscard]] sqlite3* handle() const { return db_; }
  [[noreturn]] static void fail_corrupt(std::string_view what) { sqlite::fail_corrupt(what); }

 private:
  sqlite3* db_ = nullptr;
  std::chrono::steady_clock::time_point waiting_since_{};  // for a lock that somebody else holds
  std::map<std::string, std::unique_ptr<Statement>, std::less<>> statements_;
};

/// Rows in one INSERT of the form `<name>_many`: a third of a row's cost is that of its statement.
inline constexpr std::size_t kRowsAtOnce = 16;

struct InsertNames {
  std::string_view one;
  std::string_view many;
};

/// Writes rows with the INSERT of that name: as many as kRowsAtOnce together, fewer one by one. `bind(binder, row)`
/// adds one.
template <class Row, class Bind>
void write_rows(Connection& c, const InsertNames& insert, const std::vector<Row>& rows, const Bind& bind) {
  if (rows.size() == kRowsAtOnce) {
    RowBinder binder{c.use(insert.many)};
    for (const Row& row : rows) bind(binder, row);
    binder.run();
    return;
  }
  for (const Row& row : rows) {
    RowBinder binder{c.use(insert.one)};
    bind(binder, row);
    binder.run();
  }
}

/// A read transaction: everything inside sees one state.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection) : connection_(connection) { connection_.execute("BEGIN"); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() { sqlite3_exec(connection_.handle(), "COMMIT", nullptr, nullptr, nullptr); }

 private:
  Connection& connection_;
};

}  // namespace postrider::sqlite
