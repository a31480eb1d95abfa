#include "api/http/http_server.h"

#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "api/http/http_session.h"
#include "base/check.h"
#include "base/thread_name.h"

namespace postrider {
namespace {

namespace asio = boost::asio;
using net::error_code;
using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, net::Executor>;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
using TlsContext = asio::ssl::context;

constexpr auto kReapEvery = std::chrono::milliseconds{100};
constexpr auto kAcceptBackOff = std::chrono::milliseconds{100};
constexpr int kRefusedAtOnceMax = 64;  // connections over the limit that are told so; the rest is just closed

void die_of(std::exception_ptr thrown) {
  if (!thrown) return;
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::exception& e) {
    die(std::string{"an exception in the HTTP server's loop: "} + e.what());
  }
}

/// The way of answers from any thread to the loop; outlives it, because a Respond may.
class Outbox {
 public:
  using Deliver = std::function<void(SessionId, HttpOut)>;
  Outbox(asio::io_context& io, Deliver deliver) : io_(&io), deliver_(std::move(deliver)) {}

  void put(SessionId session, HttpOut out) {
    if (std::this_thread::get_id() == loop_thread_.load(std::memory_order_relaxed)) {
      return deliver_(session, std::move(out));
    }
    const std::lock_guard lock{mutex_};
    if (io_ == nullptr) return;
    waiting_.emplace_back(session, std::move(out));
    if (waiting_.size() == 1) asio::post(*io_, [this] { drain(); });
  }
  void loop_runs_on(std::thread::id thread) { loop_thread_ = thread; }
  void close() {
    const std::lock_guard lock{mutex_};
    io_ = nullptr;
  }

 private:
  void drain() {
    std::vector<std::pair<SessionId, HttpOut>> ready;
    {
      const std::lock_guard lock{mutex_};
      ready.swap(waiting_);
    }
    for (auto& [session, out] : ready) deliver_(session, std::move(out));
  }

  std::atomic<std::thread::id> loop_thread_{};
  std::mutex mutex_;
  asio::io_context* io_;
  Deliver deliver_;
  std::vector<std::pair<SessionId, HttpOut>> waiting_;
};

/// One request's right to be answered once.
class Ticket {
 public:
  Ticket(std::shared_ptr<Outbox> outbox, SessionId session) : outbox_(std::move(outbox)), session_(session) {}
  ~Ticket() {
    if (!answered_) answer(http_error(500, "INTERNAL", "The request was not answered."));
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  void answer(HttpOut out) {
    if (!answered_.exchange(true)) outbox_->put(session_, std::move(out));
  }

 private:
  std::shared_ptr<Outbox> outbox_;
  SessionId session_;
  std::atomic<bool> answered_{false};
};

/// What the loops share.
struct Common {
  ServerOptions options;
  Handler handler;
  std::unique_ptr<TlsContext> tls;
  std::atomic<int> connections{0};
  std::mutex mutex;
  std::condition_variable changed;
  int loops_draining = 0;  // under the mutex
};

class ServerLoop final : public SessionHost {
 public:
  explicit ServerLoop(Common& common)
      : common_(common),
        acceptor_(io_),
        reap_timer_(io_),
        back_off_(io_),
        outbox_(std::make_shared<Outbox>(io_, [this](SessionId id, HttpOut out) { deliver(id, std::move(out)); })) {}
  ~ServerLoop() override { end(); }
  ServerLoop(const ServerLoop&) = delete;
  ServerLoop& operator=(const ServerLoop&) = delete;

  Result<std::uint16_t> listen(const asio::ip::tcp::endpoint& at);
  void run();
  void stop_gently();  // counts itself out of loops_draining when the last session is gone
  void end();          // closes everything and joins

  [[nodiscard]] const ServerOptions& options() const override { return common_.options; }
  [[nodiscard]] TlsContext* tls() const override { return common_.tls.get(); }
  [[nodiscard]] bool is_stopping() const override { return stopping_; }
  void handle(HttpIn request, SessionId session) override;

 private:
  net::Awaitable<void> accept();
  void welcome(net::TcpSocket socket);
  net::Awaitable<void> serve(std::shared_ptr<HttpSession> session, SessionId id);
  net::Awaitable<void> turn_away(std::shared_ptr<HttpSession> session, SessionId id);
  void leave(SessionId id);
  void deliver(SessionId id, HttpOut out);
  void reap_later();
  void report_when_drained();

  Common& common_;
  asio::io_context io_{1};
  asio::executor_work_guard<net::Executor> work_{io_.get_executor()};
  Acceptor acceptor_;
  asio::steady_timer reap_timer_;
  asio::steady_timer back_off_;
  std::shared_ptr<Outbox> outbox_;
  std::unordered_map<SessionId, std::shared_ptr<HttpSession>> sessions_;
  SessionId last_id_ = 0;
  int refused_ = 0;
  bool stopping_ = false;  // takes nothing new
  bool ending_ = false;    // and waits for nothing any more
  bool reported_ = false;
  std::thread thread_;
};

Result<std::uint16_t> ServerLoop::listen(const asio::ip::tcp::endpoint& at) {
  error_code error;
  acceptor_.open(at.protocol(), error);
  if (!error) acceptor_.set_option(Acceptor::reuse_address{true}, error);
  if (!error && common_.options.threads > 1) acceptor_.set_option(ReusePort{true}, error);
  if (!error) acceptor_.bind(at, error);
  if (!error) acceptor_.listen(1024, error);
  if (error)
    return Error{ErrorCode::Unavailable, "cannot listen on port " + std::to_string(at.port()) + ": " + error.message()};
  return acceptor_.local_endpoint().port();
}

void ServerLoop::run() {
  asio::co_spawn(io_.get_executor(), accept(), die_of);
  reap_later();
  thread_ = std::thread{[this] {
    name_thread("http");
    outbox_->loop_runs_on(std::this_thread::get_id());
    io_.run();
    outbox_->loop_runs_on({});
  }};
}

net::Awaitable<void> ServerLoop::accept() {
  while (!stopping_) {
    auto [error, socket] = co_await acceptor_.async_accept(net::kToken);
    if (stopping_) break;
    if (!error) {
      welcome(std::move(socket));
      continue;
    }
    // Out of descriptors, most likely: the connection stays in the backlog, and trying at once would only burn the
    // core.
    back_off_.expires_after(kAcceptBackOff);
    (void)co_await back_off_.async_wait(net::kToken);
  }
}

void ServerLoop::welcome(net::TcpSocket socket) {
  const bool one_too_many = common_.connections.load() >= common_.options.connections_max;
  if (one_too_many && (refused_ >= kRefusedAtOnceMax || common_.tls)) return;  // Closed by its destructor.
  const SessionId id = ++last_id_;
  auto session = std::make_shared<HttpSession>(*this, id, std::move(socket));
  sessions_.emplace(id, session);
  if (one_too_many) {
    ++refused_;
    asio::co_spawn(io_.get_executor(), turn_away(std::move(session), id), die_of);
    return;
  }
  ++common_.connections;
  asio::co_spawn(io_.get_executor(), serve(std::move(session), id), die_of);
}

net::Awaitable<void> ServerLoop::serve(std::shared_ptr<HttpSession> session, SessionId id) {
  co_await session->run();
  --common_.connections;
  leave(id);
}

net::Awaitable<void> ServerLoop::turn_away(std::shared_ptr<HttpSession> session, SessionId id) {
  co_await session->run_refused();
  --refused_;
  leave(id);
}

void ServerLoop::leave(SessionId id) {
  sessions_.erase(id);
  report_when_drained();
}

void ServerLoop::handle(HttpIn request, SessionId session) {
  auto ticket = std::make_shared<Ticket>(outbox_, session);
  try {
    common_.handler(std::move(request), [ticket](HttpOut out) { ticket->answer(std::move(out)); });
  } catch (const std::exception&) {
    ticket->answer(http_error(500, "INTERNAL", "The request could not be handled."));
  }
}

void ServerLoop::deliver(SessionId id, HttpOut out) {
  const auto it = sessions_.find(id);
  if (it != sessions_.end()) it->second->answer(std::move(out));
}

void ServerLoop::reap_later() {
  reap_timer_.expires_after(kReapEvery);
  reap_timer_.async_wait([this](const error_code& error) {
    if (error || ending_) return;  // A timer that fired already cannot be cancelled any more.
    const auto now = HttpSession::Steady::now();
    for (auto& [id, session] : sessions_) session->reap(now);
    reap_later();
  });
}

void ServerLoop::stop_gently() {
  asio::post(io_, [this] {
    stopping_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    back_off_.cancel();
    for (auto& [id, session] : sessions_) session->close_if_idle();
    report_when_drained();
  });
}

void ServerLoop::report_when_drained() {
  if (!stopping_ || !sessions_.empty() || std::exchange(reported_, true)) return;
  const std::lock_guard lock{common_.mutex};
  --common_.loops_draining;
  common_.changed.notify_all();
}

void ServerLoop::end() {
  if (!thread_.joinable()) return outbox_->close();
  asio::post(io_, [this] {
    stopping_ = ending_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    back_off_.cancel();
    reap_timer_.cancel();
    for (auto& [id, session] : sessions_) session->close();
    work_.reset();  // The loop ends when the last session has.
  });
  thread_.join();
  outbox_->close();
}

}  // namespace

struct HttpServer::Impl {
  Common common;
  std::uint16_t port = 0;
  std::vector<std::unique_ptr<ServerLoop>> loops;
  bool stopped = false;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { stop(Duration{}); }
std::uint16_t HttpServer::port() const { return impl_->port; }

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, Handler handler) {
  auto impl = std::make_unique<Impl>();
  error_code error;
  const auto address = asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host, error);
  if (error) return Error{ErrorCode::Invalid, "not an address to listen on: " + options.host};
  if (options.tls_certificate_file.empty() != options.tls_key_file.empty()) {
    return Error{ErrorCode::Invalid, "TLS needs a certificate file and a key file"};
  }
  if (!options.tls_certificate_file.empty()) {
    std::string why;
    impl->common.tls = net::make_server_tls(options.tls_certificate_file, options.tls_key_file, why);
    if (!impl->common.tls) return Error{ErrorCode::Invalid, why};
  }
  impl->port = options.port;
  impl->common.options = std::move(options);
  impl->common.handler = std::move(handler);
  for (int i = 0; i < std::max(1, impl->common.options.threads); ++i) {
    auto loop = std::make_unique<ServerLoop>(impl->common);
    POSTRIDER_TRY(port, loop->listen({address, impl->port}));
    impl->port = port;
    impl->loops.push_back(std::move(loop));
  }
  for (auto& loop : impl->loops) loop->run();
  return std::unique_ptr<HttpServer>{new HttpServer{std::move(impl)}};
}

void HttpServer::stop(Duration grace) {
  if (std::exchange(impl_->stopped, true)) return;
  {
    const std::lock_guard lock{impl_->common.mutex};
    impl_->common.loops_draining = static_cast<int>(impl_->loops.size());
  }
  for (auto& loop : impl_->loops) loop->stop_gently();
  {
    std::unique_lock lock{impl_->common.mutex};
    impl_->common.changed.wait_for(lock, grace, [&] { return impl_->common.loops_draining == 0; });
  }
  for (auto& loop : impl_->loops) loop->end();
}

}  // namespace postrider
