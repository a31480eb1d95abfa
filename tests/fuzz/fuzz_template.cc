// Templates: data never becomes markup, text without placeholders stays as it is, a template cut in two renders as its
// halves do, and what has no value is named.
#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "core/render.h"
#include "fuzz/input.h"

namespace postrider {
namespace {

struct Rendered {
  std::string text = {};
  std::vector<std::string> missing = {};
};

Rendered render(const CompiledText& compiled, JsonView data, Escape escape) {
  Rendered out;
  compiled.render(data, escape, out.text, out.missing);
  return out;
}

std::string unescaped(std::string_view html) {
  static constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
  std::string out;
  while (!html.empty()) {
    const auto* entity = std::find_if(std::begin(kEntities), std::end(kEntities),
                                      [&](const auto& e) { return html.starts_with(e.first); });
    const bool is_entity = entity != std::end(kEntities);
    out += is_entity ? entity->second : html.front();
    html.remove_prefix(is_entity ? entity->first.size() : 1);
  }
  return out;
}

auto count(std::string_view text, char c) { return std::count(text.begin(), text.end(), c); }

void check_escaping(const CompiledText& compiled, JsonView data, std::string_view literals) {
  const std::string html = render(compiled, data, Escape::Html).text;
  for (const char mark : {'<', '>', '"', '\''}) POSTRIDER_CHECK(count(html, mark) == count(literals, mark));
  if (count(literals, '&') == 0) POSTRIDER_CHECK(unescaped(html) == render(compiled, data, Escape::None).text);
}

void check_halves(std::string_view text, JsonView data) {
  if (text.empty()) return;
  const std::size_t at = fuzz::draws_from(text).below(text.size());
  const std::string_view left = text.substr(0, at);
  const auto first = CompiledText::compile(left);
  const auto second = CompiledText::compile(text.substr(at));
  if (!first || !second || left.ends_with('{')) return;
  const auto whole = CompiledText::compile(text);
  POSTRIDER_CHECK(whole);
  for (const Escape escape : {Escape::None, Escape::Html}) {
    POSTRIDER_CHECK(render(*whole, data, escape).text ==
                    render(*first, data, escape).text + render(*second, data, escape).text);
  }
}

void run(fuzz::Input input) {
  const std::string text = input.field();
  const auto compiled = CompiledText::compile(text);
  if (!compiled) {
    POSTRIDER_CHECK(compiled.error().text.starts_with("line ") && is_utf8(compiled.error().text));
    POSTRIDER_CHECK(text.find("{{") != std::string::npos);
    return;
  }
  auto document = JsonDocument::parse(input.rest(), {.bytes_max = 1U << 16U, .depth_max = 16});
  if (!document) document = JsonDocument::parse(R"({"a":"<&>","b":{"c":1},"d":null})");
  const JsonView data = document->root();
  const auto nothing = JsonDocument::parse("{}");
  const Rendered literals = render(*compiled, nothing->root(), Escape::Html);
  const Rendered plain = render(*compiled, data, Escape::None);
  if (text.find("{{") == std::string::npos) POSTRIDER_CHECK(plain.text == text);
  for (const std::string& key : literals.missing) {
    const auto value = data.find_path(key);
    const bool has_value = value && value->kind() != JsonKind::Null;
    const bool is_missing = std::find(plain.missing.begin(), plain.missing.end(), key) != plain.missing.end();
    POSTRIDER_CHECK(has_value != is_missing);
  }
  const bool raw = text.find("{{{") != std::string::npos || text.find('&') != std::string::npos;
  if (!raw) check_escaping(*compiled, data, literals.text);
  check_halves(text, data);
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::run({data, size});
  return 0;
}
