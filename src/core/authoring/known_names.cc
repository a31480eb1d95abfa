#include "core/authoring/known_names.h"

#include <algorithm>

#include "base/text.h"
#include "core/authoring/context_columns.h"

namespace postrider {
namespace {

std::string with_dot(std::string_view text) { return std::string{text} + "."; }

std::string without_dots(std::string_view text) {
  std::string out{text};
  out.erase(std::remove(out.begin(), out.end(), '.'), out.end());
  return out;
}

std::vector<const Route*> routes_for(const Rules& rules, const TemplateSource& source) {
  if (!source.tenant.empty()) {
    const Route* route = rules.route(source.tenant, source.type);
    return route == nullptr ? std::vector<const Route*>{} : std::vector<const Route*>{route};
  }
  std::vector<const Route*> out;
  for (const Route& route : rules.routes) {
    if (route.type == source.type) out.push_back(&route);
  }
  return out;
}

}  // namespace

KnownNames::KnownNames(const Rules& rules, const TemplateSource& source) {
  if (!source.channel || source.type.empty()) return;
  add("contact");  // its attributes are the caller's own
  add("secret");
  bool open = false;
  for (const Route* route : routes_for(rules, source)) {
    add_route(*route, *source.channel);
    const auto columns = route->context ? named_columns(route->context->sql.text) : std::vector<std::string>{};
    for (const std::string& column : columns.value_or(std::vector<std::string>{})) add(column);
    const bool says_nothing = route->keys.empty() && (!columns || columns->empty());
    open = open || !columns || says_nothing;
    judges_ = true;
  }
  judges_ = judges_ && !open;
}

void KnownNames::add(std::string_view path) {
  if (!path.empty()) paths_.push_back(lower(path));
}

void KnownNames::add_route(const Route& route, Channel channel) {
  for (const std::string& key : route.keys) add(key);
  for (const RecipientSource& source : route.recipients) add(source.field);
  for (const ScopeSource& scope : route.scopes) add(scope.field);
  add(route.contact_field);
  add(route.schedule.field);
  add(route.cancel_when.field);
  if (route.recipients.empty()) add(default_recipient_field(channel));
  if (!route.context) return;
  for (const std::string_view parameter : route.context->sql.parameters) {
    constexpr std::string_view kPayload = "payload.";
    if (parameter.starts_with(kPayload)) add(parameter.substr(kPayload.size()));
  }
}

bool KnownNames::has_children(std::string_view path) const {
  const std::string start = with_dot(path);
  return std::any_of(paths_.begin(), paths_.end(), [&](const std::string& p) { return p.starts_with(start); });
}

// Declared itself, or part of something that is declared as a whole, or the way to something deeper.
bool KnownNames::has_path(std::string_view name) const {
  return std::any_of(paths_.begin(), paths_.end(), [&](const std::string& path) {
    return path == name || path.starts_with(with_dot(name)) || name.starts_with(with_dot(path));
  });
}

// Inside a section its own members come first. Where nothing is said about what is in it, everything may be.
bool KnownNames::has_inside(std::string_view section, std::string_view name) const {
  if (section.empty()) return false;
  const std::string inside = with_dot(section);
  bool described = false;
  for (const std::string& path : paths_) {
    std::size_t at = path.starts_with(inside) ? 0 : path.find("." + inside);
    if (at == std::string::npos) continue;
    described = true;
    const std::string_view rest = std::string_view{path}.substr(at + inside.size() + (at == 0 ? 0 : 1));
    if (rest == name || rest.starts_with(with_dot(name)) || name.starts_with(with_dot(rest))) return true;
  }
  return !described;
}

bool KnownNames::has_flattened(std::string_view name) const {
  if (name.find('.') != std::string_view::npos) return false;
  return std::any_of(paths_.begin(), paths_.end(), [&](const std::string& path) {
    const std::string flat = without_dots(path);
    return flat == name || (name.starts_with(flat) && !has_children(path));
  });
}

bool KnownNames::knows(const Placeholder& placeholder) const {
  if (placeholder.name == ".") return true;
  const std::string name = lower(placeholder.name);
  return has_path(name) || has_flattened(name) || has_inside(lower(placeholder.section), name);
}

}  // namespace postrider
