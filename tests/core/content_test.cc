// What a template writes for one person, and what stands in the way.
#include "core/content.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace postrider {
namespace {

struct Desk {
  Rules rules;
  Tenant tenant{.id = 1, .name = "acme"};
  Template letter{.key = "letter",
                  .texts = {{.locale = "en-US",
                             .subject = *CompiledText::compile("For {{name}}"),
                             .body = *CompiledText::compile("Dear {{name}}")}}};

  std::variant<Content, Unwritable> write(std::string_view locale, std::string_view data) {
    const JsonDocument document = JsonDocument::parse(data).value();
    return write_content(letter, document.root(),
                         {.rules = rules, .templates = rules.templates, .tenant = tenant, .locale = locale});
  }
};

TEST(Content, IsTheTextOfTheLanguageFilledWithTheData) {
  const Content made = std::get<Content>(Desk{}.write("en-US", R"({"name":"A\u0000nn\n"})"));
  EXPECT_EQ(made.body, "Dear A nn\n") << "no store has to keep a NUL";
  EXPECT_EQ(made.subject.find('\n'), std::string::npos) << "a subject is one line";
  EXPECT_EQ(made.warnings, "");
}

TEST(Content, ALanguageThatTheTemplateLacksByThenIsTold) {
  const Unwritable told = std::get<Unwritable>(Desk{}.write("de-DE", "{}"));
  EXPECT_EQ(told.reason, Reason::TemplateNotFound);
  EXPECT_EQ(told.detail, "Template letter not found for locale de-DE");
}

TEST(Content, AMessagesOwnContentIsBounded) {
  Content own{.subject = std::string(10'000, 's'), .body = std::string(kContentBytesMax, 'x')};
  EXPECT_FALSE(make_sendable(own));
  EXPECT_LE(own.subject.size(), kTextFieldBytesMax * 4 + 8);
  own.body += 'x';
  const auto refused = make_sendable(own);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, Reason::ContentTooLarge);
}

}  // namespace
}  // namespace postrider
