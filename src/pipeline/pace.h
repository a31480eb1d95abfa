// How fast a provider takes calls, by how long they took lately, and how many it is worth having at hand for it.
#pragma once
#include <algorithm>

#include "base/time.h"
#include "core/rules.h"

namespace postrider {

class Pace {
 public:
  void ended(Duration call) { call_time_ += (std::max(Duration{}, call) - call_time_) / 16; }

  /// Calls beyond its connections, so that none of these waits for the dispatcher's next turn: as many as it takes
  /// while a machine that is full keeps the dispatcher waiting. A slow one gets none: what waits there could no longer
  /// expire or be given back.
  [[nodiscard]] int calls_ahead(const ProviderRule& rule) const {
    return call_time_ < kSlow ? calls_within(kTurnLate, rule.connections, rule.ahead) : 0;
  }
  /// Nobody else can send what is held here, and who comes later waits behind it: so no more than it takes in a while,
  /// but some for each connection.
  [[nodiscard]] int held_max(const ProviderRule& rule) const {
    return std::max(calls_within(kHeldFor, rule.connections, rule.window), 4 * rule.connections);
  }

 private:
  static constexpr Duration kSlow = std::chrono::milliseconds{20};
  static constexpr Duration kTurnLate = std::chrono::milliseconds{5};
  static constexpr Duration kHeldFor = std::chrono::seconds{1};

  [[nodiscard]] int calls_within(Duration time, int connections, int most) const {
    const Duration::rep calls = connections * time / std::max(call_time_, Duration{1});
    return static_cast<int>(std::min<Duration::rep>(calls, most));
  }

  Duration call_time_ = kSlow;
};

}  // namespace postrider
