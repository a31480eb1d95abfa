#include "context/pool.h"

#include <fmt/format.h>

#include <algorithm>

namespace postrider::context {
namespace {

// A database that does not even answer costs its whole time-out at each try. It is left alone for a few times as long,
// so that those who ask other databases are not held up.
constexpr int kRestFactor = 5;
constexpr std::chrono::seconds kRestMax{30};
constexpr std::chrono::milliseconds kQuickRefusal{100};

}  // namespace

Result<Pool::Lent> Pool::take() {
  std::unique_lock lock(mutex_);
  const bool free = freed_.wait_for(lock, limits_.wait_max, [&] { return lent_ < limits_.connections; });
  if (!free) {
    return Error{ErrorCode::Unavailable, fmt::format("all {} connections were in use for {}", limits_.connections,
                                                     format_duration(limits_.wait_max))};
  }
  ++lent_;
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->is_sound()) return Lent{std::move(connection), false};
  }
  lock.unlock();
  return open_one();
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
  const bool keep = connection != nullptr && connection->is_sound();
  {
    const std::lock_guard lock(mutex_);
    --lent_;
    if (keep) idle_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

Result<Pool::Lent> Pool::replace(std::unique_ptr<Connection> broken) {
  broken.reset();
  return open_one();
}

Result<Pool::Lent> Pool::open_one() {
  const SteadyTime begun = std::chrono::steady_clock::now();
  auto opened = is_resting(begun);
  if (opened) opened = open_();
  if (opened) return Lent{std::move(*opened), true};
  rest_after(begun, opened.error());
  give_back({});
  return opened.error();
}

// An empty connection when it is not.
Result<std::unique_ptr<Connection>> Pool::is_resting(SteadyTime now) {
  const std::lock_guard lock(mutex_);
  if (now < rest_until_) return Error{ErrorCode::Unavailable, rest_because_};
  return std::unique_ptr<Connection>{};
}

void Pool::rest_after(SteadyTime begun, const Error& error) {
  const auto took = std::chrono::steady_clock::now() - begun;
  if (took < kQuickRefusal) return;
  const std::lock_guard lock(mutex_);
  rest_until_ = begun + took + std::min<std::chrono::steady_clock::duration>(kRestFactor * took, kRestMax);
  rest_because_ = error.text;
}

}  // namespace postrider::context
