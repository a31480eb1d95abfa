// A scripted world around the dispatcher: a queue in memory that answers like a store, providers that answer what they
// are told, and a clock that is moved by hand. Nothing happens unless a test says so.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/dispatch.h"

namespace postrider {

/// Reads its outcome from the answer: "accepted", "transient", "permanent", "unclear", "misconfigured"; "nobody": no
/// such recipient.
class ScriptedAdapter final : public Provider {
 public:
  bool asks_for_message_key = false;
  [[nodiscard]] CapabilityCard card() const override { return {.asks_for_message_key = asks_for_message_key}; }
  [[nodiscard]] Request compose(const Delivery& delivery, std::string_view provider_key, Instant now) const override;
  [[nodiscard]] Outcome interpret(const Reply& reply, Instant now) const override;
};

enum class RowState : std::uint8_t { Waiting, Held, Done };
struct StoredRow {
  Delivery delivery = {};
  RowState state = RowState::Waiting;
  int fence = 0;
  int attempt = 0;
  int calls = 0;                        // that were really started
  std::optional<Verdict> verdict = {};  // of its last record
  std::optional<AttemptEnd> attempt_end = {};
  std::shared_ptr<const LateRendering> rendered = {};
  std::string detail = {};
  int attempt_fence = 0;
};

class World {
 public:
  struct Shape {
    int providers = 1;  // number n serves the n-th of kChannels
    int window = 16;
    int connections = 8;
    int ahead = 0;
    int tenants = 1;
    Guarantee guarantee = Guarantee::AtLeastOnce;  // of the one route
    Policy policy = {.kind = PolicyKind::Fixed, .base = std::chrono::minutes{1}, .attempts_max = 3};
    bool sends = true;
    Limit provider_limit = {};  // of the first provider
    Limit tenant_limit = {};    // of the first tenant
    const Zones* zones = nullptr;
  };
  World() : World(Shape{}) {}
  explicit World(Shape shape);

  // --- what the world does
  /// Puts rows into the queue; the dispatcher does not know of them yet.
  std::vector<RowId> queue(int count, Lane lane = Lane::Standard, TenantId tenant = 1, int provider = 1,
                           Guarantee guarantee = Guarantee::AtLeastOnce);
  void say_work(Lane lane = Lane::Standard, TenantId tenant = 1, int provider = 1);
  void look_at_heads();
  void beat(int nodes = 1);
  void tick();
  Duration call_time = {};                   // how long the calls took that end from now on
  void pass(Duration time) { now += time; }  // no heartbeat by itself
  void correct_clock(Duration by) { corrected += by; }
  void stop();
  void abort_all();
  void own(RowId id);        // as the expander does: held already, its place reserved
  void take_over(RowId id);  // of a node that died

  // --- how the world answers
  void store_answers_claims();
  void store_fails_claims();
  void store_answers_records();
  void store_fails_records();
  void store_answers_releases();
  void store_fails_releases();
  void provider_answers(RowId id, const std::string& verdict);
  void provider_answers_all(const std::string& verdict);
  void call_breaks(RowId id, Broken broken);
  void text_comes(RowId id, decltype(LateAnswer::what) answer);
  void aborted_calls_end(BrokenAt at);
  /// Everything that is open is answered with success until nothing moves any more.
  void drain();

  // --- what can be seen
  [[nodiscard]] std::vector<RowId> calling() const;  // in the order in which they were started
  [[nodiscard]] int reserved_by_open_claims() const;
  [[nodiscard]] int used(int provider = 1) const { return places.used(static_cast<ProviderId>(provider)); }
  StoredRow& row(RowId id) { return rows.at(id); }
  Delivery& delivery(RowId id) { return rows.at(id).delivery; }

  Instant now = instant_from_us(1'800'000'000'000'000);  // steady
  Duration corrected = {};                               // of the time of day
  Rules rules;
  ScriptedAdapter adapter;
  std::map<ProviderId, const Provider*> adapters;
  std::map<RowId, StoredRow> rows;
  std::vector<ClaimRequest> claims;  // asked for, not yet answered
  RefusedDeliveries refused;         // what is suppressed when it is claimed
  std::vector<ClaimRequest> all_claims;
  std::vector<Call> calls;  // started, not yet ended
  std::vector<std::shared_ptr<const std::vector<Completion>>> records;
  std::vector<std::vector<Lease>> releases;
  std::set<CallId> aborts;
  std::vector<LateJob> prepares;  // texts asked for, not yet answered
  int prepares_asked = 0;         // how often
  std::vector<effect::Alarm> alarms;
  std::size_t records_asked = 0;
  Places places;
  Dispatcher dispatcher;

 private:
  static Rules rules_for(const Shape& shape);
  void on(DispatchEvent event);
  void take(const DispatchEffect& effect);
  void end(CallId id, Reply reply);
  Claim hold(StoredRow& row, ProviderId provider);
  [[nodiscard]] RowId row_of(const Call& call) const { return call_rows_.at(call.id); }
  std::map<CallId, RowId> call_rows_;
  RowId next_id_ = 1;
};

}  // namespace postrider
