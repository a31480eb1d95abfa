// What a template asks of a formatter, and what happens where the value is not what it asks for. The formatter is a
// fake.
#include "core/format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "core/rendering.h"

namespace postrider {
namespace {

using testing::render;
using testing::Rendering;

class Fake final : public Formatter {
 public:
  [[nodiscard]] bool append(const FormatRequest& r, std::string& out) const override {
    if (r.argument == "broken") return false;
    const bool number = r.kind == FormatKind::Number || r.kind == FormatKind::Currency;
    const std::string value = number ? std::string{r.number} : fmt::format("{}", r.time.us / 1'000'000);
    out += fmt::format("<{} {} '{}' {} {}>", static_cast<int>(r.kind), value, r.argument, r.locale, r.zone);
    return true;
  }
  [[nodiscard]] std::string_view plural_form(std::string_view locale, std::string_view number) const override {
    return locale == "xx" ? "few" : number == "1" ? "one" : "other";
  }
};
const Fake kFake;
const RenderOptions kOptions{.formatter = &kFake, .locale = "de", .zone = "Z"};

TEST(Formatters, GetValueArgumentLocaleAndZone) {
  const std::string_view data = R"({"at":"1970-01-02","t":"1970-01-01T00:00:05Z","n":1.5,"m":"12.30","c":"USD"})";
  EXPECT_EQ(render("{{at | date:medium}}", data, kOptions).text, "<0 86400 'medium' de Z>");
  EXPECT_EQ(render("{{at|date}}", data, kOptions).text, "<0 86400 '' de Z>");
  EXPECT_EQ(render("{{t | time:HH:mm}}", data, kOptions).text, "<1 5 'HH:mm' de Z>");
  EXPECT_EQ(render("{{t | datetime: ::yMMMdjm }}", data, kOptions).text, "<2 5 '::yMMMdjm' de Z>");
  EXPECT_EQ(render("{{n | number}}", data, kOptions).text, "<3 1.5 '' de Z>");
  EXPECT_EQ(render("{{m | number:#,##0.00}}", data, kOptions).text, "<3 12.30 '#,##0.00' de Z>");
  EXPECT_EQ(render("{{m | currency:EUR}}", data, kOptions).text, "<4 12.30 'EUR' de Z>");
  EXPECT_EQ(render("{{m | currency:c}}", data, kOptions).text, "<4 12.30 'USD' de Z>") << "the code can be in the data";
  const std::string_view deep = R"({"m":"-12.30","cur":"INR","P":{"c":"EUR"}})";
  EXPECT_EQ(render("{{m | currency:cur}}", deep, kOptions).text, "<4 -12.30 'INR' de Z>") << "small letters are a key";
  EXPECT_EQ(render("{{m | currency:P.c}}", deep, kOptions).text, "<4 -12.30 'EUR' de Z>");
}

TEST(Formatters, WorkOnTheNameAsItIsFound) {
  EXPECT_EQ(
      render("{{#l}}{{. | number}}{{/l}}{{guestAge | number}}", R"({"l":[1,2],"guest":{"age":3}})", kOptions).text,
      "<3 1 '' de Z><3 2 '' de Z><3 3 '' de Z>");
}

TEST(Formatters, AreEscapedLikeAnyValue) {
  RenderOptions html = kOptions;
  html.escape = Escape::Html;
  EXPECT_EQ(render("{{n|number}}{{{n|number}}}", R"({"n":1})", html).text, "&lt;3 1 &#39;&#39; de Z&gt;<3 1 '' de Z>");
}

TEST(Formatters, LeaveAValueThatIsNotOfTheirKindAsItIsAndSaySo) {
  struct Odd {
    std::string_view text;
    std::string_view value;
    std::string_view shown;
  };
  for (const Odd& odd : {
           Odd{"{{v | date}}", R"("tomorrow")", "tomorrow"},
           Odd{"{{v | date}}", "5", "5"},
           Odd{"{{v | date}}", R"("2026-02-30")", "2026-02-30"},
           Odd{"{{v | time}}", R"("2026-02-03")", "2026-02-03"},
           Odd{"{{v | datetime}}", R"("2026-02-03")", "2026-02-03"},
           Odd{"{{v | number}}", R"("a few")", "a few"},
           Odd{"{{v | number}}", R"("1e9")", "1e9"},
           Odd{"{{v | number}}", R"("1,5")", "1,5"},
           Odd{"{{v | number}}", R"("-")", "-"},
           Odd{"{{v | number}}", R"("1.")", "1."},
           Odd{"{{v | number}}", R"(".5")", ".5"},
           Odd{"{{v | number}}", "[1]", "[1]"},
           Odd{"{{v | currency:EUR}}", R"("a few")", "a few"},
           Odd{"{{v | number:broken}}", "1", "1"},
           Odd{"{{v | currency:nothing}}", "1", "1"},
           Odd{"{{v | plural:other=x}}", R"("many")", "many"},
       }) {
    const Rendered out = render(odd.text, R"({"v":)" + std::string{odd.value} + "}", kOptions);
    EXPECT_EQ(out.text, odd.shown) << odd.text;
    EXPECT_EQ(out.unformatted, std::vector<std::string>{"v"}) << odd.text;
    EXPECT_TRUE(out.missing.empty());
  }
}

TEST(Formatters, ACodeThatNoFormatterKnowsLeavesTheAmountAsItIs) {
  const Rendered out = render("{{v | currency:cur}}", R"({"v":1,"cur":"broken"})", kOptions);
  EXPECT_EQ(out.text, "1");
  EXPECT_EQ(out.unformatted, std::vector<std::string>{"v"});
}

TEST(Formatters, ATextOfSixtyFourDigitsIsANumberAndALongerOneIsNot) {
  const std::string digits(64, '7');
  EXPECT_EQ(render("{{v | number}}", R"({"v":")" + digits + "\"}", kOptions).text, "<3 " + digits + " '' de Z>");
  EXPECT_EQ(render("{{v | number}}", R"({"v":")" + digits + "7\"}", kOptions).text, digits + "7");
}

TEST(Formatters, AreNotNeededToRender) {
  const Rendered out = render("{{n|number}} {{n|plural:one=# night; other=# nights}}", R"({"n":2})");
  EXPECT_EQ(out.text, "2 2 nights");
  EXPECT_EQ(out.unformatted, std::vector<std::string>{"n"});
  EXPECT_EQ(render("{{n|plural:one=# night; other=# nights}}", R"({"n":1})").text, "1 night");
}

TEST(Formatters, APluralTakesTheExactNumberThenTheFormThenOther) {
  const auto nights = [](std::string_view n, std::string_view locale) {
    RenderOptions options = kOptions;
    options.locale = locale;
    return render("{{n | plural: other=many ; 0=no night; one=one night; 7=a week}}", fmt::format(R"({{"n":{}}})", n),
                  options)
        .text;
  };
  EXPECT_EQ(nights("0", "de"), "no night");
  EXPECT_EQ(nights("1", "de"), "one night");
  EXPECT_EQ(nights("7", "de"), "a week");
  EXPECT_EQ(nights("8", "de"), "many");
  EXPECT_EQ(nights("1", "xx"), "many") << "a form that the template does not have is other";
  EXPECT_EQ(nights("7", "xx"), "a week");
  EXPECT_EQ(render("{{n | plural:other=# nights}}", R"({"n":9})", kOptions).text, "<3 9 '' de Z> nights");
}

TEST(Formatters, ThePlainDateKeysFollowTheDateFormatSetting) {
  RenderOptions options = kOptions;
  options.date_format = "dd-MMM-yyyy";
  const std::string_view data =
      R"({"d":"1970-01-02","at":"1970-01-01T00:00:05+00:00","n":7,"s":"1970-01-02 is a date"})";
  EXPECT_EQ(render("{{d}}", data, options).text, "<0 86400 'dd-MMM-yyyy' de Z>");
  EXPECT_EQ(render("{{at}}", data, options).text, "<0 5 'dd-MMM-yyyy' de Z>");
  EXPECT_EQ(render("{{d | date:short}}", data, options).text, "<0 86400 'short' de Z>");
  EXPECT_EQ(render("{{n}} {{s}}", data, options).text, "7 1970-01-02 is a date");
  EXPECT_EQ(render("{{d}}", data, kOptions).text, "1970-01-02") << "without the setting a date stays as it came";
}

TEST(Formatters, CountForMoreStepsThanATextDoes) {
  std::string list = R"({"l":[1)";
  for (std::size_t i = 1; i < kRenderStepsMax / 200; ++i) list += ",1";
  const Rendering out{"{{#l}}{{.|plural:other=}}{{/l}}", list + "]}", kOptions};
  ASSERT_FALSE(out.result);
  EXPECT_TRUE(out.result.error().text.ends_with("steps")) << out.result.error().text;
}

}  // namespace
}  // namespace postrider
