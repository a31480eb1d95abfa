#include "api/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace postrider {

std::optional<std::string> percent_decode(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::IsSpace) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high << 4 | low);
      i += 2;
    }
  }
  return is_utf8(out) ? std::optional{std::move(out)} : std::nullopt;
}

ApiError wrong_parameter(std::string_view name, std::string_view what) {
  return {.code = ApiErrorCode::InvalidParameter,
          .message = fmt::format("The parameter \"{}\" {}.", excerpt(name, 60), what),
          .field = excerpt(name, 60)};
}

std::variant<Query, ApiError> Query::read(std::string_view text, std::initializer_list<std::string_view> known) {
  Query query;
  if (text.empty()) return query;
  for (const std::string_view part : split(text, '&')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    auto name = percent_decode(part.substr(0, equals), Plus::IsSpace);
    auto value = equals == std::string_view::npos ? std::optional<std::string>{""}
                                                  : percent_decode(part.substr(equals + 1), Plus::IsSpace);
    if (!name) return wrong_parameter("?", "has a name that is not percent-encoded UTF-8");
    if (std::find(known.begin(), known.end(), *name) == known.end()) {
      return wrong_parameter(*name,
                             fmt::format("is not known here; there is: {}",
                                         known.size() == 0 ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
    if (!value) return wrong_parameter(*name, "is not percent-encoded UTF-8");
    if (has_control(*value)) return wrong_parameter(*name, "contains a control character");
    if (!query.values_.emplace(*name, std::move(*value)).second) return wrong_parameter(*name, "is given twice");
  }
  return query;
}

const std::string* Query::find(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? nullptr : &at->second;
}

std::string Query::text(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? "" : *value;
}

std::variant<std::size_t, ApiError> read_limit(const Query& query) {
  const std::string* text = query.find("limit");
  if (text == nullptr) return kPageDefault;
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), limit);
  if (error != std::errc{} || end != text->data() + text->size() || limit < 1 || limit > kPageMax) {
    return wrong_parameter("limit", fmt::format("must be a number from 1 to {}", kPageMax));
  }
  return limit;
}

std::optional<ApiError> read_time(const Query& query, std::string_view name, Instant now, std::optional<Instant>& at) {
  const std::string text = query.text(name);
  if (text.empty()) return std::nullopt;
  at = parse_instant(text);
  if (const auto ago = parse_duration(text); !at && ago) {
    at = std::max(now - std::min<Duration>(*ago, std::chrono::hours{24 * 3650}), Instant{});
  }
  if (at) return std::nullopt;
  return wrong_parameter(name, "is neither a time (2026-03-15T09:30:00Z) nor how long ago (90s, 10m, 2h, 7d)");
}

std::string format_cursor(RowId id) { return fmt::format("{:016x}", id); }

std::optional<RowId> parse_cursor(std::string_view text) {
  RowId id = 0;
  if (text.size() != 16) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (error != std::errc{} || end != text.data() + text.size() || id <= 0) return std::nullopt;
  return id;
}

std::variant<std::optional<RowId>, ApiError> read_cursor(const Query& query) {
  const std::string* text = query.find("cursor");
  if (text == nullptr) return std::optional<RowId>{};
  const auto id = parse_cursor(*text);
  if (!id) return wrong_parameter("cursor", "is not one that this API gave out");
  return id;
}

}  // namespace postrider
