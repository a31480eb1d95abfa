// The language, tag by tag, in cases of our own; and the cases of the public specification where they lie beside this
// tree.
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/prng.h"
#include "core/rendering.h"

namespace postrider {
namespace {

using testing::render;
using testing::Rendering;

struct Case {
  std::string_view text;
  std::string_view data;
  std::string_view wanted;
};

void expect_all(std::initializer_list<Case> cases) {
  for (const Case& c : cases) EXPECT_EQ(render(c.text, c.data).text, c.wanted) << "[" << c.text << "] with " << c.data;
}

TEST(Mustache, CommentsWriteNothing) {
  expect_all({
      {"a{{! nothing }}b", "{}", "ab"},
      {"a {{!x}} b", "{}", "a  b"},
      {"{{!}}x", "{}", "x"},
      {"a\n{{! alone }}\nb\n", "{}", "a\nb\n"},
      {"a\n \t{{! with\nlines\n}} \t\nb", "{}", "a\nb"},
      {"a\r\n{{!x}}\r\nb", "{}", "a\r\nb"},
      {"  {{!first}}\nb", "{}", "b"},
      {"a\n  {{!last}}", "{}", "a\n"},
      {"  {{!x}}{{!y}}\n", "{}", "  \n"},
      {"{{! {{#not}} a section }}", "{}", " a section }}"},
  });
}

TEST(Mustache, DelimitersCanBeSet) {
  expect_all({
      {"{{=<% %>=}}<%a%> {{a}}", R"({"a":1})", "1 {{a}}"},
      {"{{=| |=}}|a||=( )=|(a)", R"({"a":1})", "11"},
      {"x\n{{= [ ] =}}\n[a]\n", R"({"a":1})", "x\n1\n"},
      {"{{=<% %>=}}<%{a}%><%& a%>", R"({"a":"<"})", "<<"},
      {"{{=[[ ]]=}}[[#l]][[.]],[[/l]]", R"({"l":[1,2]})", "1,2,"},
      {"{{#s}}{{=<% %>=}}<%/s%><%a%>", R"({"s":true,"a":1})", "1"},
  });
}

TEST(Mustache, SectionsRepeatSkipAndNest) {
  expect_all({
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":true})", "yes"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":false})", "no"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":null})", "no"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":[]})", "no"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":""})", "no"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":0})", "no"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":0.0})", "no"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":0.5})", "yes"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":"0"})", "yes"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":{}})", "yes"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", R"({"b":[null,false]})", "yesyes"},
      {"{{#b}}yes{{/b}}{{^b}}no{{/b}}", "{}", "no"},
      {"{{#l}}{{n}}{{#l}}{{.}}{{/l}};{{/l}}", R"({"n":9,"l":[1,2]})", "912;912;"},
      {"{{#a}}{{#b}}{{x}}{{y}}{{z}}{{/b}}{{/a}}", R"({"x":1,"a":{"y":2,"b":{"z":3,"x":4}}})", "423"},
      {"{{#m}}{{#.}}{{.}}{{/.}}|{{/m}}", R"({"m":[[1,2],[],[3]]})", "12||3|"},
      {"{{#l}}{{#on}}{{n}}{{/on}}{{^on}}-{{/on}}{{/l}}", R"({"l":[{"n":1,"on":true},{"n":2},{"n":3,"on":1}]})", "1-3"},
      {"{{#.}}{{a}}{{/.}}", R"([{"a":1},{"a":2}])", "12"},
      {"{{#p.q}}{{r}}{{/p.q}}", R"({"p":{"q":[{"r":1},{"r":2}]}})", "12"},
      {"{{^a}}{{^a}}x{{/a}}{{/a}}", "{}", "x"},
      {"{{# a }}x{{/ a }}{{ # a }}y{{ /a }}", R"({"a":1})", "xy"},
  });
}

TEST(Mustache, TagsOnALineOfTheirOwnTakeTheLineWithThem) {
  expect_all({
      {"<\n{{#a}}\n  x\n{{/a}}\n>\n", R"({"a":true})", "<\n  x\n>\n"},
      {"<\r\n{{#a}}\r\n{{/a}}\r\n>", R"({"a":true})", "<\r\n>"},
      {"  {{#a}}\nx{{/a}}\n", R"({"a":true})", "x\n"},
      {"{{#a}} \nx\n\t{{/a}}", R"({"a":[1,2]})", "x\nx\n"},
      {" {{#a}}x{{/a}}\n {{#a}}y{{/a}}\n", R"({"a":true})", " x\n y\n"},
      {"{{#a}}{{/a}}\n", R"({"a":true})", "\n"},
      {"  {{a}}\n  {{&a}}\n", R"({"a":1})", "  1\n  1\n"},
      {"{{^a}}\n- none\n{{/a}}\n", "{}", "- none\n"},
  });
}

TEST(Mustache, PartialsAreIncludedWithTheirIndentation) {
  const std::map<std::string, std::string> partials{
      {"one", "1"},
      {"footer.en", "2"},
      {"lines", "a\nb\n"},
      {"value", "[\n{{v}}\n]\n"},
      {"list", "{{#l}}\n* {{.}}\n{{/l}}\n"},
      {"inline", "{{#l}}{{.}}{{/l}}!"},
      {"outer", "<\n  {{>lines}}\n>\n"},
      {"gap", "a\n\nb"},
      {"marks", "{{=<% %>=}}<%v%>"},
      {"note", "{{! a\nnote }}\nx{{!y\n}}z\n"},
  };
  struct Include {
    std::string_view text;
    std::string_view wanted;
  };
  const std::string_view data = R"({"v":"x\ny","l":[1,2]})";
  for (const Include& c : {
           Include{"({{>one}})", "(1)"},
           Include{"({{>footer.en}})", "(2)"},
           Include{"({{>nobody}})", "()"},
           Include{"({{>../nobody}}{{>.}})", "()"},
           Include{"( {{> lines }} )", "( a\nb\n )"},
           Include{"(\n  {{>lines}}\n)", "(\n  a\n  b\n)"},
           Include{"(\r\n\t{{>one}}\r\n)", "(\r\n\t1)"},
           Include{"  {{>value}}\n", "  [\n  x\ny\n  ]\n"},
           Include{"  {{>list}}\n", "  * 1\n  * 2\n"},
           Include{"  {{>inline}}\n.", "  12!."},
           Include{" {{>outer}}\n", " <\n   a\n   b\n >\n"},
           Include{" {{>gap}}\n.", " a\n \n b."},
           Include{"{{>marks}}{{v}}<%v%>", "x\nyx\ny<%v%>"},
           Include{" {{>note}}\n", " xz\n"},
           Include{"{{#l}}{{>one}}{{/l}}", "11"},
       }) {
    EXPECT_EQ(render(c.text, data, {}, partials).text, c.wanted) << c.text;
  }
}

TEST(Mustache, ATextWithoutPartialsToIncludeHasEmptyOnes) {
  const auto compiled = CompiledText::compile("a{{>b}}c");
  const auto data = JsonDocument::parse("{}");
  EXPECT_EQ(compiled->render(data->root(), {})->text, "ac");
}

// --- any text

std::string any_text(Prng& dice) {
  static constexpr std::array<std::string_view, 34> kPieces{"{{",
                                                            "}}",
                                                            "{{{",
                                                            "}}}",
                                                            "{{#a}}",
                                                            "{{/a}}",
                                                            "{{^b}}",
                                                            "{{/b}}",
                                                            "{{a}}",
                                                            "{{&c}}",
                                                            "{{{c}}}",
                                                            "{{.}}",
                                                            "{{>p}}",
                                                            "{{!x}}",
                                                            "\n",
                                                            "\r\n",
                                                            "  ",
                                                            "\t",
                                                            "text",
                                                            "{{=",
                                                            "=}}",
                                                            "<%",
                                                            "%>",
                                                            "|",
                                                            "{{=<% %>=}}",
                                                            "<%={{ }}=%>",
                                                            "{{n | number}}",
                                                            "{{#l}}",
                                                            "{{/l}}",
                                                            "{{a.b}}",
                                                            "{{aB}}",
                                                            "ä€",
                                                            "#",
                                                            "{{n|plural:other=#}}"};
  std::string text;
  for (std::uint64_t count = dice.below(14); count > 0; --count) text += kPieces[dice.below(kPieces.size())];
  return text;
}

// Two ways to the same place: a text by itself, and the same text as a partial without an indentation.
TEST(Mustache, AnyTextRendersTheSameByItselfAndAsAPartialOrIsRefusedAsBoth) {
  const std::string_view data = R"({"a":{"b":"<1>"},"b":false,"c":"&","n":2,"l":[{"a":1},{"n":3},"x"]})";
  Prng dice{11};
  int rendered = 0;
  for (int round = 0; round < 30'000; ++round) {
    const std::string text = any_text(dice);
    const Rendering whole{text, data, {.escape = Escape::Html}};
    const Rendering included{"{{>text}}", data, {.escape = Escape::Html}, {{"text", text}}};
    ASSERT_EQ(whole.result.has_value(), included.result.has_value()) << text;
    if (!whole.result) continue;
    ++rendered;
    ASSERT_EQ(whole.result->text, included.result->text) << text;
    ASSERT_EQ(whole.result->missing, included.result->missing) << text;
  }
  EXPECT_GT(rendered, 5'000) << "most of the texts were refused: the pieces are badly chosen";
}

// --- the public specification

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

std::map<std::string, std::string> partials_of(JsonView test) {
  std::map<std::string, std::string> partials;
  if (const auto given = test.find("partials")) {
    for (const auto& [name, text] : given->members()) partials.emplace(name, *text.text());
  }
  return partials;
}

TEST(MustacheSpecification, EveryPublicCaseGivesWhatItExpects) {
  const std::filesystem::path folder = std::filesystem::path{POSTRIDER_PUBLIC_CASES} / "data/mustache-spec";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "the public cases are not in " << folder;
  int cases = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string text = file_text(file.path());
    const auto document = JsonDocument::parse(text);
    ASSERT_TRUE(document) << file.path() << document.error().text;
    for (const JsonView test : document->root().find("tests")->items()) {
      const Rendered out = render(*test.find("template")->text(), test.find("data")->json(), {.escape = Escape::Html},
                                  partials_of(test));
      EXPECT_EQ(out.text, *test.find("expected")->text()) << file.path() << ": " << *test.find("name")->text();
      ++cases;
    }
  }
  EXPECT_GE(cases, 130);
}

}  // namespace
}  // namespace postrider
