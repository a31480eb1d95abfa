#include "runtime/courtesy.h"

#include <algorithm>
#include <fstream>
#include <utility>

namespace postrider {
namespace {

// What waits longer is owed more than those who fill the outbox: a route may be of the priority lane, whose target is
// five seconds, and only rows that name that lane themselves overtake.
constexpr Duration kLateMax = std::chrono::seconds{3};
constexpr Duration kPauseMax = std::chrono::milliseconds{50};
constexpr int kPauseTurns = 2;  // a pause lasts as long as so many turns

}  // namespace

bool Crowding::look() {
  std::ifstream file{"/proc/thread-self/schedstat"};
  std::uint64_t ran = 0, waited = 0;
  return file >> ran >> waited && after(ran, waited);
}

bool Crowding::after(std::uint64_t ran, std::uint64_t waited) {
  const std::uint64_t ran_lately = ran - std::exchange(ran_, ran);
  const std::uint64_t waited_lately = waited - std::exchange(waited_, waited);
  return waited_lately > ran_lately / 4;
}

Duration Courtesy::after(const OutboxProgress& progress, Duration took, Instant ended, bool crowded) {
  if (progress.newest == 0) return {};
  const auto came = static_cast<double>(progress.newest) - static_cast<double>(newest_);
  const auto waits = static_cast<double>(progress.newest) - static_cast<double>(progress.taken_to);
  const Duration since = ended - ended_;
  const bool known = newest_ != 0 && since > Duration{};
  newest_ = progress.newest;
  ended_ = ended;
  if (!known || !crowded || !progress.more || came <= 0) return {};
  const double late = waits / came * static_cast<double>(since.count());
  if (late > static_cast<double>(kLateMax.count())) return {};
  return std::clamp(took * kPauseTurns, Duration{}, kPauseMax);
}

}  // namespace postrider
