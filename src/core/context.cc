#include "core/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "base/text.h"
#include "core/scopes.h"

namespace postrider {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

bool is_known(std::string_view name) {
  return name == "tenant" || name == "entity_id" || name == "entity_ids" ||
         (name.starts_with("payload.") && name.size() > std::string_view{"payload."}.size() && name.back() != '.');
}

// Where a quoted text, a quoted name or a comment that begins at `from` ends; `from` itself when none does.
std::size_t skip_quoted(std::string_view sql, std::size_t from) {
  const char first = sql[from];
  if (first == '\'' || first == '"') {
    const std::size_t end = sql.find(first, from + 1);  // A doubled quote begins the next text at once.
    return end == std::string_view::npos ? sql.size() : end + 1;
  }
  if (sql.substr(from).starts_with("--")) {
    const std::size_t end = sql.find('\n', from);
    return end == std::string_view::npos ? sql.size() : end;
  }
  if (sql.substr(from).starts_with("/*")) {
    const std::size_t end = sql.find("*/", from + 2);
    return end == std::string_view::npos ? sql.size() : end + 2;
  }
  return from;
}

}  // namespace

bool ContextSql::for_many() const {
  return std::find(parameters.begin(), parameters.end(), "entity_ids") != parameters.end();
}

Result<ContextSql> compile_context_sql(std::string_view sql, SqlDialect dialect) {
  ContextSql out;
  std::size_t at = 0;
  while (at < sql.size()) {
    if (const std::size_t end = skip_quoted(sql, at); end != at) {
      out.text += sql.substr(at, end - at);
      at = end;
      continue;
    }
    if (sql[at] != ':' || sql.substr(at).starts_with("::")) {
      const std::size_t length = sql.substr(at).starts_with("::") ? 2 : 1;
      out.text += sql.substr(at, length);
      at += length;
      continue;
    }
    std::size_t end = at + 1;
    while (end < sql.size() && is_name_char(sql[end])) ++end;
    const std::string name{sql.substr(at + 1, end - at - 1)};
    if (!is_known(name)) {
      return Error{ErrorCode::Invalid,
                   fmt::format("\":{}\" is not one of :tenant, :entity_id, :entity_ids, :payload.NAME", name)};
    }
    auto found = std::find(out.parameters.begin(), out.parameters.end(), name);
    if (found == out.parameters.end()) found = out.parameters.insert(out.parameters.end(), name);
    out.text += fmt::format("{}{}", dialect == SqlDialect::Postgres ? '$' : '?', found - out.parameters.begin() + 1);
    at = end;
  }
  if (trim(out.text).empty()) return Error{ErrorCode::Invalid, "the query is empty"};
  const bool single = std::find(out.parameters.begin(), out.parameters.end(), "entity_id") != out.parameters.end();
  const bool payload = std::any_of(out.parameters.begin(), out.parameters.end(),
                                   [](const std::string& name) { return name.starts_with("payload."); });
  if (out.for_many() && (single || payload)) {
    return Error{ErrorCode::Invalid,
                 ":entity_ids asks for many messages at once; :entity_id and :payload.NAME do not go with it"};
  }
  return out;
}

std::optional<std::string> cancelled_because(const CancelCondition& condition, JsonView data) {
  if (condition.field.empty()) return std::nullopt;
  const auto value = find_field(data, condition.field);
  if (!value) return std::nullopt;
  const std::string spoken = value->spoken();
  const bool holds = std::any_of(condition.values.begin(), condition.values.end(),
                                 [&](const std::string& v) { return equal_ignoring_case(v, spoken); });
  if (!holds) return std::nullopt;
  return fmt::format("{} is {}", condition.field, printable(excerpt(spoken, kTextFieldBytesMax)));
}

std::string merged_data(const TemplateData& parts) {
  JsonWriter out;
  std::set<std::string, std::less<>> seen;
  out.begin_object();
  const auto own = [&](std::string_view name, std::string_view json) {
    if (json.empty()) return;
    out.key(name).raw(json);
    seen.emplace(name);
  };
  own("secret", parts.secret);  // first: no payload can put another in its place
  const auto add_all = [&](std::string_view json) {
    if (json.empty()) return;
    const auto document = JsonDocument::parse(json, {.bytes_max = 4 * kPayloadBytesMax, .depth_max = kJsonDepthMax});
    if (!document) return;
    for (const auto& [name, value] : document->root().members()) {
      if (seen.emplace(name).second) out.key(name).raw(value.json());
    }
  };
  add_all(parts.record);
  add_all(parts.payload);
  if (!seen.contains("contact")) own("contact", parts.contact);
  return out.end_object().take();
}

}  // namespace postrider
