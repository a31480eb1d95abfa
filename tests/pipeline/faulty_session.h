// A session of the model store with faults on the verbs of expanding, and nothing else changed.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/model/model_store.h"
#include "support/content_forwards.h"

namespace postrider {

class FaultySession final : public ContentForwards {
 public:
  explicit FaultySession(std::unique_ptr<StoreSession> real) : real_(std::move(real)) {}

  // --- faults
  /// Refuses every batch whose decided messages this finds wrong.
  std::function<bool(const ExpandedMessage&)> refuses = nullptr;
  std::optional<Error> accept_fails = {};
  std::optional<Error> template_fails = {};  // asked for by its number
  std::optional<Error> expand_fails = {};
  std::optional<Error> claim_expand_fails = {};
  std::optional<Error> chunk_fails = {};
  std::function<bool(const ExpandChunk&)> refuses_chunk = nullptr;
  std::optional<Error> contacts_fail = {};
  bool leases_lost = false;
  std::vector<std::size_t> steps_at_once = {};  // messages whose chunks were written together
  std::optional<Error> giving_up_fails = {};    // the chunk that ends a message without deliveries
  std::optional<Error> defer_fails = {};
  std::optional<Error> beat_fails = {};
  std::optional<Error> remove_fails = {};
  std::optional<Error> take_over_fails = {};
  std::optional<Error> promote_fails = {};
  std::optional<Error> expire_fails = {};
  std::optional<Error> late_fails = {};
  std::function<void()> meanwhile = nullptr;  // once, when a turn has looked at the templates and has no rows yet
  int question_fails = 0;                     // the n-th question about templates, people, lists or deliveries; 0: none
  std::vector<std::size_t> batches = {};      // rows asked for, turn by turn
  int lists_read = 0;
  int lists_read_while_deciding = 0;  // that is, inside the transaction that takes rows

  Result<std::int64_t> catalog_version() override { return question(real_->catalog_version()); }
  Result<std::vector<StoredTemplate>> templates(const TemplateFilter& filter) override {
    return question(real_->templates(filter));
  }
  Result<StoredTemplate> template_version(std::optional<TenantId> tenant, std::int64_t id, int version) override {
    if (template_fails) return *template_fails;
    return question(real_->template_version(tenant, id, version));
  }
  Result<bool> any_suppression() override { return question(real_->any_suppression()); }
  Result<std::vector<Contact>> find_contacts(std::span<const ContactRef> refs) override {
    if (contacts_fail) return *contacts_fail;
    return question(real_->find_contacts(refs));
  }
  Result<std::vector<Suppression>> find_suppressions(std::span<const SuppressionRef> refs) override {
    return question(real_->find_suppressions(refs));
  }

  Result<ExpandReport> expand(Instant now, NodeId node, std::size_t rows_max, const ExpandDecision& decide) override {
    batches.push_back(rows_max);
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    if (expand_fails) return *expand_fails;
    bool refused = false;
    const auto spied = [&](std::span<const OutboxRow> rows) {
      auto decided = decide(rows);
      for (const ExpandedMessage& message : decided) refused = refused || (refuses && refuses(message));
      return decided;
    };
    if (refuses) {  // A dry look first: the model has no rollback.
      std::vector<OutboxRow> rows;
      for (const auto& [position, row] : database->outbox) {
        if (rows.size() < rows_max) rows.push_back(row);
      }
      spied(rows);
      if (refused) return Error{ErrorCode::Invalid, "a value cannot be stored"};
    }
    return real_->expand(now, node, rows_max, [&](std::span<const OutboxRow> rows) {
      deciding_ = true;
      auto decided = decide(rows);
      deciding_ = false;
      return decided;
    });
  }
  Result<std::vector<ListMember>> members(TenantId tenant, std::string_view name, const MemberRange& range) override {
    ++lists_read;
    lists_read_while_deciding += deciding_ ? 1 : 0;
    return question(real_->members(tenant, name, range));
  }
  Result<ExpandSteps> expand_chunks(Instant now, std::span<const ExpandStep> steps) override {
    steps_at_once.push_back(steps.size());
    for (const ExpandStep& step : steps) {
      const bool gives_up = step.chunk.finished && step.chunk.deliveries.empty();
      if (chunk_fails && !gives_up) return *chunk_fails;
      if (giving_up_fails && gives_up) return *giving_up_fails;
      if (refuses_chunk && refuses_chunk(step.chunk)) return Error{ErrorCode::Invalid, "a value cannot be stored"};
    }
    if (leases_lost) return ExpandSteps{.results = std::vector(steps.size(), Stepped::LeaseLost)};
    return real_->expand_chunks(now, steps);
  }
  Result<Done> defer_expand(Instant now, const Lease& lease, Instant due_at, Reason reason,
                            std::string detail) override {
    if (defer_fails) return *defer_fails;
    return real_->defer_expand(now, lease, due_at, reason, std::move(detail));
  }
  Result<std::vector<Peer>> beat(Instant now, NodeId node) override {
    if (beat_fails) return *beat_fails;
    return real_->beat(now, node);
  }

  // --- everything else as it is
  void use_ids(IdSource& ids) override { real_->use_ids(ids); }
  Result<std::vector<std::vector<Admitted>>> accept(Instant now, std::span<const IntakeGroup> groups) override {
    if (accept_fails) return *accept_fails;
    return real_->accept(now, groups);
  }
  Result<std::vector<ExpandWork>> claim_expand(Instant now, NodeId node, std::size_t count) override {
    if (claim_expand_fails) return *claim_expand_fails;
    return real_->claim_expand(now, node, count);
  }
  Result<std::vector<QueueHead>> heads(Look look) override { return real_->heads(look); }
  Result<std::vector<Claim>> claim(Instant now, const ClaimRequest& request) override {
    return real_->claim(now, request);
  }
  Result<std::vector<Recorded>> record(Instant now, std::span<const Completion> completions) override {
    return real_->record(now, completions);
  }
  Result<Done> give_back(Instant now, std::span<const Lease> leases) override { return real_->give_back(now, leases); }
  Result<Promoted> promote(Instant now, std::size_t count) override {
    if (promote_fails) return *promote_fails;
    return real_->promote(now, count);
  }
  Result<std::vector<Claim>> take_over(Instant now, NodeId node, std::size_t count) override {
    if (take_over_fails) return *take_over_fails;
    return real_->take_over(now, node, count);
  }
  Result<std::size_t> expire(Instant now, std::size_t count) override {
    if (expire_fails) return *expire_fails;
    return real_->expire(now, count);
  }
  Result<Instant> database_now() override { return real_->database_now(); }
  Result<NodeLease> join(Instant now, std::string_view name) override { return real_->join(now, name); }
  Result<Done> remove(NodeId node) override {
    if (remove_fails) return *remove_fails;
    return real_->remove(node);
  }
  Result<std::optional<std::int64_t>> lead(Instant now, NodeId node, std::string_view duty, Duration ttl) override {
    return real_->lead(now, node, duty, ttl);
  }
  Result<std::vector<TenantId>> tenants(std::span<const std::string> names) override { return real_->tenants(names); }
  Result<std::vector<ProviderId>> providers(std::span<const std::string> names) override {
    return real_->providers(names);
  }
  Result<std::vector<LateDelivery>> late_deliveries(std::span<const RowId> ids) override {
    if (late_fails) return *late_fails;
    return real_->late_deliveries(ids);
  }
  Result<MessageView> message(std::optional<TenantId> tenant, const Uuid& id, const DeliveryRange& range) override {
    return real_->message(tenant, id, range);
  }
  Result<std::vector<ListItem>> list(const ListFilter& filter) override { return question(real_->list(filter)); }
  Result<std::vector<SandboxItem>> sandbox(std::optional<TenantId> tenant, std::span<const ProviderId> providers,
                                           std::optional<RowId> before, std::size_t count) override {
    return real_->sandbox(tenant, providers, before, count);
  }
  Result<QueueStats> stats(std::optional<TenantId> tenant) override { return real_->stats(tenant); }
  Result<Acted> retry(Instant now, const OperatorAction& action, std::span<const RowId> ids) override {
    return real_->retry(now, action, ids);
  }
  Result<Acted> discard(Instant now, const OperatorAction& action, std::span<const RowId> ids) override {
    return real_->discard(now, action, ids);
  }
  Result<Acted> cancel(Instant now, const OperatorAction& action, std::span<const RowId> ids) override {
    return real_->cancel(now, action, ids);
  }
  Result<Acted> replay(Instant now, const OperatorAction& action, std::span<const Uuid> ids) override {
    return real_->replay(now, action, ids);
  }
  Result<Acted> dispatch(Instant now, const OperatorAction& action, std::span<const RowId> ids) override {
    return real_->dispatch(now, action, ids);
  }
  Result<ApiKey> add_key(Instant now, ApiKey key) override { return real_->add_key(now, std::move(key)); }
  Result<std::vector<ApiKey>> keys() override { return real_->keys(); }
  Result<Done> revoke_key(Instant now, std::int64_t id) override { return real_->revoke_key(now, id); }

  std::shared_ptr<model::ModelDatabase> database = {};

 private:
  StoreSession& real() override { return *real_; }
  template <class Answer>
  Result<Answer> question(Result<Answer> answer) {
    if (question_fails == 0 || --question_fails > 0) return answer;
    return Error{ErrorCode::Unavailable, "the store cannot be reached"};
  }
  std::unique_ptr<StoreSession> real_;
  bool deciding_ = false;
};

/// A model store with one node that has joined.
struct Bench {
  std::shared_ptr<model::ModelDatabase> database = std::make_shared<model::ModelDatabase>();
  Instant now = instant_from_us(1'800'000'000'000'000);
  FaultySession session{std::move(model::ModelStore{database}.open_session()).value()};
  NodeId node = session.join(now, "one")->node;
  IdSource ids{1};
  Bench() {
    session.database = database;
    session.use_ids(ids);
    const std::vector<std::string> tenants{"acme"};
    const std::vector<std::string> providers{"push"};
    EXPECT_EQ(session.tenants(tenants)->front(), 1);
    EXPECT_EQ(session.providers(providers)->front(), 1);
  }
  void insert(const std::string& type, const std::string& payload = R"({"pushToken":"t"})",
              const std::string& id = "") {
    OutboxRow row;
    row.tenant = "acme";
    row.type = type;
    row.payload = payload;
    row.id = id;
    database->insert_outbox(row);
  }
};

}  // namespace postrider
