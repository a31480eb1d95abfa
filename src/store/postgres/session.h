// One user of the store: one connection, that is made again when it was lost. Each stage's verbs stand in a file of
// that name.
#pragma once
#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "ports/store.h"
#include "store/common/floors.h"
#include "store/postgres/connection.h"
#include "store/postgres/outbox_floor.h"
#include "store/rules.h"
#include "store/template_rules.h"

namespace postrider::postgres {

/// Keys are nearly always new. While that holds nobody asks first whether they are; after one that was not, we ask for
/// a while.
class Hope {
 public:
  bool holds() { return asking_ == 0 || --asking_ == 0; }
  void fails() { asking_ = kAskFor; }

 private:
  static constexpr int kAskFor = 50;  // transactions
  int asking_ = 0;
};

using Groups = std::set<QueueGroup>;
inline std::vector<QueueGroup> as_list(const Groups& groups) { return {groups.begin(), groups.end()}; }

class PostgresSession final : public StoreSession {
 public:
  PostgresSession(std::string url, const Statements& statements) : connection_(std::move(url), statements) {}
  /// Connects now, so that a wrong URL is seen at once.
  Result<Done> connect();

  void use_ids(IdSource& ids) override { ids_ = &ids; }

  Result<std::vector<std::vector<Admitted>>> accept(Instant now, std::span<const IntakeGroup> groups) override;

  Result<ExpandReport> expand(Instant now, NodeId node, std::size_t rows_max, const ExpandDecision& decide) override;
  Result<std::vector<ExpandWork>> claim_expand(Instant now, NodeId node, std::size_t count_max) override;
  Result<ExpandSteps> expand_chunks(Instant now, std::span<const ExpandStep> steps) override;
  Result<Done> defer_expand(Instant now, const Lease& lease, Instant due_at, Reason reason,
                            std::string detail) override;

  Result<std::vector<QueueHead>> heads(Look look) override;
  Result<std::vector<Claim>> claim(Instant now, const ClaimRequest& request) override;
  Result<std::vector<Recorded>> record(Instant now, std::span<const Completion> completions) override;
  Result<Done> give_back(Instant now, std::span<const Lease> leases) override;
  Result<Promoted> promote(Instant now, std::size_t count_max) override;
  Result<std::vector<Claim>> take_over(Instant now, NodeId node, std::size_t count_max) override;
  Result<std::size_t> expire(Instant now, std::size_t count_max) override;

  Result<Instant> database_now() override;
  Result<NodeLease> join(Instant now, std::string_view name) override;
  Result<std::vector<Peer>> beat(Instant now, NodeId node) override;
  Result<Done> remove(NodeId node) override;
  Result<std::optional<std::int64_t>> lead(Instant now, NodeId node, std::string_view duty, Duration ttl) override;

  Result<std::vector<TenantId>> tenants(std::span<const std::string> names) override;
  Result<std::vector<ProviderId>> providers(std::span<const std::string> names) override;

  Result<std::vector<LateDelivery>> late_deliveries(std::span<const RowId> ids) override;
  Result<MessageView> message(std::optional<TenantId> tenant, const Uuid& id, const DeliveryRange& range) override;
  Result<std::vector<RowId>> deliveries_of(RowId message, const DeliveryRange& range) override;
  Result<std::vector<ListItem>> list(const ListFilter& filter) override;
  Result<std::vector<MessageView>> messages(const MessageFilter& filter) override;
  Result<std::vector<SandboxItem>> sandbox(std::optional<TenantId> tenant, std::span<const ProviderId> providers,
                                           std::optional<RowId> before, std::size_t count_max) override;
  Result<QueueStats> stats(std::optional<TenantId> tenant) override;
  Result<AddressedPage> addressed(const AddressedFilter& filter) override;

  Result<Acted> retry(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) override;
  Result<Acted> discard(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) override;
  Result<Acted> cancel(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) override;
  Result<CancelledEntity> cancel_entity(Instant now, const OperatorAction& action, const EntityRef& entity,
                                        const ExpandDecision& decide) override;
  Result<Acted> replay(Instant now, const OperatorAction& action, std::span<const Uuid> messages) override;
  Result<Acted> dispatch(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) override;
  Result<Acted> dispatch_expand(Instant now, const OperatorAction& action, std::span<const Uuid> messages) override;

  Result<ApiKey> add_key(Instant now, ApiKey key) override;
  Result<std::vector<ApiKey>> keys() override;
  Result<Done> revoke_key(Instant now, std::int64_t id) override;

  Result<std::int64_t> catalog_version() override;
  Result<std::vector<StoredTemplate>> templates(const TemplateFilter& filter) override;
  Result<StoredTemplate> template_version(std::optional<TenantId> tenant, std::int64_t id, int version) override;
  Result<std::vector<StoredTemplate>> save_templates(Instant now, const OperatorAction& by,
                                                     std::span<const StoredTemplate> wanted) override;
  Result<Removal> remove_template(Instant now, const OperatorAction& by, std::int64_t id) override;

  Result<std::vector<Contact>> contacts(const ContactFilter& filter) override;
  Result<std::vector<Contact>> find_contacts(std::span<const ContactRef> refs) override;
  Result<std::size_t> save_contacts(Instant now, const OperatorAction& by, std::span<const Contact> wanted,
                                    std::span<const std::string> exempt) override;
  Result<std::size_t> remove_contacts(Instant now, const OperatorAction& by, std::span<const ContactRef> refs) override;

  Result<std::vector<RecipientList>> lists(TenantId tenant, std::string_view after, std::size_t count_max) override;
  Result<RecipientList> list_named(TenantId tenant, std::string_view name) override;
  Result<RecipientList> save_list(Instant now, const OperatorAction& by, const RecipientList& wanted) override;
  Result<Done> remove_list(Instant now, const OperatorAction& by, TenantId tenant, std::string_view name) override;
  Result<std::vector<ListMember>> members(TenantId tenant, std::string_view name, const MemberRange& range) override;
  Result<std::size_t> add_members(Instant now, const OperatorAction& by, TenantId tenant, std::string_view name,
                                  std::span<const ListMember> wanted) override;
  Result<std::size_t> remove_members(Instant now, const OperatorAction& by, TenantId tenant, std::string_view name,
                                     std::span<const ListMember> gone) override;

  Result<bool> any_suppression() override;
  Result<std::vector<Suppression>> find_suppressions(std::span<const SuppressionRef> refs) override;
  Result<SuppressionPage> suppressions(const SuppressionFilter& filter) override;
  Result<Acted> suppress(Instant now, const OperatorAction& by, std::span<const Suppression> wanted) override;
  Result<std::size_t> unsuppress(Instant now, const OperatorAction& by, std::span<const SuppressionRef> refs) override;

 private:
  /// Runs `work(connection)` on a good connection; a deadlock or a serialization failure is tried again.
  template <class Work>
  auto run(Work&& work) -> Result<decltype(work(std::declval<Connection&>()))> {
    for (int tries = 1;; ++tries) {
      try {
        connection_.ensure();
        return work(connection_);
      } catch (const Failure& failure) {
        if (!failure.worth_another_try() || tries == kTriesMax) return failure.error();
      } catch (const std::exception& other) {
        return Error{ErrorCode::Invalid, other.what()};
      }
    }
  }
  /// The same in one snapshot, for reading.
  template <class Work>
  auto read(Work&& work) -> Result<decltype(work(std::declval<Connection&>()))> {
    return run([&](Connection& c) {
      const Snapshot snapshot{c};
      return work(c);
    });
  }
  /// The same in one transaction.
  template <class Work>
  auto transact(Work&& work) -> Result<decltype(work(std::declval<Connection&>()))> {
    return run([&](Connection& c) {
      Transaction transaction{c};
      auto result = work(c);
      transaction.commit();
      return result;
    });
  }
  IdSource& ids() {
    POSTRIDER_CHECK(ids_ != nullptr);  // use_ids() comes before the verbs that make rows
    return *ids_;
  }

  struct Found {
    std::vector<Claim> claims = {};
    bool raced = false;  // others changed what was picked: there may be more
  };
  Rows heads_behind_claims(Connection& c);
  Rows claim_rows(Connection& c, Instant now, const ClaimRequest& request);
  Found claim_from(Connection& c, Instant now, const ClaimRequest& request);
  void add_deliveries(Connection& c, std::vector<Claim>& claims);
  void give_back_unread(Instant now, const std::vector<Claim>& claims);
  void add_from_the_front(Connection& c, Instant now, const ClaimRequest& rest, std::vector<Claim>& claims);

  common::Floors floors_;
  OutboxFloor outbox_floor_;
  std::chrono::steady_clock::time_point beside_until_ = {};  // until then nobody's turn is waited for
  std::chrono::steady_clock::time_point apart_until_ = {};   // until then claimed deliveries are searched for each
  Hope hope_;
  bool more_in_outbox_ = false;  // as far as the last look could see
  UsedTemplates used_;

  static constexpr int kTriesMax = 4;
  Connection connection_;
  IdSource* ids_ = nullptr;
  std::optional<std::int64_t> partitions_for_;  // the month (of `now`) for which partitions were last made sure of
};

}  // namespace postrider::postgres
