#include "pipeline/refused.h"

#include <algorithm>

#include "pipeline/dispatch.h"

namespace postrider {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds{1};

SuppressionRef address_of(const Delivery& d) {
  return {d.tenant, d.channel, comparable_address(d.channel, d.recipient)};
}

}  // namespace

Result<RefusedDeliveries> RefusedCheck::among(StoreSession& store, Instant now, std::span<const Claim> claims) {
  if (claims.empty()) return RefusedDeliveries{};
  if (!looked_at_ || now - *looked_at_ >= kLookEvery || now < *looked_at_) {
    POSTRIDER_TRY(any, store.any_suppression());
    any_ = any;
    looked_at_ = now;
  }
  if (!any_) return RefusedDeliveries{};
  std::vector<SuppressionRef> refs;
  for (const Claim& claim : claims) refs.push_back(address_of(claim.delivery));
  std::sort(refs.begin(), refs.end());
  refs.erase(std::unique(refs.begin(), refs.end()), refs.end());
  POSTRIDER_TRY(found, store.find_suppressions(refs));
  std::map<SuppressionRef, std::string> words;
  for (const Suppression& s : found) {
    words.emplace(SuppressionRef{s.tenant, s.channel, comparable_address(s.channel, s.address)}, words_of(s));
  }
  RefusedDeliveries out;
  for (const Claim& claim : claims) {
    const auto hit = words.find(address_of(claim.delivery));
    if (hit != words.end()) out.emplace(claim.lease.id, hit->second);
  }
  return out;
}

// Claimed, and not called: nothing was sent, and no attempt is used up.
void Dispatcher::refuse(Claim claim, std::string why) {
  parts_.places.give_back(claim.lease.provider, 1);
  limits_.let_go(claim.lease.tenant);
  const Verdict verdict{
      .state = DeliveryState::Suppressed, .reason = Reason::SuppressedAddress, .attempt = claim.lease.attempt - 1};
  const int fence = claim.lease.fence;
  complete(Flight{.claim = std::move(claim)}, verdict, std::nullopt, std::move(why), fence);
}

}  // namespace postrider
