// The configuration: a wrong one says where and why in one line; an accepted one makes rules that the engine can work
// with, however odd its values are.
#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "core/outcome.h"
#include "fuzz/input.h"
#include "providers/registry.h"
#include "runtime/config.h"

namespace postrider {
namespace {

constexpr Instant kNow = instant_from_us(1'772'000'000'000'000);

std::string environment(const std::string& name) {
  if (name == "HOOK_SECRET") return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  if (name == "DATABASE_URL") return "postgresql://db/app";
  return "";
}
Result<std::string> file_text(const std::string& path) {
  if (path == "/run/secrets/smtp") return std::string{"hunter2\n"};
  return Error{ErrorCode::NotFound, "cannot read " + path};
}
Result<Config> parse(std::string_view text) {
  return parse_config(text, "fuzz.toml", adapters(), {environment, file_text});
}

// Every wait is one that a clock can add up, and grows no further than its cap.
void check_policy(const Policy& policy) {
  POSTRIDER_CHECK(policy.attempts_max >= 1 && policy.attempts_max <= 100);
  POSTRIDER_CHECK(policy.timeout >= std::chrono::milliseconds{100} && policy.timeout <= std::chrono::minutes{10});
  for (const int attempt : {1, 2, 7, 100}) {
    for (const std::uint64_t draw : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      const Duration wait = retry_delay(policy, attempt, draw);
      POSTRIDER_CHECK(wait >= Duration{0});
      if (policy.kind == PolicyKind::Exponential) POSTRIDER_CHECK(wait <= policy.cap + policy.jitter);
    }
    for (const OutcomeKind kind : {OutcomeKind::NotSent, OutcomeKind::Transient, OutcomeKind::Unclear}) {
      const Outcome outcome{.kind = kind, .reason = Reason::ServerBusy};
      const Verdict verdict = judge(outcome, {.attempt = attempt}, policy, kNow, ~std::uint64_t{0});
      if (verdict.state != DeliveryState::Retrying) continue;
      POSTRIDER_CHECK(verdict.due_at >= kNow && verdict.due_at <= kLastInstant);
    }
  }
}

void check_rules(const Config& config) {
  std::vector<TenantId> tenants;
  std::vector<ProviderId> providers;
  for (const auto& tenant : config.tenants)
    tenants.push_back(static_cast<TenantId>(tenants.size() + tenant.name.size()));
  for (std::size_t i = 0; i < config.providers.size(); ++i) providers.push_back(static_cast<ProviderId>(i + 1));
  const auto rules = make_rules(config, adapters(), tenants, providers);
  POSTRIDER_CHECK(rules);
  for (const PolicyRule& rule : rules->policies) check_policy(rule.policy);
  for (const ProviderRule& rule : rules->providers) {
    POSTRIDER_CHECK(rule.window >= 1 && rule.connections >= 1 && rule.ahead >= 0);
    if (rule.own_policy) check_policy(*rule.own_policy);
  }
  for (const auto& [channel, chain] : rules->chains) {
    for (const ProviderId id : chain) POSTRIDER_CHECK(rules->provider(id)->channel == channel);
  }
}

void run(std::string_view text) {
  const auto config = parse(text);
  if (!config) {
    const std::string& why = config.error().text;
    POSTRIDER_CHECK(config.error().code == ErrorCode::Invalid && why.starts_with("fuzz.toml:"));
    for (const char* secret : {"hunter2", "MfKQ9r8G"}) {  // Unless the file itself says it.
      POSTRIDER_CHECK(why.find(secret) == std::string::npos || text.find(secret) != std::string_view::npos);
    }
    POSTRIDER_CHECK(parse(text).error().text == why);
    return;
  }
  POSTRIDER_CHECK(!config->tenants.empty() && !config->http.host.empty());
  check_rules(*config);
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
