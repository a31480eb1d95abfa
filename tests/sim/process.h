// One process: the production stages on simulated threads. Carries effects out
// as the runtime does, with a pause of any length, a crash or a sleep between
// any two steps.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/dispatch.h"
#include "pipeline/expand.h"
#include "pipeline/maintain.h"
#include "pipeline/prepare.h"
#include "sim/application.h"
#include "sim/clockwork.h"
#include "sim/watcher.h"

namespace postrider::sim {

class World;

class Process {
 public:
  Process(World& world, Owner self, int place);

  /// Joins the store; false when that failed: the process ends, and another one
  /// tries again.
  bool begin();
  [[nodiscard]] Owner self() const { return self_; }
  [[nodiscard]] int place() const { return place_; }
  [[nodiscard]] NodeId node() const { return lease_.node; }
  [[nodiscard]] Instant now() const;  // as the database last said
  [[nodiscard]] Instant steady() const;
  [[nodiscard]] Moment moment() const { return {now(), steady()}; }
  [[nodiscard]] bool idle() const;
  [[nodiscard]] bool accepts() const { return !stopping_; }
  [[nodiscard]] bool leaves() const { return leaving_; }
  /// The database may have given it something that it never heard of.
  [[nodiscard]] bool lost_track() const { return lost_track_; }

  /// A producer's request; it may never be answered.
  void accept(const Order& order, std::vector<OutboxRow> rows);
  void call_ended(CallEnd end);
  /// SIGTERM: drains, leaves, ends.
  void stop();
  /// After time was skipped: beats before anything else happens.
  void beat_now();
  /// The lease that this process believes to hold on a delivery.
  [[nodiscard]] int fence_of(RowId delivery) const;

  std::optional<Duration> asleep_until = {};
  Duration last_beat = {};  // when the database took it, by the world's time

 private:
  struct WriteJob {
    std::shared_ptr<const std::vector<Completion>> record = {};
    std::vector<Lease> release = {};
  };
  std::unique_ptr<StoreSession> session();
  void start_rounds();
  void round(Duration every, void (Process::*work)());
  void later(Duration wait, std::function<void()> action);
  void put(DispatchEvent event);
  void dispatch_turn();
  void carry_out(std::vector<DispatchEffect> effects);
  void prepare_texts(const std::vector<LateJob>& jobs);
  void tick();
  void look_at_heads();
  void expand_turn();
  void hand_on(ExpandReport report);
  void heartbeat() { keep(*heartbeat_stage_, *heartbeat_); }
  void maintain() { keep(*maintain_stage_, *maintain_); }
  void keep(MaintainStage& stage, StoreSession& session);
  void set_clock(Instant database_now);
  void pump_claims();
  void pump_writes();
  void start_anew(const char* why);
  void end_if_drained();
  Duration pause();        // between two steps of a thread
  Duration store_takes();  // until the answer of a verb is here

  World& world_;
  Owner self_;
  int place_;
  Duration clock_offset_ = {};
  NodeLease lease_ = {};
  std::optional<IdSource> ids_;
  std::optional<Places> places_;
  std::unique_ptr<StoreSession> intake_, claims_session_, records_session_, expand_session_, prepare_session_,
      heartbeat_, maintain_;
  Records expand_records_, late_records_;
  Boxes boxes_;
  std::optional<Dispatcher> dispatcher_;
  std::optional<ExpandStage> expand_stage_;
  std::optional<PrepareStage> prepare_stage_;
  std::optional<MaintainStage> heartbeat_stage_;
  std::optional<MaintainStage> maintain_stage_;
  std::optional<Prng> random_;
  std::deque<DispatchEvent> mailbox_;
  std::deque<ClaimRequest> claims_;
  std::deque<WriteJob> writes_;
  std::map<RowId, int> fences_;  // as this process was told
  bool turn_planned_ = false;
  bool claims_busy_ = false;
  bool writes_busy_ = false;
  bool expand_busy_ = false;
  bool take_over_busy_ = false;
  bool stopping_ = false;
  bool leaving_ = false;
  bool lost_track_ = false;
  Duration next_clock_ = {};
};

}  // namespace postrider::sim
