#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "sqlite_sql.h"
#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

// In order; the place in the list is the version. Never changed once released.
constexpr std::array kMigrations{sqlite_sql::k_0001_first, sqlite_sql::k_0002_content, sqlite_sql::k_0003_cancel_mark};
constexpr int kSchemaVersion = static_cast<int>(kMigrations.size());

int found_version(Connection& c) {
  const std::string tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'postrider_schema'";
  const auto ask = [&](const std::string& sql) {
    sqlite3_stmt* handle = nullptr;
    if (const int code = sqlite3_prepare_v2(c.handle(), sql.c_str(), -1, &handle, nullptr); code != SQLITE_OK) {
      fail(c.handle(), code);
    }
    Statement statement{c.handle(), handle};
    return static_cast<int>(statement.integer().value_or(0));
  };
  return ask(tables) == 0 ? 0 : ask("SELECT max(version) FROM postrider_schema");
}

Error newer_error(int found) {
  return {ErrorCode::Conflict, fmt::format("the tables are of version {}, this program knows {}: use a newer postrider",
                                           found, kSchemaVersion)};
}

// A new file is made before SQLite opens it, so that at no moment others may read it.
Result<Done> make_private_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) {
    ::close(file);
    return Done{};
  }
  if (errno == EEXIST) return Done{};
  return Error{ErrorCode::Unavailable, fmt::format("the database {} cannot be made: {}", path, std::strerror(errno))};
}

std::string read_small(int file) {
  std::array<char, 32> text{};
  const ssize_t count = ::pread(file, text.data(), text.size(), 0);
  return count > 0 ? std::string{trim({text.data(), static_cast<std::size_t>(count)})} : "";
}

}  // namespace

SqliteStore::SqliteStore(SqliteOptions options)
    : options_(std::move(options)), writer_(options_), watcher_(options_.path, Access::ReadOnly) {
  sqlite3_stmt* handle = nullptr;
  const int code =
      sqlite3_prepare_v3(watcher_.handle(), "PRAGMA data_version", -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (code != SQLITE_OK) fail(watcher_.handle(), code);
  data_version_ = std::make_unique<Statement>(watcher_.handle(), handle);
}

SqliteStore::~SqliteStore() {
  if (lock_file_ >= 0) ::close(lock_file_);
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(SqliteOptions options) {
  // SQLite counts its memory under one lock for the whole process; nobody reads the count, and it costs about a tenth
  // of every statement. Too late, and harmless, when somebody in this process has used SQLite before.
  static std::once_flag once;
  std::call_once(once, [] { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); });
  POSTRIDER_TRY_DONE(make_private_file(options.path));
  try {
    return std::unique_ptr<SqliteStore>{new SqliteStore{std::move(options)}};
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<std::unique_ptr<StoreSession>> SqliteStore::open_session() {
  POSTRIDER_TRY(version, schema_version());
  if (version.found > version.wanted) return newer_error(version.found);
  if (version.found < version.wanted) {
    return Error{ErrorCode::Unavailable,
                 fmt::format("the tables in {} are of version {}, {} is needed: run `postrider migrate`", options_.path,
                             version.found, version.wanted)};
  }
  try {
    return std::unique_ptr<StoreSession>{std::make_unique<SqliteSession>(writer_, options_.path)};
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<Done> SqliteStore::migrate() {
  for (;;) {
    // Read again inside each transaction: another process may migrate at the same moment.
    const auto left = writer_.transact([](Connection& c) {
      const int found = found_version(c);
      if (found > kSchemaVersion) throw Failure{newer_error(found)};
      if (found == kSchemaVersion) return 0;
      c.execute(std::string{kMigrations[static_cast<std::size_t>(found)]});
      c.execute(fmt::format("INSERT INTO postrider_schema (version) VALUES ({})", found + 1));
      return kSchemaVersion - found - 1;
    });
    if (!left) return left.error();
    if (*left == 0) return Done{};
  }
}

Result<Store::SchemaVersion> SqliteStore::schema_version() {
  const std::lock_guard held{watcher_mutex_};
  try {
    return SchemaVersion{found_version(watcher_), kSchemaVersion};
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<Done> SqliteStore::lock_for_serving() {
  if (lock_file_ >= 0) return Done{};
  // A file of its own: closing any descriptor of the database itself would drop SQLite's locks on it.
  const std::string path = options_.path + ".lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    return Error{ErrorCode::Unavailable, fmt::format("{} cannot be made: {}", path, std::strerror(errno))};
  }
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    const std::string other = read_small(file);
    ::close(file);
    return Error{ErrorCode::Conflict,
                 fmt::format("another postrider (process {}) serves {}: a SQLite database has one engine",
                             other.empty() ? "unknown" : other, options_.path)};
  }
  const std::string mine = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, mine.data(), mine.size(), 0) != static_cast<ssize_t>(mine.size())) {
    ::close(file);
    return Error{ErrorCode::Unavailable, fmt::format("{} cannot be written: {}", path, std::strerror(errno))};
  }
  lock_file_ = file;
  return Done{};
}

std::int64_t SqliteStore::data_version() {
  const std::lock_guard held{watcher_mutex_};
  try {
    return data_version_->integer().value_or(-1);
  } catch (const Failure&) {
    return -1;
  }
}

Result<Done> SqliteStore::check() {
  try {
    Connection reader{options_.path, Access::ReadOnly};
    const std::string answer = reader.pragma("quick_check(1)");
    if (answer != "ok") fail_corrupt(fmt::format("damage ({})", answer));
    return Done{};
  } catch (const Failure& failure) {
    return failure.error();
  }
}

}  // namespace postrider::sqlite
