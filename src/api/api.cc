#include "api/api.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "api/route.h"
#include "api/secret_reader.h"
#include "base/prng.h"
#include "base/secret_text.h"
#include "base/text.h"

namespace postrider {
namespace {

/// Shared with every answer that is under way, because an answer may come after the Api has gone.
class RequestCounts {
 public:
  void add(std::string_view route, int status) {
    const std::lock_guard lock{mutex_};
    ++counts_[{route, status}];
  }
  [[nodiscard]] std::map<std::pair<std::string, int>, std::uint64_t> all() const {
    const std::lock_guard lock{mutex_};
    std::map<std::pair<std::string, int>, std::uint64_t> all;
    for (const auto& [what, count] : counts_) all.emplace(what, count);
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string_view, int>, std::uint64_t> counts_;  // the names of routes last for ever
};

/// Every answer takes these along: nothing here is for caches, and nothing is to be guessed from its bytes.
Respond finished(std::shared_ptr<RequestCounts> counts, std::string_view route, Respond respond) {
  return [counts = std::move(counts), route, respond = std::move(respond)](HttpOut out) {
    counts->add(route, out.status);
    out.headers.reserve(out.headers.size() + 2);
    out.headers.emplace_back("X-Content-Type-Options", "nosniff");
    out.headers.emplace_back("Cache-Control", "no-store");
    respond(std::move(out));
  };
}

ApiError unauthenticated(std::string_view key) {
  const bool none = key.empty();
  return {.code = ApiErrorCode::Unauthenticated,
          .message = none ? "A key is needed: send the header \"Authorization: Bearer pr_…\"."
                          : "This key is not known here, or it was revoked.",
          .headers = {{"WWW-Authenticate",
                       none ? "Bearer realm=\"postrider\"" : "Bearer realm=\"postrider\", error=\"invalid_token\""}}};
}

// A proxy on this machine speaks for somebody else; it says so in these headers.
bool from_this_machine(const HttpIn& in) {
  if (in.header("x-forwarded-for") != nullptr || in.header("forwarded") != nullptr) return false;
  const std::string_view peer = in.peer;
  return peer == "::1" || peer.starts_with("127.") || peer.starts_with("::ffff:127.");
}

struct Matched {
  const ApiRoute* route = nullptr;
  std::string_view id = {};
  std::vector<std::string_view> allowed = {};  // methods of routes that fit the path
};

Matched match(const HttpIn& in) {
  Matched found;
  for (const ApiRoute& route : api_routes()) {
    const auto id = fits(route.path, in.path);
    if (!id) continue;
    found.allowed.push_back(route.method);
    if (route.method != in.method) continue;
    found.route = &route;
    found.id = *id;
    break;
  }
  return found;
}

}  // namespace

struct Api::Impl {
  explicit Impl(ApiParts given)
      : parts(std::move(given)),
        counts(std::make_shared<RequestCounts>()),
        random(parts.seed),
        workers(parts.store, parts.ids) {}

  void handle(HttpIn in, Respond respond);
  void ask_store(const ApiRoute& route, ApiRequest request, const Respond& respond);
  void authorised(const ApiRoute& route, ApiRequest request, const Respond& respond, Worker* worker);
  void run(const ApiRoute& route, ApiRequest request, const Respond& respond, Worker* worker);
  void put(std::function<void(Worker&)> job, const Respond& respond);
  void refresh_keys_soon();
  std::uint64_t draw() {
    const std::lock_guard lock{random_mutex};
    return random.next();
  }

  ApiParts parts;
  std::shared_ptr<RequestCounts> counts;
  KeyCache keys;
  std::mutex random_mutex;
  Prng random;
  std::atomic<bool> refreshing{false};
  Workers workers;  // last: its threads use the others
};

void Api::Impl::handle(HttpIn in, Respond raw) {
  const Matched found = match(in);
  const Respond respond = finished(counts, found.route != nullptr ? found.route->path : "other", std::move(raw));
  if (found.allowed.empty()) {
    return respond(to_answer({.code = ApiErrorCode::NotFound,
                              .message = "There is nothing at this path. GET /openapi.json lists what there is."}));
  }
  if (found.route == nullptr) {
    const std::string allowed = fmt::format("{}", fmt::join(found.allowed, ", "));
    return respond(to_answer({.code = ApiErrorCode::MethodNotAllowed,
                              .message = fmt::format("This path answers only to {}.", allowed),
                              .headers = {{"Allow", allowed}}}));
  }
  const ApiRoute& route = *found.route;
  ApiRequest request{.id = std::string{found.id}, .draw = draw()};
  request.in = std::move(in);
  const bool open = !route.least || (route.peers == Peers::KeyedUnlessLocal && from_this_machine(request.in));
  if (open) return run(route, std::move(request), respond, nullptr);

  const std::string_view key = bearer_key(request.in);
  if (key.empty()) return respond(to_answer(unauthenticated({})));
  KeyCache::Found known = keys.look_up(key, parts.clock.steady());
  switch (known.answer) {
    case KeyCache::Answer::Unknown: return respond(to_answer(unauthenticated(key)));
    case KeyCache::Answer::AskStore: return ask_store(route, std::move(request), respond);
    case KeyCache::Answer::Known: break;
  }
  if (known.refresh_soon) refresh_keys_soon();
  request.caller = std::move(known.caller);
  authorised(route, std::move(request), respond, nullptr);
}

void Api::Impl::ask_store(const ApiRoute& route, ApiRequest request, const Respond& respond) {
  auto job = [this, &route, request = std::move(request), respond](Worker& worker) mutable {
    const auto session = worker.session();
    const auto read = session ? keys.refresh(**session, parts.clock.steady()) : Result<Done>{session.error()};
    if (!read) return respond(to_answer(store_failed(worker, read.error())));
    const std::string_view key = bearer_key(request.in);
    KeyCache::Found known = keys.look_up(key, parts.clock.steady());
    switch (known.answer) {
      case KeyCache::Answer::Unknown: return respond(to_answer(unauthenticated(key)));
      case KeyCache::Answer::AskStore:  // the store took longer than what it said may be trusted for
        return respond(to_answer(from_store({ErrorCode::Unavailable, {}})));
      case KeyCache::Answer::Known: break;
    }
    request.caller = std::move(known.caller);
    authorised(route, std::move(request), respond, &worker);
  };
  put(std::move(job), respond);
}

void Api::Impl::refresh_keys_soon() {
  if (refreshing.exchange(true)) return;
  const auto taken = workers.put({.run =
                                      [this](Worker& worker) {
                                        if (const auto session = worker.session()) {
                                          const auto read = keys.refresh(**session, parts.clock.steady());
                                          if (!read) worker.note(read.error());
                                        }
                                        refreshing = false;
                                      },
                                  .refused = [] {}});
  if (taken != Workers::Taken::Yes) refreshing = false;
}

void Api::Impl::authorised(const ApiRoute& route, ApiRequest request, const Respond& respond, Worker* worker) {
  if (!may(request.caller.role, *route.least, route.does)) {
    return respond(to_answer({.code = ApiErrorCode::Forbidden,
                              .message = fmt::format("This needs the role {}; this key's role is {}.",
                                                     to_text(*route.least), to_text(request.caller.role))}));
  }
  run(route, std::move(request), respond, worker);
}

void Api::Impl::run(const ApiRoute& route, ApiRequest request, const Respond& respond, Worker* worker) {
  if (const auto* at_once = std::get_if<AtOnce>(&route.answer)) {
    (*at_once)(parts, request, respond);
    if (may_hold_secret(request.in.body)) wipe(request.in.body);
    return;
  }
  const WithStore with_store = std::get<WithStore>(route.answer);
  auto job = [this, with_store, request = std::move(request), respond](Worker& own) {
    const Answered answered = with_store(parts, own, request);
    const auto* error = std::get_if<ApiError>(&answered);
    respond(error != nullptr ? to_answer(*error) : std::get<HttpOut>(answered));
  };
  if (worker != nullptr) return job(*worker);
  put(std::move(job), respond);
}

void Api::Impl::put(std::function<void(Worker&)> job, const Respond& respond) {
  const auto stopping = [respond] { respond(to_answer(from_store({ErrorCode::Cancelled, {}}))); };
  switch (workers.put({.run = std::move(job), .refused = stopping})) {
    case Workers::Taken::Yes: return;
    case Workers::Taken::Stopping: return stopping();
    case Workers::Taken::Full:
      return respond(to_answer({.code = ApiErrorCode::Overloaded,
                                .message = "Too many requests are waiting. Nothing was changed; try again later."}));
  }
  POSTRIDER_DIE("a Taken outside its enum");
}

Api::Api(ApiParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
Api::~Api() { stop(); }

Handler Api::handler() {
  return [impl = impl_.get()](HttpIn in, Respond respond) { impl->handle(std::move(in), std::move(respond)); };
}

void Api::stop() { impl_->workers.stop(); }

std::map<std::pair<std::string, int>, std::uint64_t> Api::requests() const { return impl_->counts->all(); }

}  // namespace postrider
