// One mail on an open connection, and before the first one the greeting, TLS and log-in. Until the final dot has been
// written whole nothing has been handed over, so every failure before it is BrokenAt::Nothing.
#include "base/text.h"
#include "transport/connect.h"
#include "transport/connection.h"
#include "transport/smtp_text.h"

namespace postrider::net {
namespace {

using Answer = std::variant<SmtpReply, Broken>;
using Refusal = std::optional<Reply>;  // empty: go on

Broken lost(const Connection& c, BrokenAt at, BrokenBy by, std::string why) {
  return broken(c, at, by, std::move(why));
}

Awaitable<std::optional<Broken>> write_all(Connection& c, std::string_view text) {
  while (!text.empty()) {
    const std::array<asio::const_buffer, 2> rest{asio::buffer(text), asio::const_buffer{}};
    const auto [error, count] = co_await c.stream.write_some(rest);
    text.remove_prefix(count);
    if (error) co_return lost(c, BrokenAt::Nothing, BrokenBy::Reset, error.message());
  }
  co_return std::nullopt;
}

Awaitable<Answer> read_reply(Connection& c, BrokenAt at) {
  SmtpReplyReader reader;
  for (;;) {
    std::size_t consumed = 0;
    const auto state = reader.put(c.in.view(), consumed);
    c.in.consume(consumed);
    if (state == SmtpReplyReader::State::Complete) co_return std::move(reader.reply);
    if (state == SmtpReplyReader::State::Bad) co_return lost(c, at, BrokenBy::Garbage, "not a reply of a mail server");
    const auto [error, count] = co_await c.stream.read_some(c.in.room());
    if (error) co_return lost(c, at, BrokenBy::Reset, error.message());
    c.in.filled(count);
  }
}

Awaitable<Answer> ask(Connection& c, std::string command) {
  command += "\r\n";
  if (auto failed = co_await write_all(c, command)) co_return std::move(*failed);
  co_return co_await read_reply(c, BrokenAt::Nothing);
}

// Empty when the reply is of the wanted kind; the refusal, or garbage when it is none of both.
Refusal unless(const Connection& c, const Answer& answer, int wanted_kind, MailStep step) {
  if (const auto* failed = std::get_if<Broken>(&answer)) return *failed;
  const auto& reply = std::get<SmtpReply>(answer);
  if (reply.kind() == wanted_kind) return std::nullopt;
  if (reply.kind() == 4 || reply.kind() == 5) return MailReply{step, reply.code, reply.text};
  return lost(c, step == MailStep::Body ? BrokenAt::Whole : BrokenAt::Nothing, BrokenBy::Garbage,
              "unexpected reply " + std::to_string(reply.code));
}

void learn(MailSession& mail, const SmtpReply& hello) {
  mail = MailSession{};
  for (const std::string& line : hello.lines) {
    const auto words = split(line, ' ');
    const auto is = [&](std::string_view keyword) { return equal_ignoring_case(words.front(), keyword); };
    if (is("PIPELINING")) mail.pipelining = true;
    if (is("8BITMIME")) mail.eight_bit = true;
    if (is("SMTPUTF8")) mail.utf8_addresses = true;
    if (is("SIZE")) mail.size = true;
    if (is("STARTTLS")) mail.start_tls = true;
    if (!is("AUTH")) continue;
    for (const std::string_view mechanism : words) {
      if (equal_ignoring_case(mechanism, "PLAIN")) mail.auth_plain = true;
      if (equal_ignoring_case(mechanism, "LOGIN")) mail.auth_login = true;
    }
  }
}

Awaitable<Refusal> say_hello(Connection& c) {
  const std::string& name = c.pool.endpoint.smtp_hello;
  if (name.empty() || has_control(name) || name.find(' ') != std::string::npos) {
    co_return lost(c, BrokenAt::Nothing, BrokenBy::Invalid, "smtp_hello is not a host name");
  }
  Answer answer = co_await ask(c, "EHLO " + name);
  if (const auto* reply = std::get_if<SmtpReply>(&answer); reply != nullptr && reply->kind() == 5) {
    c.mail = MailSession{};
    answer = co_await ask(c, "HELO " + name);
    co_return unless(c, answer, 2, MailStep::Hello);
  }
  if (auto refused = unless(c, answer, 2, MailStep::Hello)) co_return refused;
  learn(c.mail, std::get<SmtpReply>(answer));
  co_return std::nullopt;
}

Awaitable<Refusal> start_tls(Connection& c) {
  if (!c.mail.start_tls) {
    co_return lost(c, BrokenAt::Nothing, BrokenBy::Tls, "the server does not offer STARTTLS, which is required");
  }
  const Answer answer = co_await ask(c, "STARTTLS");
  if (auto refused = unless(c, answer, 2, MailStep::StartTls)) co_return refused;
  // What came in the clear behind the reply could be somebody's words put into the secured session.
  if (!c.in.view().empty()) co_return lost(c, BrokenAt::Nothing, BrokenBy::Garbage, "bytes between STARTTLS and TLS");
  if (auto failed = co_await secure(c)) co_return std::move(*failed);
  co_return co_await say_hello(c);
}

Awaitable<Refusal> log_in(Connection& c) {
  const Endpoint& endpoint = c.pool.endpoint;
  const std::string user = endpoint.smtp_user;
  const std::string password{endpoint.smtp_password.reveal()};
  if (!c.stream.is_tls() && endpoint.smtp_tls != TlsMode::None) {
    co_return lost(c, BrokenAt::Nothing, BrokenBy::Tls, "credentials are not sent in the clear");
  }
  if (c.mail.auth_plain) {
    const std::string nul(1, '\0');
    const Answer answer = co_await ask(c, "AUTH PLAIN " + to_base64(nul + user + nul + password));
    co_return unless(c, answer, 2, MailStep::Auth);
  }
  if (!c.mail.auth_login) {
    co_return lost(c, BrokenAt::Nothing, BrokenBy::Invalid, "the server offers neither AUTH PLAIN nor AUTH LOGIN");
  }
  Answer answer = co_await ask(c, "AUTH LOGIN");
  if (auto refused = unless(c, answer, 3, MailStep::Auth)) co_return refused;
  answer = co_await ask(c, to_base64(user));
  if (auto refused = unless(c, answer, 3, MailStep::Auth)) co_return refused;
  answer = co_await ask(c, to_base64(password));
  co_return unless(c, answer, 2, MailStep::Auth);
}

Awaitable<Refusal> open_session(Connection& c) {
  const Answer banner = co_await read_reply(c, BrokenAt::Nothing);
  if (auto refused = unless(c, banner, 2, MailStep::Connect)) co_return refused;
  if (auto refused = co_await say_hello(c)) co_return refused;
  if (c.pool.endpoint.smtp_tls == TlsMode::StartTls) {
    if (auto refused = co_await start_tls(c)) co_return refused;
  }
  if (!c.pool.endpoint.smtp_user.empty()) {
    if (auto refused = co_await log_in(c)) co_return refused;
  }
  c.mail.ready = true;
  co_return std::nullopt;
}

std::string mail_command(const MailSession& mail, const MailRequest& request) {
  std::string command = "MAIL FROM:<" + request.envelope_from + ">";
  // Without the extension eight-bit text is sent all the same: every server in use takes it, and the alternative is to
  // send nothing.
  if (mail.eight_bit && has_eight_bit(request.data)) command += " BODY=8BITMIME";
  if (has_utf8_address(request)) command += " SMTPUTF8";
  if (mail.size) command += " SIZE=" + std::to_string(request.data.size());
  return command;
}

struct Opening {
  Refusal refused;             // the first
  bool data_expected = false;  // the server said 354: it takes what follows for a message
};

struct Step {
  std::string command;
  int wanted_kind;
  MailStep step;
};

// MAIL, RCPT and DATA: in one write when the server can pipeline, otherwise one after the other.
Awaitable<Opening> open_transaction(Connection& c, const MailRequest& request) {
  std::vector<Step> steps;
  if (c.mail.needs_reset) steps.push_back({"RSET", 2, MailStep::MailFrom});
  steps.push_back({mail_command(c.mail, request), 2, MailStep::MailFrom});
  steps.push_back({"RCPT TO:<" + request.envelope_to + ">", 2, MailStep::RcptTo});
  steps.push_back({"DATA", 3, MailStep::Data});
  c.mail.needs_reset = true;  // Until the server has taken the message.
  Opening opening;
  if (c.mail.pipelining) {
    std::string all;
    for (const Step& step : steps) all.append(step.command).append("\r\n");
    if (auto failed = co_await write_all(c, all)) co_return Opening{std::move(*failed), false};
  }
  for (const Step& step : steps) {
    const bool asked = c.mail.pipelining;
    auto answering = asked ? read_reply(c, BrokenAt::Nothing) : ask(c, step.command);
    const Answer answer = co_await std::move(answering);
    Refusal refused = unless(c, answer, step.wanted_kind, step.step);
    if (step.step == MailStep::Data) opening.data_expected = !refused;
    const bool broke = refused && std::holds_alternative<Broken>(*refused);
    if (refused && !opening.refused) opening.refused = std::move(refused);
    if (broke) opening.data_expected = true;  // Nobody knows: the connection is not used again.
    if (broke || (opening.refused && !asked)) break;
  }
  co_return opening;
}

// A server that says 421 is about to close.
Exchange::Then after(const Reply& reply) {
  const auto* mail = std::get_if<MailReply>(&reply);
  return mail != nullptr && mail->code != 421 ? Exchange::Then::Keep : Exchange::Then::Close;
}

Awaitable<Exchange> hand_over(Connection& c, const MailRequest& request) {
  const std::string data = dot_stuffed(request.data);
  if (auto failed = co_await write_all(c, data)) co_return Exchange{std::move(*failed), Exchange::Then::Close};
  const Answer answer = co_await read_reply(c, BrokenAt::Whole);
  Refusal refused = unless(c, answer, 2, MailStep::Body);
  c.mail.needs_reset = false;
  if (!refused) {
    const auto& reply = std::get<SmtpReply>(answer);
    refused = MailReply{MailStep::Body, reply.code, reply.text};
  }
  const auto then = c.in.view().empty() ? after(*refused) : Exchange::Then::Close;  // Unasked replies would shift all.
  co_return Exchange{std::move(*refused), then};
}

}  // namespace

Awaitable<Exchange> mail_exchange(Connection& c, Job& job) {
  const auto& request = std::get<MailRequest>(job.call.request);
  if (!c.mail.ready) {
    if (auto refused = co_await open_session(c)) co_return Exchange{std::move(*refused), Exchange::Then::Close};
  }
  if (has_utf8_address(request) && !c.mail.utf8_addresses) {
    co_return Exchange{lost(c, BrokenAt::Nothing, BrokenBy::Invalid, "the server does not take UTF-8 addresses"),
                       Exchange::Then::Keep};
  }
  Opening opening = co_await open_transaction(c, request);
  if (!opening.refused) co_return co_await hand_over(c, request);
  const auto* failed = std::get_if<Broken>(&*opening.refused);
  // The kept connection had died: nothing was handed over, the mail may go on a fresh one.
  const bool died = failed != nullptr && failed->by == BrokenBy::Reset && c.used && !c.killed_by;
  // A refused recipient and yet 354: whatever we send now would be a message, so the connection is closed instead.
  const auto then = died                                            ? Exchange::Then::RepeatFresh
                    : opening.data_expected || !c.in.view().empty() ? Exchange::Then::Close
                                                                    : after(*opening.refused);
  co_return Exchange{std::move(*opening.refused), then};
}

}  // namespace postrider::net
