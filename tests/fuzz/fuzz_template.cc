// Templates: any text compiles or says where it is wrong; rendering ends, and the same twice; data never becomes
// markup; text without placeholders stays as it is. A template may include itself.
#include "base/check.h"
#include "base/text.h"
#include "core/render.h"
#include "fuzz/input.h"

namespace postrider {
namespace {

// The same data twice: as it is, and with everything escaped that HTML would read.
constexpr std::string_view kMarkup =
    R"({"a":"<&>'","b":{"c":"<i>","d":["&amp;",1,{"a":">"}]},"e":null,"f":true,"g":"","h":[],"x":"x"})";
constexpr std::string_view kEscaped =
    R"({"a":"&lt;&amp;&gt;&#39;","b":{"c":"&lt;i&gt;","d":["&amp;amp;",1,{"a":"&gt;"}]},"e":null,"f":true,"g":"",)"
    R"("h":[],"x":"x"})";

bool same(const Result<Rendered>& a, const Result<Rendered>& b) {
  if (!a || !b) return !a && !b && a.error().text == b.error().text;
  return a->text == b->text && a->missing == b->missing && a->unformatted == b->unformatted;
}

// An object or a list is written as JSON, whose own quotes are escaped too.
std::string with_quotes(std::string text) {
  constexpr std::string_view kQuote = "&quot;";
  for (std::size_t at = text.find(kQuote); at != std::string::npos; at = text.find(kQuote, at))
    text.replace(at, kQuote.size(), "\"");
  return text;
}

void check_escaping(const CompiledText& compiled, const Partials& partials) {
  const auto markup = JsonDocument::parse(kMarkup);
  const auto escaped = JsonDocument::parse(kEscaped);
  const auto html = compiled.render(markup->root(), {.escape = Escape::Html, .partials = &partials});
  const auto plain = compiled.render(escaped->root(), {.partials = &partials});
  if (html && plain) POSTRIDER_CHECK(with_quotes(html->text) == with_quotes(plain->text));
}

void run(fuzz::Input input) {
  const std::string text = input.field();
  const auto compiled = CompiledText::compile(text);
  Partials partials;
  const bool included = partials.add("p", text).has_value();
  if (!compiled) {
    const std::string& why = compiled.error().text;
    POSTRIDER_CHECK((why.starts_with("line ") || why.starts_with("the template is ")) && is_utf8(why));
    return;
  }
  POSTRIDER_CHECK(included);
  for (const Placeholder& each : compiled->placeholders()) POSTRIDER_CHECK(each.line >= 1 && each.column >= 1);
  auto document = JsonDocument::parse(input.rest(), {.bytes_max = 1U << 16U, .depth_max = 16});
  if (!document) document = JsonDocument::parse(kMarkup);
  for (const Escape escape : {Escape::None, Escape::Html}) {
    const RenderOptions options{.escape = escape, .partials = &partials};
    const auto rendered = compiled->render(document->root(), options);
    POSTRIDER_CHECK(same(rendered, compiled->render(document->root(), options)));
    if (text.find("{{") == std::string::npos) POSTRIDER_CHECK(rendered && rendered->text == text);
  }
  const bool raw = text.find("{{{") != std::string::npos || text.find('&') != std::string::npos;
  if (!raw) check_escaping(*compiled, partials);
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::run({data, size});
  return 0;
}
