// Rules about whose turn it is, how often and when.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
#include "sim/watcher.h"

namespace postrider::sim {
namespace {

using model::ModelDatabase;

// One holder at a time: a lease is handed out only when the last one was
// written, given back, or its node taken for dead.
class SingleFlight final : public Checker {
 public:
  SingleFlight() : Checker("single flight") {}
  void leased(const Claim& claim, NodeId node) override {
    const auto held = held_.find(claim.delivery.id);
    if (held != held_.end() && !gone_.contains(held->second.node))
      violated(fmt::format("delivery {} was leased to node {} with fence {} while node {} held fence {}",
                           claim.delivery.id, node, claim.lease.fence, held->second.node, held->second.fence));
    held_.insert_or_assign(claim.delivery.id, Holder{node, claim.lease.fence});
  }
  void recorded(const Completion& completion, Recorded result) override {
    if (result == Recorded::Applied) let_go(completion.lease);
  }
  void given_back(const Lease& lease) override { let_go(lease); }
  void removed(NodeId node, std::optional<Duration>) override { gone_.insert(node); }
  // Who leaves in peace leaves nothing behind that others would have to guess
  // about.
  void left(NodeId node) override {
    for (const auto& [delivery, holder] : held_) {
      if (holder.node == node)
        violated(fmt::format("node {} left and still held delivery {} with fence {}", node, delivery, holder.fence));
    }
  }

 private:
  struct Holder {
    NodeId node = 0;
    int fence = 0;
  };
  void let_go(const Lease& lease) {
    const auto held = held_.find(lease.id);
    if (held != held_.end() && held->second.fence == lease.fence) held_.erase(held);
  }
  std::map<RowId, Holder> held_;
  std::set<NodeId> gone_;
};

// Whatever became of a call, an attempt says so; a node that took over and died
// too leaves it to the next one.
class OnRecord final : public Checker {
 public:
  OnRecord() : Checker("on record") {}
  void call_begins(const CallFacts& call) override { calls_[call.delivery].insert(call.fence); }
  void at_rest(const ModelDatabase& db) override {
    for (const auto& [delivery, fences] : calls_) {
      for (auto fence = fences.begin(); fence != fences.end(); ++fence) {
        const auto attempt = db.attempts.lower_bound({delivery, *fence, 0});
        const bool there = attempt != db.attempts.end() && attempt->first.delivery == delivery &&
                           (std::next(fence) == fences.end() || attempt->first.fence < *std::next(fence));
        if (!there) violated(fmt::format("delivery {} was called with fence {}; no attempt says so", delivery, *fence));
      }
    }
  }

 private:
  std::map<RowId, std::set<int>> calls_;  // fences
};

// Nobody is given up on before every try was used: what was not called, or was
// not called because of our settings, uses none.
class FullTries final : public Checker {
 public:
  explicit FullTries(const Rules& rules) : Checker("full tries"), rules_(rules) {}
  void at_rest(const ModelDatabase& db) override {
    for (const auto& [id, row] : db.parked) {
      if (row.reason != Reason::RetriesUsedUp) continue;
      const Delivery& delivery = db.deliveries.at(id);
      const ProviderRule* provider = rules_.first_provider(*rules_.tenant(delivery.tenant), delivery.channel);
      const int wanted = std::min(rules_.policy_for(delivery, provider).attempts_max, kCallsPerDeliveryMax);
      int tries = 0;
      for (auto at = db.attempts.lower_bound({id, 0, 0}); at != db.attempts.end() && at->first.delivery == id; ++at) {
        const OutcomeKind outcome = at->second.end.outcome;
        if (at->first.seq == 0 && outcome != OutcomeKind::Misconfigured) ++tries;
      }
      if (tries < wanted) violated(fmt::format("delivery {} was given up after {} of {} tries", id, tries, wanted));
    }
  }

 private:
  const Rules& rules_;
};

// Nothing is called before it is due: by its order, by its last try, and by
// what the provider asked for. Judged while the database's clock is the world's.
class NotEarly final : public Checker {
 public:
  NotEarly() : Checker("not early") {}
  void clock_stepped() override { judges_ = false; }
  void ordered(const Order& order) override {
    if (!order.due_at) return;
    for (const std::string& recipient : order.recipients) ordered_[recipient] = *order.due_at;
  }
  void told_to_wait(const CallFacts& call, Instant until) override { asked_[{call.delivery, call.fence}] = until; }
  void recorded(const Completion& completion, Recorded result) override {
    const RowId id = completion.lease.id;
    if (result != Recorded::Applied || completion.verdict.state != DeliveryState::Retrying) return;
    due_[id] = completion.verdict.due_at;
    // What the provider asked for is known only where its answer was written.
    const bool answered = completion.attempt && completion.attempt->outcome == OutcomeKind::Transient;
    if (const auto asked = asked_.find({id, completion.lease.fence}); asked != asked_.end() && answered)
      due_[id] = std::max(due_[id], asked->second);
  }
  void retried(const Delivery& delivery) override { dispatched(delivery.id); }
  void dispatched(RowId delivery) override {
    due_.erase(delivery);
    hurried_.insert(delivery);
  }
  void call_begins(const CallFacts& call) override {
    const auto ordered = ordered_.find(call.recipient);
    if (ordered != ordered_.end() && !hurried_.contains(call.delivery)) judge(call, ordered->second);
    if (const auto due = due_.find(call.delivery); due != due_.end()) judge(call, due->second);
  }

 private:
  void judge(const CallFacts& call, Instant due) {
    if (judges_ && call.node_time < due)
      violated(fmt::format("delivery {} was called {} before it was due", call.delivery,
                           format_duration(due - call.node_time)));
  }
  bool judges_ = true;
  std::map<std::string, Instant> ordered_;  // by recipient
  std::map<RowId, Instant> due_;
  std::map<std::pair<RowId, int>, Instant> asked_;  // with the fence of the call
  std::set<RowId> hurried_;
};

// What is on record as accepted is not sent again, unless another node had it
// by then.
class AcceptedEnds final : public Checker {
 public:
  AcceptedEnds() : Checker("accepted ends") {}
  void look(const ModelDatabase& db) override { db_ = &db; }
  void recorded(const Completion& completion, Recorded) override {
    const RowId id = completion.lease.id;
    if (db_ == nullptr || !completion.attempt || completion.attempt->outcome != OutcomeKind::Accepted) return;
    const bool held = std::any_of(db_->queue.begin(), db_->queue.end(), [&](const auto& entry) {
      return entry.second.id == id && entry.second.node != 0 && entry.first.group.channel != Channel::Expand;
    });
    if (!held && !db_->settled.contains(id))
      violated(fmt::format("delivery {} is on record as accepted and goes on", id));
  }

 private:
  const ModelDatabase* db_ = nullptr;
};

}  // namespace

std::vector<std::unique_ptr<Checker>> turn_checkers(const Rules& rules) {
  std::vector<std::unique_ptr<Checker>> all;
  all.push_back(std::make_unique<SingleFlight>());
  all.push_back(std::make_unique<OnRecord>());
  all.push_back(std::make_unique<FullTries>(rules));
  all.push_back(std::make_unique<NotEarly>());
  all.push_back(std::make_unique<AcceptedEnds>());
  return all;
}

}  // namespace postrider::sim
