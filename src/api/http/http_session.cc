#include "api/http/http_session.h"

#include <algorithm>

#include "base/text.h"

namespace postrider {
namespace {

constexpr Duration kDrainMax = std::chrono::seconds{1};

// The query is cut off, and so is "http://host" of the form that a proxy would send.
bool split_target(const std::string& target, HttpIn& in) {
  std::string_view rest = target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_ignoring_case(rest.substr(0, scheme.size()), scheme)) continue;
    const std::size_t path = rest.find('/', scheme.size());
    rest = path == std::string_view::npos ? std::string_view{"/"} : rest.substr(path);
    break;
  }
  if (rest.empty() || rest.front() != '/') return false;
  const std::size_t mark = rest.find('?');
  in.path = rest.substr(0, mark);
  if (mark != std::string_view::npos) in.query = rest.substr(mark + 1);
  return true;
}

const std::string* find_header(const net::HttpMessage& message, std::string_view name) {
  for (const auto& [key, value] : message.headers) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

HttpSession::HttpSession(SessionHost& host, SessionId id, net::TcpSocket socket)
    : host_(host),
      id_(id),
      stream_(std::move(socket)),
      in_(host.options().header_bytes_max),
      parser_(net::HttpRole::Request, {.header_bytes_max = host.options().header_bytes_max,
                                       .headers_max = host.options().headers_max,
                                       .body_bytes_max = host.options().body_bytes_max}),
      answered_(stream_.socket().get_executor()) {
  net::error_code error;
  const auto remote = stream_.socket().remote_endpoint(error);
  if (!error) peer_ = remote.address().to_string();
  stream_.socket().set_option(boost::asio::ip::tcp::no_delay{true}, error);
}

net::Awaitable<void> HttpSession::run() {
  enter(Phase::ReadingHeader, host_.options().header_max);  // A client that connects has something to say.
  if (host_.tls() != nullptr) {
    const std::string failed = co_await stream_.handshake(*host_.tls(), net::TlsSide::Server, {});
    if (!failed.empty()) co_return close();
  }
  for (;;) {
    Incoming incoming = co_await read_request();
    if (std::holds_alternative<Gone>(incoming)) break;
    if (auto* refused = std::get_if<HttpOut>(&incoming)) {
      co_await refuse(std::move(*refused));
      break;
    }
    const bool keep = parser_.keep_alive();
    const bool is_old = parser_.message().version < 11;
    enter(Phase::Handling, Duration::max());
    host_.handle(std::move(std::get<HttpIn>(incoming)), id_);
    std::optional<HttpOut> out = co_await await_answer();
    if (!out) break;
    const bool stays = keep && !host_.is_stopping();
    const auto then = !stays ? ConnectionAfter::Close : is_old ? ConnectionAfter::KeepHttp10 : ConnectionAfter::Keep;
    const bool written = co_await write(std::move(*out), then);
    if (!written) break;
    if (!stays) {
      co_await linger();
      break;
    }
    if (host_.is_stopping()) break;
    enter(Phase::Idle, host_.options().idle_max);
  }
  close();
}

net::Awaitable<void> HttpSession::run_refused() {
  HttpOut full = http_error(503, "TOO_MANY_CONNECTIONS", "The server has no place for another connection.");
  co_await refuse(std::move(full));
  close();
}

net::Awaitable<HttpSession::Incoming> HttpSession::read_request() {
  parser_.reset();
  for (;;) {
    if (!in_.view().empty()) {
      if (phase_ == Phase::Idle) enter(Phase::ReadingHeader, host_.options().header_max);
      const net::Fed fed = parser_.put(in_.view());
      in_.consume(fed.consumed);
      if (parser_.header_complete() && phase_ == Phase::ReadingHeader) {
        enter(Phase::ReadingBody, host_.options().body_max);
        if (auto refused = check_header()) co_return std::move(*refused);
        if (fed.state == net::Parsed::NeedMore) {
          const bool invited = co_await invite_body();
          if (!invited) co_return Gone{};
        }
      }
      if (fed.state == net::Parsed::Complete) co_return complete();
      if (fed.state != net::Parsed::NeedMore) co_return refusal(fed.state);
    }
    const auto [error, count] = co_await stream_.read_some(in_.room());
    if (error && timed_out_ && (phase_ == Phase::ReadingBody || !in_.view().empty())) {
      co_return http_error(408, "REQUEST_TIMEOUT", "The request did not arrive in time.");
    }
    if (error) co_return Gone{};
    in_.filled(count);
  }
}

// RFC 9112, 3.2: exactly one Host in HTTP/1.1, else two servers in a row may see two different sites.
std::optional<HttpSession::Incoming> HttpSession::check_header() {
  const net::HttpMessage& message = parser_.message();
  const auto is_host = [](const auto& header) { return header.first == "host"; };
  const auto hosts = std::count_if(message.headers.begin(), message.headers.end(), is_host);
  if (hosts > 1 || (hosts == 0 && message.version >= 11)) {
    return http_error(400, "MALFORMED_REQUEST", "There must be one Host header.");
  }
  const std::string* expect = find_header(message, "expect");
  if (expect != nullptr && !equal_ignoring_case(*expect, "100-continue")) {
    return http_error(417, "EXPECTATION_FAILED", "Only Expect: 100-continue is known.");
  }
  return std::nullopt;
}

net::Awaitable<bool> HttpSession::invite_body() {
  const net::HttpMessage& message = parser_.message();
  if (message.version < 11 || find_header(message, "expect") == nullptr || !message.body.empty()) co_return true;
  std::string_view rest = "HTTP/1.1 100 Continue\r\n\r\n";
  while (!rest.empty()) {
    const std::array<net::asio::const_buffer, 2> buffers{net::asio::buffer(rest), net::asio::const_buffer{}};
    const auto [error, count] = co_await stream_.write_some(buffers);
    if (error) co_return false;
    rest.remove_prefix(count);
  }
  co_return true;
}

HttpSession::Incoming HttpSession::refusal(net::Parsed why) {
  switch (why) {
    case net::Parsed::HeaderTooLarge:
      return http_error(431, "HEADERS_TOO_LARGE", "The headers are too large or too many.");
    case net::Parsed::BodyTooLarge: return http_error(413, "BODY_TOO_LARGE", "The body is too large.");
    case net::Parsed::Malformed: return http_error(400, "MALFORMED_REQUEST", "Not a request: " + parser_.why() + ".");
    case net::Parsed::NeedMore:
    case net::Parsed::Complete: break;
  }
  POSTRIDER_DIE("not a refusal");
}

HttpSession::Incoming HttpSession::complete() {
  net::HttpMessage& message = parser_.message();
  HttpIn in;
  if (!split_target(message.target, in)) return http_error(400, "MALFORMED_REQUEST", "The target is not a path.");
  in.method = std::move(message.method);
  in.headers = std::move(message.headers);
  in.body = std::move(message.body);
  in.peer = peer_;
  is_head_ = in.method == "HEAD";
  return in;
}

net::Awaitable<std::optional<HttpOut>> HttpSession::await_answer() {
  while (!answer_ && !closed_) {
    answered_.expires_at(Steady::time_point::max());
    (void)co_await answered_.async_wait(net::kToken);
  }
  co_return std::exchange(answer_, std::nullopt);
}

net::Awaitable<bool> HttpSession::write(HttpOut out, ConnectionAfter then) {
  enter(Phase::Answering, host_.options().answer_max);
  const std::string head = answer_head(out, then);
  const std::size_t body = is_head_ || !has_answer_body(out.status) ? 0 : out.body.size();
  for (std::size_t written = 0; written < head.size() + body;) {
    const std::size_t of_head = std::min(written, head.size());
    const std::array<net::asio::const_buffer, 2> rest{net::asio::buffer(head) + of_head,
                                                      net::asio::buffer(out.body.data(), body) + (written - of_head)};
    const auto [error, count] = co_await stream_.write_some(rest);
    if (error) co_return false;
    written += count;
  }
  co_return true;
}

net::Awaitable<void> HttpSession::refuse(HttpOut out) {
  is_head_ = false;
  timed_out_ = false;
  const bool written = co_await write(std::move(out), ConnectionAfter::Close);
  if (!written) co_return;
  co_await linger();
}

// The answer would be lost to a reset if the socket were closed with bytes unread: it is closed for writing first, and
// what the client still sends is thrown away for a moment.
net::Awaitable<void> HttpSession::linger() {
  enter(Phase::Draining, kDrainMax);
  net::error_code gone;
  stream_.socket().shutdown(net::TcpSocket::shutdown_send, gone);
  std::array<char, 4096> ignored{};
  while (!gone) {
    const auto [error, count] = co_await stream_.socket().async_read_some(net::asio::buffer(ignored), net::kToken);
    gone = error;
  }
}

void HttpSession::answer(HttpOut out) {
  answer_ = std::move(out);
  answered_.cancel();
}

void HttpSession::enter(Phase phase, Duration limit) {
  phase_ = phase;
  deadline_ = limit == Duration::max() ? Steady::time_point::max() : Steady::now() + limit;
}

void HttpSession::reap(Steady::time_point now) {
  if (now < deadline_) return;
  deadline_ = Steady::time_point::max();
  const bool can_tell = phase_ == Phase::ReadingHeader || phase_ == Phase::ReadingBody;
  if (!can_tell || stream_.is_tls()) return close();  // A TLS stream whose read was cut off is not to be written to.
  timed_out_ = true;
  net::error_code ignored;
  stream_.socket().cancel(ignored);
}

void HttpSession::close_if_idle() {
  if (phase_ == Phase::Idle || (phase_ == Phase::ReadingHeader && in_.view().empty())) close();
}

void HttpSession::close() {
  closed_ = true;
  stream_.close();
  answered_.cancel();
}

}  // namespace postrider
