// Which faults a seed draws, and how often they strike. Each seed has its own
// mixture (a swarm): some seeds know no crash but a hundred lost answers,
// others the reverse.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "base/prng.h"
#include "base/time.h"

namespace postrider::sim {

enum class Fault : std::uint8_t {
  Crash,          // a process is gone between any two steps
  CrashAtVerb,    // just before a verb of the store is committed, or just after
  CrashAtCall,    // just after a request left, or just after its answer came
  Stall,          // a process does nothing for longer than its lease, then goes on as if
                  // nothing had been
  Restart,        // a process is asked to end, and another one starts
  StoreRefuses,   // a verb fails, nothing happened
  AnswerLost,     // a verb happened, and nobody was told
  CommitUnknown,  // a verb did not happen, and nobody can say so
  StoreGone,      // every verb fails for a while
  SlowStore,      // an answer takes longer than a lease
  ClockStep,      // the database's clock jumps
  RepeatedSend,   // a producer sends the same again
  ConnectFails,
  CallBreaks,  // the request left, no answer came
  CallHangs,
  SlowAnswer,     // later than the lease
  ServerFault,    // 500, whether it acted or not
  Busy,           // 503, 451
  RateLimit,      // 429
  Refused,        // 400, 550
  Misconfigured,  // 401
  ProviderDown,   // for minutes or hours
  ContextGone,    // the application's database cannot be asked
  ContextSlow,    // its answer takes longer than a lease
};
inline constexpr std::size_t kFaults = 24;
std::string_view name_of(Fault fault);

class Faults {
 public:
  explicit Faults(Prng& random);

  /// Whether it strikes now; counted when it does.
  bool strikes(Fault fault);
  /// How likely it is, in thousandths.
  [[nodiscard]] int likely(Fault fault) const { return per_mille_[static_cast<std::size_t>(fault)]; }
  void count(Fault fault) { ++counts_[static_cast<std::size_t>(fault)]; }
  /// From now on nothing fails any more.
  void heal() { healed_ = true; }
  [[nodiscard]] bool healed() const { return healed_; }
  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] std::uint64_t count_of(Fault fault) const { return counts_[static_cast<std::size_t>(fault)]; }

 private:
  Prng& random_;
  std::array<int, kFaults> per_mille_ = {};
  std::array<std::uint64_t, kFaults> counts_ = {};
  bool healed_ = false;
};

}  // namespace postrider::sim
