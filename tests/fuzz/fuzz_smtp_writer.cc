// Mail on its way out: whatever stands in addresses, subject, content or credentials, the dialogue has the structure it
// would have without it, the server gets exactly the message that was composed, and the message has exactly the headers
// that we wrote. The server is a strict model; its answers are part of the input.
#include <boost/asio/co_spawn.hpp>

#include "base/text.h"
#include "fuzz/input.h"
#include "fuzz/mail_model.h"
#include "fuzz/socket_pair.h"
#include "providers/registry.h"
#include "transport/connection.h"
#include "transport/smtp_text.h"

namespace postrider::net {
namespace {

constexpr Instant kNow = instant_from_us(1'772'000'000'000'000);
constexpr std::string_view kKey = "0123456789abcdef0123456789abcdef";

struct Asked {
  std::uint8_t abilities = 0;
  std::string choices = {};
  fuzz::ExpectedMail expected = {};
};

class Line {
 public:
  explicit Line(const Asked& asked)
      : pool_(1, endpoint_of(asked)),
        connection_(std::make_shared<Connection>(io(), pool_, Target{})),
        model_(asked.expected, asked.abilities, asked.choices) {
    connection_->stream.socket() = sockets_.theirs(io());
    sockets_.write(model_.banner());
  }

  Exchange send(const MailRequest& mail) {
    Job job;
    job.call.request = mail;
    connection_->job = &job;
    std::optional<Exchange> ended;
    asio::co_spawn(io().get_executor(), mail_exchange(*connection_, job),
                   [&](const std::exception_ptr& failed, Exchange exchange) {
                     POSTRIDER_CHECK(failed == nullptr && !ended);
                     ended = std::move(exchange);
                   });
    for (int idle = 0; !ended && idle < 3;) {
      io().restart();
      const std::size_t ran = io().poll();
      const std::string said = sockets_.read();
      const std::string answers = model_.take(said);
      if (!answers.empty()) sockets_.write(answers);
      if (model_.gone()) sockets_.write_eof();
      idle = ran == 0 && said.empty() ? idle + 1 : 0;
    }
    POSTRIDER_CHECK(ended.has_value());
    model_.take(sockets_.read());
    connection_->used = true;
    return std::move(*ended);
  }
  [[nodiscard]] const fuzz::MailModel& model() const { return model_; }

 private:
  static asio::io_context& io() {
    static asio::io_context kIo{1};
    return kIo;
  }
  static Endpoint endpoint_of(const Asked& asked) {
    Endpoint endpoint;
    endpoint.smtp_tls = TlsMode::None;
    endpoint.smtp_hello = asked.expected.hello;
    endpoint.smtp_user = asked.expected.user;
    endpoint.smtp_password = Secret{asked.expected.password};
    return endpoint;
  }
  fuzz::SocketPair sockets_;
  Pool pool_;
  std::shared_ptr<Connection> connection_;
  fuzz::MailModel model_;
};

void check_end(const Exchange& end, const Line& line, int messages_before) {
  const auto* answered = std::get_if<MailReply>(&end.reply);
  const auto* broken_off = std::get_if<Broken>(&end.reply);
  const bool handed_over = line.model().messages() > messages_before;
  const bool accepted = answered != nullptr && answered->step == MailStep::Body && answered->code / 100 == 2;
  POSTRIDER_CHECK(accepted == (handed_over && line.model().answer_to_message() == 200));
  if (answered != nullptr && answered->step != MailStep::Body) POSTRIDER_CHECK(!handed_over);
  if (broken_off != nullptr) POSTRIDER_CHECK((broken_off->at == BrokenAt::Whole) == handed_over);
  POSTRIDER_CHECK(!line.model().holds_part_of_a_message());
}

// Twice on one connection while it is kept: what the first left behind must not reach into the second.
void talk(const Asked& asked, const MailRequest& mail) {
  Line line{asked};
  for (int i = 0; i < 2; ++i) {
    const int before = line.model().messages();
    const Exchange end = line.send(mail);
    check_end(end, line, before);
    if (end.then != Exchange::Then::Keep) break;
  }
}

// The headers' names as a reader sees them, folded lines joined.
std::string header_names(std::string_view data, std::string_view& body) {
  std::string names;
  for (;;) {
    const std::size_t end = data.find("\r\n");
    POSTRIDER_CHECK(end != std::string_view::npos);
    const std::string_view line = data.substr(0, end);
    data.remove_prefix(end + 2);
    POSTRIDER_CHECK(line.size() <= 998);
    if (line.empty()) break;
    if (line.front() == ' ') continue;
    POSTRIDER_CHECK(line.find(": ") != std::string_view::npos);
    names += std::string{line.substr(0, line.find(':'))} + " ";
  }
  body = data;
  return names;
}

std::string decoded(std::string_view lines) {
  std::string all;
  for (const std::string_view line : split(lines, '\n')) all += trim(line);
  const auto bytes = from_base64(all);
  POSTRIDER_CHECK(bytes.has_value());
  return *bytes;
}

void check_mime(const MailRequest& mail, const Delivery& delivery, bool has_reply_to) {
  std::string_view body;
  const std::string names = header_names(mail.data, body);
  const bool parts = !delivery.html.empty();
  POSTRIDER_CHECK(names == std::string{"Date From To "} + (has_reply_to ? "Reply-To " : "") +
                               "Subject Message-ID MIME-Version Auto-Submitted X-Postrider-Message Content-Type " +
                               (parts ? "" : "Content-Transfer-Encoding "));
  if (!parts) {
    POSTRIDER_CHECK(decoded(body) == delivery.body);
    return;
  }
  const std::string boundary = "--=_" + std::string{kKey};
  std::string_view inner;
  for (const std::string* content : {&delivery.body, &delivery.html}) {
    POSTRIDER_CHECK(body.starts_with(boundary + "\r\n"));
    body.remove_prefix(boundary.size() + 2);
    POSTRIDER_CHECK(header_names(body, inner) == "Content-Type Content-Transfer-Encoding ");
    const std::size_t end = inner.find(boundary);
    POSTRIDER_CHECK(end != std::string_view::npos && decoded(inner.substr(0, end)) == *content);
    body = inner.substr(end);
  }
  POSTRIDER_CHECK(body == boundary + "--\r\n");
}

// Through the adapter, as a delivery comes; nothing when its settings or its recipient are refused.
std::optional<MailRequest> composed(fuzz::Input& input) {
  ProviderSettings settings{.name = "mail", .type = "smtp"};
  settings.values["from"] = input.field();
  if (const std::string reply_to = input.field(); !reply_to.empty()) settings.values["reply_to"] = reply_to;
  Delivery delivery;
  delivery.recipient = input.field();
  delivery.subject = input.field();
  delivery.body = input.field();
  delivery.html = input.field();
  for (const auto& [key, value] : settings.values) {
    if (value.size() > 400) return std::nullopt;  // A line of our own making has no limit but the operator's sense.
  }
  const auto adapter = find_adapter("smtp")->make(settings);
  if (!adapter || !address_problem(Channel::Email, delivery.recipient).empty()) return std::nullopt;
  auto mail = std::get<MailRequest>((*adapter)->compose(delivery, kKey, kNow));
  POSTRIDER_CHECK(check_mail(mail));
  POSTRIDER_CHECK(mail.envelope_to == delivery.recipient);
  check_mime(mail, delivery, settings.values.contains("reply_to"));
  return mail;
}

// As any adapter might hand it over: only the check of the transport stands between it and the wire.
std::optional<MailRequest> raw(fuzz::Input& input) {
  MailRequest mail{.envelope_from = input.field(), .envelope_to = input.field(), .data = std::string{input.rest()}};
  return check_mail(mail) ? std::optional{std::move(mail)} : std::nullopt;
}

void run(fuzz::Input input) {
  Asked asked;
  const bool through_adapter = input.byte() % 2 == 0;
  asked.abilities = input.byte();
  asked.choices = input.field();
  asked.expected.hello = input.field();
  asked.expected.user = input.field();
  asked.expected.password = input.field();
  auto mail = through_adapter ? composed(input) : raw(input);
  if (!mail) return;
  asked.expected.from = mail->envelope_from;
  asked.expected.to = mail->envelope_to;
  asked.expected.data = mail->data;
  talk(asked, *mail);
}

}  // namespace
}  // namespace postrider::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::net::run({data, size});
  return 0;
}
