// The one source of `now`. On PostgreSQL it is the database's time carried on by the monotonic clock.
#pragma once
#include "base/time.h"

namespace postrider {
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
  /// Never steps, and goes on while the machine sleeps: for leases, waits and everything else that is only measured.
  /// Not a time of day.
  [[nodiscard]] virtual Instant steady() const { return now(); }
  [[nodiscard]] Moment moment() const { return {now(), steady()}; }
};
}  // namespace postrider
