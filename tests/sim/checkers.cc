#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
#include "sim/watcher.h"

namespace postrider::sim {
namespace {

using model::ModelDatabase;

std::map<std::string, std::vector<RowId>> deliveries_by_recipient(const ModelDatabase& db) {
  std::map<std::string, std::vector<RowId>> found;
  for (const auto& [id, delivery] : db.deliveries) found[delivery.recipient].push_back(id);
  return found;
}

std::string fate_of(const ModelDatabase& db, const std::string& id) {
  std::string fate;
  for (const auto& [row, message] : db.messages) {
    if (format_uuid(message.uuid) != id) continue;
    const auto state = db.states.find(row);
    fate += state == db.states.end() ? "expanded "
                                     : fmt::format("{} ({} {}) ", to_text(state->second.state),
                                                   code_of(state->second.reason), state->second.detail);
  }
  return fate.empty() ? "unknown" : fate;
}

// Nothing that was promised is lost.
class Kept final : public Checker {
 public:
  Kept() : Checker("kept") {}
  void promised(const Order& order, const std::string& id) override {
    if (!id.empty()) ids_[id] = order.tenant;
    orders_.push_back(order);
  }
  void look(const ModelDatabase& db) override {
    std::set<std::string> known;
    for (const auto& [id, message] : db.messages) known.insert(format_uuid(message.uuid));
    for (const auto& [position, row] : db.outbox) known.insert(row.id);
    for (const auto& [id, tenant] : ids_) {
      if (!known.contains(id)) violated(fmt::format("message {} of {} was acknowledged and is gone", id, tenant));
    }
  }
  void record_changed(const RecordFacts& record) override {
    if (record.off) off_.insert(record.ref);
  }
  void at_rest(const ModelDatabase& db) override {
    const auto made = deliveries_by_recipient(db);
    for (const Order& order : orders_) {
      if (says_why(db, order)) continue;
      for (const std::string& recipient : order.recipients) {
        if (!made.contains(recipient))
          violated(fmt::format("no delivery was made for {}; its message {} is {}", recipient, order.id,
                               fate_of(db, order.id)));
      }
    }
  }

 private:
  // Called off by its record, or its record could not be asked for all the
  // time.
  [[nodiscard]] bool says_why(const ModelDatabase& db, const Order& order) const {
    for (const auto& [row, message] : db.messages) {
      const auto state = db.states.find(row);
      if (format_uuid(message.uuid) != order.id || state == db.states.end()) continue;
      if (state->second.reason == Reason::CancelledByCondition) return off_.contains(order.ref);
      if (state->second.reason == Reason::ContextFailed) return !message.entity_id.empty();
    }
    return false;
  }
  std::set<std::string> off_;               // refs
  std::map<std::string, std::string> ids_;  // id -> tenant
  std::vector<Order> orders_;
};

// Every delivery is in exactly one place, and nobody is written to twice for
// one fact.
class Conserved final : public Checker {
 public:
  Conserved() : Checker("conserved") {}
  void look(const ModelDatabase& db) override {
    std::map<RowId, int> places;
    for (const auto& [id, delivery] : db.deliveries) places[id] = 0;
    const auto seen = [&](RowId id, const char* where) {
      const auto at = places.find(id);
      if (at == places.end()) {
        violated(fmt::format("{} holds delivery {}, which does not exist", where, id));
      } else {
        ++at->second;
      }
    };
    for (const auto& [key, row] : db.queue) {
      if (key.group.channel != Channel::Expand) seen(row.id, "queue");
    }
    for (const auto& [key, row] : db.deferred) {
      if (row.group.channel != Channel::Expand) seen(key.second, "deferred");
    }
    for (const auto& [id, row] : db.parked) seen(id, "parked");
    for (const auto& [id, row] : db.settled) seen(id, "settled");
    for (const auto& [id, count] : places) {
      if (count != 1) violated(fmt::format("delivery {} is in {} places", id, count));
    }
    for (const auto& [recipient, ids] : deliveries_by_recipient(db)) {
      const bool nobody = recipient.empty();  // a channel for which the message
                                              // names no recipient: suppressed
      if (ids.size() > 1 && !nobody) violated(fmt::format("{} deliveries were made for {}", ids.size(), recipient));
    }
  }
};

// Effects are at most one more than the attempts that are on record as
// ambiguous.
class ExplainedDuplicates final : public Checker {
 public:
  ExplainedDuplicates() : Checker("explained duplicates") {}
  void effect(const CallFacts& call) override { ++effects_[call.delivery]; }
  void at_rest(const ModelDatabase& db) override {
    std::map<RowId, std::set<int>> ambiguous;  // fences
    for (const auto& [key, row] : db.attempts) {
      if (row.end.outcome == OutcomeKind::Unclear || key.seq == 1) ambiguous[key.delivery].insert(key.fence);
    }
    for (const auto& [delivery, count] : effects_) {
      const auto recorded = static_cast<int>(ambiguous[delivery].size());
      if (count > 1 + recorded)
        violated(
            fmt::format("delivery {} took effect {} times with {} "
                        "ambiguous attempts on record",
                        delivery, count, recorded));
    }
  }

 private:
  std::map<RowId, int> effects_;
};

// What may be called only once never takes effect twice, and is not called
// again after a call that may have acted.
class AtMostOnce final : public Checker {
 public:
  AtMostOnce() : Checker("at most once") {}
  void leased(const Claim& claim, NodeId) override {
    if (claim.delivery.guarantee != Guarantee::AtLeastOnce) once_.insert(claim.delivery.id);
  }
  void call_begins(const CallFacts& call) override {
    if (once_.contains(call.delivery) && effects_.contains(call.delivery))
      violated(fmt::format("delivery {} was called again after a call that acted", call.delivery));
  }
  // Whether it may be sent twice is decided by who has it tried again.
  void retried(const Delivery& delivery) override { effects_.erase(delivery.id); }
  void effect(const CallFacts& call) override {
    if (once_.contains(call.delivery) && ++effects_[call.delivery] > 1)
      violated(fmt::format("delivery {} took effect twice", call.delivery));
  }

 private:
  std::set<RowId> once_;
  std::map<RowId, int> effects_;
};

// What is settled stays as it is.
class SettledStays final : public Checker {
 public:
  SettledStays() : Checker("settled stays") {}
  void look(const ModelDatabase& db) override {
    for (const auto& [id, was] : settled_) {
      const auto is = db.settled.find(id);
      if (is == db.settled.end()) {
        violated(fmt::format("delivery {} was settled as {} and is no more", id, to_text(was.first)));
      } else if (std::pair{is->second.state, is->second.reason} != was) {
        violated(fmt::format("delivery {} was settled as {} and is now {}", id, to_text(was.first),
                             to_text(is->second.state)));
      }
    }
    for (const auto& [id, row] : db.settled) settled_.emplace(id, std::pair{row.state, row.reason});
  }

 private:
  std::map<RowId, std::pair<DeliveryState, Reason>> settled_;
};

// Fences only grow, and only the last one writes.
class Fences final : public Checker {
 public:
  Fences() : Checker("fences") {}
  void leased(const Claim& claim, NodeId node) override {
    int& last = last_[claim.delivery.id];
    if (claim.lease.fence <= last)
      violated(fmt::format("delivery {} was leased to node {} with fence {} after {}", claim.delivery.id, node,
                           claim.lease.fence, last));
    last = std::max(last, claim.lease.fence);
  }
  void recorded(const Completion& completion, Recorded result) override {
    const auto last = last_.find(completion.lease.id);
    if (result == Recorded::Applied && last != last_.end() && completion.lease.fence != last->second)
      violated(fmt::format("delivery {} was written by fence {} although {} was handed out", completion.lease.id,
                           completion.lease.fence, last->second));
  }

 private:
  std::map<RowId, int> last_;
};

// No more calls than the policy allows.
class CallCap final : public Checker {
 public:
  explicit CallCap(const Rules& rules) : Checker("call cap"), rules_(rules) {}
  void call_begins(const CallFacts& call) override { ++calls_[call.delivery]; }
  void call_not_counted(RowId delivery) override { --calls_[delivery]; }
  void retried(const Delivery& delivery) override { ++retries_[delivery.id]; }
  void at_rest(const ModelDatabase& db) override {
    for (const auto& [id, calls] : calls_) {
      const auto delivery = db.deliveries.find(id);
      if (delivery == db.deliveries.end()) continue;
      const Tenant* tenant = rules_.tenant(delivery->second.tenant);
      const ProviderRule* provider =
          tenant != nullptr ? rules_.first_provider(*tenant, delivery->second.channel) : nullptr;
      const int once = std::min(rules_.policy_for(delivery->second, provider).attempts_max, kCallsPerDeliveryMax);
      const int allowed = once * (1 + retries_[id]);
      if (calls > allowed) violated(fmt::format("delivery {} was called {} times, {} are allowed", id, calls, allowed));
    }
  }

 private:
  const Rules& rules_;
  std::map<RowId, int> calls_;
  std::map<RowId, int> retries_;
};

// No byte leaves before the attempt is on record.
class WriteAhead final : public Checker {
 public:
  WriteAhead() : Checker("write-ahead") {}
  void look(const ModelDatabase& db) override { db_ = &db; }
  void call_begins(const CallFacts& call) override {
    if (db_ == nullptr) return;
    const auto queued = std::find_if(db_->queue.begin(), db_->queue.end(), [&](const auto& entry) {
      return entry.second.id == call.delivery && entry.first.group.channel != Channel::Expand;
    });
    const bool on_record = queued != db_->queue.end()
                               ? queued->second.fence >= call.fence
                               : db_->attempts.contains(model::AttemptKey{call.delivery, call.fence, 0});
    if (!on_record)
      violated(fmt::format("delivery {} is called with fence {}, which is not on record", call.delivery, call.fence));
  }

 private:
  const ModelDatabase* db_ = nullptr;
};

// Nothing ends without a reason.
class Reasons final : public Checker {
 public:
  Reasons() : Checker("reasons") {}
  void at_rest(const ModelDatabase& db) override {
    const auto known = [](Reason reason) { return reason_from(static_cast<int>(reason)).has_value(); };
    for (const auto& [id, row] : db.settled) {
      if (!known(row.reason) || row.reason == Reason::Waiting)
        violated(fmt::format("delivery {} ended as {} without a reason", id, to_text(row.state)));
    }
    for (const auto& [id, row] : db.parked) {
      if (!known(row.reason) || row.reason == Reason::Waiting)
        violated(fmt::format("delivery {} is parked without a reason", id));
    }
    for (const auto& [id, message] : db.messages) {
      const auto state = db.states.find(id);
      if (state == db.states.end() && !db.deliveries_of.contains(id))
        violated(fmt::format("message {} has neither a delivery nor a reason", id));
      if (state != db.states.end() && !known(state->second.reason))
        violated(fmt::format("message {} is {} without a reason", id, to_text(state->second.state)));
    }
  }
};

// Nothing leaves after its expiry.
class Expiry final : public Checker {
 public:
  Expiry() : Checker("expiry") {}
  void leased(const Claim& claim, NodeId) override {
    if (claim.delivery.expires_at) expires_[claim.delivery.id] = *claim.delivery.expires_at;
  }
  void call_begins(const CallFacts& call) override {
    const auto at = expires_.find(call.delivery);
    if (at != expires_.end() && call.node_time > at->second + std::chrono::seconds{1})
      violated(fmt::format("delivery {} was called {} after its expiry", call.delivery,
                           format_duration(call.node_time - at->second)));
  }

 private:
  std::map<RowId, Instant> expires_;
};

// A process that may be taken for dead calls nobody.
class LeaseHonoured final : public Checker {
 public:
  LeaseHonoured() : Checker("lease honoured") {}
  void call_begins(const CallFacts& call) override {
    if (call.since_last_beat > kNoCallsWithoutBeatFor + std::chrono::milliseconds{50})
      violated(fmt::format("delivery {} was called by node {}, whose last beat was {} ago", call.delivery, call.node,
                           format_duration(call.since_last_beat)));
  }
  // The other side of it: who may still begin a call is not taken for dead.
  void removed(NodeId node, std::optional<Duration> silent_for) override {
    if (silent_for && *silent_for < kNoCallsWithoutBeatFor)
      violated(fmt::format("node {} was taken for dead {} after its last beat", node, format_duration(*silent_for)));
  }
};

// One key, one message, one answer.
class Idempotent final : public Checker {
 public:
  Idempotent() : Checker("idempotent") {}
  void promised(const Order& order, const std::string& id) override {
    if (order.key.empty() || id.empty()) return;
    const auto [at, first] = answers_.emplace(std::pair{order.tenant, order.key}, id);
    if (!first && at->second != id)
      violated(fmt::format("key {} was answered with {} and with {}", order.key, at->second, id));
  }
  void key_refused(const Order& order) override {
    violated(fmt::format("{} of {} was told that its key {} is another's", order.ref, order.tenant, order.key));
  }
  void key_stolen(const Order& order) override {
    violated(fmt::format("{} of {} was kept under the key {} of another message", order.ref, order.tenant, order.key));
  }
  void at_rest(const ModelDatabase& db) override {
    std::map<std::pair<TenantId, std::string>, int> firsts;
    for (const auto& [id, message] : db.messages) {
      if (message.idempotency_key.empty()) continue;
      const auto state = db.states.find(id);
      if (state != db.states.end() && state->second.state == MessageState::Duplicate) continue;
      if (++firsts[{message.tenant, message.idempotency_key}] == 2)
        violated(fmt::format("key {} led to two messages", message.idempotency_key));
    }
  }

 private:
  std::map<std::pair<std::string, std::string>, std::string> answers_;
};

// Sent means that the provider has it; delivered, that nothing more will be
// heard of it.
class NoFalseWord final : public Checker {
 public:
  explicit NoFalseWord(const Rules& rules) : Checker("no false word"), rules_(rules) {}
  void effect(const CallFacts& call) override { effects_.insert(call.delivery); }
  void at_rest(const ModelDatabase& db) override {
    for (const auto& [id, row] : db.settled) {
      const bool sent = row.state == DeliveryState::Sent || row.state == DeliveryState::Delivered;
      if (sent && !effects_.contains(id))
        violated(fmt::format("delivery {} is {} and never took effect", id, to_text(row.state)));
      if (row.state == DeliveryState::Delivered && !ends_with_acceptance(db.deliveries.at(id)))
        violated(fmt::format("delivery {} is delivered, and nobody said so", id));
    }
  }

 private:
  [[nodiscard]] bool ends_with_acceptance(const Delivery& delivery) const {
    const ProviderRule* provider = rules_.first_provider(*rules_.tenant(delivery.tenant), delivery.channel);
    return provider != nullptr && provider->acceptance == Acceptance::IsTheEnd;
  }
  const Rules& rules_;
  std::set<RowId> effects_;
};

// What cannot become deliveries says so.
class RefusedIsTold final : public Checker {
 public:
  RefusedIsTold() : Checker("refused is told") {}
  void promised(const Order& order, const std::string& id) override {
    if (order.ends && !id.empty()) ends_[id] = *order.ends;
  }
  void at_rest(const ModelDatabase& db) override {
    for (const auto& [row, message] : db.messages) {
      const auto wanted = ends_.find(format_uuid(message.uuid));
      if (wanted == ends_.end()) continue;
      const auto state = db.states.find(row);
      if (state == db.states.end() ||
          (state->second.state != wanted->second && state->second.state != MessageState::Duplicate))
        violated(fmt::format("message {} should be {}", wanted->first, to_text(wanted->second)));
    }
  }

 private:
  std::map<std::string, MessageState> ends_;
};

}  // namespace

std::vector<std::unique_ptr<Checker>> all_checkers(const Rules& rules) {
  std::vector<std::unique_ptr<Checker>> all;
  all.push_back(std::make_unique<Kept>());
  all.push_back(std::make_unique<Conserved>());
  all.push_back(std::make_unique<ExplainedDuplicates>());
  all.push_back(std::make_unique<AtMostOnce>());
  all.push_back(std::make_unique<SettledStays>());
  all.push_back(std::make_unique<Fences>());
  all.push_back(std::make_unique<CallCap>(rules));
  all.push_back(std::make_unique<WriteAhead>());
  all.push_back(std::make_unique<Reasons>());
  all.push_back(std::make_unique<Expiry>());
  all.push_back(std::make_unique<LeaseHonoured>());
  all.push_back(std::make_unique<Idempotent>());
  all.push_back(std::make_unique<NoFalseWord>(rules));
  all.push_back(std::make_unique<RefusedIsTold>());
  for (auto& checker : turn_checkers(rules)) all.push_back(std::move(checker));
  for (auto& checker : wish_checkers(rules)) all.push_back(std::move(checker));
  return all;
}

}  // namespace postrider::sim
