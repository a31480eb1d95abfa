// Where to begin to look in the outbox, so that a look does not walk again over rows that were taken and cannot be
// swept away because somebody keeps an old snapshot, nor over those that are no priority rows. Producers commit in any
// order, so a look begins a moment behind the last one; what comes to stand before that (a long transaction, a row that
// was given back) is found by walks from the very front, which are made as often as they are cheap.
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
  /// The first positions to look at: for rows that name the priority lane, which overtake, and for all others.
  struct Begin {
    std::int64_t priority = kFront;
    std::int64_t others = kFront;
  };

  Begin begin(Instant now) {
    Begin from = earlier_;
    if (others_.due(now)) from.others = kFront;
    if (priority_.due(now)) from.priority = kFront;
    return from;
  }
  /// How long the look took that began there.
  void took(Duration time) {
    others_.took(time, kRarer);
    priority_.took(time, kPriorityRarer);
  }
  /// Committed as taken, or as looked at for priority rows, up to these positions.
  void taken(Instant now, const Begin& last) {
    last_ = {std::max(last_.priority, last.priority), std::max(last_.others, last.others)};
    if (now >= marked_at_ && now - marked_at_ < kMoment) return;
    marked_at_ = now;
    earlier_ = later_;
    later_ = last_;
  }

 private:
  class Walks {  // from the front
   public:
    bool due(Instant now) {
      walking_ = now < at_ || now - at_ >= every_;
      if (walking_) at_ = now;
      return walking_;
    }
    void took(Duration time, int rarer) {
      if (std::exchange(walking_, false)) every_ = std::min(time * rarer, kRarest);
    }

   private:
    Instant at_ = {};
    Duration every_ = {};
    bool walking_ = false;
  };
  static constexpr Duration kMoment = std::chrono::milliseconds{50};
  static constexpr int kRarer = 20;  // a walk is at most this part of the time
  // One for priority rows passes everything that waits, and is made by what waits behind it too.
  static constexpr int kPriorityRarer = 100;
  static constexpr Duration kRarest = std::chrono::seconds{10};
  Begin earlier_ = {};  // what was taken one or two moments ago
  Begin later_ = {};
  Begin last_ = {};
  Instant marked_at_ = {};
  Walks others_ = {};
  Walks priority_ = {};
};

}  // namespace postrider::postgres
