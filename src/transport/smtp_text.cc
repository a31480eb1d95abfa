#include "transport/smtp_text.h"

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"

namespace postrider::net {
namespace {

constexpr std::size_t kAddressBytesMax = 320;

Result<Done> check_address(std::string_view address, const char* which) {
  const auto fail = [&](const char* why) { return Error{ErrorCode::Invalid, std::string{which} + why}; };
  if (address.size() > kAddressBytesMax) return fail(" is too long");
  const bool leaves = std::any_of(address.begin(), address.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7f || c == '<' || c == '>';
  });
  if (leaves) return fail(" has a control byte, a space or an angle bracket");
  if (!is_utf8(address)) return fail(" is not UTF-8");
  return Done{};
}

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

bool has_bare_line_end(std::string_view data) {
  for (std::size_t at = data.find_first_of("\r\n"); at != std::string_view::npos; at = data.find_first_of("\r\n", at)) {
    if (data.substr(at, 2) != "\r\n") return true;
    at += 2;
  }
  return false;
}

}  // namespace

Result<Done> check_mail(const MailRequest& mail) {
  POSTRIDER_TRY_DONE(check_address(mail.envelope_from, "envelope_from"));  // Empty: the null sender.
  POSTRIDER_TRY_DONE(check_address(mail.envelope_to, "envelope_to"));
  if (mail.envelope_to.empty()) return Error{ErrorCode::Invalid, "envelope_to is empty"};
  // "\n.\n" ends a message for some servers and not for others: that difference smuggles a second one.
  if (has_bare_line_end(mail.data)) return Error{ErrorCode::Invalid, "a CR or LF stands alone in the message"};
  if (mail.data.find('\0') != std::string::npos) return Error{ErrorCode::Invalid, "a NUL in the message"};
  return Done{};
}

bool has_utf8_address(const MailRequest& mail) { return !is_ascii(mail.envelope_from) || !is_ascii(mail.envelope_to); }
bool has_eight_bit(std::string_view data) { return !is_ascii(data); }

std::string dot_stuffed(std::string_view data) {
  std::string out;
  out.reserve(data.size() + 64);
  if (data.substr(0, 1) == ".") out += '.';
  for (std::size_t at = data.find("\r\n."); at != std::string_view::npos; at = data.find("\r\n.")) {
    out.append(data.substr(0, at + 3)).append(".");
    data.remove_prefix(at + 3);
  }
  out.append(data);
  if (out.size() < 2 || out.compare(out.size() - 2, 2, "\r\n") != 0) out += "\r\n";
  out += ".\r\n";
  return out;
}

SmtpReplyReader::State SmtpReplyReader::put(std::string_view bytes, std::size_t& consumed) {
  consumed = 0;
  for (;;) {
    const std::string_view rest = bytes.substr(consumed);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) {  // The line may be whole but for its LF, so its CR is not counted.
      return rest.size() > kSmtpReplyLineBytesMax + 1 ? State::Bad : State::NeedMore;
    }
    consumed += end + 1;
    std::string_view line = rest.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);  // A lone LF is tolerated in what we only read.
    if (const State state = put_line(line); state != State::NeedMore) return state;
  }
}

SmtpReplyReader::State SmtpReplyReader::put_line(std::string_view line) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (line.size() > kSmtpReplyLineBytesMax || line.size() < 3 ||
      !std::all_of(line.begin(), line.begin() + 3, is_digit)) {
    return State::Bad;
  }
  const int code = (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0');
  if (code < 200 || code > 599 || (!reply.lines.empty() && code != reply.code)) return State::Bad;
  const char separator = line.size() == 3 ? ' ' : line[3];  // RFC 5321, 4.2: the text may be missing.
  if (separator != ' ' && separator != '-') return State::Bad;
  reply.code = code;
  reply.lines.emplace_back(line.substr(std::min<std::size_t>(line.size(), 4)));
  if (reply.lines.size() > kSmtpReplyLinesMax) return State::Bad;
  if (separator == '-') return State::NeedMore;
  for (const std::string& each : reply.lines) {
    if (reply.text.size() >= kExcerptBytesMax) break;
    reply.text.append(reply.text.empty() ? "" : " ").append(each);
  }
  return State::Complete;
}

}  // namespace postrider::net
