// The store on PostgreSQL 15 or newer: any number of nodes share it.
#pragma once
#include <memory>
#include <string>

#include "ports/store.h"
#include "store/statements.h"

namespace postrider::postgres {

class PostgresStore final : public Store {
 public:
  /// Connects once, to see that the URL is good and the server new enough.
  static Result<std::unique_ptr<PostgresStore>> open(std::string url);

  Result<std::unique_ptr<StoreSession>> open_session() override;
  Result<Done> migrate() override;
  Result<SchemaVersion> schema_version() override;
  Result<Done> lock_for_serving() override { return Done{}; }
  [[nodiscard]] Nodes nodes() const override { return Nodes::Many; }

  /// Every statement as it is prepared: for whoever looks at their plans.
  [[nodiscard]] const Statements& statements() const { return statements_; }

 private:
  explicit PostgresStore(std::string url);
  std::string url_;
  Statements statements_;
};

}  // namespace postrider::postgres
