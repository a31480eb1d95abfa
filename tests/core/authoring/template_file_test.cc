#include "core/authoring/template_file.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

std::string error_of(std::string_view text) {
  const auto read = read_template_file(text);
  return read ? "it was read" : read.error().text;
}
TemplateFile must_read(std::string_view text) {
  auto read = read_template_file(text);
  EXPECT_TRUE(read) << read.error().text;
  return read ? std::move(*read) : TemplateFile{};
}

TEST(TemplateFile, AHeadAndABody) {
  const TemplateFile file = must_read(R"(---
# what guests get first
key: booking_made
name: Booking made
type: booking.made
channel: whatsapp
locale: en-US
scope: listing/10
active: false
subject: Your stay: {{listingName}}
provider_template: booking_made_v2
provider_params:
  1 = {{guestName}}
  2 = a = b

---
Dear {{guestName}},

bye
--- html ---
<p>Dear {{guestName}}</p>
)");
  EXPECT_EQ(file.head.key, "booking_made");
  EXPECT_EQ(file.head.name, "Booking made");
  EXPECT_EQ(file.head.type, "booking.made");
  EXPECT_EQ(file.head.channel, Channel::WhatsApp);
  EXPECT_EQ(file.head.scope_type, "listing");
  EXPECT_EQ(file.head.scope_id, "10");
  EXPECT_FALSE(file.head.active);
  EXPECT_EQ(file.text.locale, "en-US");
  EXPECT_EQ(file.text.subject, "Your stay: {{listingName}}");
  EXPECT_EQ(file.text.provider_template, "booking_made_v2");
  ASSERT_EQ(file.text.provider_params.size(), 2U);
  EXPECT_EQ(file.text.provider_params[0], (std::pair<std::string, std::string>{"1", "{{guestName}}"}));
  EXPECT_EQ(file.text.provider_params[1], (std::pair<std::string, std::string>{"2", "a = b"}));
  EXPECT_EQ(file.text.body, "Dear {{guestName}},\n\nbye");
  EXPECT_EQ(file.text.html, "<p>Dear {{guestName}}</p>");
  EXPECT_EQ(file.text.origin.subject_line, 10U);
  EXPECT_EQ(file.text.origin.params_line, 13U);
  EXPECT_EQ(file.text.origin.body_line, 17U);
  EXPECT_EQ(file.text.origin.html_line, 21U);
}

TEST(TemplateFile, ShortAndPartial) {
  const TemplateFile file = must_read("---\nkey: footer\nchannel: partial\n---\nbye");
  EXPECT_EQ(file.head.channel, std::nullopt);
  EXPECT_TRUE(file.head.active);
  EXPECT_EQ(file.text.locale, "");
  EXPECT_EQ(file.text.body, "bye");
}

TEST(TemplateFile, LinesOfWindowsAndAByteOrderMarkAreRead) {
  const TemplateFile file = must_read("\xEF\xBB\xBF---\r\nkey: k\r\nchannel: sms\r\n---\r\na\r\n--- html ---\r\nb\r\n");
  EXPECT_EQ(file.head.key, "k");
  EXPECT_EQ(file.text.body, "a\r");
  EXPECT_EQ(file.text.html, "b\r");
}

TEST(TemplateFile, ErrorsNameTheirLine) {
  EXPECT_EQ(error_of(""), "line 1: a template begins with a line ---");
  EXPECT_EQ(error_of("hello"), "line 1: a template begins with a line ---");
  EXPECT_EQ(error_of("---\nkey: a\nchannel: sms\n"), "line 4: the head is never closed by a line ---");
  EXPECT_EQ(error_of("---\nchannel: sms\n---\n"), "line 1: the head has no key");
  EXPECT_EQ(error_of("---\nkey: a\n---\n"), "line 1: the head has no channel (or \"channel: partial\")");
  EXPECT_EQ(error_of("---\nkey a\n---\n"), "line 2: is not of the form \"key: value\"");
  EXPECT_EQ(error_of("---\nkey: a\nkey: b\n---\n"), "line 3: \"key\" is given twice");
  EXPECT_TRUE(error_of("---\ncolour: red\n---\n").starts_with("line 2: \"colour\" is not known: there is key"));
  EXPECT_EQ(error_of("---\nchannel: pigeon\n---\n"), "line 2: \"pigeon\" is not a channel");
  EXPECT_EQ(error_of("---\nscope: listing\n---\n"), "line 2: a scope is of the form type/id (listing/10)");
  EXPECT_EQ(error_of("---\nscope: /1\n---\n"), "line 2: a scope is of the form type/id (listing/10)");
  EXPECT_EQ(error_of("---\nactive: yes\n---\n"), "line 2: active is true or false");
  EXPECT_EQ(error_of("---\n  1 = a\n---\n"), "line 2: only the lines of provider_params are indented");
  EXPECT_EQ(error_of("---\nprovider_params: 1\n---\n"),
            "line 2: the parameters stand on the next lines, indented: \"  name = text\"");
  EXPECT_EQ(error_of("---\nprovider_params:\n  1\n---\n"), "line 3: is not of the form \"name = text\"");
  EXPECT_EQ(error_of("---\nprovider_params:\n  \"1\n---\n"), "line 3: is not of the form \"name = text\"");
  EXPECT_EQ(error_of("---\nname: \"open\n---\n"),
            "line 2: a value that begins with a quotation mark must be a JSON text, \"…\"");
  EXPECT_EQ(error_of("---\nkey: \xff\n---\n"), "line 1: the file is not UTF-8");
}

std::string file_with(const std::string& line, const std::string& body = "hello") {
  return "---\nkey: a\nchannel: email\nlocale: en\n" + line + "\n---\n" + body + "\n";
}

TEST(TemplateFile, EveryWrongFormOfALineIsRefused) {
  for (const char* scope : {"listing", "/10", "listing/"}) {
    EXPECT_NE(error_of(file_with(std::string{"scope: "} + scope)).find("a scope is of the form type/id"),
              std::string::npos)
        << scope;
  }
  EXPECT_NE(error_of(file_with("active: perhaps")).find("active is true or false"), std::string::npos);
  EXPECT_TRUE(must_read(file_with("active: true")).head.active);
  EXPECT_NE(error_of(file_with("name: \"a")).find("must be a JSON text"), std::string::npos);
  EXPECT_NE(error_of(file_with("name: \"a\" b")).find("must be a JSON text"), std::string::npos);
  for (const char* param : {"\t1 = \"a", "  \"1\\x\" = a"}) {
    EXPECT_NE(error_of(file_with(std::string{"provider_params:\n"} + param)), "it was read") << param;
  }
}

TEST(TemplateFile, ASecondMarkIsText) {
  const TemplateFile file = must_read(file_with("name: a", "hello\n--- html ---\n<p>\n--- html ---\n\\--- html ---"));
  EXPECT_EQ(file.text.body, "hello");
  EXPECT_EQ(file.text.html, "<p>\n--- html ---\n--- html ---");
}

TEST(TemplateFile, WhatIsWrittenIsReadBack) {
  TemplateFile file;
  file.head.key = "k";
  file.head.channel = Channel::Email;
  const std::vector<std::string> odd{"plain",        "",    " spaces ", "\"quoted\"", "two\nlines", "tab\there",
                                     "# no comment", "---", "a: b",     "\\",         "ünï",        "a = b",
                                     "{{x}}",        "\r"};
  for (const std::string& value : odd) {
    file.head.name = file.head.type = file.text.subject = file.text.provider_template = value;
    file.text.provider_params = {{"name", value}};
    if (!value.empty()) file.text.provider_params.emplace_back(value, "text");
    for (const char* body : {"", "x", "x\n", "\n", "\n\n", "--- html ---", "\\--- html ---\na", "a\n--- html ---\r\nb",
                             "---\nkey: b\n---"}) {
      file.text.body = body;
      for (const char* html : {"", "<p>\n", "--- html ---", "\n"}) {
        file.text.html = html;
        const std::string written = write_template_file(file);
        EXPECT_EQ(must_read(written), file) << written;
      }
    }
  }
}

TEST(TemplateFile, TheScopeAndTheFlagAreWrittenToo) {
  TemplateFile file;
  file.head.key = "k";
  file.head.scope_type = "listing";
  file.head.scope_id = "a/b ";
  file.head.active = false;
  file.text.locale = "de-DE";
  EXPECT_EQ(must_read(write_template_file(file)), file);
}

TEST(TemplateFile, ItsNameKeepsLettersDigitsAndThreeSigns) {
  for (int code = 33; code < 127; ++code) {
    const char c = static_cast<char>(code);
    const bool kept =
        (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '-' || c == '.';
    const std::string name = template_file_name({.key = std::string{"a"} + c, .channel = Channel::Email}, "en");
    EXPECT_EQ(name.substr(0, 2), std::string{"a"} + (kept ? c : '-')) << c;
  }
}

TEST(TemplateFile, ItsNameIsSafeInEveryFolder) {
  TemplateSource head{.key = "../é/x y", .channel = Channel::Email};
  EXPECT_EQ(template_file_name(head, "en-US"), "-.----x-y.email.en-US.tpl");
  head = {.key = "footer"};
  EXPECT_EQ(template_file_name(head, ""), "footer.partial.any.tpl");
  head = {.key = "made", .channel = Channel::WhatsApp, .scope_type = "listing", .scope_id = "10"};
  EXPECT_EQ(template_file_name(head, "hi-IN"), "made.whatsapp.listing-10.hi-IN.tpl");
}

}  // namespace
}  // namespace postrider
