#include "core/retry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace postrider {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

Policy exponential(Duration base, Duration cap, Duration jitter, int attempts_max, Duration timeout) {
  return {.kind = PolicyKind::Exponential,
          .base = base,
          .factor = 2.0,
          .cap = cap,
          .jitter = jitter,
          .attempts_max = attempts_max,
          .timeout = timeout};
}

using Named = std::pair<std::string_view, Policy>;
const std::array<Named, 9>& presets() {
  static const std::array<Named, 9> kPresets{{
      {"booking", exponential(minutes{1}, minutes{16}, Duration{0}, 5, seconds{30})},
      {"fixed", {.kind = PolicyKind::Fixed, .base = seconds{60}, .attempts_max = 10, .timeout = seconds{30}}},
      {"sms", exponential(seconds{3}, seconds{120}, seconds{1}, 4, seconds{20})},
      {"email", exponential(seconds{5}, seconds{600}, seconds{1}, 6, seconds{30})},
      {"push", exponential(seconds{2}, seconds{300}, milliseconds{500}, 3, seconds{15})},
      {"ladder",
       {.kind = PolicyKind::Ladder,
        .ladder = {seconds{30}, minutes{2}, minutes{10}, minutes{30}, hours{2}},
        .attempts_max = 5,
        .timeout = seconds{30}}},
      {"lane-priority", exponential(seconds{3}, seconds{120}, seconds{1}, 3, seconds{15})},
      {"lane-standard", exponential(seconds{5}, seconds{600}, seconds{1}, 6, seconds{30})},
      {"lane-bulk", exponential(seconds{5}, seconds{600}, seconds{1}, 6, seconds{30})},
  }};
  return kPresets;
}

const Policy& lane_preset(Lane lane) {
  const auto& all = presets();
  switch (lane) {
    case Lane::Priority: return all[6].second;
    case Lane::Standard: return all[7].second;
    case Lane::Bulk: return all[8].second;
  }
  POSTRIDER_DIE("a Lane outside its enum");
}

bool matches(const PolicyRule& rule, const PolicyQuery& query) {
  return (rule.origin.empty() || rule.origin == query.origin) && (!rule.channel || *rule.channel == query.channel) &&
         (rule.type.empty() || rule.type == query.type) && (!rule.lane || *rule.lane == query.lane);
}

int specificity(const PolicyRule& rule) {
  const int fields =
      int{!rule.origin.empty()} + int{rule.channel.has_value()} + int{!rule.type.empty()} + int{rule.lane.has_value()};
  return fields * 16 + int{!rule.origin.empty()} * 8 + int{rule.channel.has_value()} * 4 + int{!rule.type.empty()} * 2 +
         int{rule.lane.has_value()};
}

}  // namespace

Duration retry_delay(const Policy& policy, int attempt, std::uint64_t draw) {
  POSTRIDER_CHECK(attempt >= 1);
  Duration wait = policy.base;
  switch (policy.kind) {
    case PolicyKind::Fixed: break;
    case PolicyKind::Exponential: {
      const double grown = static_cast<double>(policy.base.count()) * std::pow(policy.factor, attempt - 1);
      wait = grown >= static_cast<double>(policy.cap.count()) ? policy.cap : Duration{static_cast<std::int64_t>(grown)};
      break;
    }
    case PolicyKind::Ladder: {
      if (policy.ladder.empty()) break;
      const std::size_t step = std::min(static_cast<std::size_t>(attempt - 1), policy.ladder.size() - 1);
      wait = policy.ladder[step];
      break;
    }
  }
  if (policy.jitter.count() > 0)
    wait += Duration{static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(policy.jitter.count()))};
  return wait;
}

std::optional<Policy> preset_policy(std::string_view name) {
  for (const auto& [preset, policy] : presets()) {
    if (preset == name) return policy;
  }
  return std::nullopt;
}

std::vector<std::string_view> preset_policy_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, policy] : presets()) names.push_back(name);
  return names;
}

const Policy& choose_policy(const std::vector<PolicyRule>& rules, const PolicyQuery& query) {
  const PolicyRule* best = nullptr;
  for (const PolicyRule& rule : rules) {
    if (matches(rule, query) && (best == nullptr || specificity(rule) > specificity(*best))) best = &rule;
  }
  return best != nullptr ? best->policy : lane_preset(query.lane);
}

}  // namespace postrider
