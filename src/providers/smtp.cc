// Mail: a MIME message that no value can break out of, a stable Message-ID, and replies by step, code and enhanced
// code.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>

#include "base/text.h"
#include "core/channel.h"
#include "providers/adapters.h"
#include "providers/answers.h"

namespace postrider {
namespace {

constexpr std::string_view kCrLf = "\r\n";

bool is_ascii_text(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) return false;
  }
  return true;
}

// RFC 2047, words of at most 75 characters, cut at characters' borders.
std::string header_text(std::string_view text) {
  constexpr std::size_t kPlainMax = 900;  // A line has at most 998 bytes, and only encoded words are folded.
  const std::string safe = printable(text);
  const bool looks_encoded = safe.find("=?") != std::string::npos;
  if (is_ascii_text(safe) && safe.size() <= kPlainMax && !looks_encoded) return safe;
  std::string out;
  std::string_view rest = safe;
  while (!rest.empty()) {
    std::size_t take = std::min<std::size_t>(rest.size(), 42);
    while (take < rest.size() && (static_cast<unsigned char>(rest[take]) & 0xC0U) == 0x80U) --take;
    if (!out.empty()) out += "\r\n ";
    out += "=?utf-8?B?" + to_base64(rest.substr(0, take)) + "?=";
    rest.remove_prefix(take);
  }
  return out;
}

// Base64 in lines of 76: no line of ours is ever too long, ends wrongly or begins with a dot.
std::string encoded_body(std::string_view text) {
  const std::string all = to_base64(text);
  std::string out;
  for (std::size_t at = 0; at < all.size(); at += 76) {
    out += std::string_view{all}.substr(at, 76);
    out += kCrLf;
  }
  return out;
}

std::string mail_date(Instant now) {
  static constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto days = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date{days};
  const std::chrono::hh_mm_ss clock{now - days};
  return fmt::format("{}, {} {} {} {:02}:{:02}:{:02} +0000", kDays[std::chrono::weekday{days}.c_encoding()],
                     static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
                     static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
                     clock.seconds().count());
}

std::string_view address_of(std::string_view mailbox) {
  const std::size_t open = mailbox.rfind('<');
  if (open == std::string_view::npos || !mailbox.ends_with('>')) return trim(mailbox);
  return mailbox.substr(open + 1, mailbox.size() - open - 2);
}

std::string mailbox_header(std::string_view mailbox) {
  const std::string_view address = address_of(mailbox);
  if (address == trim(mailbox)) return std::string{address};
  std::string_view name = trim(mailbox.substr(0, mailbox.rfind('<')));
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
  if (!is_ascii_text(name)) return fmt::format("{} <{}>", header_text(name), address);
  std::string quoted;
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return fmt::format("\"{}\" <{}>", quoted, address);
}

// The enhanced status code at the front of a reply's text ("5.1.1 No such user"), or empty.
std::string_view enhanced_code(std::string_view text) {
  const std::string_view word = text.substr(0, text.find(' '));
  const bool shaped = word.size() >= 5 && (word.front() == '2' || word.front() == '4' || word.front() == '5') &&
                      word[1] == '.' && word.find('.', 2) != std::string_view::npos &&
                      word.find_first_not_of("0123456789.") == std::string_view::npos;
  return shaped ? word : std::string_view{};
}

class Smtp final : public Provider {
 public:
  Smtp(std::string from, std::string reply_to) : from_(std::move(from)), reply_to_(std::move(reply_to)) {}

  [[nodiscard]] CapabilityCard card() const override { return {}; }

  [[nodiscard]] Request compose(const Delivery& delivery, std::string_view provider_key, Instant now) const override {
    const std::string_view sender = address_of(from_);
    const std::string_view domain = sender.substr(sender.rfind('@') + 1);
    std::string mail;
    const auto header = [&](std::string_view name, std::string_view value) {
      mail += name;
      mail += ": ";
      mail += value;
      mail += kCrLf;
    };
    header("Date", mail_date(now));
    header("From", mailbox_header(from_));
    header("To", printable(delivery.recipient));
    if (!reply_to_.empty()) header("Reply-To", mailbox_header(reply_to_));
    header("Subject", header_text(delivery.subject));
    header("Message-ID",
           fmt::format("<{}@{}>", provider_key, domain));  // The same over all attempts, so that receivers can tell.
    header("MIME-Version", "1.0");
    header("Auto-Submitted", "auto-generated");
    header("X-Postrider-Message", format_uuid(delivery.message_uuid));
    append_content(mail, delivery, provider_key);
    return MailRequest{
        .envelope_from = std::string{sender}, .envelope_to = delivery.recipient, .data = std::move(mail)};
  }

  [[nodiscard]] Outcome interpret(const Reply& reply, Instant) const override {
    if (const auto* broken = std::get_if<Broken>(&reply)) {
      // A bad certificate or an unreachable name is ours to mend, not the message's fault. Once the final dot has left
      // it may have been sent, whatever broke.
      const bool nothing_left = broken->at == BrokenAt::Nothing;
      if (nothing_left && broken->by == BrokenBy::Tls)
        return {.kind = OutcomeKind::Misconfigured, .reason = Reason::TlsFailed, .detail = broken->detail};
      if (nothing_left && broken->by == BrokenBy::Forbidden) {
        return {.kind = OutcomeKind::Misconfigured, .reason = Reason::ForbiddenAddress, .detail = broken->detail};
      }
      return outcome_of(*broken);
    }
    const auto* mail = std::get_if<MailReply>(&reply);
    if (mail == nullptr)
      return {.kind = OutcomeKind::Unclear, .reason = Reason::GarbageAnswer, .detail = "not an SMTP answer"};
    return classify(*mail);
  }

 private:
  static void append_content(std::string& mail, const Delivery& delivery, std::string_view provider_key) {
    static constexpr std::string_view kText =
        "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n";
    static constexpr std::string_view kHtml =
        "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n";
    if (delivery.html.empty()) {
      mail += kText;
      mail += encoded_body(delivery.body);
      return;
    }
    const std::string boundary = fmt::format("=_{}", provider_key);  // Base64 lines never begin with "--".
    mail += fmt::format("Content-Type: multipart/alternative; boundary=\"{}\"\r\n\r\n", boundary);
    mail += fmt::format("--{}\r\n{}{}", boundary, kText, encoded_body(delivery.body));
    mail += fmt::format("--{}\r\n{}{}", boundary, kHtml, encoded_body(delivery.html));
    mail += fmt::format("--{}--\r\n", boundary);
  }

  static Outcome classify(const MailReply& reply) {
    const std::string detail = fmt::format("{} {}", reply.code, excerpt(printable(reply.text), 200));
    const std::string_view enhanced = enhanced_code(reply.text);
    const auto made = [&](OutcomeKind kind, Reason reason) {
      return Outcome{.kind = kind, .reason = reason, .detail = detail};
    };
    if (reply.code / 100 == 2 && reply.step == MailStep::Body) {
      return {.kind = OutcomeKind::Accepted,
              .reason = Reason::AcceptedByProvider,
              .provider_message_id = excerpt(printable(reply.text), 200),
              .detail = detail};
    }
    if (reply.code / 100 == 4) {
      const bool too_quick =
          reply.text.find("rate") != std::string::npos || reply.text.find("quickly") != std::string::npos;
      return made(OutcomeKind::Transient, too_quick ? Reason::RateLimited : Reason::ServerBusy);
    }
    if (reply.code / 100 != 5)
      return made(reply.step == MailStep::Body ? OutcomeKind::Unclear : OutcomeKind::Unmapped, Reason::GarbageAnswer);
    const bool about_us = reply.step < MailStep::MailFrom || reply.code == 530 || reply.code == 534 ||
                          reply.code == 535 || reply.code == 538 || enhanced.starts_with("5.7.8") ||
                          enhanced.starts_with("5.7.9") || enhanced == "5.7.0";
    if (about_us) return made(OutcomeKind::Misconfigured, Reason::ProviderMisconfigured);
    if (reply.code == 552 && reply.step == MailStep::RcptTo)
      return made(OutcomeKind::Transient, Reason::RateLimited);  // RFC 5321 4.5.3.1.10
    if (enhanced == "5.2.2")
      return made(OutcomeKind::Transient, Reason::InvalidRecipient);  // A full mailbox may be emptied.
    const bool about_recipient = reply.step == MailStep::RcptTo && !enhanced.starts_with("5.7");
    if (about_recipient || enhanced.starts_with("5.1") || enhanced == "5.2.1")
      return made(OutcomeKind::Permanent, Reason::InvalidRecipient);
    return made(OutcomeKind::Permanent, reply.step == MailStep::Body ? Reason::ContentRefused : Reason::RequestRefused);
  }

  std::string from_;
  std::string reply_to_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_smtp(const ProviderSettings& settings) {
  const std::string from = setting(settings, "from");
  const std::string reply_to = setting(settings, "reply_to");
  for (const auto& [key, value] : {std::pair{"from", from}, std::pair{"reply_to", reply_to}}) {
    if (value.empty() && std::string_view{key} == "reply_to") continue;
    if (has_control(value)) return Error{ErrorCode::Invalid, fmt::format("{} contains a control character", key)};
    if (const auto problem = address_problem(Channel::Email, address_of(value)); !problem.empty()) {
      return Error{ErrorCode::Invalid, fmt::format("{} {}", key, problem)};
    }
  }
  return std::unique_ptr<Provider>(std::make_unique<Smtp>(from, reply_to));
}

Result<Endpoint> smtp_endpoint(const ProviderSettings& settings) {
  POSTRIDER_TRY(endpoint, plain_endpoint(settings));
  const std::string tls = setting(settings, "tls", "starttls");
  if (tls == "starttls") {
    endpoint.smtp_tls = TlsMode::StartTls;
  } else if (tls == "implicit") {
    endpoint.smtp_tls = TlsMode::Implicit;
  } else if (tls == "none") {
    endpoint.smtp_tls = TlsMode::None;
  } else {
    return Error{ErrorCode::Invalid, "tls is none of starttls, implicit, none"};
  }
  const int port = number_setting(settings, "port", endpoint.smtp_tls == TlsMode::Implicit ? 465 : 587);
  if (port < 1 || port > 65535) return Error{ErrorCode::Invalid, "port is not between 1 and 65535"};
  endpoint.smtp_port = static_cast<std::uint16_t>(port);
  endpoint.smtp_host = setting(settings, "host");
  endpoint.smtp_user = setting(settings, "user");
  endpoint.smtp_password = Secret{std::string{secret_setting(settings, "password")}};
  endpoint.smtp_hello = setting(settings, "hello", "localhost");
  endpoint.connections_max = number_setting(settings, "connections", 16);
  if (const std::string interval = setting(settings, "retry_interval"); !interval.empty() && !parse_duration(interval))
    return Error{ErrorCode::Invalid, "retry_interval is not a duration such as 60s"};
  if (!endpoint.smtp_user.empty() && endpoint.smtp_password.empty())
    return Error{ErrorCode::Invalid, "user needs a password"};
  return endpoint;
}

}  // namespace postrider
