// The store in one SQLite file: the engine's own, or the application's. One node.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "ports/store.h"
#include "store/sqlite/writer.h"

namespace postrider::sqlite {

class SqliteStore final : public Store {
 public:
  /// Opens the file, or makes a new one that only its owner may read.
  static Result<std::unique_ptr<SqliteStore>> open(SqliteOptions options);
  ~SqliteStore() override;

  Result<std::unique_ptr<StoreSession>> open_session() override;
  Result<Done> migrate() override;
  Result<SchemaVersion> schema_version() override;
  Result<Done> lock_for_serving() override;
  [[nodiscard]] Nodes nodes() const override { return Nodes::One; }

  /// A number that changes when anybody, the application included, has written to the file: a poll of about 2 µs.
  /// Whatever goes wrong gives -1.
  std::int64_t data_version();
  /// Reads the whole file (`doctor`): Corrupt with what is wrong.
  Result<Done> check();

 private:
  explicit SqliteStore(SqliteOptions options);

  SqliteOptions options_;
  Writer writer_;
  std::mutex watcher_mutex_;
  Connection watcher_;
  std::unique_ptr<Statement> data_version_;
  int lock_file_ = -1;
};

}  // namespace postrider::sqlite
