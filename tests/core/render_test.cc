#include "core/render.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

struct Rendered {
  std::string text;
  std::vector<std::string> missing;
};
Rendered render(std::string_view text, std::string_view data, Escape escape = Escape::None) {
  Rendered out;
  const auto compiled = CompiledText::compile(text);
  const auto document = JsonDocument::parse(data);
  compiled->render(document->root(), escape, out.text, out.missing);
  return out;
}

TEST(Render, KeysAreReplacedAndEverythingElseStays) {
  EXPECT_EQ(
      render("Hello {{name}}, {{ count }} of {{guest.first}}!", R"({"name":"Ann","count":3,"guest":{"first":"Bo"}})")
          .text,
      "Hello Ann, 3 of Bo!");
  EXPECT_EQ(render("no keys } { }} here", "{}").text, "no keys } { }} here");
  EXPECT_EQ(render("", "{}").text, "");
}

TEST(Render, AKeyWithoutAValueIsEmptyAndIsReported) {
  const Rendered out = render("[{{a}}|{{b.c}}|{{d}}]", R"({"b":7,"d":null})");
  EXPECT_EQ(out.text, "[||]");
  EXPECT_EQ(out.missing, (std::vector<std::string>{"a", "b.c", "d"}));
}

TEST(Render, ScalarsAreSpokenAndStructuresAreJson) {
  EXPECT_EQ(render("{{t}} {{f}} {{n}} {{l}} {{o}}", R"({"t":true,"f":false,"n":-5,"l":[1,"x"],"o":{"k":"v"}})").text,
            R"(true false -5 [1,"x"] {"k":"v"})");
}

TEST(Render, HtmlIsEscapedUnlessItIsAskedForRaw) {
  const std::string_view data = R"({"x":"<a href=\"q\">'&'</a>"})";
  const std::string escaped = "&lt;a href=&quot;q&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;";
  const std::string raw = "<a href=\"q\">'&'</a>";
  EXPECT_EQ(render("{{x}}", data, Escape::Html).text, escaped);
  EXPECT_EQ(render("{{{x}}}", data, Escape::Html).text, raw);
  EXPECT_EQ(render("{{& x}}", data, Escape::Html).text, raw);
  EXPECT_EQ(render("{{x}}", data, Escape::None).text, raw);
  EXPECT_EQ(render("{{o}}", R"({"o":{"k":"<b>"}})", Escape::Html).text, "{&quot;k&quot;:&quot;&lt;b&gt;&quot;}");
}

TEST(Render, ValuesAreNotRenderedAgain) { EXPECT_EQ(render("{{a}}", R"({"a":"{{b}}","b":"secret"})").text, "{{b}}"); }

TEST(Render, AKeyThatItselfContainsDotsWins) {
  EXPECT_EQ(render("{{a.b}}", R"({"a.b":"flat","a":{"b":"deep"}})").text, "flat");
}

TEST(Render, UnbalancedOrStrangePlaceholdersAreRefusedWithTheirLine) {
  for (const std::string_view text :
       {"{{name", "a\n{{{x}}", "{{}}", "{{ }}", "{{&}}", "{{#section}}", "{{/section}}", "{{^x}}", "{{>partial}}",
        "{{!comment}}", "{{=<% %>=}}", "{{a b}}", "{{a{b}}", "{{{{x}}}}"}) {
    const auto compiled = CompiledText::compile(text);
    ASSERT_FALSE(compiled) << text;
    EXPECT_EQ(compiled.error().code, ErrorCode::Invalid);
    EXPECT_TRUE(compiled.error().text.starts_with("line ")) << compiled.error().text;
  }
  EXPECT_EQ(CompiledText::compile("one\ntwo\nthree {{x").error().text, "line 3: {{ is never closed");
}

}  // namespace
}  // namespace postrider
