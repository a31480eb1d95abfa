// What is counted for each event type, bounded: a producer that makes up types fills neither the memory nor the
// metrics.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "core/lifecycle.h"

namespace postrider {

/// How many event types are counted by their names; the others are counted together.
inline constexpr std::size_t kCountedTypesMax = 100;
inline constexpr const char* kOtherTypes = "other";

/// How long calls took: a histogram.
struct CallTimes {
  static constexpr std::array kBoundsMs{5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10'000};

  void add(Duration took) {
    if (took < Duration{}) took = {};
    std::size_t bucket = 0;
    while (bucket < kBoundsMs.size() && took > std::chrono::milliseconds{kBoundsMs.at(bucket)}) ++bucket;
    ++buckets.at(bucket);
    ++calls;
    total += took;
  }
  void add(const CallTimes& others) {
    for (std::size_t i = 0; i < buckets.size(); ++i) buckets.at(i) += others.buckets.at(i);
    calls += others.calls;
    total += others.total;
  }

  std::array<std::uint64_t, kBoundsMs.size() + 1> buckets = {};  // each alone; the last is above every bound
  std::uint64_t calls = 0;
  Duration total = {};
};

/// What came of the deliveries of one type.
struct TypeCounts {
  std::uint64_t& ended(DeliveryState state) { return states.at(static_cast<std::size_t>(state)); }
  [[nodiscard]] std::uint64_t ended(DeliveryState state) const { return states.at(static_cast<std::size_t>(state)); }

  std::array<std::uint64_t, kDeliveryStates.size() + 1> states = {};  // by the state's number, which begins at 1
  std::uint64_t attempts = 0;
  CallTimes times = {};
};

class CountedTypes {
 public:
  CountedTypes() = default;
  CountedTypes(const CountedTypes&) = delete;  // it points into itself
  CountedTypes& operator=(const CountedTypes&) = delete;
  /// Where this type is counted: under its own name, while there is room for one more. Deliveries of one type come in
  /// a row, so the last one is looked at first.
  [[nodiscard]] TypeCounts& of(const std::string& type) {
    if (last_ != nullptr && last_->first == type) return last_->second;
    auto known = types_.find(type);
    if (known == types_.end()) {
      if (types_.size() >= kCountedTypesMax) return other_;
      known = types_.try_emplace(type).first;
    }
    last_ = &*known;
    return last_->second;
  }
  /// Those that have a name of their own.
  [[nodiscard]] const std::map<std::string, TypeCounts>& named() const { return types_; }
  [[nodiscard]] const TypeCounts& others() const { return other_; }

 private:
  std::map<std::string, TypeCounts> types_;
  TypeCounts other_ = {};
  std::map<std::string, TypeCounts>::value_type* last_ = nullptr;
};

}  // namespace postrider
