// What lies behind the transport: connections that break, and providers with a
// ledger of their own. A request that left arrives, whatever becomes of the
// process that sent it.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "ports/transport.h"
#include "sim/clockwork.h"
#include "sim/watcher.h"

namespace postrider::sim {

class World;
class Process;

class Network {
 public:
  explicit Network(World& world) : world_(world) {}
  void start(Process& from, Call call);
  void abort(Process& from, CallId id);
  /// Nobody is left to hear the answers.
  void forget(Owner process);
  void provider_down(ProviderId provider, Duration until) { down_until_[provider] = until; }

 private:
  using Key = std::pair<Owner, CallId>;
  struct Open {
    Call call = {};
    Instant started_at = {};
    Instant decided_at = {};
    bool begun = false;    // bytes left
    CallFacts facts = {};  // once begun
  };
  enum class Fate : std::uint8_t { Ok, Connect, Partly, Breaks, Hangs, Fault, Busy, Limited, Refused, Misconfigured };

  void begin(Process& from, const Key& key);
  Fate draw(ProviderId provider);
  [[nodiscard]] std::string repeated(const Request& request);
  [[nodiscard]] Reply answer(Fate fate, const Request& request);
  void end(Process& from, const Key& key, Reply reply);

  World& world_;
  std::map<Key, Open> open_;
  std::map<ProviderId, Duration> down_until_;
};

}  // namespace postrider::sim
