#include "store/sqlite/sqlite_database.h"

#include <sqlite3.h>

#include <stdexcept>

#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/temporary_folder.h"

namespace postrider::conformance {
namespace {

/// The application's own connection.
class Application {
 public:
  explicit Application(const std::string& path) {
    check(sqlite3_open(path.c_str(), &db_));
    sqlite3_busy_timeout(db_, 5000);
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application() { sqlite3_close(db_); }

  void insert(const OutboxRow& row) {
    std::string columns;
    std::string marks;
    std::vector<const std::string*> values;
    const auto add = [&](const char* column, const std::string& value) {
      if (value.empty()) return;
      columns += (columns.empty() ? "" : ", ") + std::string{column};
      marks += marks.empty() ? "?" : ", ?";
      values.push_back(&value);
    };
    const std::string accepted = row.accepted ? std::to_string(*row.accepted) : "";
    add("accepted", accepted);  // the column's affinity makes it a number
    add("id", row.id);
    add("tenant", row.tenant);
    add("topic", row.topic);
    add("type", row.type);
    add("entity_id", row.entity_id);
    add("version", row.version);
    add("idempotency_key", row.idempotency_key);
    add("payload", row.payload);
    add("sealed", row.sealed);
    add("lane", row.lane);
    add("due_at", row.due_at);
    add("expires_at", row.expires_at);
    add("channel", row.channel);
    add("recipient", row.recipient);
    add("contact", row.contact);
    add("subject", row.subject);
    add("body", row.body);
    sqlite3_stmt* insert = nullptr;
    check(sqlite3_prepare_v2(db_, ("INSERT INTO postrider_outbox (" + columns + ") VALUES (" + marks + ")").c_str(), -1,
                             &insert, nullptr));
    for (std::size_t i = 0; i < values.size(); ++i) {
      sqlite3_bind_text(insert, static_cast<int>(i) + 1, values[i]->data(), static_cast<int>(values[i]->size()),
                        SQLITE_STATIC);
    }
    const int code = sqlite3_step(insert);
    sqlite3_finalize(insert);
    if (code != SQLITE_DONE) check(code);
  }

  std::vector<AuditLine> audit() {
    std::vector<AuditLine> lines;
    sqlite3_stmt* select = nullptr;
    check(sqlite3_prepare_v2(db_, "SELECT actor, action, why, message, delivery FROM postrider_audit ORDER BY id", -1,
                             &select, nullptr));
    const auto text = [&](int column) { return reinterpret_cast<const char*>(sqlite3_column_text(select, column)); };
    const auto id = [&](int column) -> std::optional<RowId> {
      if (sqlite3_column_type(select, column) == SQLITE_NULL) return std::nullopt;
      return sqlite3_column_int64(select, column);
    };
    while (sqlite3_step(select) == SQLITE_ROW) lines.push_back({text(0), text(1), text(2), id(3), id(4)});
    sqlite3_finalize(select);
    return lines;
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error{sqlite3_errmsg(db_)};
  }
  sqlite3* db_ = nullptr;
};

class SqliteUnderTest final : public Database {
 public:
  explicit SqliteUnderTest(bool shared) : shared_(shared) {
    open();
    if (const auto done = store_->migrate(); !done) throw std::runtime_error{done.error().text};
    application_ = std::make_unique<Application>(path());
  }
  Store& store() override { return *store_; }
  void insert(const OutboxRow& row) override { application_->insert(row); }
  std::vector<AuditLine> audit() override { return application_->audit(); }
  void reopen() override {
    application_.reset();
    store_.reset();
    open();
    application_ = std::make_unique<Application>(path());
  }

 private:
  [[nodiscard]] std::string path() const { return folder_.file("postrider.db"); }
  void open() {
    auto opened = sqlite::SqliteStore::open({.path = path(), .shared_with_application = shared_});
    if (!opened) throw std::runtime_error{opened.error().text};
    store_ = std::move(*opened);
  }

  bool shared_;
  TemporaryFolder folder_;
  std::unique_ptr<sqlite::SqliteStore> store_;
  std::unique_ptr<Application> application_;
};

}  // namespace

StoreFactory sqlite_factory() {
  return {"Sqlite", [] { return std::unique_ptr<Database>{std::make_unique<SqliteUnderTest>(false)}; }};
}
StoreFactory shared_sqlite_factory() {
  return {"SqliteShared", [] { return std::unique_ptr<Database>{std::make_unique<SqliteUnderTest>(true)}; }};
}

}  // namespace postrider::conformance
