// One connection to a provider and what is being done on it. Everything here belongs to the loop's thread.
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "net/http_parser.h"
#include "net/net_stream.h"
#include "transport/pool.h"

namespace postrider::net {

/// What the mail server said it can do, learnt once for each connection.
struct MailSession {
  bool ready = false;        // greeted, secured and authenticated as far as the endpoint wants it
  bool needs_reset = false;  // a refused transaction is still open on the server
  bool pipelining = false;
  bool eight_bit = false;
  bool utf8_addresses = false;
  bool size = false;
  bool start_tls = false;
  bool auth_plain = false;
  bool auth_login = false;
};

/// How far the one HTTP request on a connection has got.
struct HttpProgress {
  BrokenAt sent = BrokenAt::Nothing;  // Whole: all of it was given to the kernel
  bool sending_failed = false;        // no more of it will be
  std::string send_error = {};
  BodyExpected body = BodyExpected::Yes;
  int interim_left = 16;  // answers of 1xx that are still put up with
};

struct Connection : std::enable_shared_from_this<Connection> {
  Connection(asio::io_context& io, Pool& of, Target to)
      : pool(of),
        target(std::move(to)),
        stream(io),
        event(io),
        in(kHeaderBytesMax),
        parser(HttpRole::Response, {.body_bytes_max = kReplyBodyBytesMax}) {}

  /// Nothing of the last answer stays in memory.
  void forget_answer() {
    if (in.view().empty()) in.wipe();
    parser.reset();
  }
  /// Ends whatever is being waited for; the coroutine that waits tells how far it got.
  void kill(BrokenBy by) {
    if (!killed_by) killed_by = by;
    stream.close();
    event.cancel();
  }

  Pool& pool;
  const Target target;
  NetStream stream;
  asio::steady_timer event;  // waited on for things that are no socket: a lookup
  ReadBuffer in;
  HttpParser parser;
  HttpProgress http;
  MailSession mail;
  Job* job = nullptr;  // null: idle
  std::optional<BrokenBy> killed_by;
  bool used = false;         // it has carried an answer: it may have been closed since
  bool closed = false;       // no longer counted as open
  bool watched = false;      // plain HTTP: its socket is watched by the loop itself, no coroutine waits for answers
  bool peer_closed = false;  // watched: nothing will come behind what can be read now
  bool exchanging = false;   // watched: its call has been begun
  bool given_up = false;     // watched: to be left by its coroutine
  Steady::time_point idle_since{};
  Steady::time_point attempt_until = Steady::time_point::max();  // of connecting to one of several addresses
};

/// What a call came to, and what becomes of its connection.
struct Exchange {
  enum class Then : std::uint8_t {
    Keep,
    Close,
    RepeatFresh
  };  // RepeatFresh: nothing left, the kept connection was dead
  Reply reply;
  Then then = Then::Close;
};

/// `by` is replaced by the reason of the kill when there was one.
inline Broken broken(const Connection& connection, BrokenAt at, BrokenBy by, std::string detail) {
  if (!connection.killed_by) return {at, by, std::move(detail)};
  return {at, *connection.killed_by,
          *connection.killed_by == BrokenBy::Timeout ? "no complete answer in time" : "stopped"};
}

/// Under TLS.
Awaitable<Exchange> http_exchange(Connection& connection, Job& job);
/// On a detached stream, without waiting: what the call came to; empty while the socket has to become ready once more.
std::optional<Exchange> begin_exchange(Connection& connection, Job& job);
std::optional<Exchange> continue_exchange(Connection& connection, Job& job);
Awaitable<Exchange> mail_exchange(Connection& connection, Job& job);

}  // namespace postrider::net
