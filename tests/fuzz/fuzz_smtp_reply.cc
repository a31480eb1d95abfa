// Replies of a mail server: the same however the bytes are cut, bounded, read back equal when written down again; and
// only a 2xx behind the final dot counts as accepted.
#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "fuzz/input.h"
#include "providers/registry.h"
#include "transport/smtp_text.h"

namespace postrider::net {
namespace {

using fuzz::Cut;
using State = SmtpReplyReader::State;

struct Reading {
  std::vector<SmtpReply> replies = {};
  State end = State::NeedMore;
};

Reading read_all(std::string_view bytes, Cut how) {
  Reading reading;
  SmtpReplyReader reader;
  std::size_t begin = 0;
  std::size_t end = 0;
  for (const std::string_view piece : fuzz::cut(bytes, how)) {
    end += piece.size();
    for (;;) {
      std::size_t consumed = 0;
      reading.end = reader.put(bytes.substr(begin, end - begin), consumed);
      POSTRIDER_CHECK(consumed <= end - begin);
      begin += consumed;
      if (reading.end == State::Bad) return reading;
      if (reading.end == State::NeedMore) break;
      reading.replies.push_back(std::move(reader.reply));
      reader = SmtpReplyReader{};
    }
  }
  return reading;
}

void check_reply(const SmtpReply& reply) {
  POSTRIDER_CHECK(reply.code >= 200 && reply.code <= 599 && !reply.lines.empty());
  POSTRIDER_CHECK(reply.lines.size() <= static_cast<std::size_t>(kSmtpReplyLinesMax));
  POSTRIDER_CHECK(reply.text.size() <= kExcerptBytesMax + kSmtpReplyLineBytesMax + 1);
  std::string text;
  for (std::size_t i = 0; i < reply.lines.size(); ++i) {
    POSTRIDER_CHECK(reply.lines[i].find('\n') == std::string::npos);
    text += std::to_string(reply.code) + (i + 1 < reply.lines.size() ? "-" : " ") + reply.lines[i] + "\r\n";
  }
  const Reading again = read_all(text, Cut::Pieces);
  POSTRIDER_CHECK(again.replies.size() == 1 && again.replies.front().code == reply.code);
  POSTRIDER_CHECK(again.replies.front().lines == reply.lines && again.replies.front().text == reply.text);
}

void check_outcome(const SmtpReply& reply) {
  static const auto smtp = find_adapter("smtp")->make({.name = "m", .values = {{"from", "a@example.org"}}}).value();
  for (int step = 0; step <= static_cast<int>(MailStep::Body); ++step) {
    const MailReply answer{static_cast<MailStep>(step), reply.code, reply.text};
    const Outcome outcome = smtp->interpret(answer, instant_from_us(1'772'000'000'000'000));
    const bool handed_over = answer.step == MailStep::Body && reply.code / 100 == 2;
    POSTRIDER_CHECK((outcome.kind == OutcomeKind::Accepted) == handed_over);
    POSTRIDER_CHECK(is_utf8(outcome.detail) && !has_control(outcome.detail));
    POSTRIDER_CHECK(is_utf8(outcome.provider_message_id) && !has_control(outcome.provider_message_id));
    // A refusal before the final dot is never unclear: nothing was handed over.
    if (answer.step != MailStep::Body) POSTRIDER_CHECK(outcome.kind != OutcomeKind::Unclear);
  }
}

void check_same(const Reading& a, const Reading& b) {
  POSTRIDER_CHECK(a.end == b.end && a.replies.size() == b.replies.size());
  for (std::size_t i = 0; i < a.replies.size(); ++i) {
    POSTRIDER_CHECK(a.replies[i].code == b.replies[i].code && a.replies[i].lines == b.replies[i].lines);
    POSTRIDER_CHECK(a.replies[i].text == b.replies[i].text);
  }
}

void run(std::string_view bytes) {
  const Reading whole = read_all(bytes, Cut::Whole);
  check_same(whole, read_all(bytes, Cut::Pieces));
  check_same(whole, read_all(bytes, Cut::Bytes));
  for (const SmtpReply& reply : whole.replies) {
    check_reply(reply);
    check_outcome(reply);
  }
}

}  // namespace
}  // namespace postrider::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::net::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
