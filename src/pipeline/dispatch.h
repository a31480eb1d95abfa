// Claim, send, record as one machine: events in, effects out. It never waits, holds no clock and touches no socket; the
// runtime carries its effects out on threads, the simulator in any order it likes.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/canary.h"
#include "base/prng.h"
#include "core/fair_share.h"
#include "core/rules.h"
#include "pipeline/call_counts.h"
#include "pipeline/late.h"
#include "pipeline/limits.h"
#include "pipeline/pace.h"
#include "pipeline/places.h"
#include "pipeline/refused.h"
#include "ports/provider.h"
#include "ports/store.h"
#include "ports/transport.h"

namespace postrider {

namespace event {
struct Work {
  std::vector<QueueGroup> groups;
};  // rows were queued there
struct Heads {
  std::vector<QueueHead> heads;
};  // everything that waits, found by looking
struct Claimed {
  ClaimRequest request;
  std::vector<Claim> claims;
  RefusedDeliveries refused = {};  // of these, what must not be sent any more
};
struct ClaimFailed {
  ClaimRequest request;
};
struct Owned {
  std::vector<Claim> claims;
};  // inserted already held, their places reserved
struct TookOver {
  std::vector<Claim> claims;
};  // held by a node that died; nobody knows how far it got
struct Ended {
  std::vector<CallEnd> ends;
};
struct Prepared {
  std::vector<LateAnswer> answers;
};  // the texts of deliveries that are written late
struct RecordDone {
  std::vector<Recorded> results;
};
struct RecordFailed {
  std::string text;
};
struct ReleaseDone {
  bool ok = true;
};
struct Beat {
  std::optional<Instant> at = {};  // when the beat was begun, by the steady clock; empty: now
  int nodes = 1;                   // that live, this one included
};                                 // the lease is good from then
struct Tick {};
struct Stop {};      // start nothing any more, give back what was not begun
struct AbortAll {};  // the grace is over
}  // namespace event
using DispatchEvent =
    std::variant<event::Work, event::Heads, event::Claimed, event::ClaimFailed, event::Owned, event::TookOver,
                 event::Ended, event::Prepared, event::RecordDone, event::RecordFailed, event::ReleaseDone, event::Beat,
                 event::Tick, event::Stop, event::AbortAll>;

namespace effect {
struct Claim {
  ClaimRequest request;
};
struct Start {
  std::vector<Call> calls;
};
struct Abort {
  std::vector<CallId> calls;
};
struct Prepare {
  std::vector<LateJob> jobs;  // answered by event::Prepared
};
struct Record {
  std::shared_ptr<const std::vector<Completion>> completions;  // the machine keeps them until the store confirms
};
struct Release {
  std::vector<Lease> leases;
};
struct Alarm {
  ProviderId provider = 0;
  Reason reason = Reason::ProviderMisconfigured;
  std::string detail;
};
}  // namespace effect
using DispatchEffect = std::variant<effect::Claim, effect::Start, effect::Abort, effect::Prepare, effect::Record,
                                    effect::Release, effect::Alarm>;

struct DispatchCounts {  // since the start; read by metrics
  std::uint64_t claimed = 0, owned = 0, calls = 0, recorded = 0, stale = 0, released = 0, taken_over = 0,
                possible_duplicates = 0, call_errors = 0;
  std::map<std::pair<std::string, DeliveryState>, std::uint64_t> by_type_and_state = {};
  std::map<std::string, std::uint64_t> attempts_by_type = {};
  std::map<std::string, CallTimes> times_by_type = {};
};

class Dispatcher {
 public:
  struct Parts {
    NodeId node = 0;
    const Rules& rules;
    const std::map<ProviderId, const Provider*>& providers;
    Places& places;
    bool sends = true;  // false: this process only ends the leases of lost nodes
  };
  Dispatcher(Parts parts, Moment at, std::uint64_t seed);

  std::vector<DispatchEffect> on(DispatchEvent event, Moment at);

  /// Nothing is held, called or waiting to be written.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] DispatchCounts counts() const;
  [[nodiscard]] const std::vector<LimitWait>& waits() const { return limits_.waits(); }
  [[nodiscard]] int calls_open() const { return static_cast<int>(open_calls_); }

 private:
  struct Flight {  // one claimed row, from its claim to its record
    Claim claim = {};
    std::uint32_t generation = 0;
    bool calling = false;
    bool preparing = false;             // its text is being written
    std::optional<LateText> late = {};  // its text

    [[nodiscard]] Instant expires_at() const {  // max: never
      const bool planted = canary("expiry_ignored") || (canary("late_expiry_ignored") && late);
      return planted ? Instant::max() : claim.delivery.expires_at.value_or(Instant::max());
    }
  };
  struct Desk {  // one provider
    const ProviderRule* rule = nullptr;
    const Provider* adapter = nullptr;
    std::array<std::deque<std::uint32_t>, 3> ready = {};  // slots by lane, waiting for a connection
    int calling = 0;         // handed to the transport: running, or ahead of a connection that becomes free
    int calling_others = 0;  // of these, not of the priority lane
    Pace pace = {};
    Instant held_until = {};  // steady, as all that this machine waits for
    std::map<Lane, TenantRing> rings = {};
    std::map<Lane, TenantRing> once_rings = {};  // for rows that may be called only once
    LaneWheel starts = {};
    LaneWheel once_claims = {};
    std::array<int, 3> preparing = {};  // by lane: their texts are being written
  };
  struct Group {
    Instant oldest = {};
    bool maybe_prefetchable = false;
    bool maybe_at_most_once = false;
    // Work was announced after the last claim went out: what that claim did not find may be there now.
    bool more_prefetchable = false;
    bool more_at_most_once = false;
  };
  using Waiting = std::map<Lane, std::vector<TenantId>>;

  void take(event::Work work, Moment at);
  void take(event::Heads heads, Moment at);
  void take(event::Claimed claimed, Moment at);
  void take(event::ClaimFailed failed, Moment at);
  void take(event::Owned owned, Moment at);
  void take(event::TookOver taken, Moment at);
  void take(event::Ended ended, Moment at);
  void take(event::Prepared prepared, Moment at);
  void take(event::RecordDone done, Moment at);
  void take(event::RecordFailed failed, Moment at);
  void take(event::ReleaseDone done, Moment at);
  void take(event::Beat beat, Moment at);
  void take(event::Tick tick, Moment at);
  void take(event::Stop stop, Moment at);
  void take(event::AbortAll abort, Moment at);

  void admit(Claim&& claim);
  void refuse(Claim claim, std::string why);
  void end_call(std::uint32_t slot, const CallEnd& end, Moment at);
  void start_calls(Moment at);
  static std::size_t starts_max(const Desk& desk, int ahead);
  bool start_one(Desk& desk, std::uint32_t slot, Instant now, std::vector<Call>& calls);
  bool ends_before_the_call(std::uint32_t slot, Instant now);
  bool wants_text(std::uint32_t slot);
  void take_answer(std::uint32_t slot, LateAnswer& answer, Moment at);
  void plan_claims(Moment at);
  void plan_claims_for(Desk& desk, Moment at);
  void plan_at_most_once(Desk& desk, const Waiting& waiting, Moment at);
  void ask(ClaimRequest request);
  int allow(const Desk& desk, const QueueGroup& group, int quota, Moment at);
  void flush_record(Moment at);
  void flush_release(Moment at);
  void complete(const Flight& flight, const Verdict& verdict, std::optional<AttemptEnd> attempt, std::string detail,
                int attempt_fence);
  void give_back_ready(Desk& desk);
  void free_slot(std::uint32_t slot);
  static void wipe_text(Flight& flight);
  enum class Unless : bool { Nothing, MoreWasSaid };
  void forget(const ClaimRequest& request, TenantId tenant, Unless unless);
  [[nodiscard]] bool may_start(Moment at) const;
  Desk* desk_of(ProviderId provider);
  Desk* desk_for(const QueueGroup& group);

  Parts parts_;
  Prng random_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_slots_;
  std::map<ProviderId, Desk> desks_;
  Limits limits_;
  std::map<QueueGroup, Group> groups_;
  std::vector<Completion> to_record_;
  std::shared_ptr<const std::vector<Completion>> recording_;  // kept until the store confirms
  std::vector<Lease> to_release_;
  std::vector<Lease> releasing_;
  std::vector<LateJob> to_prepare_;
  std::vector<DispatchEffect> out_;
  std::size_t open_calls_ = 0;
  int claims_open_ = 0;
  Instant last_beat_;
  Instant record_again_at_ = {};
  Instant release_again_at_ = {};
  bool record_broken_ = false;
  bool stopping_ = false;
  bool any_at_most_once_ = false;
  DispatchCounts counts_;  // but for what is counted by type
  CountedTypes types_;
};

/// Stays the same over all attempts of a delivery at one provider, differs between providers.
std::string provider_key(const Delivery& delivery, std::string_view provider_name);

}  // namespace postrider
