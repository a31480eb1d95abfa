// A connection to one of the application's databases, as the source sees it: one read-only question at a time.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "context/context_source.h"
#include "core/context.h"

namespace postrider::context {

using SteadyTime = std::chrono::steady_clock::time_point;

/// What stands for one :name. Objects and arrays are given as the text of their JSON.
struct Value {
  JsonKind kind = JsonKind::Null;
  std::string text = {};
};

struct Question {
  const ContextSql& sql;
  std::vector<Value> values = {};
  std::size_t rows_max = 0;
};

struct Row {
  std::optional<std::string> entity_id = {};  // the text of the column of that name
  std::string json = {};
};
struct Rows {
  std::vector<Row> rows = {};
  bool has_entity_id = false;
  bool more = false;  // than rows_max; they were not read
};

class Connection {
 public:
  virtual ~Connection() = default;
  /// In a read-only transaction of its own. Invalid: the database cannot take one of the values. Unsupported: it can
  /// never take the query. Anything else may pass.
  virtual Result<Rows> ask(const Question& question) = 0;
  /// Whether it would take the query; nothing is run.
  virtual Result<Done> understand(const ContextSql& sql) = 0;
  /// Whether it can be asked (again).
  [[nodiscard]] virtual bool is_sound() const = 0;
};

Result<std::unique_ptr<Connection>> open_postgres(const ContextDatabase& database);
Result<std::unique_ptr<Connection>> open_sqlite(const ContextDatabase& database);

}  // namespace postrider::context
