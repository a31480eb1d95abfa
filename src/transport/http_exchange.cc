// One request and its answer on an open connection.
#include "base/fault.h"
#include "transport/connection.h"

namespace postrider::net {
namespace {

constexpr int kInterimAnswersMax = 16;

enum class Sent : std::uint8_t { Whole, Partly, Nothing };

struct Sending {
  Sent sent = Sent::Whole;
  std::string error;
};

// Nearly always the kernel takes a request whole, and nobody has to wait. What is left of it waits.
bool send_at_once(Connection& c, Job& job) {
  if (c.stream.is_tls() || POSTRIDER_FAULT_WANTED("after_first_byte")) return false;
  const std::string& body = std::get<HttpRequest>(job.call.request).body;
  error_code error;
  job.written = c.stream.write_now({asio::buffer(job.head), asio::buffer(body)}, error);
  return !error && job.written == job.head.size() + body.size();
}

Awaitable<Sending> send_request(Connection& c, Job& job) {
  const std::string& head = job.head;
  const std::string& body = std::get<HttpRequest>(job.call.request).body;
  const std::size_t total = head.size() + body.size();
  while (job.written < total) {
    const std::size_t head_done = std::min(job.written, head.size());
    const std::size_t body_done = job.written - head_done;
    std::array<asio::const_buffer, 2> rest{asio::buffer(head) + head_done, asio::buffer(body) + body_done};
    if (POSTRIDER_FAULT_WANTED("after_first_byte") && job.written == 0) rest = {asio::buffer(head, 1)};
    const auto [error, count] = co_await c.stream.write_some(rest);
    job.written += count;
    if (job.written < total) POSTRIDER_FAULT_POINT("after_first_byte");
    if (!error) continue;
    // Under TLS a failed write may have put a part of its record on the wire, uncounted.
    const bool nothing = job.written == 0 && !c.stream.is_tls();
    co_return Sending{nothing ? Sent::Nothing : Sent::Partly, error.message()};
  }
  co_return Sending{};
}

Exchange broken_exchange(const Connection& c, Sent sent, BrokenBy by, std::string detail) {
  const BrokenAt at = sent == Sent::Whole    ? BrokenAt::Whole
                      : sent == Sent::Partly ? BrokenAt::Partly
                                             : BrokenAt::Nothing;
  return {broken(c, at, by, std::move(detail)), Exchange::Then::Close};
}

Exchange answered(Connection& c, Exchange::Then then) {
  HttpMessage& message = c.parser.message();
  return {HttpReply{message.status, std::move(message.headers), std::move(message.body)}, then};
}

// Nothing can follow it, so it must be more than an interim answer.
Exchange answered_last(Connection& c, Sent sent) {
  if (c.parser.message().status < 200) return broken_exchange(c, sent, BrokenBy::Garbage, "an unasked status");
  return answered(c, Exchange::Then::Close);
}

// What the bytes so far come to; empty: more are needed.
std::optional<Exchange> digest(Connection& c, Sent sent, BodyExpected body, int& interim_left) {
  while (!c.in.view().empty()) {
    const Fed fed = c.parser.put(c.in.view());
    c.in.consume(fed.consumed);
    switch (fed.state) {
      case Parsed::NeedMore: return std::nullopt;
      case Parsed::Malformed: return broken_exchange(c, sent, BrokenBy::Garbage, c.parser.why());
      case Parsed::HeaderTooLarge: return broken_exchange(c, sent, BrokenBy::TooLarge, "the answer's header");
      case Parsed::BodyTooLarge: return answered_last(c, sent);
      case Parsed::Complete: break;
    }
    const int status = c.parser.message().status;
    if (status >= 200) {
      if (!c.in.view().empty()) return broken_exchange(c, sent, BrokenBy::Garbage, "bytes behind the answer");
      const bool keep = sent == Sent::Whole && c.parser.keep_alive();
      return answered(c, keep ? Exchange::Then::Keep : Exchange::Then::Close);
    }
    if (status < 100 || status == 101) return broken_exchange(c, sent, BrokenBy::Garbage, "an unasked status");
    if (--interim_left < 0) return broken_exchange(c, sent, BrokenBy::Garbage, "too many interim answers");
    c.parser.reset(body);
  }
  return std::nullopt;
}

Exchange at_end_of_input(Connection& c, Sent sent, const error_code& error) {
  if (error == asio::error::eof && c.parser.header_complete()) {
    if (c.parser.put_eof() != Parsed::Complete) return broken_exchange(c, sent, BrokenBy::Garbage, c.parser.why());
    return answered_last(c, sent);
  }
  return broken_exchange(c, sent, BrokenBy::Reset, error.message());
}

}  // namespace

Awaitable<Exchange> http_exchange(Connection& c, Job& job) {
  Sending sending;
  if (!send_at_once(c, job)) {
    Sending waited = co_await send_request(c, job);
    sending = std::move(waited);
  }
  if (sending.sent == Sent::Nothing) {
    Exchange failed = broken_exchange(c, Sent::Nothing, BrokenBy::Reset, sending.error);
    if (c.used && !c.killed_by) failed.then = Exchange::Then::RepeatFresh;
    co_return failed;
  }
  POSTRIDER_FAULT_POINT("before_response");
  // A server may refuse before it has read everything and close: its answer is then still to be read.
  const bool is_head = std::get<HttpRequest>(job.call.request).method == "HEAD";
  const BodyExpected body = is_head ? BodyExpected::No : BodyExpected::Yes;
  c.parser.reset(body);
  int interim_left = kInterimAnswersMax;
  for (;;) {
    const auto [error, count] = co_await c.stream.read_some(c.in.room());
    if (error) {
      if (sending.sent == Sent::Partly) co_return broken_exchange(c, Sent::Partly, BrokenBy::Reset, sending.error);
      co_return at_end_of_input(c, sending.sent, error);
    }
    c.in.filled(count);
    if (auto done = digest(c, sending.sent, body, interim_left)) {
      POSTRIDER_FAULT_POINT("after_response");
      co_return std::move(*done);
    }
  }
}

}  // namespace postrider::net
