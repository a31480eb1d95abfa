// Rules about what is said, to whom and when: what people and records say holds
// until the call.
#include <fmt/format.h>

#include <map>
#include <set>

#include "base/json.h"
#include "sim/watcher.h"

namespace postrider::sim {
namespace {

using model::ModelDatabase;

// What stands in a text as {"name":"…"}; the world's templates write nothing
// else.
std::string value_in(const std::string& text, std::string_view name) {
  const std::string before = fmt::format("\"{}\":\"", name);
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return "";
  const std::size_t from = at + before.size();
  return text.substr(from, text.find('"', from) - from);
}

// What was called off is not called any more; only the lease that was out
// already may still go its way.
class CancelHolds final : public Checker {
 public:
  CancelHolds() : Checker("cancel holds") {}
  void leased(const Claim& claim, NodeId) override { last_[claim.delivery.id] = claim.lease.fence; }
  void cancelled(RowId delivery) override { off_.emplace(delivery, last_[delivery]); }
  void retried(const Delivery& delivery) override { off_.erase(delivery.id); }  // somebody thought again
  void call_begins(const CallFacts& call) override {
    const auto off = off_.find(call.delivery);
    if (off != off_.end() && call.fence > off->second)
      violated(fmt::format("delivery {} was called with fence {}; it was cancelled at fence {}", call.delivery,
                           call.fence, off->second));
  }

 private:
  std::map<RowId, int> last_;  // fence
  std::map<RowId, int> off_;
};

// Nobody is written to whose address was suppressed before; here too only the
// lease that was out already may still go its way.
class SuppressionHolds final : public Checker {
 public:
  SuppressionHolds() : Checker("suppression holds") {}
  void leased(const Claim& claim, NodeId) override { last_[claim.delivery.recipient] = claim.lease.fence; }
  void suppressed(const std::string& recipient) override { off_.emplace(recipient, last_[recipient]); }
  void call_begins(const CallFacts& call) override {
    const auto off = off_.find(call.recipient);
    if (off != off_.end() && call.fence > off->second)
      violated(fmt::format("{} was written to (delivery {}) after the address was suppressed", call.recipient,
                           call.delivery));
  }

 private:
  std::map<std::string, int> last_;  // fence
  std::map<std::string, int> off_;
};

// Nobody is disturbed in their quiet hours.
class QuietIsKept final : public Checker {
 public:
  explicit QuietIsKept(const Rules& rules) : Checker("quiet hours"), rules_(rules) {}
  void leased(const Claim& claim, NodeId) override { tenants_[claim.delivery.id] = claim.delivery.tenant; }
  void call_begins(const CallFacts& call) override {
    const Tenant* tenant = rules_.tenant(tenants_[call.delivery]);
    if (!is_mail(call.recipient) || tenant == nullptr || !tenant->quiet_hours) return;
    if (quiet_until(*tenant->quiet_hours, "UTC", call.decided_at, *rules_.zones))
      violated(fmt::format("{} was called at {}, in the quiet hours {}", call.recipient,
                           format_instant(call.decided_at), to_text(*tenant->quiet_hours)));
  }

 private:
  const Rules& rules_;
  std::map<RowId, TenantId> tenants_;
};

// Everybody reads their own message and nobody else's.
class OwnWords final : public Checker {
 public:
  OwnWords() : Checker("own words") {}
  void ordered(const Order& order) override {
    for (const std::string& recipient : order.recipients) refs_[recipient] = order.ref;
  }
  void call_begins(const CallFacts& call) override {
    const auto ref = refs_.find(call.recipient);
    if (const std::string said = value_in(call.text, "ref"); ref != refs_.end() && said != ref->second)
      violated(fmt::format("{} was told \"{}\" (delivery {})", call.recipient, said, call.delivery));
  }

 private:
  std::map<std::string, std::string> refs_;
};

// A late text says what its record said when the delivery was claimed, or
// something newer; what was called off by then is not sent.
class FreshWords final : public Checker {
 public:
  explicit FreshWords(const Rules& rules) : Checker("fresh words"), rules_(rules) {}
  void record_changed(const RecordFacts& record) override { records_[record.ref] = record; }
  void leased(const Claim& claim, NodeId) override {
    const Tenant* tenant = rules_.tenant(claim.delivery.tenant);
    const Route* route = tenant != nullptr ? rules_.route(tenant->name, claim.delivery.type) : nullptr;
    if (route == nullptr || !route->context || route->rendering != Rendering::Late) return;
    then_[{claim.delivery.id, claim.lease.fence}] = records_[ref_in(claim.delivery.recipient)];
  }
  void call_begins(const CallFacts& call) override {
    const auto then = then_.find({call.delivery, call.fence});
    if (then == then_.end()) return;
    const std::string seen = value_in(call.text, "seen");
    if (then->second.off) {
      violated(fmt::format("{} was told of what its record had called off before", call.recipient));
    } else if (seen.empty() || std::stoi(seen) < then->second.seen) {
      violated(fmt::format("{} was told \"{}\"; the record was at {} when it was claimed", call.recipient, seen,
                           then->second.seen));
    }
  }

 private:
  static std::string ref_in(const std::string& recipient) {  // https://m7-r0.example.test/in, m7-r0@example.test
    const std::size_t from = is_mail(recipient) ? 0 : std::string_view{"https://"}.size();
    return recipient.substr(from, recipient.find('-') - from);
  }
  const Rules& rules_;
  std::map<std::string, RecordFacts> records_;
  std::map<std::pair<RowId, int>, RecordFacts> then_;
};

// A secret reaches its recipient and is in no row, whatever the provider
// answers; it is forgotten with its last delivery.
class Secrets final : public Checker {
 public:
  Secrets() : Checker("secrets") {}
  void look(const ModelDatabase& db) override {
    for (const auto& [key, row] : db.attempts) {
      search(row.end.excerpt, "an attempt", key.delivery);
      search(row.end.provider_message_id, "a provider's id", key.delivery);
    }
    for (const auto& [id, row] : db.renderings) search(row.subject + row.body + row.html, "a kept text", id);
    for (const auto& [id, row] : db.deliveries) search(row.subject + row.body + row.html, "a delivery", id);
    for (const auto& [id, row] : db.parked) search(row.detail, "a parked row", id);
    for (const auto& [id, row] : db.settled) search(row.detail, "a settled row", id);
  }
  void at_rest(const ModelDatabase& db) override {
    for (const auto& [message, box] : db.secrets) {
      bool waits = db.states.contains(message);  // failed: it can be replayed
      const auto [first, last] = db.deliveries_of.equal_range(message);
      for (auto at = first; at != last; ++at) waits = waits || db.parked.contains(at->second);
      if (!waits) violated(fmt::format("message {} is done and its secret is still there", message));
    }
  }

 private:
  void search(const std::string& text, std::string_view where, RowId delivery) {
    if (text.find("code-") != std::string::npos)
      violated(fmt::format("{} of delivery {} holds a secret: {}", where, delivery, text));
  }
};

// No more at a time, and no faster, than the tenant's limits say.
class LimitsHold final : public Checker {
 public:
  explicit LimitsHold(const Rules& rules) : Checker("limits"), rules_(rules) {}
  void node_begins(NodeId node, Duration at) override { begun_[node] = at; }
  void claimed(const Claim& claim, NodeId node, Duration at) override {
    const double age = static_cast<double>((at - begun_[node]).count()) / 1e6;
    if (const Tenant* tenant = rules_.tenant(claim.delivery.tenant))
      judge(node, "tenant " + tenant->name, tenant->limit, age);
    if (const ProviderRule* provider = rules_.provider(claim.lease.provider))
      judge(node, "provider " + provider->name, provider->limit, age);
  }
  void leased(const Claim& claim, NodeId) override { tenants_[claim.delivery.id] = claim.delivery.tenant; }
  void call_begins(const CallFacts& call) override {
    const Tenant* tenant = rules_.tenant(tenants_[call.delivery]);
    if (tenant == nullptr || tenant->limit.concurrency == 0) return;
    if (++open_[{call.process, tenant->id}] > tenant->limit.concurrency)
      violated(
          fmt::format("node {} has {} calls of {} open", call.node, open_[{call.process, tenant->id}], tenant->name));
  }
  void call_ends(const CallFacts& call) override { --open_[{call.process, tenants_[call.delivery]}]; }

 private:
  void judge(NodeId node, const std::string& whose, const Limit& limit, double age) {
    if (limit.per_second <= 0) return;
    const int count = ++claims_[{node, whose}];
    if (count > static_cast<int>(limit.burst + limit.per_second * age) + 1)
      violated(fmt::format("node {} claimed {} of {} within {:.1f} s", node, count, whose, age));
  }
  const Rules& rules_;
  std::map<NodeId, Duration> begun_;
  std::map<std::pair<NodeId, std::string>, int> claims_;  // by whose limit it is
  std::map<std::pair<Owner, TenantId>, int> open_;
  std::map<RowId, TenantId> tenants_;
};

}  // namespace

std::vector<std::unique_ptr<Checker>> wish_checkers(const Rules& rules) {
  std::vector<std::unique_ptr<Checker>> all;
  all.push_back(std::make_unique<CancelHolds>());
  all.push_back(std::make_unique<SuppressionHolds>());
  all.push_back(std::make_unique<QuietIsKept>(rules));
  all.push_back(std::make_unique<OwnWords>());
  all.push_back(std::make_unique<FreshWords>(rules));
  all.push_back(std::make_unique<Secrets>());
  all.push_back(std::make_unique<LimitsHold>(rules));
  return all;
}

}  // namespace postrider::sim
