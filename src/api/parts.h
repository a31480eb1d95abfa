// What the API is put together from. Nothing of it knows HTTP.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rules.h"
#include "pipeline/limits.h"
#include "ports/clock.h"
#include "ports/secrets.h"
#include "ports/store.h"

namespace postrider {

struct HealthView {
  bool store_reachable = false;
  std::string last_error = {};  // for the log and for operators; never shown without a key
  int living_nodes = 0;
  NodeId node = 0;
};

struct ApiParts {
  using Accepted = std::function<void(Result<std::vector<Admitted>>)>;

  const Rules& rules;
  const Clock& clock;
  Store& store;
  /// Answers when the group is durable (or refused), on any thread. Never waits.
  std::function<void(IntakeGroup, Accepted)> accept;
  /// Work appeared in these groups by an operator's action.
  std::function<void(std::vector<QueueGroup>)> work_appeared;
  std::function<std::string()> metrics;       // may wait
  std::function<std::string()> metrics_lite;  // may wait
  std::function<HealthView()> health;         // must not wait
  IdSource& ids;
  std::vector<ProviderId> local_providers = {};  // sandbox and shim
  std::uint64_t seed = 0;                        // for the ids of new messages
  std::function<std::vector<LimitWait>()> waits = [] { return std::vector<LimitWait>{}; };  // must not wait
  SecretSealer* sealer = nullptr;                                                           // null: secrets are refused
  /// Stored templates changed: this node's engine reads them again before its next message.
  std::function<void()> catalog_changed = [] {};
  bool (*is_locale)(std::string_view) = nullptr;  // null: every language tag is taken
};

}  // namespace postrider
