// Random draws whose seed comes from outside, so that the simulator can repeat them. Not for secrets.
#pragma once
#include <cstdint>

namespace postrider {

/// SplitMix64: small, even, and the same on every compiler (the standard's distributions are not).
class Prng {
 public:
  explicit Prng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  /// Even over 0 … bound - 1; bound 0 gives 0.
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64U);
  }

 private:
  std::uint64_t state_;
};

}  // namespace postrider
