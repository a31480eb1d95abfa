// How a target reads its bytes. Fields are separated by the byte 1E, so that a seed stays readable; where the way the
// bytes are cut matters, the cuts are drawn from the bytes themselves, so that an input alone repeats a run.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"

namespace postrider::fuzz {

inline constexpr char kSeparator = '\x1e';

/// A finding is a failed POSTRIDER_CHECK: it ends the process, and libFuzzer keeps the input.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  /// 0 when nothing is left.
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  /// Up to the next separator, which is dropped.
  std::string field() {
    const std::size_t end = std::min(rest_.find(kSeparator), rest_.size());
    std::string text{rest_.substr(0, end)};
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return text;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// Draws that depend on nothing but the bytes (FNV-1a as the seed).
inline Prng draws_from(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
  return Prng{hash};
}

enum class Cut : std::uint8_t { Whole, Pieces, Bytes };

/// The same bytes in one piece, in pieces that are mostly short, or one by one.
inline std::vector<std::string_view> cut(std::string_view bytes, Cut how) {
  if (how == Cut::Whole) return {bytes};
  std::vector<std::string_view> pieces;
  Prng random = draws_from(bytes);
  while (!bytes.empty()) {
    const std::size_t longest = how == Cut::Bytes ? 1 : random.below(4) == 0 ? 200 : 4;
    const std::size_t wanted = 1 + random.below(longest);
    const std::size_t count = std::min<std::size_t>(bytes.size(), wanted);
    pieces.push_back(bytes.substr(0, count));
    bytes.remove_prefix(count);
  }
  return pieces;
}

}  // namespace postrider::fuzz
