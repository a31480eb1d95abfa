// The names that templates of an event may use.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/authoring/template_source.h"
#include "core/rules.h"

namespace postrider {

class KnownNames {
 public:
  KnownNames(const Rules& rules, const TemplateSource& source);

  /// False: nothing is declared about these events, so every name may be right.
  [[nodiscard]] bool judges() const { return judges_; }
  [[nodiscard]] bool knows(const Placeholder& placeholder) const;

 private:
  void add(std::string_view path);
  void add_route(const Route& route, Channel channel);
  [[nodiscard]] bool has_path(std::string_view name) const;
  [[nodiscard]] bool has_inside(std::string_view section, std::string_view name) const;
  [[nodiscard]] bool has_flattened(std::string_view name) const;
  [[nodiscard]] bool has_children(std::string_view path) const;

  std::vector<std::string> paths_;  // in small letters
  bool judges_ = false;
};

}  // namespace postrider
