#include "core/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/limits.h"
#include "base/text.h"
#include "core/scopes.h"

namespace postrider {
namespace {

constexpr std::size_t kNumberTextMax = 64;
constexpr std::size_t kFormatSteps = 200;  // what asking a formatter counts for: it costs microseconds

// Digits with at most one sign and one point; no exponent, which could ask for a million digits.
bool is_decimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.empty() || text.size() > kNumberTextMax) return false;
  const std::size_t point = text.find('.');
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return digits(text.substr(0, point)) && (point == std::string_view::npos || digits(text.substr(point + 1)));
}

// What `!!value` is in the language that JSON comes from; an empty list is false too.
bool is_true(const std::optional<JsonView>& value) {
  if (!value) return false;
  switch (value->kind()) {
    case JsonKind::Null: return false;
    case JsonKind::Bool: return value->boolean().value_or(false);
    case JsonKind::Number: return value->number() != 0.0;
    case JsonKind::Text: return !value->text()->empty();
    case JsonKind::Array: return value->size() > 0;
    case JsonKind::Object: return true;
  }
  POSTRIDER_DIE("a JsonKind outside its enum");
}

class Renderer {
 public:
  Renderer(JsonView data, const RenderOptions& options) : options_(options), scopes_(data) {}

  Result<Rendered> run(const Program& program) {
    out_.text.reserve(program.source.size() + program.source.size() / 2);
    if (!carry_out(program, "", "", 0)) return std::move(*error_);
    return std::move(out_);
  }

 private:
  struct Loop {
    JsonCursor items = {};
    bool is_list = false;
  };

  bool fail(ErrorCode code, const Program& program, const Step& step, std::string_view partial, std::string_view what) {
    const TextPlace place = place_in(program.source, step.source.begin);
    const std::string where = partial.empty() ? "" : fmt::format("partial \"{}\", ", partial);
    error_ = Error{code, fmt::format("{}line {}, column {}: {}", where, place.line, place.column, what)};
    return false;
  }

  bool carry_out(const Program& program, std::string_view partial, std::string_view indentation, std::size_t depth) {
    const std::vector<Step>& steps = program.steps;
    for (std::size_t i = 0; i < steps.size();) {
      const Step& step = steps[i++];
      switch (step.kind) {
        case Step::Kind::Text: out_.text += program.text(step.source); break;
        case Step::Kind::LineStart: out_.text += indentation; break;
        case Step::Kind::Value: write_value(program, step, options_.escape); break;
        case Step::Kind::RawValue: write_value(program, step, Escape::None); break;
        case Step::Kind::Section:
          if (!enter(program, step)) i = step.jump;
          break;
        case Step::Kind::SectionEnd:
          if (repeat()) i = step.jump;
          break;
        case Step::Kind::Inverted:
          if (is_true(scopes_.find(program, program.names[step.name]))) i = step.jump;
          break;
        case Step::Kind::Partial:
          if (!include(program, step, partial, indentation, depth)) return false;
          break;
      }
      if (out_.text.size() > kContentBytesMax) {
        return fail(ErrorCode::Exhausted, program, step, partial,
                    fmt::format("the text grows past {} bytes", kContentBytesMax));
      }
      if (++steps_ + scopes_.looked_at() > kRenderStepsMax) {
        return fail(ErrorCode::Invalid, program, step, partial,
                    fmt::format("rendering takes more than {} steps", kRenderStepsMax));
      }
    }
    return true;
  }

  bool enter(const Program& program, const Step& step) {
    const auto value = scopes_.find(program, program.names[step.name]);
    if (!is_true(value)) return false;
    Loop loop;
    if (value->is_array()) {
      loop.items = JsonCursor{*value};
      loop.is_list = true;
    }
    scopes_.push(loop.is_list ? loop.items.value() : *value);
    loops_.push_back(loop);
    return true;
  }

  bool repeat() {
    Loop& loop = loops_.back();
    if (loop.is_list) {
      loop.items.advance();
      if (!loop.items.at_end()) {
        scopes_.replace(loop.items.value());
        return true;
      }
    }
    loops_.pop_back();
    scopes_.pop();
    return false;
  }

  bool include(const Program& program, const Step& step, std::string_view partial, std::string_view indentation,
               std::size_t depth) {
    const std::string_view name = program.text(program.names[step.name].whole);
    const CompiledText* text = options_.partials == nullptr ? nullptr : options_.partials->find(name);
    if (text == nullptr) return true;
    if (depth == kTemplateDepthMax) {
      return fail(ErrorCode::Invalid, program, step, partial,
                  fmt::format("partials include each other deeper than {}", kTemplateDepthMax));
    }
    const std::string inner = std::string{indentation} + std::string{program.text(step.indentation)};
    steps_ += inner.size();
    return carry_out(text->program(), name, inner, depth + 1);
  }

  void write_value(const Program& program, const Step& step, Escape escape) {
    const Name& name = program.names[step.name];
    const auto value = scopes_.find(program, name);
    if (!value || value->kind() == JsonKind::Null) {
      note(out_.missing, program.text(name.whole));
      if (options_.missing == MissingKey::Kept) out_.text += program.text(step.source);
      return;
    }
    const auto text = value->text();
    if (step.format == 0 && text && options_.date_format.empty()) {
      append_escaped(out_.text, *text, escape);
      return;
    }
    scratch_.clear();
    if (!write_formatted(program, step, *value)) {
      value->append_spoken(scratch_);
      note(out_.unformatted, program.text(name.whole));
    }
    append_escaped(out_.text, scratch_, escape);
  }

  void note(std::vector<std::string>& names, std::string_view name) {
    steps_ += names.size();
    if (names.size() >= kWarningsMax || std::find(names.begin(), names.end(), name) != names.end()) return;
    names.emplace_back(name);
  }

  bool write_formatted(const Program& program, const Step& step, JsonView value) {
    if (step.format == 0) return write_plain(value);
    const Format& format = program.formats[step.format - 1];
    FormatRequest request = asked(format.kind, program.text(format.argument));
    switch (format.kind) {
      case FormatKind::Date:
      case FormatKind::Time:
      case FormatKind::DateTime: return write_time(request, value);
      case FormatKind::Number: return read_number(value) && append(request);
      case FormatKind::Currency:
        if (!read_currency(program, format, request)) return false;
        return read_number(value) && append(request);
      case FormatKind::Plural:
        if (!read_number(value)) return false;
        write_plural(program, format);
        return true;
    }
    POSTRIDER_DIE("a FormatKind outside its enum");
  }

  // A text comes here only where dates have a format of their own.
  bool write_plain(JsonView value) {
    const auto text = value.text();
    if (text && parse_written_time(*text)) {
      return write_time(asked(FormatKind::Date, options_.date_format), value);
    }
    value.append_spoken(scratch_);
    return true;
  }

  bool write_time(FormatRequest request, JsonView value) {
    const auto text = value.text();
    const auto time = text ? parse_written_time(*text) : std::nullopt;
    if (!time) return false;
    // A date alone has no hour to tell.
    if (request.kind != FormatKind::Date && time->form == WrittenTime::Form::Date) return false;
    request.time = *time;
    return append(request);
  }

  bool read_currency(const Program& program, const Format& format, FormatRequest& request) {
    if (format.currency == 0) return true;
    const auto code = scopes_.find(program, program.names[format.currency - 1]);
    const auto text = code ? code->text() : std::nullopt;
    if (!text) return false;
    request.argument = *text;
    return true;
  }

  void write_plural(const Program& program, const Format& format) {
    steps_ += kFormatSteps;
    const std::string_view wanted = options_.formatter == nullptr
                                        ? std::string_view{number_ == "1" ? "one" : "other"}
                                        : options_.formatter->plural_form(options_.locale, number_);
    const PluralForm* chosen = nullptr;
    for (std::uint32_t i = 0; i < format.forms; ++i) {
      const PluralForm& form = program.forms[format.first_form + i];
      const std::string_view name = program.text(form.form);
      if (name == number_) {
        chosen = &form;
        break;
      }
      if (name == wanted || (name == "other" && chosen == nullptr)) chosen = &form;
    }
    for (const char c : program.text(chosen->text)) {
      if (c != '#') {
        scratch_ += c;
      } else if (!append(asked(FormatKind::Number, ""))) {
        scratch_ += number_;
      }
    }
  }

  // A JSON number, or a text of digits: amounts of money travel as texts so that no digit is lost.
  bool read_number(JsonView value) {
    number_.clear();
    if (value.kind() != JsonKind::Number && value.kind() != JsonKind::Text) return false;
    value.append_spoken(number_);
    return value.kind() == JsonKind::Number || is_decimal(number_);
  }

  [[nodiscard]] FormatRequest asked(FormatKind kind, std::string_view argument) const {
    return {.kind = kind,
            .argument = argument,
            .locale = options_.locale,
            .zone = options_.zone,
            .spaces = options_.spaces};
  }

  bool append(FormatRequest request) {
    request.number = number_;
    steps_ += kFormatSteps;
    return options_.formatter != nullptr && options_.formatter->append(request, scratch_);
  }

  const RenderOptions& options_;
  Scopes scopes_;
  std::vector<Loop> loops_;
  Rendered out_;
  std::string scratch_;  // one value on its way out
  std::string number_;
  std::size_t steps_ = 0;
  std::optional<Error> error_;
};

constexpr std::array<bool, 256> make_special() {
  std::array<bool, 256> special{};
  for (const char c : {'&', '<', '>', '"', '\''}) special[static_cast<unsigned char>(c)] = true;
  return special;
}
constexpr std::array<bool, 256> kSpecial = make_special();

std::string_view entity_of(char c) {
  if (c == '&') return "&amp;";
  if (c == '<') return "&lt;";
  if (c == '>') return "&gt;";
  return c == '"' ? "&quot;" : "&#39;";
}

}  // namespace

Result<Rendered> CompiledText::render(JsonView data, const RenderOptions& options) const {
  return Renderer{data, options}.run(program_);
}

void append_escaped(std::string& out, std::string_view text, Escape escape) {
  if (escape == Escape::None) {
    out += text;
    return;
  }
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!kSpecial[static_cast<unsigned char>(text[i])]) continue;
    out += text.substr(from, i - from);
    out += entity_of(text[i]);
    from = i + 1;
  }
  out += text.substr(from);
}

}  // namespace postrider
