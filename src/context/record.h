// A row becomes a JSON object that our own strict reader takes.
#pragma once
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace postrider::context {

inline constexpr std::string_view kEntityColumn = "entity_id";

/// A number where every reader gets exactly this number from it, else its text: 30 digits, NaN.
void write_number(JsonWriter& out, std::string_view text);
void write_text(JsonWriter& out, std::string_view text);
/// JSON as it is where our strict reader takes it, else its text.
void write_json(JsonWriter& out, std::string_view text);

/// Unsupported when a name is there twice: a JSON object has each once.
Result<Done> check_columns(const std::vector<std::string>& names);

/// Counts what is kept of an answer: a query that gives far too much is found out before the memory is.
class ByteBudget {
 public:
  Result<Done> take(std::size_t bytes);

 private:
  std::size_t used_ = 0;
};

}  // namespace postrider::context
