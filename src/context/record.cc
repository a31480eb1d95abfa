#include "context/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "base/text.h"

namespace postrider::context {
namespace {

constexpr std::size_t kAnswerBytesMax = 16U << 20U;
constexpr std::size_t kWholeDigitsMax = 18;     // of 64 bits
constexpr std::size_t kFractionDigitsMax = 15;  // of a double

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_exact(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front()) || !is_digit(text.back())) return false;
  // 1e+20 comes from a floating-point column, which holds no more than its reader.
  if (text.find('e') != std::string_view::npos) return true;
  const auto digits = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_digit));
  return digits <= (text.find('.') == std::string_view::npos ? kWholeDigitsMax : kFractionDigitsMax);
}

}  // namespace

void write_number(JsonWriter& out, std::string_view text) { is_exact(text) ? out.raw(text) : out.value(text); }

void write_text(JsonWriter& out, std::string_view text) {
  is_utf8(text) ? out.value(text) : out.value(printable(text));
}

void write_json(JsonWriter& out, std::string_view text) {
  // One level less than a payload may have: it becomes a member of one.
  const auto parsed = JsonDocument::parse(text, {.bytes_max = kPayloadBytesMax, .depth_max = kJsonDepthMax - 1});
  parsed ? out.raw(parsed->root().json()) : out.value(printable(text));
}

Result<Done> check_columns(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.emplace(name).second) {
      return Error{ErrorCode::Unsupported,
                   fmt::format("the query gives the column \"{}\" twice; name one of them with AS", printable(name))};
    }
  }
  if (names.empty()) return Error{ErrorCode::Unsupported, "the query gives no columns; it must be a SELECT"};
  return Done{};
}

Result<Done> ByteBudget::take(std::size_t bytes) {
  used_ += bytes;
  if (used_ <= kAnswerBytesMax) return Done{};
  return Error{ErrorCode::Unsupported, fmt::format("the query gives more than {} MiB", kAnswerBytesMax >> 20U)};
}

}  // namespace postrider::context
