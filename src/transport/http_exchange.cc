// One request and its answer on an open connection.
#include "base/fault.h"
#include "transport/connection.h"

namespace postrider::net {
namespace {

const std::string& body_of(const Job& job) { return std::get<HttpRequest>(job.call.request).body; }
bool is_sent(const Job& job) { return job.written == job.head.size() + body_of(job).size(); }

std::array<asio::const_buffer, 2> rest_of(const Job& job) {
  const std::size_t head_done = std::min(job.written, job.head.size());
  const std::size_t body_done = job.written - head_done;
  if (POSTRIDER_FAULT_WANTED("after_first_byte") && job.written == 0) return {asio::buffer(job.head, 1)};
  return {asio::buffer(job.head) + head_done, asio::buffer(body_of(job)) + body_done};
}

void begin(Connection& c, const Job& job) {
  const bool is_head = std::get<HttpRequest>(job.call.request).method == "HEAD";
  c.http = {.body = is_head ? BodyExpected::No : BodyExpected::Yes};
  c.parser.reset(c.http.body);
}

Exchange broken_exchange(const Connection& c, BrokenBy by, std::string detail) {
  return {broken(c, c.http.sent, by, std::move(detail)), Exchange::Then::Close};
}

// How far the request got when no more of it can be sent. Nothing at all: a kept connection was dead, and another one
// may be tried. Else a server may have refused before it read everything: its answer is then still to be read.
std::optional<Exchange> note_failed_send(Connection& c, bool nothing_left, const error_code& error) {
  c.http.sending_failed = true;
  c.http.sent = nothing_left ? BrokenAt::Nothing : BrokenAt::Partly;
  c.http.send_error = error.message();
  if (!nothing_left) return std::nullopt;
  Exchange failed = broken_exchange(c, BrokenBy::Reset, c.http.send_error);
  if (c.used && !c.killed_by) failed.then = Exchange::Then::RepeatFresh;
  return failed;
}

void note_sent(Connection& c) {
  c.http.sent = BrokenAt::Whole;
  POSTRIDER_FAULT_POINT("before_response");
}

Exchange answered(Connection& c, Exchange::Then then) {
  POSTRIDER_FAULT_POINT("after_response");
  HttpMessage& message = c.parser.message();
  return {HttpReply{message.status, std::move(message.headers), std::move(message.body)}, then};
}

// Nothing can follow it, so it must be more than an interim answer.
Exchange answered_last(Connection& c) {
  if (c.parser.message().status < 200) return broken_exchange(c, BrokenBy::Garbage, "an unasked status");
  return answered(c, Exchange::Then::Close);
}

// What the bytes so far come to; empty: more are needed.
std::optional<Exchange> digest(Connection& c) {
  while (!c.in.view().empty()) {
    const Fed fed = c.parser.put(c.in.view());
    c.in.consume(fed.consumed);
    switch (fed.state) {
      case Parsed::NeedMore: return std::nullopt;
      case Parsed::Malformed: return broken_exchange(c, BrokenBy::Garbage, c.parser.why());
      case Parsed::HeaderTooLarge: return broken_exchange(c, BrokenBy::TooLarge, "the answer's header");
      case Parsed::BodyTooLarge: return answered_last(c);
      case Parsed::Complete: break;
    }
    const int status = c.parser.message().status;
    if (status >= 200) {
      if (!c.in.view().empty()) return broken_exchange(c, BrokenBy::Garbage, "bytes behind the answer");
      const bool keep = c.http.sent == BrokenAt::Whole && c.parser.keep_alive();
      return answered(c, keep ? Exchange::Then::Keep : Exchange::Then::Close);
    }
    if (status < 100 || status == 101) return broken_exchange(c, BrokenBy::Garbage, "an unasked status");
    if (--c.http.interim_left < 0) return broken_exchange(c, BrokenBy::Garbage, "too many interim answers");
    c.parser.reset(c.http.body);
  }
  return std::nullopt;
}

Exchange at_end_of_input(Connection& c, const error_code& error) {
  if (c.http.sending_failed) return broken_exchange(c, BrokenBy::Reset, c.http.send_error);
  if (error == asio::error::eof && c.parser.header_complete()) {
    if (c.parser.put_eof() != Parsed::Complete) return broken_exchange(c, BrokenBy::Garbage, c.parser.why());
    return answered_last(c);
  }
  return broken_exchange(c, BrokenBy::Reset, error.message());
}

Awaitable<std::optional<Exchange>> send_request(Connection& c, Job& job) {
  while (!is_sent(job)) {
    const auto [error, count] = co_await c.stream.write_some(rest_of(job));
    job.written += count;
    if (!is_sent(job)) POSTRIDER_FAULT_POINT("after_first_byte");
    // A failed write may have put a part of its record on the wire, uncounted.
    if (error) co_return note_failed_send(c, false, error);
  }
  note_sent(c);
  co_return std::nullopt;
}

bool is_later(const error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again || error == asio::error::interrupted;
}

// Nearly always the kernel takes a request whole; what it does not take waits until there is room.
std::optional<Exchange> send_what_goes(Connection& c, Job& job) {
  while (!is_sent(job)) {
    error_code error;
    job.written += c.stream.write_now(rest_of(job), error);
    if (!is_sent(job)) POSTRIDER_FAULT_POINT("after_first_byte");
    if (error == asio::error::interrupted) continue;
    if (is_later(error)) return std::nullopt;
    if (error) return note_failed_send(c, job.written == 0, error);
  }
  note_sent(c);
  return std::nullopt;
}

// Until nothing more is there: the socket tells of new bytes once.
std::optional<Exchange> read_what_came(Connection& c) {
  for (;;) {
    const asio::mutable_buffer room = c.in.room();
    if (room.size() == 0) return broken_exchange(c, BrokenBy::TooLarge, "the answer's header");
    error_code error;
    const std::size_t count = c.stream.read_now(room, error);
    if (error == asio::error::interrupted) continue;
    if (is_later(error) && !c.http.sending_failed) return std::nullopt;
    if (!error && count == 0) error = asio::error::eof;
    if (error) return at_end_of_input(c, error);
    c.in.filled(count);
    if (auto done = digest(c)) return done;
    if (count < room.size() && !c.http.sending_failed && !c.peer_closed) return std::nullopt;
  }
}

}  // namespace

std::optional<Exchange> begin_exchange(Connection& c, Job& job) {
  begin(c, job);
  if (auto failed = send_what_goes(c, job)) return failed;
  return c.http.sending_failed ? read_what_came(c) : std::nullopt;
}

std::optional<Exchange> continue_exchange(Connection& c, Job& job) {
  if (!is_sent(job) && !c.http.sending_failed) {
    if (auto failed = send_what_goes(c, job)) return failed;
    if (!is_sent(job) && !c.http.sending_failed) return std::nullopt;
  }
  return read_what_came(c);
}

Awaitable<Exchange> http_exchange(Connection& c, Job& job) {
  begin(c, job);
  std::optional<Exchange> failed = co_await send_request(c, job);
  if (failed) co_return std::move(*failed);
  for (;;) {
    const auto [error, count] = co_await c.stream.read_some(c.in.room());
    if (error) co_return at_end_of_input(c, error);
    c.in.filled(count);
    if (auto done = digest(c)) co_return std::move(*done);
  }
}

}  // namespace postrider::net
