// Drives a NetTransport from a test: calls out, ends back in.
#pragma once
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "transport/net_transport.h"

namespace postrider::test {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
};

inline Endpoint local_endpoint() {
  Endpoint endpoint;
  endpoint.internal = InternalAddresses::Allowed;
  return endpoint;
}

class Caller {
 public:
  explicit Caller(Endpoint endpoint = local_endpoint(), NetTransportOptions options = {})
      : transport_(std::make_unique<NetTransport>(
            std::map<ProviderId, Endpoint>{{ProviderId{1}, std::move(endpoint)}},
            [this](std::vector<CallEnd> ends) { take(std::move(ends)); }, clock_, options)) {}

  CallId start(Request request, Duration timeout = std::chrono::seconds{5}, Lane lane = Lane::Standard) {
    const CallId id = ++last_;
    transport_->start({Call{id, 1, lane, std::move(request), timeout}});
    return id;
  }
  CallId start_before(Instant expiry, Request request) {
    const CallId id = ++last_;
    transport_->start({Call{.id = id,
                            .provider = 1,
                            .request = std::move(request),
                            .timeout = std::chrono::seconds{5},
                            .expires_at = expiry}});
    return id;
  }
  CallId start_by(Instant latest, Request request) {
    const CallId id = ++last_;
    transport_->start({Call{id, 1, Lane::Standard, std::move(request), std::chrono::seconds{5}, latest}});
    return id;
  }
  [[nodiscard]] Instant now() const { return clock_.now(); }
  CallEnd wait(CallId id) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return ends_.contains(id); });
    return ends_.at(id);
  }
  Reply call(Request request, Duration timeout = std::chrono::seconds{5}) {
    return wait(start(std::move(request), timeout)).reply;
  }
  Reply post(const std::string& url, Duration timeout = std::chrono::seconds{5}) {
    return call(HttpRequest{"POST", url, {}, "{}"}, timeout);
  }
  void abort(std::vector<CallId> ids) { transport_->abort(std::move(ids)); }
  void destroy() { transport_.reset(); }
  Transport& transport() { return *transport_; }
  [[nodiscard]] std::vector<CallId> order() {
    const std::lock_guard lock{mutex_};
    return order_;
  }
  [[nodiscard]] int times_ended(CallId id) {
    const std::lock_guard lock{mutex_};
    return static_cast<int>(std::count(order_.begin(), order_.end(), id));
  }
  [[nodiscard]] int batches() {
    const std::lock_guard lock{mutex_};
    return batches_;
  }

 private:
  void take(std::vector<CallEnd> ends) {
    const std::lock_guard lock{mutex_};
    ++batches_;
    for (CallEnd& end : ends) {
      order_.push_back(end.id);
      ends_.insert_or_assign(end.id, std::move(end));
    }
    changed_.notify_all();
  }

  SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<CallId, CallEnd> ends_;
  std::vector<CallId> order_;
  int batches_ = 0;
  CallId last_ = 0;
  std::unique_ptr<NetTransport> transport_;
};

inline Broken as_broken(const Reply& reply) {
  const auto* found = std::get_if<Broken>(&reply);
  return found != nullptr ? *found : Broken{BrokenAt::Nothing, BrokenBy::Connect, "NOT BROKEN"};
}
inline bool is_broken(const Reply& reply, BrokenAt at, BrokenBy by) {
  const auto* found = std::get_if<Broken>(&reply);
  return found != nullptr && found->at == at && found->by == by;
}
inline std::string describe(const Reply& reply) {
  if (const auto* http = std::get_if<HttpReply>(&reply))
    return "HTTP " + std::to_string(http->status) + " " + http->body;
  if (const auto* mail = std::get_if<MailReply>(&reply)) {
    return "MAIL step " + std::to_string(static_cast<int>(mail->step)) + " " + std::to_string(mail->code) + " " +
           mail->text;
  }
  if (const auto* local = std::get_if<LocalReply>(&reply)) return "LOCAL " + local->verdict;
  const auto& broken = std::get<Broken>(reply);
  return "BROKEN at " + std::to_string(static_cast<int>(broken.at)) + " by " +
         std::to_string(static_cast<int>(broken.by)) + " " + broken.detail;
}
inline int status_of(const Reply& reply) {
  const auto* http = std::get_if<HttpReply>(&reply);
  return http != nullptr ? http->status : -1;
}

}  // namespace postrider::test
