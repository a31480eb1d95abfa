#include "store/sqlite/connection.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/check.h"
#include "sqlite_sql.h"
#include "store/statements.h"

namespace postrider::sqlite {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kForeignWriterWaitMax{5000};

// An INSERT of one row, whose parameters have no numbers, with its row repeated.
std::string many_rows(const std::string& one) {
  const std::size_t begin = one.find('(', one.find("VALUES"));
  const std::string row = one.substr(begin, one.find(')', begin) + 1 - begin);
  std::string rows = row;
  for (std::size_t i = 1; i < kRowsAtOnce; ++i) rows += ", " + row;
  return with(one, row, rows);
}

const Statements& statements() {
  static const Statements all = [] {
    const std::array<std::string_view, 11> files{sqlite_sql::k_intake,    sqlite_sql::k_expand,  sqlite_sql::k_claim,
                                                 sqlite_sql::k_record,    sqlite_sql::k_promote, sqlite_sql::k_nodes,
                                                 sqlite_sql::k_read,      sqlite_sql::k_operate, sqlite_sql::k_keys,
                                                 sqlite_sql::k_templates, sqlite_sql::k_people};
    Statements read = parse_statements(files);
    for (const std::string name : {"claim_pick", "claim_take_range"}) {
      const std::string either = read.at(name);
      read[name] = with(either, "guarantee = 2) = ?4", "guarantee <> 2) = (?4 = 0)");
      const std::string once = with(either, "guarantee = 2) = ?4", "guarantee = 2) AND ?4");
      read[name + "_once"] = with(once, "/* index */", "INDEXED BY postrider_queue_once");
    }
    for (const std::string name : {"attempt_add", "settled_add"}) read[name + "_many"] = many_rows(read.at(name));
    return read;
  }();
  return all;
}

// The file may be the application's own, so its writers are waited for; SQLite's built-in handler sleeps up to 100 ms
// at a time, which would add that much to every turn that we lose.
int wait_for_foreign_writer(void* since, int rounds) {
  auto& start = *static_cast<SteadyClock::time_point*>(since);
  if (rounds == 0) start = SteadyClock::now();
  if (SteadyClock::now() - start > kForeignWriterWaitMax) return 0;
  std::this_thread::sleep_for(std::chrono::microseconds{rounds < 10 ? 100 : 1000});
  return 1;
}

Error error_of(int code, std::string_view said, std::string_view file) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {ErrorCode::Exhausted,
              fmt::format("the disk, or the size allowed for the database {}, is full; nothing was written: {}", file,
                          said)};
    case SQLITE_IOERR:
      return {ErrorCode::Unavailable,
              fmt::format("reading or writing the database {} failed (I/O error {}); check the disk: {}", file, code,
                          said)};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {
          ErrorCode::Corrupt,
          fmt::format("the database {} is damaged or is no SQLite database ({}); stop every program that uses it, "
                      "keep a copy, run `postrider doctor`, and restore it from a backup or with sqlite3's .recover",
                      file, said)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::Unavailable,
              fmt::format("another program has held the write lock of {} for more than {} s; it should keep its "
                          "transactions short",
                          file, kForeignWriterWaitMax.count() / 1000)};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return {
          ErrorCode::Unavailable,
          fmt::format("the database {} cannot be opened or written ({}); check the path and its rights", file, said)};
    case SQLITE_NOMEM: return {ErrorCode::Exhausted, "out of memory in SQLite"};
    default: return {ErrorCode::Invalid, fmt::format("the database {} refused a statement ({}): {}", file, code, said)};
  }
}

}  // namespace

void fail(sqlite3* db, int code) {
  const char* file = sqlite3_db_filename(db, "main");
  throw Failure{error_of(sqlite3_extended_errcode(db) == 0 ? code : sqlite3_extended_errcode(db), sqlite3_errmsg(db),
                         file == nullptr ? "" : file)};
}

void fail_corrupt(std::string_view what) {
  throw Failure{
      {ErrorCode::Corrupt, fmt::format("the database holds {}; was it written by a newer version, or by hand?", what)}};
}

Rows::~Rows() { sqlite3_reset(statement_.handle_); }

bool Rows::next() {
  const int code = sqlite3_step(statement_.handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    sqlite3_reset(statement_.handle_);
    fail(statement_.db_, code);
  }
  return false;
}

bool Rows::is_null(int column) const { return sqlite3_column_type(statement_.handle_, column) == SQLITE_NULL; }
std::int64_t Rows::integer(int column) const { return sqlite3_column_int64(statement_.handle_, column); }

std::string Rows::text(int column) const {
  const int size = sqlite3_column_bytes(statement_.handle_, column);
  if (size == 0) return {};  // most texts of most rows
  // A blob is taken as it is: asking for its text would reread its bytes in the database's own encoding.
  const bool is_blob = sqlite3_column_type(statement_.handle_, column) == SQLITE_BLOB;
  const void* data = is_blob ? sqlite3_column_blob(statement_.handle_, column)
                             : static_cast<const void*>(sqlite3_column_text(statement_.handle_, column));
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

std::optional<Instant> Rows::maybe_instant(int column) const {
  if (is_null(column)) return std::nullopt;
  return instant(column);
}

std::optional<std::int64_t> Rows::maybe_integer(int column) const {
  if (sqlite3_column_type(statement_.handle_, column) != SQLITE_INTEGER) return std::nullopt;
  return integer(column);
}

Uuid Rows::uuid(int column) const {
  const auto id = maybe_uuid(column);
  if (!id) fail_corrupt("an id that is no UUID");
  return *id;
}

std::optional<Uuid> Rows::maybe_uuid(int column) const {
  const auto hash = maybe_hash(column);
  if (!hash) return std::nullopt;
  return Uuid{hash->bytes};
}

std::optional<Hash128> Rows::maybe_hash(int column) const {
  if (sqlite3_column_bytes(statement_.handle_, column) != 16) return std::nullopt;
  Hash128 hash;
  std::memcpy(hash.bytes.data(), sqlite3_column_blob(statement_.handle_, column), 16);
  return hash;
}

Reason Rows::reason(int column) const {
  const auto reason = reason_from(number<int>(column));
  if (!reason) fail_corrupt("a reason that is not known");
  return *reason;
}

Connection::Connection(const std::string& path, Access access) {
  const int flags = (access == Access::ReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (const int code = sqlite3_open_v2(path.c_str(), &db_, flags, nullptr); code != SQLITE_OK) {
    const Error error = error_of(code, db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_), path);
    sqlite3_close_v2(db_);
    throw Failure{error};
  }
  sqlite3_busy_handler(db_, wait_for_foreign_writer, &waiting_since_);
}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close_v2(db_);
}

void Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(db_, code);
}

Statement& Connection::use(std::string_view name) {
  if (const auto found = statements_.find(name); found != statements_.end()) return *found->second;
  const auto text = statements().find(name);
  if (text == statements().end()) die(fmt::format("there is no SQL statement \"{}\"", name));
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v3(db_, text->second.c_str(), static_cast<int>(text->second.size() + 1),
                                      SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (code != SQLITE_OK) fail(db_, code);
  return *statements_.emplace(std::string{name}, std::make_unique<Statement>(db_, handle)).first->second;
}

std::string Connection::pragma(const std::string& text) {
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v2(db_, ("PRAGMA " + text).c_str(), -1, &handle, nullptr);
  if (code != SQLITE_OK) fail(db_, code);
  Statement statement{db_, handle};
  Rows rows = statement.query();
  return rows.next() ? rows.text(0) : "";
}

}  // namespace postrider::sqlite
