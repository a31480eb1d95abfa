#include "store/conformance/model_database.h"

#include "store/model/model_store.h"

namespace postrider::conformance {
namespace {

class ModelUnderTest final : public Database {
 public:
  Store& store() override { return *store_; }
  void insert(const OutboxRow& row) override {
    const std::lock_guard held{data_->mutex};
    data_->insert_outbox(row);
  }
  std::vector<AuditLine> audit() override {
    std::vector<AuditLine> lines;
    for (const model::AuditRow& row : data_->audit) {
      lines.push_back({row.actor, row.action, row.why, row.message, row.delivery});
    }
    return lines;
  }
  void reopen() override { store_ = std::make_unique<model::ModelStore>(data_); }

 private:
  std::shared_ptr<model::ModelDatabase> data_ = std::make_shared<model::ModelDatabase>();
  std::unique_ptr<model::ModelStore> store_ = std::make_unique<model::ModelStore>(data_);
};

}  // namespace

StoreFactory model_factory() {
  return {"Model", [] { return std::unique_ptr<Database>{std::make_unique<ModelUnderTest>()}; }};
}

}  // namespace postrider::conformance
