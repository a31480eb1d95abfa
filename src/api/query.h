// What stands behind the question mark, and the positions that callers hand back to get the next page.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/errors.h"
#include "base/ids.h"
#include "base/time.h"

namespace postrider {

inline constexpr std::size_t kPageDefault = 50;
inline constexpr std::size_t kPageMax = 200;

/// %XX only ('+' stays unless `plus_is_space`). Empty when an escape is broken or the result is not UTF-8.
enum class Plus : bool { Stays, IsSpace };
std::optional<std::string> percent_decode(std::string_view text, Plus plus);

/// The parameters of one request; each at most once, and only those that the route knows.
class Query {
 public:
  /// The error names the parameter.
  static std::variant<Query, ApiError> read(std::string_view text, std::initializer_list<std::string_view> known);

  /// Null when it is absent.
  [[nodiscard]] const std::string* find(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

ApiError wrong_parameter(std::string_view name, std::string_view what);

/// 1 to kPageMax, kPageDefault when there is none.
std::variant<std::size_t, ApiError> read_limit(const Query& query);
/// A time, or how long ago ("24h"); an absent or empty parameter leaves `at` as it is.
std::optional<ApiError> read_time(const Query& query, std::string_view name, Instant now, std::optional<Instant>& at);
/// Opaque to callers: sixteen hex digits of the last row's number.
std::string format_cursor(RowId id);
std::optional<RowId> parse_cursor(std::string_view text);
std::variant<std::optional<RowId>, ApiError> read_cursor(const Query& query);

}  // namespace postrider
