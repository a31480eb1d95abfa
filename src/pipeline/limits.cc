#include "pipeline/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/canary.h"

namespace postrider {
namespace {

// In the unit in which it is a number that one would write: "50 a second", "1 an hour".
std::string words_of_rate(double per_second) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (per_second >= 1) return fmt::format("{:g} a second", per_second);
  if (per_second * kMinute >= 1) return fmt::format("{:g} a minute", per_second * kMinute);
  return fmt::format("{:g} an hour", per_second * kHour);
}

}  // namespace

Limits::Limits(const Rules& rules, Instant now) {
  const auto bucket = [&](const Limit& limit) { return TokenBucket{{limit.per_second, limit.burst}, now}; };
  for (const ProviderRule& provider : rules.providers) {
    if (provider.limit.per_second > 0) rates_.emplace(provider.id, bucket(provider.limit));
  }
  for (const Tenant& tenant : rules.tenants) {
    if (tenant.limit.limits()) guests_[tenant.id] = {&tenant, bucket(tenant.limit)};
  }
}

int Limits::allow(const ProviderRule& provider, const QueueGroup& group, int wanted, Instant now) {
  const auto rate = rates_.find(provider.id);
  const auto guest = guests_.find(group.tenant);
  if ((rate == rates_.end() && guest == guests_.end()) || canary("limit_ignored")) return wanted;
  Allowed allowed = by_provider(provider, wanted, now);
  if (allowed.count > 0 && guest != guests_.end()) {
    Allowed own = by_tenant(guest->second, allowed.count, now);
    if (own.count < allowed.count) allowed = std::move(own);
  }
  if (rate != rates_.end()) rate->second.take(allowed.count);
  if (guest != guests_.end()) {
    guest->second.tokens.take(allowed.count);
    guest->second.held += allowed.count;
  }
  const int count = allowed.count;
  if (count < wanted) {
    note(group, std::move(allowed));
  } else {
    nothing_waits(group);
  }
  return count;
}

Limits::Allowed Limits::by_provider(const ProviderRule& provider, int wanted, Instant now) {
  const auto rate = rates_.find(provider.id);
  if (rate == rates_.end()) return {wanted};
  return {rate->second.allows(wanted, now, nodes_), Reason::LimitedByRate,
          fmt::format("provider {}: {}", provider.name, words_of_rate(provider.limit.per_second))};
}

Limits::Allowed Limits::by_tenant(Guest& guest, int wanted, Instant now) const {
  const Limit& limit = guest.rule->limit;
  const int room = limit.concurrency > 0 ? std::max(0, limit.concurrency - guest.held) : wanted;
  if (room < wanted && guest.tokens.allows(room, now, nodes_) == room) {
    return {room, Reason::LimitedByConcurrency,
            fmt::format("tenant {}: {} at a time", guest.rule->name, limit.concurrency)};
  }
  return {guest.tokens.allows(std::min(wanted, room), now, nodes_), Reason::LimitedByRate,
          fmt::format("tenant {}: {}", guest.rule->name, words_of_rate(limit.per_second))};
}

void Limits::note(const QueueGroup& group, Allowed allowed) {
  nothing_waits(group);
  waits_.push_back({group, allowed.reason, std::move(allowed.detail)});
}

void Limits::nothing_waits(const QueueGroup& group) {
  const auto is_it = [&](const LimitWait& wait) { return wait.group == group; };
  waits_.erase(std::remove_if(waits_.begin(), waits_.end(), is_it), waits_.end());
}

void Limits::count_back(ProviderId provider, TenantId tenant, int count) {
  if (const auto rate = rates_.find(provider); rate != rates_.end()) rate->second.give_back(count);
  if (const auto guest = guests_.find(tenant); guest != guests_.end()) {
    guest->second.tokens.give_back(count);
    guest->second.held -= count;
  }
}

void Limits::let_go(TenantId tenant) {
  if (const auto guest = guests_.find(tenant); guest != guests_.end()) --guest->second.held;
}

}  // namespace postrider
