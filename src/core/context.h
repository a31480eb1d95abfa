// The application's own record of what an event is about: how it is asked for, and what its answer decides.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace postrider {

enum class SqlDialect : std::uint8_t { Postgres, Sqlite };

/// A query with `:tenant`, `:entity_id`, `:entity_ids` and `:payload.x` in it, made ready for a database: the names in
/// the order of their numbers, each once.
struct ContextSql {
  std::string text = {};                     // with $1 or ?1 in their place
  std::vector<std::string> parameters = {};  // "tenant", "entity_id", "entity_ids", "payload.guest.id"
  /// One query for many messages: it asks for `= ANY(:entity_ids)` and gives each row's `entity_id`.
  [[nodiscard]] bool for_many() const;
};
/// Invalid: a name that is none of these, or both :entity_id and :entity_ids.
Result<ContextSql> compile_context_sql(std::string_view sql, SqlDialect dialect);

/// When a message is no longer wanted: the field has one of these values.
struct CancelCondition {
  std::string field = {};  // of the record, or of the payload
  std::vector<std::string> values = {};
};
/// What the condition found ("status is Cancelled"), when it holds.
std::optional<std::string> cancelled_because(const CancelCondition& condition, JsonView data);

struct ContextRule {
  std::string database = {};  // by its name in the configuration
  ContextSql sql = {};
};

struct NoRecord {};
struct ManyRecords {};
struct RecordFailed {
  std::string text = {};
  bool lasting = false;  // asking again cannot help: the query itself is refused
};
/// One row as a JSON object, or why there is none.
using ContextRecord = std::variant<NoRecord, std::string, ManyRecords, RecordFailed>;

/// What templates see: the record's columns before the payload's members of the same name, then the extra objects
/// (`contact`, `secret`) under their own names. All are JSON objects; an empty text stands for none.
struct TemplateData {
  std::string_view payload = {};
  std::string_view record = {};
  std::string_view contact = {};
  std::string_view secret = {};
};
std::string merged_data(const TemplateData& parts);

}  // namespace postrider
