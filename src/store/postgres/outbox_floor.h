// Where to begin to look in the outbox, so that a look does not walk again over rows that were taken and cannot be
// swept away because somebody keeps an old snapshot. Producers commit in any order, so a look begins a moment behind
// what was taken last; what comes to stand before that (a long transaction, a row that was given back) is found by
// walks from the very front, which are made as often as they are cheap.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/time.h"

namespace postrider::postgres {

class OutboxFloor {
 public:
  static constexpr std::int64_t kFront = std::numeric_limits<std::int64_t>::min();
  /// The first positions to look at: of rows that name the priority lane, which overtake, and of the others.
  struct Begin {
    std::int64_t priority = kFront;
    std::int64_t others = kFront;
  };

  Begin begin(Instant now) {
    if (now < walked_at_ || now - walked_at_ >= walk_every_) {
      walked_at_ = now;
      walking_ = true;
      return {};
    }
    return earlier_;
  }
  /// How long the look took that began there.
  void took(Duration time) {
    if (!std::exchange(walking_, false)) return;
    walk_every_ = std::min(time * kRarer, kRarest);
  }
  /// Committed as taken, up to these positions.
  void taken(Instant now, const Begin& last) {
    last_ = {std::max(last_.priority, last.priority), std::max(last_.others, last.others)};
    if (now >= marked_at_ && now - marked_at_ < kMoment) return;
    marked_at_ = now;
    earlier_ = later_;
    later_ = last_;
  }

 private:
  static constexpr Duration kMoment = std::chrono::milliseconds{250};
  static constexpr int kRarer = 20;  // a walk is at most this part of the time
  static constexpr Duration kRarest = std::chrono::seconds{10};
  Begin earlier_ = {};  // what was taken one or two moments ago
  Begin later_ = {};
  Begin last_ = {};
  Instant marked_at_ = {};
  Instant walked_at_ = {};
  Duration walk_every_ = {};
  bool walking_ = false;
};

}  // namespace postrider::postgres
