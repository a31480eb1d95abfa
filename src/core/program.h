// What a template's text becomes: a flat list of steps over its own source. Made by mustache.cc, carried out by
// render.cc.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/format.h"

namespace postrider {

/// A part of the source, by its place: a program can be moved and copied.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t size = 0;
};

struct Step {
  enum class Kind : std::uint8_t { Text, Value, RawValue, Section, SectionEnd, Inverted, Partial, LineStart };
  Kind kind = Kind::Text;
  Span source = {};          // the text that is written, or the whole tag
  std::uint32_t name = 0;    // of everything but Text, SectionEnd and LineStart
  std::uint32_t jump = 0;    // Section, Inverted: the step behind its end; SectionEnd: the first step inside
  std::uint32_t format = 0;  // Value, RawValue: one more than the place in `formats`; 0 is none
  Span indentation = {};     // Partial: what stands before it on a line of its own
};

/// A name with its parts at the dots; `{{.}}` has none.
struct Name {
  Span whole = {};
  std::uint32_t first_part = 0;
  std::uint32_t parts = 0;
};

struct PluralForm {
  Span form = {};  // one, few, other, … or a number
  Span text = {};
};

struct Format {
  FormatKind kind = FormatKind::Number;
  Span argument = {};
  std::uint32_t currency = 0;    // Currency whose code is in the data: one more than the place of its name
  std::uint32_t first_form = 0;  // Plural
  std::uint32_t forms = 0;
};

struct Program {
  std::string source = {};
  std::vector<Step> steps = {};
  std::vector<Name> names = {};
  std::vector<Span> parts = {};
  std::vector<Format> formats = {};
  std::vector<PluralForm> forms = {};

  [[nodiscard]] std::string_view text(Span span) const {
    return std::string_view{source}.substr(span.begin, span.size);
  }
};

}  // namespace postrider
