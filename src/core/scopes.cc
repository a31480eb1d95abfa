#include "core/scopes.h"

#include "base/text.h"

namespace postrider {
namespace {

std::optional<JsonView> member_in_any_case(JsonView object, std::string_view key) {
  for (JsonCursor at{object}; !at.at_end(); at.advance()) {
    if (equal_ignoring_case(at.key(), key)) return at.value();
  }
  return std::nullopt;
}

}  // namespace

std::optional<JsonView> find_field(JsonView data, std::string_view path) {
  if (auto exact = data.find_path(path)) return exact;
  std::optional<JsonView> at = data;
  for (const std::string_view part : split(path, '.')) {
    at = at && at->is_object() ? member_in_any_case(*at, part) : std::nullopt;
  }
  return at;
}

std::optional<JsonView> Scopes::find(const Program& program, const Name& name) {
  if (name.parts == 0) return scopes_.back();
  if (auto exact = find_path(program, name, Letters::Exact)) return exact;
  if (auto similar = find_path(program, name, Letters::AnyCase)) return similar;
  if (name.parts > 1) return std::nullopt;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto deep = flattened(*scope, program.text(name.whole))) return deep;
  }
  return std::nullopt;
}

// The innermost scope that has the first part decides; where the rest breaks off there, the outer ones are not asked.
std::optional<JsonView> Scopes::find_path(const Program& program, const Name& name, Letters letters) {
  const std::string_view first = program.text(program.parts[name.first_part]);
  std::optional<JsonView> at;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend() && !at; ++scope) at = member(*scope, first, letters);
  for (std::uint32_t i = 1; at && i < name.parts; ++i) {
    at = member(*at, program.text(program.parts[name.first_part + i]), letters);
  }
  return at;
}

std::optional<JsonView> Scopes::member(JsonView object, std::string_view key, Letters letters) {
  if (!object.is_object()) return std::nullopt;
  looked_at_ += object.size();
  return letters == Letters::Exact ? object.find(key, near_) : member_in_any_case(object, key);
}

std::optional<JsonView> Scopes::flattened(JsonView object, std::string_view name) {
  if (!object.is_object()) return std::nullopt;
  looked_at_ += object.size();
  for (JsonCursor at{object}; !at.at_end(); at.advance()) {
    const std::string_view key = at.key();
    if (!starts_with_ignoring_case(name, key)) continue;
    if (key.size() == name.size()) return at.value();
    if (auto inner = flattened(at.value(), name.substr(key.size()))) return inner;
  }
  return std::nullopt;
}

}  // namespace postrider
