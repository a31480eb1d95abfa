#include "core/authoring/template_source.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

TemplateSource sound() {
  return {
      .key = "made", .type = "booking.made", .channel = Channel::Email, .texts = {{.locale = "en-US", .body = "x"}}};
}
std::string problem_of(const TemplateSource& source) {
  const auto problem = shape_problem(source);
  return problem ? problem->field + " " + problem->what : "";
}

TEST(TemplateSource, ASoundOneHasNoProblem) {
  EXPECT_EQ(problem_of(sound()), "");
  TemplateSource partial = sound();
  partial.channel.reset();
  partial.type.clear();
  partial.texts.push_back({.locale = "", .body = "every"});
  EXPECT_EQ(problem_of(partial), "");
}

TEST(TemplateSource, EveryFieldHasItsShape) {
  const auto wrong = [](auto change) {
    TemplateSource source = sound();
    change(source);
    return problem_of(source);
  };
  EXPECT_EQ(wrong([](auto& s) { s.key.clear(); }), "key is missing");
  EXPECT_EQ(wrong([](auto& s) { s.name = "a\nb"; }), "name has a control character");
  EXPECT_EQ(wrong([](auto& s) { s.type = std::string(513, 'x'); }), "type is longer than 512 bytes");
  EXPECT_EQ(wrong([](auto& s) { s.key = "\xff"; }), "key is not UTF-8");
  EXPECT_EQ(wrong([](auto& s) { s.scope_type = "listing"; }), "scope_id is missing: a scope has both");
  EXPECT_EQ(wrong([](auto& s) { s.scope_id = "10"; }), "scope_type is missing: a scope has both");
  EXPECT_EQ(wrong([](auto& s) { s.scope_type = "a/b", s.scope_id = "1"; }), "scope_type has a slash");
  EXPECT_EQ(wrong([](auto& s) { s.channel.reset(); }), "type is not for a partial, which is included by its key");
  EXPECT_EQ(wrong([](auto& s) { s.texts.push_back(s.texts[0]); }), "texts have the locale \"en-US\" twice");
  EXPECT_EQ(wrong([](auto& s) { s.texts.resize(201); }), "texts are more than 200");
}

TEST(TemplateSource, EveryPartOfATextHasItsShape) {
  const auto wrong = [](auto change) {
    TemplateSource source = sound();
    change(source.texts[0]);
    return problem_of(source);
  };
  EXPECT_EQ(wrong([](auto& t) { t.locale = "en_US"; }), "locale \"en_US\" is not a language tag such as en-US");
  EXPECT_EQ(wrong([](auto& t) { t.locale = "-en"; }), "locale \"-en\" is not a language tag such as en-US");
  EXPECT_EQ(wrong([](auto& t) { t.subject = "a\r\nBcc: x"; }), "subject has a control character (en-US)");
  EXPECT_EQ(wrong([](auto& t) { t.body = std::string("a\0b", 3); }), "body has a NUL character (en-US)");
  EXPECT_EQ(wrong([](auto& t) { t.html = std::string(1'048'577, 'x'); }), "html is longer than 1048576 bytes (en-US)");
  EXPECT_EQ(wrong([](auto& t) { t.body = "\xc3"; }), "body is not UTF-8 (en-US)");
  EXPECT_EQ(wrong([](auto& t) { t.provider_template = "\t"; }), "provider_template has a control character (en-US)");
  EXPECT_EQ(wrong([](auto& t) {
              t.provider_params = {{"", "x"}};
            }),
            "provider_params has an entry without a name (en-US)");
  EXPECT_EQ(wrong([](auto& t) {
              t.provider_params = {{"a", "x"}, {"a", "y"}};
            }),
            "provider_params names \"a\" twice (en-US)");
  EXPECT_EQ(wrong([](auto& t) {
              t.provider_params = {{"a", "x\n"}};
            }),
            "provider_params has a control character (en-US)");
  EXPECT_EQ(wrong([](auto& t) {
              t.provider_params.resize(51, {"a", "x"});
            }),
            "provider_params has more than 50 entries (en-US)");
}

TEST(TemplateSource, ALocaleIsOfLettersDigitsAndHyphensInside) {
  for (int code = 33; code < 127; ++code) {
    const char c = static_cast<char>(code);
    const bool word = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    TemplateSource source = sound();
    source.texts[0].locale = std::string{"en"} + c + "x";
    EXPECT_EQ(problem_of(source).empty(), word || c == '-') << c;
    source.texts[0].locale = std::string{"en"} + c;
    EXPECT_EQ(problem_of(source).empty(), word) << c;
  }
  TemplateSource source = sound();
  source.texts[0].locale = std::string(36, 'x');
  EXPECT_FALSE(problem_of(source).empty());
}

TEST(TemplateSource, ATextWithoutALocaleIsNotNamedByIt) {
  TemplateSource source = sound();
  source.texts[0].locale.clear();
  source.texts[0].body = "\xc3";
  EXPECT_EQ(problem_of(source), "body is not UTF-8");
}

TEST(TemplateSource, APartialHasNoScope) {
  TemplateSource source = sound();
  source.channel.reset();
  source.type.clear();
  source.scope_type = "listing";
  source.scope_id = "10";
  EXPECT_EQ(problem_of(source), "scope_type is not for a partial, which is included by its key");
}

TEST(TemplateSource, TheTitleTellsWhichOneItIs) {
  TemplateSource source = sound();
  EXPECT_EQ(source.title(), "made (email)");
  source.scope_type = "listing";
  source.scope_id = "10";
  EXPECT_EQ(source.title(), "made (email, listing/10)");
  EXPECT_FALSE(source.is(sound()));
  source = sound();
  source.name = "other";
  source.texts.clear();
  EXPECT_TRUE(source.is(sound()));
  source.channel.reset();
  EXPECT_EQ(source.title(), "made (partial)");
}

}  // namespace
}  // namespace postrider
