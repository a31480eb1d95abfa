// Database time carried on by the monotonic clock, so that neither a host's wrong clock nor a jump of it matters.
#pragma once
#include <atomic>

#include "ports/clock.h"

namespace postrider {

class DatabaseClock final : public Clock {
 public:
  /// `database_now` was read just now.
  void set(Instant database_now);
  [[nodiscard]] Instant now() const override;
  [[nodiscard]] Instant steady() const override;

 private:
  std::atomic<std::int64_t> offset_us_{0};  // database time minus monotonic time
};

/// The host's wall clock: for what has no database yet, and for SQLite, whose time is the host's.
Instant system_now();
/// Seeds for Prng from the system's entropy.
std::uint64_t entropy();

}  // namespace postrider
