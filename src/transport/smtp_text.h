// SMTP as text: what may be sent, what was answered. No sockets here.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ports/transport.h"

namespace postrider::net {

/// Invalid when an address could leave its angle brackets or a line of the message could end the message early: any
/// control byte, space or bracket in an address; a CR or LF that stands alone in the data.
Result<Done> check_mail(const MailRequest& mail);
bool has_utf8_address(const MailRequest& mail);
bool has_eight_bit(std::string_view data);
/// With dots doubled at line begins, and the final line with the dot that hands the message over.
std::string dot_stuffed(std::string_view data);

inline constexpr std::size_t kSmtpReplyLineBytesMax = 2048;  // RFC 5321 says 512; servers exceed it
inline constexpr int kSmtpReplyLinesMax = 128;

struct SmtpReply {
  int code = 0;
  std::string text;  // the lines joined by spaces, without the code
  std::vector<std::string> lines;
  [[nodiscard]] int kind() const { return code / 100; }  // 2 done, 3 go on, 4 not now, 5 no
};

/// Collects one reply, line by line: "250-first", "250 last".
class SmtpReplyReader {
 public:
  enum class State : std::uint8_t { NeedMore, Complete, Bad };
  /// Takes whole lines from `bytes` and says how many bytes that was.
  State put(std::string_view bytes, std::size_t& consumed);
  SmtpReply reply;

 private:
  State put_line(std::string_view line);
};

}  // namespace postrider::net
