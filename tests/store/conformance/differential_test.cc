// The same random sequence of verbs against the model and against a store: equal answers, equal views. Positions are
// the store's own matter; everything else must agree.
#include <fmt/format.h>

#include <algorithm>

#include "base/prng.h"
#include "store/conformance/describe.h"
#include "store/conformance/model_database.h"
#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

class Twin {
 public:
  Twin(const StoreFactory& factory, std::uint64_t seed)
      : model_(model_factory()), store_(factory), prng_(seed), forges_(factory.ids_row_by_row) {}

  void run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      const Duration time = std::chrono::milliseconds{1 + prng_.below(20'000)};
      model_.pass(time);
      store_.pass(time);
      SCOPED_TRACE(fmt::format("step {}", step));
      one_step();
      if (step % 20 == 19) compare_views();
    }
    compare_views();
  }

 private:
  struct Pair {
    Claim model, store;
  };

  // Both do the same and say the same.
  template <class Do>
  void both(Do&& act) {
    const std::string expected = act(model_, true);
    const std::string found = act(store_, false);
    EXPECT_EQ(expected, found);
  }

  void one_step() {
    switch (prng_.below(17)) {
      case 0:
      case 1: insert_rows(); break;
      case 2: accept(); break;
      case 3:
      case 4:
      case 5: expand(); break;
      case 6:
      case 7: claim(); break;
      case 8:
      case 9:
      case 10: record(); break;
      case 11: release(); break;
      case 12: promote(); break;
      case 13: lose_a_node(); break;
      case 14: expire(); break;
      case 15: operate(); break;
      default: chunk(); break;
    }
  }

  OutboxRow random_row() {
    OutboxRow row = model_.row(fmt::format("type{}", prng_.below(3)), prng_.below(10) == 0  ? "nobody"
                                                                      : prng_.below(3) == 0 ? "other"
                                                                                            : "acme");
    store_.row();  // the twins draw the same ids
    if (prng_.below(3) == 0) row.idempotency_key = fmt::format("key{}", prng_.below(20));
    if (prng_.below(8) == 0) row.id = format_uuid(make_uuid7(model_.now, 1, prng_.below(5)));
    if (prng_.below(4) == 0) row.sealed = "c2VhbGVk";
    if (prng_.below(2) == 0) row.entity_id = fmt::format("e{}", prng_.below(6));
    return row;
  }

  void insert_rows() {
    for (std::uint64_t i = prng_.below(6); i > 0; --i) {
      OutboxRow row = random_row();
      // Forged marks have conformance tests of their own; here they would only show in which order ids are drawn.
      if (forges_ && prng_.below(20) == 0) row.accepted = static_cast<RowId>(prng_.below(1000));
      model_.database->insert(row);
      store_.database->insert(row);
    }
  }

  void accept() {
    std::vector<IntakeGroup> groups;
    for (std::uint64_t g = prng_.below(3); g > 0; --g) {
      IntakeGroup& group = groups.emplace_back();
      for (std::uint64_t i = prng_.below(4); i > 0; --i) group.push_back(model_.offered(random_row()));
    }
    both([&](World& w, bool) { return describe(must(w.a->accept(w.now, groups))); });
  }

  Plan random_plan(const World& w) {
    Plan plan;
    const std::uint64_t kind = prng_.below(12);
    plan.deliveries = static_cast<int>(prng_.below(4));
    plan.channel = prng_.below(3) == 0 ? Channel::Sms : Channel::Email;
    plan.lane = prng_.below(4) == 0 ? Lane::Bulk : Lane::Standard;
    plan.guarantee = prng_.below(4) == 0 ? Guarantee::AtMostOnce : Guarantee::AtLeastOnce;
    plan.recipient = fmt::format("r{}@example.org", prng_.below(4));
    if (prng_.below(3) == 0) plan.key = fmt::format("fact{}", prng_.below(10));
    if (prng_.below(4) == 0) plan.expires_at = w.now + std::chrono::seconds{prng_.below(120)};
    if (kind == 0) {
      plan.placement = {DeliveryState::Retrying, Reason::Scheduled, "", w.now + std::chrono::seconds{prng_.below(90)}};
    }
    if (kind == 1) plan.placement = {DeliveryState::Suppressed, Reason::NoRecipient, "no address", {}};
    if (kind == 2) plan.own_provider = w.mail;
    if (kind == 3) {
      plan.deliveries = 0;
      plan.state = prng_.below(2) == 0 ? MessageState::Failed : MessageState::Ignored;
      plan.reason = Reason::NoRoute;
    }
    if (kind == 4) {
      plan.deliveries = 0;
      plan.state = MessageState::Expanding;
      plan.reason = Reason::Expanding;
      plan.in_chunks = true;
    }
    return plan;
  }

  void expand() {
    std::vector<Plan> plans;
    for (int i = 0; i < 8; ++i) plans.push_back(random_plan(model_));
    const std::size_t rows_max = 1 + prng_.below(8);
    const bool fails = prng_.below(10) == 0;
    std::vector<Claim> owned_model;
    std::vector<Claim> owned_store;
    both([&](World& w, bool is_model) -> std::string {
      const auto report = w.a->expand(w.now, w.a.id, rows_max, [&](std::span<const OutboxRow> rows) {
        if (fails) throw std::runtime_error{"planted"};
        std::vector<ExpandedMessage> out;
        for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(w.expanded(w.a, rows[i], plans[i]));
        return out;
      });
      if (!report) return "failed";
      (is_model ? owned_model : owned_store) = report->owned;
      return describe(*report);
    });
    hold(owned_model, owned_store);
  }

  void hold(const std::vector<Claim>& model, const std::vector<Claim>& store) {
    if (model.size() != store.size()) return;
    for (std::size_t i = 0; i < model.size(); ++i) held_.push_back({model[i], store[i]});
  }

  void claim() {
    Plan plan;
    plan.channel = prng_.below(3) == 0 ? Channel::Sms : Channel::Email;
    plan.lane = prng_.below(4) == 0 ? Lane::Bulk : Lane::Standard;
    const ClaimWhat what = prng_.below(3) == 0 ? ClaimWhat::AtMostOnceOnly : ClaimWhat::Prefetchable;
    const int mine = static_cast<int>(prng_.below(5));
    const int theirs = static_cast<int>(prng_.below(3));
    std::vector<Claim> from_model;
    std::vector<Claim> from_store;
    both([&](World& w, bool is_model) {
      ClaimRequest request = w.request(mine, plan, what);
      request.shares.push_back({w.other, theirs, w.sandbox});
      auto& claims = is_model ? from_model : from_store;
      claims = must(w.a->claim(w.now, request));
      return describe(claims);
    });
    hold(from_model, from_store);
  }

  void record() {
    static constexpr std::array kEnds{DeliveryState::Sent,     DeliveryState::Delivered, DeliveryState::Retrying,
                                      DeliveryState::Retrying, DeliveryState::Parked,    DeliveryState::Expired};
    std::vector<Completion> model;
    std::vector<Completion> store;
    for (std::uint64_t i = prng_.below(5); i > 0 && !held_.empty(); --i) {
      const std::size_t which = prng_.below(held_.size());
      const DeliveryState state = kEnds[prng_.below(kEnds.size())];
      // Of a late end and the valid one in the same batch a store may write either first.
      const auto same = [&](const Completion& c) { return c.lease.id == held_[which].model.lease.id; };
      if (std::any_of(model.begin(), model.end(), same)) continue;
      model.push_back(model_.completion(held_[which].model, state));
      store.push_back(store_.completion(held_[which].store, state));
      // Some stay in the list: recorded again later, they are stale.
      if (prng_.below(4) != 0) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
    }
    both([&](World& w, bool is_model) { return describe(must(w.a->record(w.now, is_model ? model : store))); });
  }

  void release() {
    if (held_.empty()) return;
    const Pair pair = held_[prng_.below(held_.size())];
    both([&](World& w, bool is_model) {
      const Lease leases[] = {is_model ? pair.model.lease : pair.store.lease};
      must(w.a->give_back(w.now, leases));
      return std::string{};
    });
  }

  void promote() {
    const std::size_t count_max = 1 + prng_.below(5);
    both([&](World& w, bool) { return describe(must(w.a->promote(w.now, count_max))); });
  }

  // The node is declared dead; its process joins again and takes over what it held.
  void lose_a_node() {
    if (prng_.below(3) != 0) return;
    std::vector<Claim> from_model;
    std::vector<Claim> from_store;
    both([&](World& w, bool is_model) {
      must(w.a->remove(w.a.id));
      w.a.id = must(w.a->join(w.now, "again")).node;
      auto& claims = is_model ? from_model : from_store;
      claims = must(w.a->take_over(w.now, w.a.id, 1000));
      return describe(claims);
    });
    hold(from_model, from_store);
  }

  void expire() {
    const std::size_t count_max = 1 + prng_.below(10);
    both([&](World& w, bool) { return std::to_string(must(w.a->expire(w.now, count_max))); });
  }

  void operate() {
    const std::uint64_t what = prng_.below(8);
    if (what == 5) return cancel_entity();
    if (what == 7) return suppress();
    std::vector<RowId> ids;
    std::vector<Uuid> messages;
    for (const ListItem& item : must(model_.a->list({.count_max = 300}))) {
      if (prng_.below(6) != 0) continue;
      if (item.delivery) ids.push_back(item.id);
      messages.push_back(item.message_uuid);
    }
    OperatorAction action = model_.by_ada;
    if (prng_.below(2) == 0) action.tenant = model_.acme;
    both([&](World& w, bool) {
      switch (what) {
        case 0: return describe(must(w.a->retry(w.now, action, ids)));
        case 1: return describe(must(w.a->discard(w.now, action, ids)));
        case 2: return describe(must(w.a->cancel(w.now, action, ids)));
        case 3: return describe(must(w.a->replay(w.now, action, messages)));
        case 4: return describe(must(w.a->dispatch_expand(w.now, action, messages)));
        default: return describe(must(w.a->dispatch(w.now, action, ids)));
      }
    });
  }

  void cancel_entity() {
    EntityRef entity{.tenant = prng_.below(3) == 0 ? model_.other : model_.acme,
                     .id = fmt::format("e{}", prng_.below(6))};
    if (prng_.below(3) == 0) entity.type = fmt::format("type{}", prng_.below(3));
    const Plan gone{
        .deliveries = 0, .state = MessageState::Cancelled, .reason = Reason::CancelledWithEntity, .detail = "gone"};
    both([&](World& w, bool) {
      return describe(must(w.a->cancel_entity(w.now, w.by_ada, entity, w.decide(w.a, gone))));
    });
  }

  void suppress() {
    const std::vector<Suppression> wanted{{.tenant = prng_.below(3) == 0 ? model_.other : model_.acme,
                                           .channel = prng_.below(3) == 0 ? Channel::Sms : Channel::Email,
                                           .address = fmt::format("r{}@example.org", prng_.below(4)),
                                           .evidence = "link"}};
    both([&](World& w, bool) { return describe(must(w.a->suppress(w.now, w.by_ada, wanted))); });
  }

  void chunk() {
    const std::uint64_t kind = prng_.below(4);
    const Plan plan = random_plan(model_);
    both([&](World& w, bool) -> std::string {
      const auto work = must(w.a->claim_expand(w.now, w.a.id, 1));
      if (work.empty()) return "no work";
      std::string said = describe(work[0]);
      if (kind == 0) {
        must(w.a->defer_expand(w.now, work[0].lease, w.now + std::chrono::seconds{30}, Reason::ExpansionFailed, "x"));
        return said;
      }
      ExpandChunk chunk;
      for (int i = 1; i <= plan.deliveries; ++i) chunk.deliveries.push_back(w.delivery(w.a, work[0].message, plan, i));
      chunk.cursor = work[0].cursor + chunk.deliveries.size();
      chunk.finished = kind != 1;
      if (kind == 3) {
        chunk.state = MessageState::Failed;
        chunk.reason = Reason::ExpansionFailed;
      }
      said += describe(must(w.a->expand_chunk(w.now, work[0].lease, chunk)));
      if (!chunk.finished) must(w.a->give_back(w.now, std::span{&work[0].lease, 1}));
      return said;
    });
  }

  void compare_views() {
    static const std::array<std::string, 10> kStates{"",       "queued",    "sending", "retrying", "parked",
                                                     "failed", "duplicate", "pending", "expired",  "expanded"};
    const std::string state = kStates[prng_.below(kStates.size())];
    const std::string entity = fmt::format("e{}", prng_.below(6));
    const MessageState some = kMessageStates[prng_.below(kMessageStates.size())];
    std::vector<Uuid> messages;
    both([&](World& w, bool) {
      std::string said = describe(must(w.a->heads(Look::Everywhere))) + describe(must(w.a->stats({}))) +
                         describe(must(w.a->stats(w.acme)));
      ListFilter filter{
          .tenant = state.size() % 2 == 0 ? std::optional{w.acme} : std::nullopt, .state = state, .count_max = 7};
      for (int page = 0; page < 40; ++page) {
        const auto items = must(w.a->list(filter));
        for (const ListItem& item : items) said += describe(item);
        if (items.empty() || items.back().id == 0) break;
        filter.before = items.back().id;
      }
      messages.clear();
      for (const ListItem& item : must(w.a->list({.count_max = 60}))) messages.push_back(item.message_uuid);
      for (const ListItem& item : must(w.a->list({.entity = entity, .count_max = 20, .whole = true}))) {
        said += describe(item);
      }
      for (const MessageView& view : must(w.a->messages({.states = {some, MessageState::Pending}, .count_max = 20}))) {
        said += describe(view);
      }
      const ProviderId providers[] = {w.mail, w.sandbox};
      for (const SandboxItem& item : must(w.a->sandbox({}, providers, {}, 50))) said += describe(item);
      return said;
    });
    for (const Uuid& uuid : messages) {
      both([&](World& w, bool) { return describe(must(w.a->message({}, uuid))); });
    }
    EXPECT_EQ(model_.database->audit().size(), store_.database->audit().size());
  }

  World model_;
  World store_;
  Prng prng_;
  bool forges_ = true;
  std::vector<Pair> held_;
};

class Differential : public ::testing::TestWithParam<StoreFactory> {};

TEST_P(Differential, AnyOrderOfVerbsGivesTheModelsAnswers) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Twin{GetParam(), seed}.run(150);
    if (HasFailure()) return;
  }
}

POSTRIDER_FOR_EVERY_STORE(Differential);

}  // namespace
}  // namespace postrider::conformance
