// The same promises as SQLite and PostgreSQL, purely in memory: deterministic, without a clock. The measure for the
// others in tests, and the simulator's database. A crash is simulated by dropping sessions and stores; the
// ModelDatabase is what stays.
#pragma once
#include <memory>

#include "store/model/model_database.h"

namespace postrider::model {

class ModelStore final : public Store {
 public:
  explicit ModelStore(std::shared_ptr<ModelDatabase> database) : database_(std::move(database)) {}

  Result<std::unique_ptr<StoreSession>> open_session() override;
  Result<Done> migrate() override { return Done{}; }
  Result<SchemaVersion> schema_version() override { return SchemaVersion{1, 1}; }
  Result<Done> lock_for_serving() override { return Done{}; }
  [[nodiscard]] Nodes nodes() const override { return Nodes::Many; }

 private:
  std::shared_ptr<ModelDatabase> database_;
};

}  // namespace postrider::model
