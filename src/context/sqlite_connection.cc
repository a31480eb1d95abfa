#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <charconv>
#include <cmath>
#include <map>

#include "base/limits.h"
#include "base/text.h"
#include "context/connection.h"
#include "context/record.h"

namespace postrider::context {
namespace {

constexpr int kStepsBetweenLooks = 1000;  // at the clock
constexpr int kValueBytesMax = 16 << 20;

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

// Reading is allowed and nothing else: the file is opened for reading alone, and this says so before a statement runs.
// A virtual table (json_each, full text) declares its columns as if it changed the schema, which it does not; whoever
// would is refused afterwards, because that statement does not only read.
int authorize(void*, int action, const char* name, const char*, const char*, const char*) {
  const auto is = [&](std::string_view allowed) {
    return name != nullptr && name == allowed ? SQLITE_OK : SQLITE_DENY;
  };
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
    case SQLITE_FUNCTION: return SQLITE_OK;
    case SQLITE_UPDATE: return is("sqlite_master");
    case SQLITE_PRAGMA: return is("data_version");  // Full-text tables ask themselves whether they changed.
    default: return SQLITE_DENY;
  }
}

int is_late(void* until) { return std::chrono::steady_clock::now() > *static_cast<const SteadyTime*>(until) ? 1 : 0; }

/// Which file a path names at the moment: another one may have been put in its place.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  static std::optional<FileId> of(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return std::nullopt;
    return FileId{found.st_dev, found.st_ino};
  }
  bool operator==(const FileId&) const = default;
};

std::string_view column_text(sqlite3_stmt* row, int column) {
  const bool blob = sqlite3_column_type(row, column) == SQLITE_BLOB;
  const void* data =
      blob ? sqlite3_column_blob(row, column) : static_cast<const void*>(sqlite3_column_text(row, column));
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(row, column))};
}

// SQLite's values have no types for these; the columns that they come from do.
bool is_declared(sqlite3_stmt* row, int column, std::string_view type) {
  const char* declared = sqlite3_column_decltype(row, column);
  return declared != nullptr && starts_with_ignoring_case(declared, type);
}

void write_value(JsonWriter& json, sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL: json.null(); return;
    case SQLITE_INTEGER: {
      const std::int64_t number = sqlite3_column_int64(row, column);
      const bool is_flag = (number == 0 || number == 1) && is_declared(row, column, "bool");
      is_flag ? json.value(number == 1) : json.value(number);
      return;
    }
    case SQLITE_FLOAT: {
      const double number = sqlite3_column_double(row, column);
      std::isfinite(number) ? json.value(number) : json.value(column_text(row, column));
      return;
    }
    case SQLITE_BLOB: json.value("\\x" + to_hex(column_text(row, column))); return;
    default: break;
  }
  is_declared(row, column, "json") ? write_json(json, column_text(row, column))
                                   : write_text(json, column_text(row, column));
}

bool bind(sqlite3_stmt* statement, int place, const Value& value) {
  const auto text = [&] {
    return sqlite3_bind_text64(statement, place, value.text.data(), value.text.size(), SQLITE_STATIC, SQLITE_UTF8);
  };
  switch (value.kind) {
    case JsonKind::Null: return sqlite3_bind_null(statement, place) == SQLITE_OK;
    case JsonKind::Bool: return sqlite3_bind_int(statement, place, value.text == "true" ? 1 : 0) == SQLITE_OK;
    case JsonKind::Number: {
      const char* const end = value.text.data() + value.text.size();
      std::int64_t whole = 0;
      if (const auto read = std::from_chars(value.text.data(), end, whole); read.ec == std::errc{} && read.ptr == end)
        return sqlite3_bind_int64(statement, place, whole) == SQLITE_OK;
      double number = 0;
      if (const auto read = std::from_chars(value.text.data(), end, number); read.ec == std::errc{} && read.ptr == end)
        return sqlite3_bind_double(statement, place, number) == SQLITE_OK;
      return text() == SQLITE_OK;
    }
    case JsonKind::Text:
    case JsonKind::Array:
    case JsonKind::Object: return text() == SQLITE_OK;
  }
  POSTRIDER_DIE("a JsonKind outside its enum");
}

class SqliteConnection final : public Connection {
 public:
  explicit SqliteConnection(const ContextDatabase& database)
      : path_(database.url.substr(std::string_view{"sqlite:"}.size())), timeout_(database.timeout) {}

  Result<Done> open() {
    file_ = FileId::of(path_);
    sqlite3* raw = nullptr;
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const int opened = sqlite3_open_v2(path_.c_str(), &raw, flags, nullptr);
    db_.reset(raw);
    if (opened != SQLITE_OK) return error_of(opened);
    sqlite3_limit(raw, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kValueBytesMax);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_busy_timeout(raw,
                         static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(timeout_).count()));
    sqlite3_progress_handler(raw, kStepsBetweenLooks, is_late, &until_);
    until_ = std::chrono::steady_clock::now() + timeout_;
    // The schema is read: a file that is no database is found out here.
    const int asked =
        sqlite3_exec(raw, "PRAGMA query_only = 1; SELECT 1 FROM sqlite_schema LIMIT 1", nullptr, nullptr, nullptr);
    if (asked != SQLITE_OK) return error_of(asked);
    sqlite3_set_authorizer(raw, authorize, nullptr);
    return Done{};
  }

  Result<Rows> ask(const Question& question) override {
    until_ = std::chrono::steady_clock::now() + timeout_;
    POSTRIDER_TRY(statement, prepared(question.sql));
    for (std::size_t i = 0; i < question.values.size(); ++i) {
      if (!bind(statement, static_cast<int>(i + 1), question.values[i]))
        return Error{ErrorCode::Invalid, fmt::format("the value of :{} is too large", question.sql.parameters[i])};
    }
    auto rows = read(statement, question.rows_max);
    sqlite3_reset(statement);  // ends its transaction
    sqlite3_clear_bindings(statement);
    return rows;
  }

  Result<Done> understand(const ContextSql& sql) override {
    POSTRIDER_TRY(statement, prepared(sql));
    (void)statement;
    return Done{};
  }

  [[nodiscard]] bool is_sound() const override { return db_ != nullptr && file_ && FileId::of(path_) == file_; }

 private:
  Result<sqlite3_stmt*> prepared(const ContextSql& sql) {
    if (const auto found = statements_.find(sql.text); found != statements_.end()) return found->second.get();
    const char* rest = nullptr;
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(db_.get(), sql.text.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &raw, &rest);
    Statement statement{raw};
    if (code != SQLITE_OK) return error_of(code);
    if (!statement || sqlite3_stmt_readonly(raw) == 0 || sqlite3_column_count(raw) == 0)
      return Error{ErrorCode::Unsupported, "the query gives no columns; it must be a SELECT"};
    sqlite3_stmt* second = nullptr;
    const int beyond = sqlite3_prepare_v3(db_.get(), rest, -1, 0, &second, nullptr);
    const Statement ended{second};
    if (beyond != SQLITE_OK || second != nullptr)
      return Error{ErrorCode::Unsupported, "the query is more than one statement"};
    std::vector<std::string> names;
    for (int column = 0; column < sqlite3_column_count(raw); ++column)
      names.emplace_back(sqlite3_column_name(raw, column));
    POSTRIDER_TRY_DONE(check_columns(names));
    return statements_.emplace(sql.text, std::move(statement)).first->second.get();
  }

  Result<Rows> read(sqlite3_stmt* statement, std::size_t rows_max) {
    Rows out;
    ByteBudget budget;
    const int columns = sqlite3_column_count(statement);
    for (int column = 0; column < columns; ++column)
      out.has_entity_id = out.has_entity_id || sqlite3_column_name(statement, column) == kEntityColumn;
    for (;;) {
      const int code = sqlite3_step(statement);
      if (code == SQLITE_DONE) return out;
      if (code != SQLITE_ROW) return error_of(code);
      if (out.rows.size() >= rows_max) {
        out.more = true;
        return out;
      }
      Row row;
      JsonWriter json;
      json.begin_object();
      for (int column = 0; column < columns; ++column) {
        const std::string_view name = sqlite3_column_name(statement, column);
        json.key(name);
        write_value(json, statement, column);
        if (name == kEntityColumn && sqlite3_column_type(statement, column) != SQLITE_NULL)
          row.entity_id = column_text(statement, column);
      }
      row.json = json.end_object().take();
      POSTRIDER_TRY_DONE(budget.take(row.json.size()));
      out.rows.push_back(std::move(row));
    }
  }

  Error error_of(int code) {
    const std::string said =
        db_ == nullptr ? "out of memory" : excerpt(printable(sqlite3_errmsg(db_.get())), kExcerptBytesMax);
    switch (code & 0xff) {
      case SQLITE_INTERRUPT:
        return {ErrorCode::Unavailable, fmt::format("the query took longer than {}", format_duration(timeout_))};
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        return {ErrorCode::Unavailable, fmt::format("the file was locked for {}", format_duration(timeout_))};
      case SQLITE_AUTH:
      case SQLITE_READONLY: return {ErrorCode::Unsupported, fmt::format("only reading is allowed ({})", said)};
      case SQLITE_RANGE:
      case SQLITE_TOOBIG: return {ErrorCode::Unsupported, said};
      // A table or a column may come with the application's next migration; what is no SQL stays so. Only the words
      // tell.
      case SQLITE_ERROR:
        if (said.find("syntax error") != std::string::npos || said == "incomplete input")
          return {ErrorCode::Unsupported, said};
        return {ErrorCode::Unavailable, said};
      default: return {ErrorCode::Unavailable, said};
    }
  }

  std::string path_;
  Duration timeout_;
  SteadyTime until_ = {};
  std::optional<FileId> file_;
  std::unique_ptr<sqlite3, Close> db_;
  std::map<std::string, Statement, std::less<>> statements_;  // as many as there are routes
};

}  // namespace

Result<std::unique_ptr<Connection>> open_sqlite(const ContextDatabase& database) {
  auto connection = std::make_unique<SqliteConnection>(database);
  POSTRIDER_TRY_DONE(connection->open());
  return std::unique_ptr<Connection>(std::move(connection));
}

}  // namespace postrider::context
