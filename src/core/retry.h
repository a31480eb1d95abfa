// Policies: how often, how long between, how long one call may take.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/channel.h"
#include "core/lane.h"

namespace postrider {

enum class PolicyKind : std::uint8_t { Exponential, Fixed, Ladder };

struct Policy {
  PolicyKind kind = PolicyKind::Exponential;
  Duration base = std::chrono::seconds{60};  // exponential: first delay; fixed: every delay
  double factor = 2.0;
  Duration cap = std::chrono::minutes{16};
  Duration jitter{};
  std::vector<Duration> ladder = {};
  int attempts_max = 5;  // provider calls, the first included
  Duration timeout = std::chrono::seconds{30};
};

/// The wait after the `attempt`-th call failed (1 = the first): min(base·factor^(attempt-1), cap) + draw over [0,
/// jitter).
Duration retry_delay(const Policy& policy, int attempt, std::uint64_t draw);

/// Shipped presets by name: "booking" (1-2-4-8-16 min, 5 calls), "fixed", "sms", "email", "push", "ladder"
/// (30 s, 2 m, 10 m, 30 m, 2 h), "lane-priority", "lane-standard", "lane-bulk".
std::optional<Policy> preset_policy(std::string_view name);
std::vector<std::string_view> preset_policy_names();

/// Which deliveries a policy is for; an empty field matches everything.
struct PolicyRule {
  std::string origin = {};
  std::optional<Channel> channel = {};
  std::string type = {};
  std::optional<Lane> lane = {};
  Policy policy = {};
};

struct PolicyQuery {
  std::string_view origin;
  Channel channel;
  std::string_view type;
  Lane lane;
};
/// The most specific rule that matches (more fields first; ties: origin, then channel, then type, then lane). Where no
/// rule for the origin, the channel or the type matches, the lane's rule or preset.
const Policy& choose_policy(const std::vector<PolicyRule>& rules, const PolicyQuery& query);

}  // namespace postrider
