#include "core/render.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "core/rendering.h"

namespace postrider {
namespace {

using testing::render;
using testing::Rendering;

TEST(Render, KeysAreReplacedAndEverythingElseStays) {
  EXPECT_EQ(
      render("Hello {{name}}, {{ count }} of {{guest.first}}!", R"({"name":"Ann","count":3,"guest":{"first":"Bo"}})")
          .text,
      "Hello Ann, 3 of Bo!");
  EXPECT_EQ(render("no keys } { }} here", "{}").text, "no keys } { }} here");
  EXPECT_EQ(render("", "{}").text, "");
}

TEST(Render, AKeyWithoutAValueIsEmptyAndIsReported) {
  const Rendered out = render("[{{a}}|{{b.c}}|{{d}}|{{a}}]", R"({"b":7,"d":null})");
  EXPECT_EQ(out.text, "[|||]");
  EXPECT_EQ(out.missing, (std::vector<std::string>{"a", "b.c", "d"}));
}

TEST(Render, APlaceholderWithoutAValueStaysAsItIsWhereThatIsWanted) {
  const Rendered out = render("{{ a }} {{{b}}} {{c | date:medium}} {{d}}", R"({"d":1})", {.missing = MissingKey::Kept});
  EXPECT_EQ(out.text, "{{ a }} {{{b}}} {{c | date:medium}} 1");
  EXPECT_EQ(out.missing, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Render, AThousandMissingKeysAreNotAThousandWarnings) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "{{k" + std::to_string(i) + "}}";
  EXPECT_EQ(render(text, "{}").missing.size(), kWarningsMax);
}

TEST(Render, ScalarsAreSpokenAndStructuresAreJson) {
  EXPECT_EQ(render("{{t}} {{f}} {{n}} {{l}} {{o}}", R"({"t":true,"f":false,"n":-5,"l":[1,"x"],"o":{"k":"v"}})").text,
            R"(true false -5 [1,"x"] {"k":"v"})");
  EXPECT_EQ(render("{{a}} {{b}} {{c}}", R"({"a":1.5,"b":18446744073709551615,"c":-9223372036854775808})").text,
            "1.5 18446744073709551615 -9223372036854775808");
}

TEST(Render, HtmlIsEscapedUnlessItIsAskedForRaw) {
  const std::string_view data = R"({"x":"<a href=\"q\">'&'</a>"})";
  const std::string escaped = "&lt;a href=&quot;q&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;";
  const std::string raw = "<a href=\"q\">'&'</a>";
  const RenderOptions html{.escape = Escape::Html};
  EXPECT_EQ(render("{{x}}", data, html).text, escaped);
  EXPECT_EQ(render("{{{x}}}", data, html).text, raw);
  EXPECT_EQ(render("{{& x}}", data, html).text, raw);
  EXPECT_EQ(render("{{x}}", data).text, raw);
  EXPECT_EQ(render("{{o}}", R"({"o":{"k":"<b>"}})", html).text, "{&quot;k&quot;:&quot;&lt;b&gt;&quot;}");
  EXPECT_EQ(render("<b>{{#x}}<i>{{/x}}</b>", data, html).text, "<b><i></b>") << "the template itself is not escaped";
}

TEST(Render, ValuesAreNotRenderedAgain) {
  EXPECT_EQ(render("{{a}}", R"({"a":"{{b}}","b":"secret"})").text, "{{b}}");
  EXPECT_EQ(render("{{#a}}{{.}}{{/a}}", R"({"a":["{{b}}","{{>b}}"],"b":"secret"})").text, "{{b}}{{>b}}");
}

TEST(Render, NothingButTheDataCanBeRead) {
  for (const std::string_view name :
       {"constructor", "__proto__", "toString", "length", "this", "@root", "env.PATH", "etc/passwd"}) {
    EXPECT_EQ(render("[{{" + std::string{name} + "}}]", R"({"a":"x"})").text, "[]") << name;
  }
}

// --- look-up

TEST(Lookup, AKeyWithDotsIsAPathAndNeverOneKey) {
  EXPECT_EQ(render("{{a.b}}", R"({"a.b":"flat","a":{"b":"deep"}})").text, "deep");
  EXPECT_EQ(render("{{a.b}}", R"({"a.b":"flat"})").text, "");
}

TEST(Lookup, TheInnermostScopeThatHasTheFirstPartDecides) {
  const std::string_view data = R"({"a":{"b":{}},"b":{"c":"outer"},"d":"top"})";
  EXPECT_EQ(render("{{#a}}[{{b.c}}]{{d}}{{/a}}", data).text, "[]top");
}

TEST(Lookup, LettersOfAnyCaseAreFoundAfterTheExactOnes) {
  EXPECT_EQ(render("{{GuestName}}", R"({"guestname":"lower","guestName":"camel"})").text, "lower");
  EXPECT_EQ(render("{{guestName}}", R"({"guestname":"lower","guestName":"camel"})").text, "camel");
  EXPECT_EQ(render("{{GUEST.Phone}}", R"({"Guest":{"phone":"1"}})").text, "1");
  EXPECT_EQ(
      render("{{#Items}}{{NAME}} {{/Items}}{{^items}}none{{/items}}", R"({"ITEMS":[{"name":"a"},{"Name":"b"}]})").text,
      "a b ");
  EXPECT_EQ(render("{{ÄRGER}}", R"({"ärger":"x"})").text, "") << "only the letters of ASCII have two cases here";
}

TEST(Lookup, AnExactKeyOutsideGoesBeforeASimilarOneInside) {
  EXPECT_EQ(render("{{#in}}{{Name}}{{/in}}", R"({"in":{"name":"similar"},"Name":"exact"})").text, "exact");
}

TEST(Lookup, ANestedValueHasItsPathWithoutDotsAsAName) {
  const std::string_view data =
      R"({"guest":{"phone":"1","home":{"city":"Pune"}},"guestEmail":"flat","b":{"guest":{"name":"N"}}})";
  EXPECT_EQ(render("{{guestPhone}}", data).text, "1");
  EXPECT_EQ(render("{{GuestPhone}}", data).text, "1");
  EXPECT_EQ(render("{{guestHomeCity}}", data).text, "Pune");
  EXPECT_EQ(render("{{bGuestName}}", data).text, "N");
  EXPECT_EQ(render("{{guestEmail}}", data).text, "flat");
  EXPECT_EQ(render("{{#guestHome}}{{city}}{{/guestHome}}", data).text, "Pune");
  EXPECT_EQ(render("[{{guestFax}}{{guestPhoneNumber}}{{guest}}x]", R"({"guest":{"phone":{"x":1}}})").text,
            R"([{"phone":{"x":1}}x])");
}

TEST(Lookup, ADottedNameIsNotFlattened) {
  EXPECT_EQ(render("[{{a.bc}}]", R"({"a":{"b":{"c":"deep"}}})").text, "[]");
  EXPECT_EQ(render("[{{guest.phone}}]", R"({"guestPhone":"flat"})").text, "[]");
}

TEST(Lookup, ANullIsAValueAndHidesNothingSimilar) {
  const Rendered out = render("[{{name}}]", R"({"name":null,"Name":"other"})");
  EXPECT_EQ(out.text, "[]");
  EXPECT_EQ(out.missing, (std::vector<std::string>{"name"}));
}

// --- what is wrong is told where it is

struct Broken {
  std::string_view text;
  std::string_view error;
};

TEST(Compile, WhatIsWrongIsToldWithLineAndColumn) {
  for (const Broken& broken : {
           Broken{"one\ntwo\nthree {{x", "line 3, column 7: {{ is never closed"},
           Broken{"a\n{{{x}}", "line 2, column 1: {{ is never closed"},
           Broken{"{{}}", "line 1, column 3: a placeholder has no name"},
           Broken{"{{&  }}", "line 1, column 6: a placeholder has no name"},
           Broken{"{{#}}x{{/}}", "line 1, column 4: a placeholder has no name"},
           Broken{"{{a b}}", "line 1, column 3: \"a b\" is not a key"},
           Broken{"{{a{b}}", "line 1, column 3: \"a{b\" is not a key"},
           Broken{"{{{{x}}}}", "line 1, column 4: \"{x\" is not a key"},
           Broken{"{{a..b}}", "line 1, column 3: \"a..b\" is not a key"},
           Broken{"{{a.}}", "line 1, column 3: \"a.\" is not a key"},
           Broken{"{{#a|b}}{{/a|b}}", "line 1, column 4: \"a|b\" is not a key"},
           Broken{"Grüße {{#x}}", "line 1, column 7: {{#x}} is never closed"},
           Broken{"x\n  {{/x}}", "line 2, column 3: {{/x}} closes nothing"},
           Broken{"{{#a}}\n{{#b}}\n{{/a}}{{/b}}",
                  "line 3, column 1: {{/a}} stands where {{#b}} of line 2 should be closed"},
           Broken{"{{^a}}{{/b}}", "line 1, column 7: {{/b}} stands where {{^a}} of line 1 should be closed"},
           Broken{"{{=<% =}}", "line 1, column 1: delimiters are two words without = between two =, as in {{=<% %>=}}"},
           Broken{"{{=a b c=}}",
                  "line 1, column 1: delimiters are two words without = between two =, as in {{=<% %>=}}"},
           Broken{"{{= = = =}}",
                  "line 1, column 1: delimiters are two words without = between two =, as in {{=<% %>=}}"},
           Broken{"{{=<% %>=}}<%x", "line 1, column 12: <% is never closed"},
           Broken{"{{x | shout}}",
                  "line 1, column 7: \"shout\" is no formatter (date, time, datetime, number, currency, plural)"},
           Broken{"{{x |}}", "line 1, column 6: \"\" is no formatter (date, time, datetime, number, currency, plural)"},
           Broken{"{{x | currency}}", "line 1, column 7: currency needs a code or a key, as in currency:EUR"},
           Broken{"{{x | plural:one=a}}", "line 1, column 7: plural needs the form other="},
           Broken{"{{x | plural:some=a; other=b}}",
                  "line 1, column 7: plural has forms such as plural:one=# night; other=# nights (zero, one, two, few, "
                  "many, "
                  "other, or a number)"},
           Broken{"{{x | plural:=a; other=b}}",
                  "line 1, column 7: plural has forms such as plural:one=# night; other=# nights (zero, one, two, few, "
                  "many, "
                  "other, or a number)"},
           Broken{"{{x | plural:7a=a; other=b}}",
                  "line 1, column 7: plural has forms such as plural:one=# night; other=# nights (zero, one, two, few, "
                  "many, "
                  "other, or a number)"},
           Broken{"{{x | plural:other}}",
                  "line 1, column 7: plural has forms such as plural:one=# night; other=# nights (zero, one, two, few, "
                  "many, "
                  "other, or a number)"},
           Broken{"{{x | plural:=a; other=b}}",
                  "line 1, column 7: plural has forms such as plural:one=# night; other=# nights (zero, one, two, few, "
                  "many, "
                  "other, or a number)"},
           Broken{"{{x | currency:a..b}}", "line 1, column 16: \"a..b\" is not a key"},
           Broken{"{{> }}", "line 1, column 5: a placeholder has no name"},
           Broken{"\xff", "the template is not UTF-8"},
       }) {
    const auto compiled = CompiledText::compile(broken.text);
    ASSERT_FALSE(compiled) << broken.text;
    EXPECT_EQ(compiled.error().code, ErrorCode::Invalid);
    EXPECT_EQ(compiled.error().text, broken.error) << broken.text;
  }
}

TEST(Compile, APartialsErrorNamesThePartial) {
  Partials partials;
  const auto added = partials.add("footer", "x\n{{#a}}");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().text, "partial \"footer\", line 2, column 1: {{#a}} is never closed");
  EXPECT_EQ(partials.find("footer"), nullptr);
}

TEST(Compile, ThePlaceholdersAreListedWithTheirPlaceAndSection) {
  const auto compiled = CompiledText::compile(
      "Dear {{guest.name}},\n{{#items}}\n  {{title}}: {{price | "
      "currency:code}}\n{{/items}}\n{{^items}}{{{sorry}}}{{/items}}{{> footer}}");
  ASSERT_TRUE(compiled);
  std::vector<std::string> listed;
  for (const Placeholder& p : compiled->placeholders()) {
    listed.push_back(std::string{"VSIP"[static_cast<std::size_t>(p.kind)]} + " " + p.name + " in [" + p.section + "] " +
                     std::to_string(p.line) + ":" + std::to_string(p.column));
  }
  EXPECT_EQ(listed, (std::vector<std::string>{"V guest.name in [] 1:8", "S items in [] 2:4", "V title in [items] 3:5",
                                              "V price in [items] 3:16", "V code in [items] 3:33", "I items in [] 5:4",
                                              "V sorry in [] 5:14", "P footer in [] 5:36"}));
}

TEST(Compile, ACopyRendersWhenTheOriginalIsGone) {
  auto original = std::make_unique<CompiledText>(*CompiledText::compile("{{#a}}{{b}}{{/a}}"));
  const CompiledText copy = *original;
  original.reset();
  const auto data = JsonDocument::parse(R"({"a":{"b":"x"}})");
  EXPECT_EQ(copy.render(data->root(), {})->text, "x");
}

// --- bounds

TEST(Bounds, SectionsNestSixteenDeepAndNoDeeper) {
  const auto nested = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += "{{#a}}";
    text += "x";
    for (std::size_t i = 0; i < depth; ++i) text += "{{/a}}";
    return text;
  };
  EXPECT_EQ(render(nested(kTemplateDepthMax), R"({"a":true})").text, "x");
  const auto refused = CompiledText::compile(nested(kTemplateDepthMax + 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "line 1, column 97: sections are nested deeper than 16");
  EXPECT_FALSE(CompiledText::compile(nested(100'000)));
}

TEST(Bounds, APartialThatIncludesItselfEndsWithAClearError) {
  const Rendering out{"{{>a}}", "{}", {}, {{"a", "x\n {{>b}}"}, {"b", "{{>a}}"}}};
  ASSERT_FALSE(out.result);
  EXPECT_EQ(out.result.error().code, ErrorCode::Invalid);
  EXPECT_EQ(out.result.error().text, "partial \"b\", line 1, column 1: partials include each other deeper than 16");
}

TEST(Bounds, APartialThatCallsItselfOverAFiniteTreeIsFine) {
  const Rendering out{"{{>n}}",
                      R"({"v":1,"k":[{"v":2,"k":[]},{"v":3,"k":[{"v":4,"k":[]}]}]})",
                      {},
                      {{"n", "{{v}}({{#k}}{{>n}}{{/k}})"}}};
  ASSERT_TRUE(out.result);
  EXPECT_EQ(out.result->text, "1(2()3(4()))");
}

TEST(Bounds, TheTextEndsAtItsLargestSize) {
  std::string list = R"({"x":")" + std::string(1000, 'x') + R"(","l":[1)";
  for (int i = 1; i < 1048; ++i) list += ",1";
  const auto fits = render("{{#l}}{{x}}{{/l}}", list + "]}");
  EXPECT_EQ(fits.text.size(), 1'048'000U);
  const Rendering out{"{{#l}}{{x}}{{/l}}", list + ",1]}"};
  ASSERT_FALSE(out.result);
  EXPECT_EQ(out.result.error().code, ErrorCode::Exhausted);
  EXPECT_EQ(out.result.error().text, "line 1, column 7: the text grows past 1048576 bytes");
}

TEST(Bounds, LoopsInLoopsThatWriteNothingEndAfterSoManySteps) {
  std::string list = R"({"l":[1)";
  for (int i = 1; i < 3000; ++i) list += ",1";
  const Rendering out{"{{#l}}{{#l}}{{#l}}{{/l}}{{/l}}{{/l}}", list + "]}"};
  ASSERT_FALSE(out.result);
  EXPECT_EQ(out.result.error().code, ErrorCode::Invalid);
  EXPECT_TRUE(out.result.error().text.ends_with("rendering takes more than 1000000 steps")) << out.result.error().text;
}

TEST(Bounds, ANameHas200Bytes) {
  const std::string longest(kTemplateNameBytesMax, 'a');
  EXPECT_EQ(render("{{" + longest + "}}", "{\"" + longest + "\":1}").text, "1");
  const auto refused = CompiledText::compile("x{{#" + longest + "a}}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "line 1, column 5: a name is longer than 200 bytes");
}

TEST(Bounds, AnIndentationThatIsCopiedForNothingCounts) {
  std::string list = R"({"l":[1)";
  for (int i = 1; i < 100; ++i) list += ",1";
  const Rendering out{
      "{{#l}}\n" + std::string(100'000, ' ') + "{{>nothing}}\n{{/l}}", list + "]}", {}, {{"nothing", ""}}};
  ASSERT_FALSE(out.result);
  EXPECT_TRUE(out.result.error().text.ends_with("steps")) << out.result.error().text;
}

TEST(Bounds, ManyMissingKeysInALoopCount) {
  std::string text = "{{#l}}";
  for (int i = 0; i < 100; ++i) text += "{{k" + std::to_string(i) + "}}";
  std::string list = R"({"l":[1)";
  for (int i = 1; i < 1000; ++i) list += ",1";
  const Rendering out{text + "{{/l}}", list + "]}"};
  ASSERT_FALSE(out.result);
  EXPECT_TRUE(out.result.error().text.ends_with("steps")) << out.result.error().text;
}

TEST(Bounds, LookingThroughAWideObjectCounts) {
  std::string wide = R"({"l":[1)";
  for (int i = 1; i < 1000; ++i) wide += ",1";
  wide += "]";
  for (int i = 0; i < 5000; ++i) wide += ",\"k" + std::to_string(i) + "\":0";
  const Rendering out{"{{#l}}{{nowhere}}{{/l}}", wide + "}"};
  ASSERT_FALSE(out.result);
  EXPECT_TRUE(out.result.error().text.ends_with("steps")) << out.result.error().text;
}

}  // namespace
}  // namespace postrider
