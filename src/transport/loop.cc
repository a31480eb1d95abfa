#include "transport/loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/secret_text.h"
#include "base/thread_name.h"
#include "transport/connect.h"
#include "transport/http_request.h"
#include "transport/smtp_text.h"
#include "transport/watch.h"

namespace postrider::net {
namespace {

constexpr auto kReapEvery = std::chrono::milliseconds{50};
constexpr auto kIdleMax = std::chrono::seconds{30};
constexpr Duration kTimeoutDefault = std::chrono::seconds{15};
constexpr Duration kTimeoutMax = std::chrono::hours{24};

Broken not_to_be_begun() { return {BrokenAt::Nothing, BrokenBy::Aborted, "it was not to be begun any more"}; }

void die_of(std::exception_ptr thrown) {
  if (!thrown) return;
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::exception& e) {
    die(std::string{"an exception in the transport's loop: "} + e.what());
  }
}

Result<Done> read_url(Pool::Read& last, const std::string& text) {
  if (last.target && last.text == text) return Done{};
  POSTRIDER_TRY(url, parse_url(text));
  const bool https = url.scheme == Scheme::Https;
  last.target = std::make_shared<const Target>(Target{https ? Protocol::Https : Protocol::Http, url.host, url.port,
                                                      (https ? "s" : "p") + url.host + ":" + std::to_string(url.port)});
  last.text = text;
  last.url = std::move(url);
  return Done{};
}

// Where the call goes and, for HTTP, its head; an error when it cannot be put on the wire at all.
Result<Done> prepare(Job& job, Pool& pool) {
  if (const auto* mail = std::get_if<MailRequest>(&job.call.request)) {
    const Endpoint& endpoint = pool.endpoint;
    POSTRIDER_TRY_DONE(check_mail(*mail));
    if (endpoint.smtp_host.empty() || endpoint.smtp_port == 0) {
      return Error{ErrorCode::Invalid, "this provider has no mail server"};
    }
    job.target = std::make_shared<const Target>(Target{Protocol::Smtp, endpoint.smtp_host, endpoint.smtp_port, "smtp"});
    return Done{};
  }
  const auto& request = std::get<HttpRequest>(job.call.request);
  POSTRIDER_TRY_DONE(read_url(pool.last_url, request.url));
  POSTRIDER_TRY(head, compose_head(request, pool.last_url.url));
  job.head = std::move(head);
  job.target = pool.last_url.target;
  return Done{};
}

}  // namespace

class Loop::Impl {
 public:
  Impl(std::map<ProviderId, Endpoint> endpoints, Transport::Sink sink, const Clock& clock, Lookup lookup)
      : sink_(std::move(sink)),
        clock_(clock),
        hosts_(io_, std::move(lookup)),
        watch_(io_, [this](Connection& connection) { ready(connection); }),
        reap_timer_(io_) {
    for (auto& [id, endpoint] : endpoints) pools_.emplace(id, std::make_unique<Pool>(id, std::move(endpoint)));
    thread_ = std::thread{[this] {
      name_thread("transport");
      io_.run();
    }};
  }
  ~Impl() {
    asio::post(io_, [this] { stop(); });
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  using Order = std::variant<std::vector<Call>, std::vector<CallId>>;
  void put(Order order);

 private:
  void take_orders();
  void begin(Call call);
  void abort(CallId id);
  void stop();

  void dispatch(Pool& pool);
  [[nodiscard]] bool may_begin(const Call& call) const;
  bool is_too_late(Pool& pool, Job& job);
  void set_off(Job& job);
  void give(Job& job, Connection& connection);
  void spawn(Pool& pool, Job& job);
  Awaitable<void> run(std::shared_ptr<Connection> connection);
  Awaitable<void> run_watched(Connection& connection);
  Awaitable<void> park(Connection& connection);
  void wake(Connection& connection);
  void go_on(Connection& connection);
  void ready(Connection& connection);
  bool finish(Connection& connection, Exchange exchange);
  void rest(Connection& connection);
  static void give_up(Connection& connection);
  bool take_another(Connection& connection);
  void leave(Connection& connection);
  void close(Connection& connection);
  void reap_later();
  void reap();

  void end(Jobs& list, Job& job, Reply reply);
  void end_running(Connection& connection, Reply reply);
  void hand_over(CallEnd end);

  asio::io_context io_{1};
  asio::executor_work_guard<Executor> work_{io_.get_executor()};
  Transport::Sink sink_;
  const Clock& clock_;
  std::map<ProviderId, std::unique_ptr<Pool>> pools_;
  std::unordered_map<CallId, Jobs::iterator> jobs_;  // waiting and running
  std::unordered_set<Connection*> connections_;
  Hosts hosts_;
  Watch watch_;
  asio::steady_timer reap_timer_;
  bool reaping_ = false;
  bool stopping_ = false;
  std::vector<CallEnd> ended_;  // in this turn of the loop
  std::mutex mutex_;
  std::vector<Order> orders_;
  std::thread thread_;
};

Loop::Loop(std::map<ProviderId, Endpoint> endpoints, Transport::Sink sink, const Clock& clock, Lookup lookup)
    : impl_(std::make_unique<Impl>(std::move(endpoints), std::move(sink), clock, std::move(lookup))) {}
Loop::~Loop() = default;
void Loop::start(std::vector<Call> calls) { impl_->put(std::move(calls)); }
void Loop::abort(std::vector<CallId> ids) { impl_->put(std::move(ids)); }

// Orders keep their order: an abort never overtakes the start of its call. One wake-up for as many as have come.
void Loop::Impl::put(Order order) {
  bool first = false;
  {
    const std::lock_guard lock{mutex_};
    first = orders_.empty();
    orders_.push_back(std::move(order));
  }
  if (first) asio::post(io_, [this] { take_orders(); });
}

void Loop::Impl::take_orders() {
  std::vector<Order> orders;
  {
    const std::lock_guard lock{mutex_};
    orders.swap(orders_);
  }
  for (Order& order : orders) {
    if (auto* calls = std::get_if<std::vector<Call>>(&order)) {
      for (Call& call : *calls) begin(std::move(call));
      for (auto& [id, pool] : pools_) dispatch(*pool);
    } else {
      for (const CallId id : std::get<std::vector<CallId>>(order)) abort(id);
    }
  }
}

void Loop::Impl::begin(Call call) {
  const Instant now = clock_.now();
  const CallId id = call.id;
  if (const auto* local = std::get_if<LocalRequest>(&call.request)) {
    return hand_over({id, LocalReply{local->verdict}, now, now});
  }
  const auto refuse = [&](BrokenBy by, std::string why) {
    hand_over({id, Broken{BrokenAt::Nothing, by, std::move(why)}, now, now});
  };
  if (stopping_) return refuse(BrokenBy::Aborted, "stopping");
  const auto pool = pools_.find(call.provider);
  if (pool == pools_.end()) return refuse(BrokenBy::Invalid, "this provider has no endpoint");
  Jobs one(1);
  one.front().call = std::move(call);
  one.front().started_at = now;
  if (auto ready = prepare(one.front(), *pool->second); !ready) {
    return refuse(BrokenBy::Invalid, ready.error().text);
  }
  POSTRIDER_CHECK(jobs_.emplace(id, one.begin()).second);  // Two running calls must not share an id.
  Jobs& lane = pool->second->waiting(one.front().call.lane);
  lane.splice(lane.end(), one);
}

void Loop::Impl::abort(CallId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  Job& job = *it->second;
  if (job.connection != nullptr) return job.connection->kill(BrokenBy::Aborted);
  Jobs& lane = pools_.at(job.call.provider)->waiting(job.call.lane);
  job.started_at = clock_.now();
  end(lane, job, Broken{BrokenAt::Nothing, BrokenBy::Aborted, "stopped while it waited"});
}

void Loop::Impl::stop() {
  stopping_ = true;
  std::vector<CallId> ids;
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  for (const CallId id : ids) abort(id);
  for (Connection* connection : connections_) connection->kill(BrokenBy::Aborted);
  reap_timer_.cancel();
  watch_.stop();
  work_.reset();  // The loop ends when the last coroutine has.
}

void Loop::Impl::dispatch(Pool& pool) {
  while (Job* job = pool.take_next()) {
    if (is_too_late(pool, *job)) continue;
    set_off(*job);
    if (Connection* idle = pool.take_idle(job->target->key)) {
      give(*job, *idle);
      wake(*idle);
      continue;
    }
    if (pool.open >= pool.connections_max()) {
      if (Connection* oldest = pool.take_oldest_idle()) close(*oldest);
    }
    spawn(pool, *job);
  }
}

bool Loop::Impl::may_begin(const Call& call) const {
  return clock_.steady() <= call.start_by && (call.expires_at == Instant::max() || clock_.now() < call.expires_at);
}

// A call that waited here until nobody may begin it any more goes back as if it had never been started.
bool Loop::Impl::is_too_late(Pool& pool, Job& job) {
  if (may_begin(job.call)) return false;
  job.started_at = clock_.now();
  pool.release(job.call.lane);
  end(pool.running(), job, not_to_be_begun());
  return true;
}

// The one deadline of the call begins when a connection takes it; waiting for one is not the provider's fault.
void Loop::Impl::set_off(Job& job) {
  job.started_at = clock_.now();
  const Duration wanted = job.call.timeout > Duration{} ? job.call.timeout : kTimeoutDefault;
  job.deadline = Steady::now() + std::min(wanted, kTimeoutMax);
}

void Loop::Impl::give(Job& job, Connection& connection) {
  job.connection = &connection;
  connection.job = &job;
}

void Loop::Impl::spawn(Pool& pool, Job& job) {
  auto connection = std::make_shared<Connection>(io_, pool, *job.target);
  ++pool.open;
  connections_.insert(connection.get());
  give(job, *connection);
  reap_later();
  asio::co_spawn(io_.get_executor(), run(std::move(connection)), die_of);
}

// The life of a connection: opened for one call, kept for others, closed when it is idle for long or not to be trusted.
Awaitable<void> Loop::Impl::run(std::shared_ptr<Connection> connection) {
  Connection& c = *connection;
  if (auto failed = co_await open_connection(c, hosts_)) {
    end_running(c, std::move(*failed));
    co_return leave(c);
  }
  if (c.target.protocol == Protocol::Http) {
    co_await run_watched(c);
    co_return leave(c);
  }
  for (;;) {
    // Connecting, or being woken, took time of its own: this is the last look before anything can act.
    if (!may_begin(c.job->call)) {
      end_running(c, not_to_be_begun());
      if (!take_another(c)) break;
      continue;
    }
    auto exchanging = c.target.protocol == Protocol::Smtp ? mail_exchange(c, *c.job) : http_exchange(c, *c.job);
    Exchange exchange = co_await std::move(exchanging);
    if (exchange.then == Exchange::Then::RepeatFresh && !c.job->retried) {
      c.job->retried = true;
      break;
    }
    end_running(c, std::move(exchange.reply));
    c.used = true;
    if (exchange.then != Exchange::Then::Keep || c.killed_by || stopping_) break;
    // Nothing was behind the answer when it was read; only a wait leaves time for the peer to say or close something.
    if (take_another(c)) continue;
    co_await park(c);
    if (c.job == nullptr || !c.stream.is_quiet()) break;
  }
  leave(c);
}

// Whoever takes one looks whether it may still be begun.
bool Loop::Impl::take_another(Connection& c) {
  Job* next = c.pool.take_next_for(c.target.key);
  if (next == nullptr) return false;
  set_off(*next);
  give(*next, c);
  return true;
}

// Plain HTTP, which is most of it: calls follow each other in ready() without a coroutine; this one only waits until
// the connection is not to be used any more.
Awaitable<void> Loop::Impl::run_watched(Connection& c) {
  if (const error_code error = watch_.add(c)) {
    end_running(c, Broken{BrokenAt::Nothing, BrokenBy::Connect, error.message()});
    co_return;
  }
  c.event.expires_at(Steady::time_point::max());
  go_on(c);
  while (!c.given_up && !c.killed_by && !c.closed) (void)co_await c.event.async_wait(kToken);
  if (!c.exchanging) co_return;
  // Killed in the middle of it.
  const Job& job = *c.job;
  const BrokenAt at = c.http.sent != BrokenAt::Nothing || job.written == 0 ? c.http.sent : BrokenAt::Partly;
  end_running(c, broken(c, at, BrokenBy::Reset, {}));
}

// Begins the call that the connection was given, and the next ones while they end at once.
void Loop::Impl::go_on(Connection& c) {
  do {
    // Connecting, or being woken, took time of its own: this is the last look before anything can act.
    if (!may_begin(c.job->call)) {
      end_running(c, not_to_be_begun());
      continue;
    }
    c.exchanging = true;
    auto ended = begin_exchange(c, *c.job);
    if (!ended) return;
    if (!finish(c, std::move(*ended))) return give_up(c);
  } while (take_another(c));
  rest(c);
}

// Something came, or there is room to send more. If nobody asked for anything, the peer has closed or spoken unasked:
// both end the connection.
void Loop::Impl::ready(Connection& c) {
  if (c.closed || c.given_up || c.killed_by) return;
  if (!c.exchanging) {
    if (!c.stream.is_quiet()) give_up(c);
    return;
  }
  auto ended = continue_exchange(c, *c.job);
  if (!ended) return;
  if (!finish(c, std::move(*ended)) || c.peer_closed) return give_up(c);
  // Nothing was behind the answer when it was read; only a wait leaves time for the peer to say or close something.
  take_another(c) ? go_on(c) : rest(c);
}

// Whether the connection may be used for another call.
bool Loop::Impl::finish(Connection& c, Exchange exchange) {
  c.exchanging = false;
  if (exchange.then == Exchange::Then::RepeatFresh && !c.job->retried) {
    c.job->retried = true;  // it stays the connection's, and goes on with a fresh one
    return false;
  }
  end_running(c, std::move(exchange.reply));
  c.used = true;
  return exchange.then == Exchange::Then::Keep && !c.killed_by && !stopping_;
}

void Loop::Impl::rest(Connection& c) {
  c.idle_since = Steady::now();
  c.pool.put_idle(c);
  dispatch(c.pool);  // Somebody else's target may have waited for this place.
}

void Loop::Impl::give_up(Connection& c) {
  c.given_up = true;
  c.pool.forget_idle(c);
  c.event.cancel();
}

// An idle connection was given a call.
void Loop::Impl::wake(Connection& c) {
  if (c.watched) return c.stream.is_quiet() ? go_on(c) : give_up(c);
  error_code ignored;
  c.stream.socket().cancel(ignored);
}

// Idle until dispatch() gives it a call and cancels the wait. If anything can be read meanwhile, the peer has closed or
// said something that nobody asked for: both end the connection.
Awaitable<void> Loop::Impl::park(Connection& c) {
  c.idle_since = Steady::now();
  c.pool.put_idle(c);
  dispatch(c.pool);  // Somebody else's target may have waited for this place.
  if (c.job == nullptr && !c.closed) (void)co_await c.stream.wait_readable();
}

// The connection ends. A call that it was given and has not begun goes on with a fresh one.
void Loop::Impl::leave(Connection& c) {
  Job* orphan = std::exchange(c.job, nullptr);
  close(c);
  if (orphan != nullptr && !c.killed_by) {
    spawn(c.pool, *orphan);
  } else if (orphan != nullptr) {
    c.job = orphan;
    end_running(c, broken(c, BrokenAt::Nothing, BrokenBy::Aborted, {}));
  }
  if (!stopping_) dispatch(c.pool);
}

void Loop::Impl::close(Connection& c) {
  if (std::exchange(c.closed, true)) return;
  c.pool.forget_idle(c);
  if (c.mail.ready && !c.killed_by && !c.stream.is_tls()) c.stream.send_last("QUIT\r\n");
  c.stream.close();
  c.event.cancel();
  connections_.erase(&c);
  --c.pool.open;
}

void Loop::Impl::reap_later() {
  if (std::exchange(reaping_, true) || stopping_) return;
  reap_timer_.expires_after(kReapEvery);
  reap_timer_.async_wait([this](const error_code& error) {
    reaping_ = false;
    if (error || stopping_) return;
    reap();
    if (!connections_.empty()) reap_later();
  });
}

void Loop::Impl::reap() {
  const auto now = Steady::now();
  std::vector<Connection*> idle_too_long;
  for (Connection* c : connections_) {
    if (c->job != nullptr && now >= c->job->deadline) {
      c->kill(BrokenBy::Timeout);
    } else if (now >= c->attempt_until) {
      c->stream.close();  // The next address has its turn.
    } else if (c->job == nullptr && now - c->idle_since > kIdleMax) {
      idle_too_long.push_back(c);
    }
  }
  for (Connection* c : idle_too_long) close(*c);
}

void Loop::Impl::end_running(Connection& c, Reply reply) {
  Job& job = *std::exchange(c.job, nullptr);
  if (freed_memory_is_wiped.load(std::memory_order_relaxed)) c.forget_answer();  // it may repeat a secret
  c.pool.release(job.call.lane);
  end(c.pool.running(), job, std::move(reply));
}

void Loop::Impl::end(Jobs& list, Job& job, Reply reply) {
  hand_over({job.call.id, std::move(reply), job.started_at, clock_.now()});
  const auto it = jobs_.find(job.call.id);
  const Jobs::iterator at = it->second;
  jobs_.erase(it);
  list.erase(at);
}

// What ends in one turn of the loop goes to the sink together.
void Loop::Impl::hand_over(CallEnd end) {
  ended_.push_back(std::move(end));
  if (ended_.size() == 1) asio::post(io_, [this] { sink_(std::exchange(ended_, {})); });
}

}  // namespace postrider::net
