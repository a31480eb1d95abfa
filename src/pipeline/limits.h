// Rates and concurrency that are not to be passed: what is over them waits in the queue, and this says why.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fair_share.h"
#include "core/rules.h"
#include "ports/store.h"

namespace postrider {

/// Why what waits in a group is not claimed at the moment.
struct LimitWait {
  QueueGroup group = {};
  Reason reason = Reason::LimitedByRate;
  std::string detail = {};  // "tenant acme: 50 a second"
};

/// Rates are shared evenly by the nodes that live; concurrency is counted on each. The time is the steady one.
class Limits {
 public:
  Limits(const Rules& rules, Instant now);

  /// How many of `wanted` may be claimed now. They count at once: as taken from the rates, and as held by the tenant.
  int allow(const ProviderRule& provider, const QueueGroup& group, int wanted, Instant now);
  /// So many of what was allowed were not there, or could not be asked for.
  void count_back(ProviderId provider, TenantId tenant, int count);
  /// A claim found less than was allowed: nothing waits there any more.
  void nothing_waits(const QueueGroup& group);
  /// One of the tenant's deliveries is held no more.
  void let_go(TenantId tenant);
  void set_nodes(int nodes) { nodes_ = std::max(1, nodes); }
  /// The groups that wait because of a limit, as last asked for.
  [[nodiscard]] const std::vector<LimitWait>& waits() const { return waits_; }

 private:
  struct Guest {  // one tenant with limits
    const Tenant* rule = nullptr;
    TokenBucket tokens = {};
    int held = 0;  // claimed or being claimed
  };
  struct Allowed {
    int count = 0;
    Reason reason = Reason::LimitedByRate;
    std::string detail = {};  // what holds up the rest
  };
  Allowed by_provider(const ProviderRule& provider, int wanted, Instant now);
  Allowed by_tenant(Guest& guest, int wanted, Instant now) const;
  void note(const QueueGroup& group, Allowed allowed);

  std::map<ProviderId, TokenBucket> rates_;  // of the providers that have one
  std::map<TenantId, Guest> guests_;
  std::vector<LimitWait> waits_;
  int nodes_ = 1;
};

}  // namespace postrider
