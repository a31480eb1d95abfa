// Templates: Mustache as its public specification defines it (without lambdas), with formatters. Two verbs: a text is
// compiled once, and rendered with data as often as there are deliveries.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/format.h"
#include "core/program.h"

namespace postrider {

class Partials;

enum class Escape : std::uint8_t { None, Html };
enum class MissingKey : std::uint8_t { Empty, Kept };  // nothing, or the placeholder as it stands in the template

struct RenderOptions {
  Escape escape = Escape::None;
  MissingKey missing = MissingKey::Empty;
  const Partials* partials = nullptr;    // null: every partial is empty
  const Formatter* formatter = nullptr;  // null: values stay as they came
  std::string_view locale = "en-US";
  std::string_view zone = "UTC";
  std::string_view date_format = {};  // for dates that no formatter is named for; empty: as they came
  Spaces spaces = Spaces::AsWritten;
};

struct Rendered {
  std::string text = {};
  std::vector<std::string> missing = {};      // keys without a value, each once
  std::vector<std::string> unformatted = {};  // keys whose value is not what their formatter writes, each once
};

/// A name that a template uses, in the template's order.
struct Placeholder {
  enum class Kind : std::uint8_t { Value, Section, Inverted, Partial };
  Kind kind = Kind::Value;
  std::string name = {};
  std::string section = {};  // the innermost section around it: its keys come before the outer ones
  std::size_t line = 1;
  std::size_t column = 1;
};

/// A template's text, taken apart once. Only read afterwards; many threads share it.
class CompiledText {
 public:
  enum class Use : std::uint8_t { Whole, Partial };

  CompiledText() = default;
  /// Invalid: where and what is wrong ("line 3, column 9: {{ is never closed").
  static Result<CompiledText> compile(std::string_view text, Use use = Use::Whole);

  /// Exhausted: the text grows past kContentBytesMax. Invalid: partials in partials without end, or more steps than
  /// kRenderStepsMax. What fails depends on template and data alone.
  [[nodiscard]] Result<Rendered> render(JsonView data, const RenderOptions& options) const;
  [[nodiscard]] std::vector<Placeholder> placeholders() const;
  [[nodiscard]] bool empty() const { return program_.steps.empty(); }
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  Program program_;
};

/// The texts that templates include by name. Filled once, then only read.
class Partials {
 public:
  Result<Done> add(std::string name, std::string_view text);
  [[nodiscard]] const CompiledText* find(std::string_view name) const;

 private:
  std::map<std::string, CompiledText, std::less<>> texts_;
};

/// Where a place of a text is, for people: lines and characters are counted from 1.
struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;
};
TextPlace place_in(std::string_view text, std::size_t offset);
TextPlace place_after(TextPlace place, std::string_view text);  // where one is behind `text`

void append_escaped(std::string& out, std::string_view text, Escape escape);

}  // namespace postrider
