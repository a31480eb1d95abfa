// The composed mail, read back by a small strict parser: no value may break out of its place.
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "providers/parts.h"

namespace postrider {
namespace {

using namespace std::string_literals;

struct Mail {
  std::vector<Header> headers;  // unfolded, in order
  std::string body;
  [[nodiscard]] std::string header(std::string_view name) const {
    std::string out;
    for (const auto& [key, value] : headers) {
      if (equal_ignoring_case(key, name)) out += value;
    }
    return out;
  }
};

Mail parse_mail(const std::string& data) {
  Mail mail;
  std::size_t at = 0;
  while (at < data.size()) {
    const std::size_t end = data.find("\r\n", at);
    if (end == std::string::npos) {
      ADD_FAILURE() << "a line without CRLF";
      return mail;
    }
    const std::string line = data.substr(at, end - at);
    at = end + 2;
    if (line.empty()) break;
    if (line.front() == ' ' || line.front() == '\t') {
      mail.headers.back().second += line;
      continue;
    }
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) {
      ADD_FAILURE() << "no header: " << line;
      return mail;
    }
    mail.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  mail.body = data.substr(at);
  return mail;
}

// RFC 2047, as far as we write it: words of base64 apart by folding.
std::string decoded(const std::string& header) {
  std::string out;
  for (std::string_view word : split(header, ' ')) {
    if (!word.starts_with("=?utf-8?B?")) return header;
    out += from_base64(word.substr(10, word.size() - 12)).value_or("<bad base64>");
  }
  return out;
}
std::string decoded_body(std::string_view lines) {
  std::string text;
  for (const char c : lines) {
    if (c != '\r' && c != '\n') text += c;
  }
  return from_base64(text).value_or("<bad base64>");
}

MailRequest compose(const Delivery& delivery, ProviderSettings settings = settings_for("smtp"), Instant now = kNow) {
  return std::get<MailRequest>(make_provider(settings)->compose(delivery, "0123abcd", now));
}

void expect_clean_lines(const std::string& data) {
  std::size_t at = 0;
  while (at < data.size()) {
    const std::size_t end = data.find("\r\n", at);
    ASSERT_NE(end, std::string::npos) << "the last line has no end";
    ASSERT_LE(end - at, 998U);
    const std::string_view line = std::string_view{data}.substr(at, end - at);
    ASSERT_EQ(line.find_first_of("\r\n\0"s), std::string_view::npos) << "a bare CR, LF or NUL";
    ASSERT_NE(line, ".") << "a lone dot ends the mail";
    at = end + 2;
  }
}

const std::vector<std::string> kHeadersOfAPlainMail{"Date",
                                                    "From",
                                                    "To",
                                                    "Subject",
                                                    "Message-ID",
                                                    "MIME-Version",
                                                    "Auto-Submitted",
                                                    "X-Postrider-Message",
                                                    "Content-Type",
                                                    "Content-Transfer-Encoding"};

std::vector<std::string> names_of(const Mail& mail) {
  std::vector<std::string> names;
  for (const auto& [name, value] : mail.headers) names.push_back(name);
  return names;
}

TEST(Smtp, APlainMailHasItsHeadersAndItsText) {
  const MailRequest request = compose(delivery_on(Channel::Email));
  const Mail mail = parse_mail(request.data);
  EXPECT_EQ(request.envelope_from, "shop@example.org");
  EXPECT_EQ(request.envelope_to, "ann@example.org");
  EXPECT_EQ(names_of(mail), kHeadersOfAPlainMail);
  EXPECT_EQ(mail.header("From"), "\"Shop\" <shop@example.org>");
  EXPECT_EQ(mail.header("To"), "ann@example.org");
  EXPECT_EQ(mail.header("Subject"), "Your order");
  EXPECT_EQ(mail.header("Date"), "Fri, 15 Jan 2027 08:00:00 +0000");
  EXPECT_EQ(decoded_body(mail.body), "Thank you");
  expect_clean_lines(request.data);
}

TEST(Smtp, NoValueCanAddAHeaderALineOrASecondRecipient) {
  const std::vector<std::string> attacks{"x\r\nBcc: evil@example.org",
                                         "x\nBcc: evil@example.org",
                                         "x\rBcc: evil@example.org",
                                         "x\r\n\r\n<h1>body</h1>",
                                         "x\r\n.\r\nMAIL FROM:<a@b>",
                                         "x\0y"s,
                                         "\r\n",
                                         "x\r\n y",
                                         "\xff\xfe\r\n",
                                         "=?utf-8?Q?=0D=0ABcc:_evil@example.org?="};
  for (const std::string& attack : attacks) {
    Delivery delivery = delivery_on(Channel::Email);
    delivery.subject = attack;
    delivery.body = attack;
    delivery.recipient = "a@b.co" + attack;
    delivery.type = attack;
    delivery.key = attack;
    const MailRequest request = compose(delivery);
    const Mail mail = parse_mail(request.data);
    EXPECT_EQ(names_of(mail), kHeadersOfAPlainMail) << printable(attack);
    EXPECT_EQ(decoded_body(mail.body), attack) << "the text itself arrives as it is";
    EXPECT_FALSE(has_control(mail.header("Subject")) || has_control(mail.header("To"))) << printable(attack);
    expect_clean_lines(request.data);
  }
}

TEST(Smtp, EverySubjectArrivesAsItWasWrittenInLinesThatAreNotTooLong) {
  for (const std::string& subject :
       {"plain"s, ""s, "Grüße aus Köln"s, "日本語の件名がここに長く続きます。もう少し長くします。"s,
        "😀"s + std::string(40, 'x') + "😀", std::string(2'048, 'a'), "=?utf-8?B?aGFja2Vk?="s, "a =?utf-8?Q?b?= c"s,
        std::string(700, 'x') + " é"}) {
    Delivery delivery = delivery_on(Channel::Email);
    delivery.subject = subject;
    const MailRequest request = compose(delivery);
    EXPECT_EQ(decoded(parse_mail(request.data).header("Subject")), subject);
    expect_clean_lines(request.data);
  }
}

TEST(Smtp, TextAndHtmlTravelAsAlternatives) {
  Delivery delivery = delivery_on(Channel::Email);
  delivery.html = "<p>Thank you</p>";
  const MailRequest request = compose(delivery);
  const Mail mail = parse_mail(request.data);
  const std::string type = mail.header("Content-Type");
  ASSERT_TRUE(type.starts_with("multipart/alternative; boundary=\""));
  const std::string boundary = type.substr(type.find('"') + 1, type.size() - type.find('"') - 2);
  std::vector<std::string> texts;
  std::size_t at = mail.body.find("--" + boundary + "\r\n");
  while (at != std::string::npos) {
    const std::size_t begin = at + boundary.size() + 4;
    const std::size_t end = mail.body.find("--" + boundary, begin);
    ASSERT_NE(end, std::string::npos);
    const Mail part = parse_mail(mail.body.substr(begin, end - begin));
    texts.push_back(part.header("Content-Type") + "|" + decoded_body(part.body));
    at = mail.body.compare(end, boundary.size() + 4, "--" + boundary + "--") == 0 ? std::string::npos : end;
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"text/plain; charset=utf-8|Thank you",
                                             "text/html; charset=utf-8|<p>Thank you</p>"}));
  expect_clean_lines(request.data);
}

TEST(Smtp, ABodyCannotForgeABoundaryOrEndTheMail) {
  Delivery delivery = delivery_on(Channel::Email);
  delivery.html = "--=_0123abcd--\r\n.\r\n";
  delivery.body = "\r\n.\r\nQUIT\r\n--=_0123abcd\r\n" + std::string(5'000, '.');
  const MailRequest request = compose(delivery);
  expect_clean_lines(request.data);
  std::size_t boundaries = 0;
  for (std::size_t at = 0; (at = request.data.find("\r\n--=_0123abcd", at)) != std::string::npos; ++at) ++boundaries;
  EXPECT_EQ(boundaries, 3U);
}

TEST(Smtp, TheMessageIdStaysTheSameOverAttemptsAndBelongsToTheSendersDomain) {
  const Delivery delivery = delivery_on(Channel::Email);
  const std::string first = parse_mail(compose(delivery).data).header("Message-ID");
  const std::string later =
      parse_mail(compose(delivery, settings_for("smtp"), kNow + std::chrono::hours{3}).data).header("Message-ID");
  EXPECT_EQ(first, "<0123abcd@example.org>");
  EXPECT_EQ(later, first);
}

TEST(Smtp, ANameThatIsNotAsciiOrNeedsQuotesIsWrittenSafely) {
  for (const auto& [from, wanted] :
       {std::pair{"Müller & Söhne <a@b.co>", ""}, std::pair{"A \"B\" C <a@b.co>", ""}, std::pair{"a@b.co", "a@b.co"},
        std::pair{"\"Last, First\" <a@b.co>", "\"Last, First\" <a@b.co>"}}) {
    ProviderSettings settings = settings_for("smtp");
    settings.values["from"] = from;
    const MailRequest request = compose(delivery_on(Channel::Email), settings);
    EXPECT_EQ(request.envelope_from, "a@b.co");
    if (*wanted != '\0') {
      EXPECT_EQ(parse_mail(request.data).header("From"), wanted);
    }
    expect_clean_lines(request.data);
  }
}

TEST(Smtp, AReplyAddressIsAHeaderOfItsOwn) {
  ProviderSettings settings = settings_for("smtp");
  settings.values["reply_to"] = "help@example.org";
  EXPECT_EQ(parse_mail(compose(delivery_on(Channel::Email), settings).data).header("Reply-To"), "help@example.org");
}

struct WrongSetting {
  std::string key, value, complains_about;
};

TEST(Smtp, WrongSettingsAreRefusedByName) {
  for (const WrongSetting& wrong :
       {WrongSetting{"from", "", "from"}, WrongSetting{"from", "shop", "from"},
        WrongSetting{"from", "A <a@b.co>\r\nX: y", "from"}, WrongSetting{"reply_to", "nobody", "reply_to"},
        WrongSetting{"tls", "maybe", "tls"}, WrongSetting{"port", "0", "port"}, WrongSetting{"port", "70000", "port"},
        WrongSetting{"retry_interval", "soon", "retry_interval"}}) {
    ProviderSettings settings = settings_for("smtp");
    settings.values[wrong.key] = wrong.value;
    const auto made = find_adapter("smtp")->make(settings);
    const auto endpoint = find_adapter("smtp")->endpoint(settings);
    ASSERT_FALSE(made && endpoint) << wrong.key << " = " << printable(wrong.value);
    const std::string text = made ? endpoint.error().text : made.error().text;
    EXPECT_TRUE(text.starts_with(wrong.complains_about + " ")) << text;
  }
}

TEST(Smtp, TheEndpointFollowsItsSettings) {
  ProviderSettings settings = settings_for("smtp");
  const auto endpoint = [&] { return std::move(find_adapter("smtp")->endpoint(settings)).value(); };
  EXPECT_EQ(endpoint().smtp_port, 587);
  EXPECT_EQ(endpoint().smtp_tls, TlsMode::StartTls) << "required unless the configuration says otherwise";
  EXPECT_EQ(endpoint().internal, InternalAddresses::Forbidden);
  settings.values["tls"] = "implicit";
  EXPECT_EQ(endpoint().smtp_port, 465);
  settings.values["tls"] = "none";
  settings.values["port"] = "2525";
  EXPECT_EQ(endpoint().smtp_port, 2525);
  EXPECT_EQ(endpoint().smtp_tls, TlsMode::None);
  settings.secrets.clear();
  EXPECT_FALSE(find_adapter("smtp")->endpoint(settings)) << "a user without a password";
}

}  // namespace
}  // namespace postrider
