#include "sim/process.h"

#include "pipeline/accept.h"
#include "sim/world.h"

namespace postrider::sim {
namespace {

constexpr Duration kTickEvery = std::chrono::milliseconds{100};
constexpr Duration kHeadsEvery = std::chrono::milliseconds{400};
constexpr Duration kExpandEvery = std::chrono::milliseconds{50};
constexpr Duration kBeatEvery = std::chrono::milliseconds{250};
constexpr Duration kMaintainEvery = std::chrono::milliseconds{200};
constexpr Duration kStorePause = std::chrono::milliseconds{200};
constexpr Duration kClockEvery = std::chrono::seconds{10};
constexpr Duration kGrace = std::chrono::seconds{12};
constexpr Duration kAbortGrace = std::chrono::seconds{2};

}  // namespace

Process::Process(World& world, Owner self, int place)
    : world_(world), self_(self), place_(place), expand_records_(world), late_records_(world) {}

Instant Process::steady() const { return world_.clock().instant(); }
Instant Process::now() const { return world_.clock().instant() + clock_offset_; }

std::unique_ptr<StoreSession> Process::session() {
  auto opened = world_.open_session(self_);
  if (ids_) opened->use_ids(*ids_);
  return opened;
}

bool Process::begin() {
  auto first = session();
  const auto database_now = first->database_now();
  if (!database_now) return false;
  clock_offset_ = *database_now - world_.clock().instant();
  const auto joined = first->join(now(), fmt::format("node-{}", place_));
  if (!joined) return false;
  lease_ = *joined;
  last_beat = world_.clock().now();
  random_.emplace(world_.random().next());
  ids_.emplace(lease_.slot);
  places_.emplace(world_.rules());
  dispatcher_.emplace(Dispatcher::Parts{lease_.node, world_.rules(), world_.adapters(), *places_, true}, moment(),
                      random_->next());
  intake_ = session();
  claims_session_ = session();
  records_session_ = session();
  expand_session_ = session();
  prepare_session_ = session();
  heartbeat_ = session();
  maintain_ = session();
  expand_stage_.emplace(
      ExpandStage::Parts{*expand_session_, world_.rules(), *ids_, lease_.node, &*places_, &expand_records_},
      random_->next());
  prepare_stage_.emplace(PrepareStage::Parts{*prepare_session_, world_.rules(), &late_records_, &boxes_});
  heartbeat_stage_.emplace(*heartbeat_, lease_.node, MaintainDuties::HeartbeatOnly);
  maintain_stage_.emplace(*maintain_, lease_.node, MaintainDuties::All);
  start_rounds();
  world_.note("starts", fmt::format("node {}", lease_.node));
  return true;
}

bool Process::idle() const {
  return dispatcher_->idle() && mailbox_.empty() && claims_.empty() && writes_.empty() && !claims_busy_ &&
         !writes_busy_ && !expand_busy_ && !take_over_busy_;
}

int Process::fence_of(RowId delivery) const {
  const auto found = fences_.find(delivery);
  return found == fences_.end() ? 0 : found->second;
}

// Mostly at once, now and then late enough for anything to come between.
Duration Process::pause() {
  if (random_->below(100) == 0) return std::chrono::milliseconds{random_->below(200)};
  return Duration{static_cast<std::int64_t>(random_->below(2000))};
}
Duration Process::store_takes() {
  if (world_.faults().strikes(Fault::SlowStore)) return std::chrono::milliseconds{1000 + random_->below(14'000)};
  return pause();
}

void Process::later(Duration wait, std::function<void()> action) {
  world_.clock().after(wait, self_, Kind::Once, std::move(action));
}

void Process::round(Duration every, void (Process::*work)()) {
  world_.clock().after(every + pause(), self_, Kind::Round, [this, every, work] {
    (this->*work)();
    round(every, work);
  });
}

void Process::start_rounds() {
  round(kTickEvery, &Process::tick);
  round(kHeadsEvery, &Process::look_at_heads);
  round(kExpandEvery, &Process::expand_turn);
  round(kBeatEvery, &Process::heartbeat);
  round(kMaintainEvery, &Process::maintain);
}

// --- intake

void Process::accept(const Order& order, std::vector<OutboxRow> rows) {
  auto prepared = prepare(std::move(rows), world_.rules(), now(), *random_);
  auto* group = std::get_if<IntakeGroup>(&prepared);
  if (group == nullptr) return world_.refused(order);
  later(pause(), [this, order, group = std::move(*group)] {
    const std::vector<IntakeGroup> groups{group};
    auto admitted = intake_->accept(now(), groups);
    later(store_takes(), [this, order, admitted = std::move(admitted)] { world_.answered(order, admitted); });
  });
}

// --- dispatch

void Process::put(DispatchEvent event) {
  mailbox_.push_back(std::move(event));
  if (turn_planned_) return;
  turn_planned_ = true;
  later(pause(), [this] { dispatch_turn(); });
}

void Process::dispatch_turn() {
  turn_planned_ = false;
  std::deque<DispatchEvent> events;
  events.swap(mailbox_);
  for (DispatchEvent& event : events) carry_out(dispatcher_->on(std::move(event), moment()));
  carry_out(dispatcher_->on(event::Tick{}, moment()));
  end_if_drained();
}

void Process::tick() {
  carry_out(dispatcher_->on(event::Tick{}, moment()));
  end_if_drained();
}

void Process::carry_out(std::vector<DispatchEffect> effects) {
  for (DispatchEffect& effect : effects) {
    if (auto* claim = std::get_if<effect::Claim>(&effect)) {
      claims_.push_back(std::move(claim->request));
      pump_claims();
    } else if (auto* start = std::get_if<effect::Start>(&effect)) {
      for (Call& call : start->calls) world_.network().start(*this, std::move(call));
    } else if (auto* abort = std::get_if<effect::Abort>(&effect)) {
      for (const CallId id : abort->calls) world_.network().abort(*this, id);
    } else if (auto* late = std::get_if<effect::Prepare>(&effect)) {
      later(pause(), [this, jobs = std::move(late->jobs)] { prepare_texts(jobs); });
    } else if (auto* record = std::get_if<effect::Record>(&effect)) {
      writes_.push_back({.record = std::move(record->completions)});
      pump_writes();
    } else if (auto* release = std::get_if<effect::Release>(&effect)) {
      writes_.push_back({.release = std::move(release->leases)});
      pump_writes();
    } else if (auto* alarm = std::get_if<effect::Alarm>(&effect)) {
      world_.note("alarm", alarm->detail);
    }
  }
}

void Process::prepare_texts(const std::vector<LateJob>& jobs) {
  auto answers = prepare_stage_->turn(now(), jobs);
  later(store_takes() + late_records_.took(),
        [this, answers = std::move(answers)]() mutable { put(event::Prepared{std::move(answers)}); });
}

void Process::call_ended(CallEnd end) { put(event::Ended{{std::move(end)}}); }

void Process::look_at_heads() {
  if (stopping_ || claims_busy_) return;
  auto heads = claims_session_->heads(Look::Everywhere);
  if (heads && !heads->empty()) put(event::Heads{std::move(*heads)});
}

void Process::pump_claims() {
  if (claims_busy_ || claims_.empty()) return;
  claims_busy_ = true;
  ClaimRequest request = std::move(claims_.front());
  claims_.pop_front();
  later(pause(), [this, request = std::move(request)] {
    auto claimed = claims_session_->claim(now(), request);
    if (!claimed && claimed.error().code == ErrorCode::Ambiguous) start_anew("the answer to a claim was lost");
    const Duration wait = claimed ? store_takes() : kStorePause;
    later(wait, [this, request, claimed = std::move(claimed)]() mutable {
      claims_busy_ = false;
      if (claimed) {
        for (const Claim& claim : *claimed) fences_[claim.delivery.id] = claim.lease.fence;
        put(event::Claimed{request, std::move(*claimed)});
      } else {
        put(event::ClaimFailed{request});
      }
      pump_claims();
    });
  });
}

void Process::pump_writes() {
  if (writes_busy_ || writes_.empty()) return;
  writes_busy_ = true;
  WriteJob job = std::move(writes_.front());
  writes_.pop_front();
  later(pause(), [this, job = std::move(job)] {
    if (job.record) {
      auto recorded = records_session_->record(now(), *job.record);
      later(store_takes(), [this, recorded = std::move(recorded)]() mutable {
        writes_busy_ = false;
        if (recorded) {
          put(event::RecordDone{std::move(*recorded)});
        } else {
          put(event::RecordFailed{recorded.error().text});
        }
        pump_writes();
      });
      return;
    }
    const bool released = records_session_->give_back(now(), job.release).has_value();
    later(released ? store_takes() : kStorePause, [this, released] {
      writes_busy_ = false;
      put(event::ReleaseDone{released});
      pump_writes();
    });
  });
}

// --- expand

void Process::expand_turn() {
  if (stopping_ || expand_busy_) return;
  auto report = expand_stage_->turn(now());
  if (report && report->rows == 0) report = expand_stage_->work(now());
  if (report && report->rows == 0) return;
  if (!report && report.error().code == ErrorCode::Ambiguous) start_anew("the answer to an expansion was lost");
  expand_busy_ = true;
  later((report ? store_takes() : kStorePause) + expand_records_.took(), [this, report = std::move(report)]() mutable {
    expand_busy_ = false;
    if (report) hand_on(std::move(*report));
  });
}

void Process::hand_on(ExpandReport report) {
  for (const Claim& claim : report.owned) fences_[claim.delivery.id] = claim.lease.fence;
  if (!report.owned.empty()) put(event::Owned{std::move(report.owned)});
  if (!report.queued.empty()) put(event::Work{std::move(report.queued)});
}

// --- keep

void Process::keep(MaintainStage& stage, StoreSession& session) {
  const bool is_maintenance = &session == maintain_.get();
  if (leaving_ || (is_maintenance && take_over_busy_)) return;
  const Duration started = world_.clock().now();
  if (is_maintenance && started >= next_clock_) {
    if (const auto database_now = session.database_now()) set_clock(*database_now);
    next_clock_ = started + kClockEvery;
  }
  const Instant begun = steady();
  auto report = stage.turn(moment());
  if (!report) {
    if (report.error().code == ErrorCode::Ambiguous) start_anew("the answer to a take-over was lost");
    return;
  }
  if (report->declared_dead) return start_anew("taken for dead");
  if (report->beat) put(event::Beat{begun, report->living});
  if (report->trouble && report->trouble->code == ErrorCode::Ambiguous)
    start_anew("the answer to a take-over was lost");
  if (!report->taken_over.empty()) {
    for (const Claim& claim : report->taken_over) fences_[claim.delivery.id] = claim.lease.fence;
    take_over_busy_ = true;
    // Long enough for the one who was taken for dead to wake up.
    const bool slow =
        !world_.faults().healed() && world_.faults().likely(Fault::SlowStore) > 0 && random_->below(3) == 0;
    later(slow ? std::chrono::milliseconds{random_->below(5000)} : store_takes(),
          [this, claims = std::move(report->taken_over)]() mutable {
            take_over_busy_ = false;
            put(event::TookOver{std::move(claims)});
          });
  }
  if (!report->promoted.empty()) put(event::Work{std::move(report->promoted)});
}

void Process::set_clock(Instant database_now) { clock_offset_ = database_now - world_.clock().instant(); }

void Process::beat_now() {
  heartbeat();
  dispatch_turn();
}

// --- the end

void Process::start_anew(const char* why) {
  world_.note("starts anew", why);
  lost_track_ = true;
  stop();
}

void Process::stop() {
  if (stopping_) return;
  stopping_ = true;
  put(event::Stop{});
  later(kGrace, [this] {
    put(event::AbortAll{});
    later(kAbortGrace, [this] { world_.ended(*this); });
  });
}

void Process::end_if_drained() {
  if (!stopping_ || leaving_ || !idle()) return;
  leaving_ = true;
  later(pause(), [this] {
    (void)heartbeat_->remove(lease_.node);
    world_.ended(*this);
  });
}

}  // namespace postrider::sim
