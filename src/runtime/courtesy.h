// Where applications and the engine share the processors, what the applications commit goes first, for a while.
#pragma once
#include "base/time.h"
#include "ports/store.h"

namespace postrider {

/// Whether the calling thread lately waited for a processor, as Linux counts it.
class Crowding {
 public:
  [[nodiscard]] bool look();
  /// How long it ran and how long it waited, in all.
  [[nodiscard]] bool after(std::uint64_t ran, std::uint64_t waited);

 private:
  std::uint64_t ran_ = 0, waited_ = 0;  // nanoseconds
};

/// How long the outbox is left alone after a turn, so that those who fill it at that moment get on.
class Courtesy {
 public:
  Duration after(const OutboxProgress& progress, Duration took, Instant ended, bool crowded);

 private:
  std::int64_t newest_ = 0;
  Instant ended_ = {};
};

}  // namespace postrider
