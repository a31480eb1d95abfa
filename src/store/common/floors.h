// Up to where a session has claimed lately, so that a claim does not walk again over the rows that are held. What comes
// to stand before it (a row given back, a transaction that committed late) is found when a claim finds too little
// behind it, or kAge after the last walk from the front.
#pragma once
#include <algorithm>
#include <chrono>
#include <map>

#include "ports/store.h"

namespace postrider::common {

class Floors {
 public:
  /// Where to begin; 0: at the front.
  std::int64_t floor(const QueueGroup& group, Instant now) {
    Floor& known = floors_[group];
    if (now - known.walked_at >= kAge || now < known.walked_at) known = {0, now};
    return known.position;
  }
  void claimed(const QueueGroup& group, std::int64_t position) {
    std::int64_t& floor = floors_[group].position;
    floor = std::max(floor, position);
  }
  void forget(const QueueGroup& group) { floors_.erase(group); }

 private:
  struct Floor {
    std::int64_t position = 0;
    Instant walked_at = {};
  };
  static constexpr Duration kAge = std::chrono::milliseconds{250};
  std::map<QueueGroup, Floor> floors_;
};

}  // namespace postrider::common
