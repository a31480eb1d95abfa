// One connection of a client: a request, its answer, the next request. Everything here belongs to one loop's thread.
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "api/http/http_answer.h"
#include "api/http/http_server.h"
#include "net/http_parser.h"
#include "net/net_stream.h"

namespace postrider {

using SessionId = std::uint64_t;

/// What a session needs of the loop it lives on.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  [[nodiscard]] virtual const ServerOptions& options() const = 0;
  [[nodiscard]] virtual boost::asio::ssl::context* tls() const = 0;  // null: plain
  [[nodiscard]] virtual bool is_stopping() const = 0;
  virtual void handle(HttpIn request, SessionId session) = 0;
};

class HttpSession {
 public:
  using Steady = std::chrono::steady_clock;
  HttpSession(SessionHost& host, SessionId id, net::TcpSocket socket);

  net::Awaitable<void> run();
  /// Says 503 to a client that is one too many, and goes.
  net::Awaitable<void> run_refused();

  void answer(HttpOut out);  // the handler's; at most one for each request
  void reap(Steady::time_point now);
  void close_if_idle();
  void close();

 private:
  enum class Phase : std::uint8_t { Idle, ReadingHeader, ReadingBody, Handling, Answering, Draining };
  struct Gone {};                                        // nothing more can be read or nobody is left to answer
  using Incoming = std::variant<HttpIn, HttpOut, Gone>;  // HttpOut: our refusal

  net::Awaitable<Incoming> read_request();
  net::Awaitable<bool> invite_body();
  std::optional<Incoming> check_header();
  Incoming refusal(net::Parsed why);
  Incoming complete();
  net::Awaitable<std::optional<HttpOut>> await_answer();
  net::Awaitable<bool> write(HttpOut out, ConnectionAfter then);
  net::Awaitable<void> refuse(HttpOut out);
  net::Awaitable<void> linger();
  void enter(Phase phase, Duration limit);

  SessionHost& host_;
  const SessionId id_;
  net::NetStream stream_;
  net::ReadBuffer in_;
  net::HttpParser parser_;
  boost::asio::steady_timer answered_;
  std::optional<HttpOut> answer_;
  std::string peer_;
  Phase phase_ = Phase::ReadingHeader;
  Steady::time_point deadline_ = Steady::time_point::max();
  bool timed_out_ = false;
  bool closed_ = false;
  bool is_head_ = false;  // the request that is being answered
};

}  // namespace postrider
