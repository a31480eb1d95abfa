#include "runtime/clock.h"

#include <chrono>
#include <cstring>

#include "base/crypto.h"

namespace postrider {
namespace {

constexpr std::int64_t kQuestionUsMax = 200'000;

std::int64_t monotonic_us() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Duration DatabaseClock::asking() { return Duration{monotonic_us()}; }

void DatabaseClock::set(Instant database_now, Duration asked) {
  const std::int64_t took = monotonic_us() - asked.count();
  if (took > kQuestionUsMax && offset_us_.load(std::memory_order_relaxed) != 0) return;
  offset_us_.store(to_us(database_now) - (asked.count() + took / 2), std::memory_order_relaxed);
}
Instant DatabaseClock::now() const {
  return instant_from_us(monotonic_us() + offset_us_.load(std::memory_order_relaxed));
}

Instant system_now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

std::uint64_t entropy() {
  const std::string bytes = random_bytes(sizeof(std::uint64_t));
  std::uint64_t seed = 0;
  std::memcpy(&seed, bytes.data(), sizeof seed);
  return seed;
}

}  // namespace postrider
