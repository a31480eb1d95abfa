// What is counted for each event type, bounded: a producer that makes up types fills neither the memory nor the
// metrics.
#pragma once
#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "base/time.h"

namespace postrider {

/// How many event types are counted by their names; the others are counted together.
inline constexpr std::size_t kCountedTypesMax = 100;
inline constexpr const char* kOtherTypes = "other";

class CountedTypes {
 public:
  /// The name that this type is counted under: its own, while there is room for one more.
  const std::string& label(const std::string& type) {
    if (const auto known = types_.find(type); known != types_.end()) return *known;
    return types_.size() < kCountedTypesMax ? *types_.insert(type).first : other_;
  }

 private:
  std::set<std::string> types_;
  std::string other_ = kOtherTypes;
};

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

  std::array<std::uint64_t, kBoundsMs.size() + 1> buckets = {};  // each alone; the last is above every bound
  std::uint64_t calls = 0;
  Duration total = {};
};

}  // namespace postrider
