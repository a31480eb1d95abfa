// The one source of `now`. On PostgreSQL it is the database's time carried on by the monotonic clock.
#pragma once
#include "base/time.h"

namespace postrider {
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
};
}  // namespace postrider
