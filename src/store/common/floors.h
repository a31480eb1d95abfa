// Up to where a session has claimed lately, so that a claim does not walk again over rows that are held, or that are
// gone and cannot be swept away because somebody keeps an old snapshot. What comes to stand before it is found by
// walks: every kAge over what was made in the last moments (a transaction that committed late), and from the very front
// (a row that was given back) as often as that is cheap.
#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include "ports/store.h"

namespace postrider::common {

class Floors {
 public:
  /// Where to begin; 0: at the front.
  std::int64_t floor(const QueueGroup& group, ClaimWhat what, Instant now) {
    Floor& known = floors_[{group, what}];
    const auto due = [now](Instant at, Duration every) { return now - at >= every || now < at; };
    if (due(known.walked_at, known.walk_every)) {
      known.walked_at = known.looked_back_at = now;
      known.walked = true;
      return 0;
    }
    if (due(known.looked_back_at, kAge)) {
      known.looked_back_at = now;
      return std::min(known.position, id_floor(now - kLookBack));
    }
    return known.position;
  }
  /// How long the claim took that began there: a walk that is dear is made rarely.
  void took(const QueueGroup& group, ClaimWhat what, Duration time) {
    Floor& known = floors_[{group, what}];
    if (!known.walked) return;
    known.walked = false;
    known.walk_every = std::clamp(time * kRarer, kAge, kRarest);
  }
  void claimed(const QueueGroup& group, ClaimWhat what, std::int64_t position) {
    std::int64_t& floor = floors_[{group, what}].position;
    floor = std::max(floor, position);
    newest_ = std::max(newest_, floor);
  }
  /// The groups whose last claimed rows are about as new as the newest of all, and up to where each was claimed. Rows
  /// that may be called only once are few and have no part in it.
  [[nodiscard]] std::vector<std::pair<QueueGroup, std::int64_t>> lately() const {
    std::vector<std::pair<QueueGroup, std::int64_t>> found;
    for (const auto& [key, floor] : floors_) {
      const bool late = id_time(floor.position) + kLately >= id_time(newest_);
      if (key.second == ClaimWhat::Prefetchable && late) found.emplace_back(key.first, floor.position);
    }
    return found;
  }
  void forget(const QueueGroup& group) {
    for (const ClaimWhat what : {ClaimWhat::Prefetchable, ClaimWhat::AtMostOnceOnly}) floors_.erase({group, what});
  }

 private:
  struct Floor {
    std::int64_t position = 0;
    Instant walked_at = {};       // from the front
    Instant looked_back_at = {};  // over the last moments
    Duration walk_every = kAge;
    bool walked = false;  // by the claim that is under way
  };
  static constexpr Duration kAge = std::chrono::milliseconds{250};
  static constexpr Duration kLookBack = std::chrono::milliseconds{500};
  static constexpr int kRarer = 400;  // a walk is at most this part of the time
  static constexpr Duration kRarest = std::chrono::seconds{10};
  static constexpr Duration kLately = std::chrono::seconds{5};
  std::map<std::pair<QueueGroup, ClaimWhat>, Floor> floors_;
  std::int64_t newest_ = 0;  // position that was claimed
};

}  // namespace postrider::common
