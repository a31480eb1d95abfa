#include "runtime/clock.h"

#include <time.h>

#include <chrono>
#include <cstring>

#include "base/check.h"
#include "base/crypto.h"

namespace postrider {
namespace {

constexpr std::int64_t kQuestionUsMax = 200'000;

// Since the machine started, its sleep included: a lease must not look young after one.
std::int64_t steady_us() {
  timespec at{};
  POSTRIDER_CHECK(::clock_gettime(CLOCK_BOOTTIME, &at) == 0);
  return std::int64_t{at.tv_sec} * 1'000'000 + at.tv_nsec / 1000;
}

}  // namespace

Duration DatabaseClock::asking() { return Duration{steady_us()}; }

void DatabaseClock::set(Instant database_now, Duration asked) {
  const std::int64_t took = steady_us() - asked.count();
  if (took > kQuestionUsMax && offset_us_.load(std::memory_order_relaxed) != 0) return;
  offset_us_.store(to_us(database_now) - (asked.count() + took / 2), std::memory_order_relaxed);
}
Instant DatabaseClock::now() const { return instant_from_us(steady_us() + offset_us_.load(std::memory_order_relaxed)); }

Instant DatabaseClock::steady() const { return instant_from_us(steady_us()); }

Instant system_now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

std::uint64_t entropy() {
  const std::string bytes = random_bytes(sizeof(std::uint64_t));
  std::uint64_t seed = 0;
  std::memcpy(&seed, bytes.data(), sizeof seed);
  return seed;
}

}  // namespace postrider
