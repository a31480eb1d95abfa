#include "sim/faults.h"

#include <algorithm>
#include <numeric>

namespace postrider::sim {
namespace {

// How likely each is when a seed has it, in thousandths per occasion.
struct Range {
  std::string_view name;
  int from = 0;
  int to = 0;
};
constexpr std::array<Range, kFaults> kRanges{
    {{"crash", 5, 60},           {"crash at a verb", 1, 8}, {"crash at a call", 2, 40}, {"stall", 5, 80},
     {"restart", 2, 20},         {"store refuses", 2, 60},  {"answer lost", 2, 25},     {"commit unknown", 2, 15},
     {"store gone", 2, 15},      {"slow store", 2, 20},     {"clock step", 2, 20},      {"repeated send", 20, 300},
     {"connect fails", 10, 300}, {"call breaks", 10, 300},  {"call hangs", 5, 150},     {"slow answer", 5, 150},
     {"server fault", 10, 250},  {"busy", 10, 300},         {"rate limit", 10, 300},    {"refused", 5, 80},
     {"misconfigured", 1, 20},   {"provider down", 1, 30},  {"context gone", 20, 300},  {"context slow", 20, 300}}};

}  // namespace

std::string_view name_of(Fault fault) { return kRanges[static_cast<std::size_t>(fault)].name; }

// With hardly any kind of fault a seed would wait for hours until enough of
// them struck.
Faults::Faults(Prng& random) : random_(random) {
  constexpr std::ptrdiff_t kKindsMin = 6;
  do {
    for (std::size_t i = 0; i < kFaults; ++i) {
      const bool has = random_.below(2) == 0;
      const auto width = static_cast<std::uint64_t>(kRanges[i].to - kRanges[i].from + 1);
      const int draw = kRanges[i].from + static_cast<int>(random_.below(width));
      per_mille_[i] = has ? draw : 0;
    }
  } while (std::count(per_mille_.begin(), per_mille_.end(), 0) > static_cast<std::ptrdiff_t>(kFaults) - kKindsMin);
}

bool Faults::strikes(Fault fault) {
  if (healed_) return false;
  const int chance = likely(fault);
  if (chance == 0 || random_.below(1000) >= static_cast<std::uint64_t>(chance)) return false;
  count(fault);
  return true;
}

std::uint64_t Faults::total() const { return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}); }

}  // namespace postrider::sim
