// A template as people write it, before anything is compiled: from a file, from a request, or out of the store.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/channel.h"

namespace postrider {

/// Where the parts of a text begin, for messages about them.
struct TextOrigin {
  std::string file = {};
  std::size_t subject_line = 1;
  std::size_t params_line = 1;
  std::size_t body_line = 1;
  std::size_t html_line = 1;
};

/// One language.
struct TextSource {
  std::string locale = {};  // empty: every language
  std::string subject = {};
  std::string body = {};
  std::string html = {};
  std::string provider_template = {};
  std::vector<std::pair<std::string, std::string>> provider_params = {};
  TextOrigin origin = {};
};
/// The same words; where they come from does not matter.
bool operator==(const TextSource& a, const TextSource& b);

struct TemplateSource {
  std::string tenant = {};  // empty: every tenant
  std::string key = {};
  std::string name = {};
  std::string type = {};                // empty: only for messages that name it
  std::optional<Channel> channel = {};  // empty: a partial
  std::string scope_type = {};
  std::string scope_id = {};
  bool active = true;
  std::vector<TextSource> texts = {};
  bool operator==(const TemplateSource&) const = default;

  /// For people: "booking_made (email)", "booking_made (email, listing/10)", "footer (partial)".
  [[nodiscard]] std::string title() const;
  /// Both are the same template, whatever they say.
  [[nodiscard]] bool is(const TemplateSource& other) const;
};

struct ShapeProblem {
  std::string field = {};
  std::string what = {};
};
/// What no template may be: a field too long, on two lines, or not what it must be. Says nothing about the language of
/// the texts.
std::optional<ShapeProblem> shape_problem(const TemplateSource& source);

}  // namespace postrider
