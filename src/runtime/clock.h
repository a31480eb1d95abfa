// Database time carried on by the monotonic clock, so that neither a host's wrong clock nor a jump of it matters.
#pragma once
#include <atomic>

#include "ports/clock.h"

namespace postrider {

class DatabaseClock final : public Clock {
 public:
  /// The steady clock, read before the database is asked.
  [[nodiscard]] static Duration asking();
  /// `database_now` was read at some moment since `asked`. A question that took long (the process may have been stopped
  /// meanwhile) says too little to change a clock that is set: put back, it would make a lease look younger than it is.
  void set(Instant database_now, Duration asked);
  [[nodiscard]] Instant now() const override;
  [[nodiscard]] Instant steady() const override;

 private:
  std::atomic<std::int64_t> offset_us_{0};  // database time minus steady time; 0: not set
};

/// The host's wall clock: for what has no database yet, and for SQLite, whose time is the host's.
Instant system_now();
/// Seeds for Prng from the system's entropy.
std::uint64_t entropy();

}  // namespace postrider
