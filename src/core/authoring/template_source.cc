#include "core/authoring/template_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "base/limits.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::size_t kLocaleBytesMax = 35;  // of a language tag, by RFC 5646
constexpr std::size_t kTextsMax = 200;
constexpr std::size_t kParamsMax = 50;

bool is_locale(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return text.size() <= kLocaleBytesMax && std::all_of(text.begin(), text.end(), fits) &&
         (text.empty() || (text.front() != '-' && text.back() != '-'));
}

// A line is UTF-8 without control characters; PostgreSQL keeps no NUL, and no line has a second one.
std::string line_problem(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) return fmt::format("is longer than {} bytes", bytes_max);
  if (!is_utf8(text)) return "is not UTF-8";
  return has_control(text) ? "has a control character" : "";
}

std::string part_problem(std::string_view text) {
  if (text.size() > kContentBytesMax) return fmt::format("is longer than {} bytes", kContentBytesMax);
  if (!is_utf8(text)) return "is not UTF-8";
  return text.find('\0') != std::string_view::npos ? "has a NUL character" : "";
}

std::optional<ShapeProblem> text_problem(const TextSource& text) {
  const auto wrong = [&](std::string_view field, std::string what) {
    return ShapeProblem{std::string{field},
                        fmt::format("{}{}", what, text.locale.empty() ? "" : fmt::format(" ({})", text.locale))};
  };
  if (!is_locale(text.locale))
    return ShapeProblem{"locale",
                        fmt::format("\"{}\" is not a language tag such as en-US", printable(excerpt(text.locale, 60)))};
  if (auto what = line_problem(text.subject, kTextFieldBytesMax * 4); !what.empty()) return wrong("subject", what);
  if (auto what = part_problem(text.body); !what.empty()) return wrong("body", what);
  if (auto what = part_problem(text.html); !what.empty()) return wrong("html", what);
  if (auto what = line_problem(text.provider_template, kTextFieldBytesMax); !what.empty())
    return wrong("provider_template", what);
  if (text.provider_params.size() > kParamsMax)
    return wrong("provider_params", fmt::format("has more than {} entries", kParamsMax));
  std::set<std::string_view> names;
  for (const auto& [name, value] : text.provider_params) {
    auto what = name.empty() ? std::string{"has an entry without a name"} : line_problem(name, kTextFieldBytesMax);
    if (what.empty()) what = line_problem(value, kTextFieldBytesMax * 4);
    if (what.empty() && !names.insert(name).second) what = fmt::format("names \"{}\" twice", name);
    if (!what.empty()) return wrong("provider_params", what);
  }
  return std::nullopt;
}

}  // namespace

bool operator==(const TextSource& a, const TextSource& b) {
  return std::tie(a.locale, a.subject, a.body, a.html, a.provider_template, a.provider_params) ==
         std::tie(b.locale, b.subject, b.body, b.html, b.provider_template, b.provider_params);
}

std::string TemplateSource::title() const {
  const std::string_view on = channel ? to_text(*channel) : "partial";
  if (scope_type.empty()) return fmt::format("{} ({})", key, on);
  return fmt::format("{} ({}, {}/{})", key, on, scope_type, scope_id);
}

bool TemplateSource::is(const TemplateSource& other) const {
  return std::tie(tenant, key, channel, scope_type, scope_id) ==
         std::tie(other.tenant, other.key, other.channel, other.scope_type, other.scope_id);
}

std::optional<ShapeProblem> shape_problem(const TemplateSource& source) {
  struct Line {
    std::string_view field;
    const std::string& value;
  };
  const std::array lines{Line{"key", source.key}, Line{"name", source.name}, Line{"type", source.type},
                         Line{"scope_type", source.scope_type}, Line{"scope_id", source.scope_id}};
  for (const Line& line : lines) {
    if (auto what = line_problem(line.value, kTextFieldBytesMax); !what.empty())
      return ShapeProblem{std::string{line.field}, std::move(what)};
  }
  if (source.key.empty()) return ShapeProblem{"key", "is missing"};
  if (source.scope_type.empty() != source.scope_id.empty())
    return ShapeProblem{source.scope_type.empty() ? "scope_type" : "scope_id", "is missing: a scope has both"};
  if (source.scope_type.find('/') != std::string::npos) return ShapeProblem{"scope_type", "has a slash"};
  if (!source.channel && (!source.type.empty() || !source.scope_type.empty()))
    return ShapeProblem{source.type.empty() ? "scope_type" : "type",
                        "is not for a partial, which is included by its key"};
  if (source.texts.size() > kTextsMax) return ShapeProblem{"texts", fmt::format("are more than {}", kTextsMax)};
  std::set<std::string_view> locales;
  for (const TextSource& text : source.texts) {
    if (auto problem = text_problem(text)) return problem;
    if (!locales.insert(text.locale).second)
      return ShapeProblem{"texts", fmt::format("have the locale \"{}\" twice", text.locale)};
  }
  return std::nullopt;
}

}  // namespace postrider
