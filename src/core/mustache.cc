// The language: a template's text taken apart into the steps of program.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/limits.h"
#include "base/text.h"
#include "core/render.h"

namespace postrider {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::array<std::pair<std::string_view, FormatKind>, 6> kFormats{{{"date", FormatKind::Date},
                                                                           {"time", FormatKind::Time},
                                                                           {"datetime", FormatKind::DateTime},
                                                                           {"number", FormatKind::Number},
                                                                           {"currency", FormatKind::Currency},
                                                                           {"plural", FormatKind::Plural}}};
constexpr std::array<std::string_view, 6> kPluralForms{"zero", "one", "two", "few", "many", "other"};

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}
bool is_currency_code(std::string_view text) {
  return text.size() == 3 && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}
std::string shown(std::string_view text) { return excerpt(printable(text), 60); }

class Compiler {
 public:
  Compiler(std::string_view text, CompiledText::Use use) : text_(text), use_(use) {}

  Result<Program> run() {
    if (text_.size() > kContentBytesMax) {
      return Error{ErrorCode::Invalid, fmt::format("the template is larger than {} bytes", kContentBytesMax)};
    }
    if (!is_utf8(text_)) return Error{ErrorCode::Invalid, "the template is not UTF-8"};
    while (at_ < text_.size()) {
      const std::size_t begin = text_.find(open_, at_);
      if (begin == std::string_view::npos) {
        write_text(text_.size());
        break;
      }
      POSTRIDER_TRY(tag, read_tag(begin));
      POSTRIDER_TRY_DONE(take(tag));
    }
    if (!sections_.empty()) {
      const Step& step = program_.steps[sections_.back()];
      return wrong(step.source.begin, fmt::format("{} is never closed", shown(text_of(step.source))));
    }
    program_.source = text_;
    return std::move(program_);
  }

 private:
  struct Tag {
    char sigil = '\0';  // one of # ^ / > ! = { &, or none for a value
    Span whole = {};
    Span content = {};
  };
  enum class Dots : bool { Plain, Path };  // a key's parts, or part of a partial's name
  struct Line {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  [[nodiscard]] std::string_view text_of(Span span) const { return text_.substr(span.begin, span.size); }
  static Span span(std::size_t begin, std::size_t end) {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
  }
  // The span of `part`, which lies inside the text.
  [[nodiscard]] Span span_of(std::string_view part) const {
    const auto begin = static_cast<std::size_t>(part.data() - text_.data());
    return span(begin, begin + part.size());
  }
  [[nodiscard]] Error wrong(std::size_t offset, std::string_view what) const {
    const TextPlace place = place_in(text_, offset);
    return {ErrorCode::Invalid, fmt::format("line {}, column {}: {}", place.line, place.column, what)};
  }

  Result<Tag> read_tag(std::size_t begin) {
    std::size_t inside = begin + open_.size();
    Tag tag;
    const std::size_t first = text_.find_first_not_of(kBlanks, inside);
    if (first != std::string_view::npos) {
      const char c = text_[first];
      const bool padded = std::string_view{"#^/>!&"}.find(c) != std::string_view::npos;
      const bool close_by = (c == '=' || c == '{') && first == inside;
      if (padded || close_by) {
        tag.sigil = c;
        inside = first + 1;
      }
    }
    std::string closing = close_;
    if (tag.sigil == '=') closing.insert(0, 1, '=');
    if (tag.sigil == '{') closing.insert(0, 1, '}');
    const std::size_t end = text_.find(closing, inside);
    if (end == std::string_view::npos) return wrong(begin, fmt::format("{} is never closed", open_));
    tag.whole = span(begin, end + closing.size());
    tag.content = span_of(trim(text_.substr(inside, end - inside)));
    return tag;
  }

  Result<Done> take(const Tag& tag) {
    const bool writes = tag.sigil == '\0' || tag.sigil == '{' || tag.sigil == '&';
    const std::optional<Line> line = writes ? std::nullopt : line_of_its_own(tag);
    write_text(line ? line->begin : tag.whole.begin);
    if (!line) start_line();
    POSTRIDER_TRY_DONE(translate(tag, line ? span(line->begin, tag.whole.begin) : Span{}));
    at_ = line ? line->end : tag.whole.begin + tag.whole.size;
    if (line) line_started_ = false;
    return Done{};
  }

  // A tag that writes nothing and stands alone takes its whole line with it, the line's end included.
  [[nodiscard]] std::optional<Line> line_of_its_own(const Tag& tag) const {
    std::size_t begin = tag.whole.begin;
    while (begin > 0 && is_blank(text_[begin - 1])) --begin;
    if (begin > 0 && text_[begin - 1] != '\n') return std::nullopt;
    std::size_t end = tag.whole.begin + tag.whole.size;
    while (end < text_.size() && is_blank(text_[end])) ++end;
    if (end == text_.size()) return Line{begin, end};
    if (text_.substr(end).starts_with("\r\n")) return Line{begin, end + 2};
    if (text_[end] == '\n') return Line{begin, end + 1};
    return std::nullopt;
  }

  Result<Done> translate(const Tag& tag, Span indentation) {
    switch (tag.sigil) {
      case '!': return Done{};
      case '=': return set_delimiters(tag);
      case '#': return open_section(tag, Step::Kind::Section);
      case '^': return open_section(tag, Step::Kind::Inverted);
      case '/': return close_section(tag);
      case '>': {
        POSTRIDER_TRY(name, read_name(text_of(tag.content), Dots::Plain));
        program_.steps.push_back(
            {.kind = Step::Kind::Partial, .source = tag.whole, .name = name, .indentation = indentation});
        return Done{};
      }
      default: return value(tag);
    }
  }

  Result<Done> set_delimiters(const Tag& tag) {
    const std::string_view content = text_of(tag.content);
    const std::size_t blank = content.find_first_of(kBlanks);
    const std::string_view open = content.substr(0, blank);
    const std::string_view close = blank == std::string_view::npos ? std::string_view{} : trim(content.substr(blank));
    if (close.empty() || content.find('=') != std::string_view::npos ||
        close.find_first_of(kBlanks) != std::string_view::npos) {
      return wrong(tag.whole.begin, "delimiters are two words without = between two =, as in {{=<% %>=}}");
    }
    open_ = open;
    close_ = close;
    return Done{};
  }

  Result<Done> open_section(const Tag& tag, Step::Kind kind) {
    POSTRIDER_TRY(name, read_name(text_of(tag.content)));
    if (sections_.size() == kTemplateDepthMax) {
      return wrong(tag.whole.begin, fmt::format("sections are nested deeper than {}", kTemplateDepthMax));
    }
    sections_.push_back(program_.steps.size());
    program_.steps.push_back({.kind = kind, .source = tag.whole, .name = name});
    return Done{};
  }

  Result<Done> close_section(const Tag& tag) {
    const std::string_view name = text_of(tag.content);
    if (sections_.empty()) {
      return wrong(tag.whole.begin, fmt::format("{} closes nothing", shown(text_of(tag.whole))));
    }
    const std::size_t opened = sections_.back();
    const std::string_view expected = text_of(program_.names[program_.steps[opened].name].whole);
    if (name != expected) {
      const Span open = program_.steps[opened].source;
      return wrong(tag.whole.begin,
                   fmt::format("{} stands where {} of line {} should be closed", shown(text_of(tag.whole)),
                               shown(text_of(open)), place_in(text_, open.begin).line));
    }
    sections_.pop_back();
    if (program_.steps[opened].kind == Step::Kind::Section) {
      program_.steps.push_back(
          {.kind = Step::Kind::SectionEnd, .source = tag.whole, .jump = static_cast<std::uint32_t>(opened + 1)});
    }
    program_.steps[opened].jump = static_cast<std::uint32_t>(program_.steps.size());
    return Done{};
  }

  Result<Done> value(const Tag& tag) {
    const std::string_view content = text_of(tag.content);
    const std::size_t bar = content.find('|');
    POSTRIDER_TRY(name, read_name(trim(content.substr(0, bar))));
    Step step{.kind = tag.sigil == '\0' ? Step::Kind::Value : Step::Kind::RawValue, .source = tag.whole, .name = name};
    if (bar != std::string_view::npos) {
      POSTRIDER_TRY(format, read_format(trim(content.substr(bar + 1))));
      program_.formats.push_back(format);
      step.format = static_cast<std::uint32_t>(program_.formats.size());
    }
    program_.steps.push_back(step);
    return Done{};
  }

  Result<std::uint32_t> read_name(std::string_view name, Dots dots = Dots::Path) {
    const auto offset = static_cast<std::size_t>(name.data() - text_.data());
    if (name.empty()) return wrong(offset, "a placeholder has no name");
    if (name.size() > kTemplateNameBytesMax) {
      return wrong(offset, fmt::format("a name is longer than {} bytes", kTemplateNameBytesMax));
    }
    const auto no_key = [&] { return wrong(offset, fmt::format("\"{}\" is not a key", shown(name))); };
    if (has_control(name) || name.find_first_of(" {}|") != std::string_view::npos) return no_key();
    Name made{.whole = span_of(name), .first_part = static_cast<std::uint32_t>(program_.parts.size())};
    if (dots == Dots::Path && name != ".") {
      for (const std::string_view part : split(name, '.')) {
        if (part.empty()) return no_key();
        program_.parts.push_back(span_of(part));
        ++made.parts;
      }
    }
    program_.names.push_back(made);
    return static_cast<std::uint32_t>(program_.names.size() - 1);
  }

  Result<Format> read_format(std::string_view text) {
    const auto offset = static_cast<std::size_t>(text.data() - text_.data());
    const std::size_t colon = text.find(':');
    const std::string_view name = trim(text.substr(0, colon));
    const auto known = std::find_if(kFormats.begin(), kFormats.end(), [&](const auto& f) { return f.first == name; });
    if (known == kFormats.end()) {
      return wrong(offset,
                   fmt::format("\"{}\" is no formatter (date, time, datetime, number, currency, plural)", shown(name)));
    }
    const std::string_view argument =
        colon == std::string_view::npos ? text.substr(text.size()) : trim(text.substr(colon + 1));
    Format format{.kind = known->second, .argument = span_of(argument)};
    if (format.kind == FormatKind::Plural) return read_plural(format, offset);
    if (format.kind != FormatKind::Currency || is_currency_code(argument)) return format;
    if (argument.empty()) return wrong(offset, "currency needs a code or a key, as in currency:EUR");
    POSTRIDER_TRY(code, read_name(argument));
    format.currency = code + 1;
    return format;
  }

  // one=# night; other=# nights
  Result<Format> read_plural(Format format, std::size_t offset) {
    format.first_form = static_cast<std::uint32_t>(program_.forms.size());
    bool has_other = false;
    for (const std::string_view part : split(text_of(format.argument), ';')) {
      const std::size_t equals = part.find('=');
      const std::string_view form = trim(part.substr(0, equals));
      const bool known = std::find(kPluralForms.begin(), kPluralForms.end(), form) != kPluralForms.end();
      if (equals == std::string_view::npos || !(known || is_digits(form))) {
        return wrong(offset,
                     "plural has forms such as plural:one=# night; other=# nights (zero, one, two, few, many, "
                     "other, or a number)");
      }
      has_other = has_other || form == "other";
      program_.forms.push_back({span_of(form), span_of(trim(part.substr(equals + 1)))});
      ++format.forms;
    }
    if (!has_other) return wrong(offset, "plural needs the form other=");
    return format;
  }

  void write_text(std::size_t end) {
    while (at_ < end) {
      std::size_t until = end;
      if (use_ == CompiledText::Use::Partial) {
        start_line();
        const std::size_t line_end = text_.find('\n', at_);
        if (line_end < end) {
          until = line_end + 1;
          line_started_ = false;
        }
      }
      program_.steps.push_back({.kind = Step::Kind::Text, .source = span(at_, until)});
      at_ = until;
    }
  }

  // A partial may be included with an indentation, which goes before each of its lines.
  void start_line() {
    if (use_ == CompiledText::Use::Partial && !line_started_) program_.steps.push_back({.kind = Step::Kind::LineStart});
    line_started_ = true;
  }

  std::string_view text_;
  CompiledText::Use use_;
  std::string open_ = "{{";
  std::string close_ = "}}";
  std::size_t at_ = 0;
  bool line_started_ = false;
  std::vector<std::size_t> sections_;  // steps that opened one
  Program program_;
};

}  // namespace

Result<CompiledText> CompiledText::compile(std::string_view text, Use use) {
  POSTRIDER_TRY(program, Compiler(text, use).run());
  CompiledText compiled;
  compiled.program_ = std::move(program);
  return compiled;
}

std::vector<Placeholder> CompiledText::placeholders() const {
  std::vector<Placeholder> out;
  std::vector<std::size_t> open;  // sections around the step
  TextPlace place;
  std::uint32_t counted = 0;
  const auto add = [&](Placeholder::Kind kind, std::uint32_t name) {
    const Name& named = program_.names[name];
    place = place_after(place, program_.text({counted, named.whole.begin - counted}));
    counted = named.whole.begin;
    const std::string_view section =
        open.empty() ? "" : program_.text(program_.names[program_.steps[open.back()].name].whole);
    out.push_back({kind, std::string{program_.text(named.whole)}, std::string{section}, place.line, place.column});
  };
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    while (!open.empty() && program_.steps[open.back()].jump <= i) open.pop_back();
    const Step& step = program_.steps[i];
    switch (step.kind) {
      case Step::Kind::Text:
      case Step::Kind::SectionEnd:
      case Step::Kind::LineStart: break;
      case Step::Kind::Value:
      case Step::Kind::RawValue:
        add(Placeholder::Kind::Value, step.name);
        if (step.format != 0 && program_.formats[step.format - 1].currency != 0) {
          add(Placeholder::Kind::Value, program_.formats[step.format - 1].currency - 1);
        }
        break;
      case Step::Kind::Partial: add(Placeholder::Kind::Partial, step.name); break;
      case Step::Kind::Section:
        add(Placeholder::Kind::Section, step.name);
        open.push_back(i);
        break;
      case Step::Kind::Inverted: add(Placeholder::Kind::Inverted, step.name); break;
    }
  }
  return out;
}

Result<Done> Partials::add(std::string name, std::string_view text) {
  auto compiled = CompiledText::compile(text, CompiledText::Use::Partial);
  if (!compiled) return Error{compiled.error().code, fmt::format("partial \"{}\", {}", name, compiled.error().text)};
  texts_.insert_or_assign(std::move(name), std::move(*compiled));
  return Done{};
}

const CompiledText* Partials::find(std::string_view name) const {
  const auto found = texts_.find(name);
  return found == texts_.end() ? nullptr : &found->second;
}

TextPlace place_in(std::string_view text, std::size_t offset) { return place_after({}, text.substr(0, offset)); }

TextPlace place_after(TextPlace place, std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      ++place.line;
      place.column = 1;
    } else if ((static_cast<std::uint8_t>(c) & 0xC0U) != 0x80U) {
      ++place.column;
    }
  }
  return place;
}

}  // namespace postrider
