// The model store as seen over a bad line: verbs fail before they happen, or
// happen without an answer. What was committed is shown to the checkers,
// whether anybody learns of it or not.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/clockwork.h"
#include "support/content_forwards.h"

namespace postrider::sim {

class World;

class SimSession final : public ContentForwards {
 public:
  SimSession(World& world, Owner owner, std::unique_ptr<StoreSession> real)
      : world_(world), owner_(owner), real_(std::move(real)) {}

  void use_ids(IdSource& ids) override { real_->use_ids(ids); }

  Result<std::vector<std::vector<Admitted>>> accept(Instant now, std::span<const IntakeGroup> groups) override;
  Result<ExpandReport> expand(Instant now, NodeId node, std::size_t rows_max, const ExpandDecision& decide) override;
  Result<std::vector<ExpandWork>> claim_expand(Instant now, NodeId node, std::size_t count) override;
  Result<ExpandSteps> expand_chunks(Instant now, std::span<const ExpandStep> steps) override;
  Result<Done> defer_expand(Instant now, const Lease& lease, Instant due_at, Reason reason,
                            std::string detail) override;
  Result<std::vector<QueueHead>> heads(Look look) override;
  Result<std::vector<LateDelivery>> late_deliveries(std::span<const RowId> ids) override;
  Result<std::vector<Claim>> claim(Instant now, const ClaimRequest& request) override;
  Result<std::vector<Recorded>> record(Instant now, std::span<const Completion> completions) override;
  Result<Done> give_back(Instant now, std::span<const Lease> leases) override;
  Result<Promoted> promote(Instant now, std::size_t count) override;
  Result<std::vector<Claim>> take_over(Instant now, NodeId node, std::size_t count) override;
  Result<std::size_t> expire(Instant now, std::size_t count) override;
  Result<Instant> database_now() override;
  Result<NodeLease> join(Instant now, std::string_view name) override;
  Result<std::vector<Peer>> beat(Instant now, NodeId node) override;
  Result<Done> remove(NodeId node) override;
  Result<Acted> cancel(Instant now, const OperatorAction& action, std::span<const RowId> ids) override;
  Result<Acted> suppress(Instant now, const OperatorAction& by, std::span<const Suppression> wanted) override;

  Result<Acted> retry(Instant now, const OperatorAction& action, std::span<const RowId> ids) override;
  Result<Acted> discard(Instant now, const OperatorAction& action, std::span<const RowId> ids) override;
  Result<Acted> dispatch(Instant now, const OperatorAction& action, std::span<const RowId> ids) override;

  // --- not used by the stages
  Result<std::optional<std::int64_t>> lead(Instant now, NodeId node, std::string_view duty, Duration ttl) override {
    return real_->lead(now, node, duty, ttl);
  }
  Result<std::vector<TenantId>> tenants(std::span<const std::string> names) override { return real_->tenants(names); }
  Result<std::vector<ProviderId>> providers(std::span<const std::string> names) override {
    return real_->providers(names);
  }
  Result<MessageView> message(std::optional<TenantId> tenant, const Uuid& id, const DeliveryRange& range) override {
    return real_->message(tenant, id, range);
  }
  Result<std::vector<ListItem>> list(const ListFilter& filter) override { return real_->list(filter); }
  Result<std::vector<SandboxItem>> sandbox(std::optional<TenantId> tenant, std::span<const ProviderId> providers,
                                           std::optional<RowId> before, std::size_t count) override {
    return real_->sandbox(tenant, providers, before, count);
  }
  Result<QueueStats> stats(std::optional<TenantId> tenant) override { return real_->stats(tenant); }
  Result<Acted> replay(Instant now, const OperatorAction& action, std::span<const Uuid> ids) override {
    return real_->replay(now, action, ids);
  }
  Result<ApiKey> add_key(Instant now, ApiKey key) override { return real_->add_key(now, std::move(key)); }
  Result<std::vector<ApiKey>> keys() override { return real_->keys(); }
  Result<Done> revoke_key(Instant now, std::int64_t id) override { return real_->revoke_key(now, id); }

 private:
  StoreSession& real() override { return *real_; }
  template <class Verb>
  auto read(const char* name, Verb verb) -> decltype(verb());
  template <class Verb>
  auto write(const char* name, Verb verb) -> decltype(verb());

  /// What a process that died in this step still wants does not happen.
  [[nodiscard]] bool is_gone() const;
  [[nodiscard]] bool may_die() const;

  World& world_;
  Owner owner_;
  bool joined_ = false;
  std::unique_ptr<StoreSession> real_;
};

}  // namespace postrider::sim
