#include "runtime/engine.h"

#include <algorithm>

#include "base/fault.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/thread_name.h"
#include "runtime/courtesy.h"
#include "runtime/log.h"

namespace postrider {
namespace {

constexpr Duration kTickEvery = std::chrono::milliseconds{50};
constexpr Duration kHeadsEvery = std::chrono::milliseconds{250};
constexpr Duration kHeadsEveryWithoutExpander = std::chrono::milliseconds{20};
// A look everywhere walks over what was sent and is not swept away yet: one that took long is repeated less often, up
// to kHeadsEvery. In between, those who are told of no work look where they claimed lately.
constexpr int kHeadsShare = 50;  // a look is at most this part of the time
constexpr Duration kPollBusy = std::chrono::microseconds{250};
// Work that comes in faster than it is written down one by one is left to gather for a moment: fewer commits, and the
// disk and the processors stay free for those who bring it.
constexpr Duration gathering(std::size_t rows, std::size_t large) {
  if (rows < 3 || rows >= large) return Duration{};  // a batch that is large needs no more
  return std::chrono::milliseconds{rows < 12 ? 2 : 5};
}
constexpr std::size_t kLargeRecord = 350;
// Where others bring messages over their own connections, a stream that is this thick is taken in larger pieces.
constexpr Duration gathering_of_outbox(std::size_t rows, Nodes nodes) {
  if (nodes == Nodes::One) return gathering(rows, 100);
  return rows < 40 ? gathering(rows, 40) : std::chrono::milliseconds{rows < 250 ? 20 : 0};
}
constexpr Duration kWorkEvery = std::chrono::milliseconds{50};
constexpr Duration kPollIdle = std::chrono::milliseconds{10};
constexpr Duration kBusyFor = std::chrono::seconds{1};
constexpr Duration kStorePause = std::chrono::milliseconds{200};  // after a store error, before the next try
constexpr Duration kClockEvery = std::chrono::seconds{10};

void pause(Duration d) {
  if (d > Duration{}) std::this_thread::sleep_for(d);
}

}  // namespace

Result<Roles> parse_roles(std::string_view text) {
  Roles roles{false, false, false, false};
  for (const std::string_view word : split(text, ',')) {
    const std::string_view role = trim(word);
    if (role == "api") {
      roles.api = true;
    } else if (role == "expand") {
      roles.expand = true;
    } else if (role == "send") {
      roles.send = true;
    } else if (role == "maintain") {
      roles.maintain = true;
    } else {
      return Error{ErrorCode::Invalid, fmt::format("\"{}\" is not one of api, expand, send, maintain", role)};
    }
  }
  return roles;
}

Engine::Engine(Parts parts) : parts_(std::move(parts)), places_(parts_.rules) {}
Engine::~Engine() { stop(Duration{0}); }

Result<std::unique_ptr<Engine>> Engine::start(Parts parts) {
  std::unique_ptr<Engine> engine(new Engine(std::move(parts)));
  if (auto begun = engine->begin(); !begun) {
    engine->stop(Duration{0});
    // A node that never came to work must not stay among the living.
    if (engine->lease_.node != 0) {
      if (auto opened = engine->parts_.store.open_session()) {
        if (auto left = (*opened)->remove(engine->lease_.node); !left) log_warning("leaving: {}", left.error().text);
      }
    }
    return begun.error();
  }
  return engine;
}

Result<std::unique_ptr<StoreSession>> Engine::session() {
  auto opened = parts_.store.open_session();
  if (opened && ids_) (*opened)->use_ids(*ids_);
  return opened;
}

// A session of its own and a thread that uses it.
template <class Run>
Result<Done> Engine::launch(const char* name, Run run) {
  POSTRIDER_TRY(opened, session());
  sessions_.push_back(std::move(opened));
  StoreSession& mine = *sessions_.back();
  threads_.emplace_back([this, name, run, &mine] {
    name_thread(name);
    (this->*run)(mine);
  });
  return Done{};
}

Result<Done> Engine::begin() {
  POSTRIDER_TRY(first, session());
  const Duration asked = DatabaseClock::asking();
  POSTRIDER_TRY(database_now, first->database_now());
  clock_.set(database_now, asked);
  POSTRIDER_TRY(joined, first->join(clock_.now(), parts_.node_name));
  lease_ = joined;
  ids_.emplace(lease_.slot);
  health_.node = lease_.node;
  // Where only one node can be, whoever is still written down is gone: its rows need not wait until it is missed.
  if (parts_.store.nodes() == Nodes::One) {
    POSTRIDER_TRY(peers, first->beat(clock_.now(), lease_.node));
    for (const Peer& peer : peers) {
      if (peer.node != lease_.node) POSTRIDER_TRY_DONE(first->remove(peer.node));
    }
  }
  dispatcher_ = std::make_unique<Dispatcher>(
      Dispatcher::Parts{lease_.node, parts_.rules, parts_.providers, places_, parts_.roles.send}, clock_.moment(),
      entropy());
  transport_ =
      parts_.make_transport([this](std::vector<CallEnd> ends) { events_.put(event::Ended{std::move(ends)}); }, clock_);
  POSTRIDER_TRY(intake_session, session());
  intake_ = std::make_unique<Intake>(std::move(intake_session), clock_, [this] { expand_bell_.ring(); });
  POSTRIDER_TRY_DONE(launch("heartbeat", &Engine::run_heartbeat));
  if (parts_.roles.maintain) POSTRIDER_TRY_DONE(launch("maintain", &Engine::run_maintain));
  POSTRIDER_TRY_DONE(launch("records", &Engine::run_records));
  if (parts_.roles.send) POSTRIDER_TRY_DONE(launch("claims", &Engine::run_claims));
  if (parts_.roles.send) POSTRIDER_TRY_DONE(launch("prepare", &Engine::run_prepare));
  if (parts_.roles.expand) POSTRIDER_TRY_DONE(launch("expand", &Engine::run_expand));
  if (parts_.roles.expand && parts_.context != nullptr)
    POSTRIDER_TRY_DONE(launch("expand work", &Engine::run_expand_work));
  dispatch_thread_ = std::thread([this] {
    name_thread("dispatch");
    run_dispatch();
  });
  note_success();
  return Done{};
}

namespace {

// Calls that ended while the dispatcher was busy are one event to it.
void join_ends(std::vector<DispatchEvent>& events) {
  const auto ends_of = [](DispatchEvent& event) {
    auto* const ended = std::get_if<event::Ended>(&event);
    return ended != nullptr ? &ended->ends : nullptr;
  };
  for (auto first = events.begin(); first != events.end();) {
    std::vector<CallEnd>* const joined = ends_of(*first);
    auto behind = std::next(first);
    if (joined != nullptr) {
      std::size_t count = joined->size();  // known before, so that none is moved twice
      for (; behind != events.end() && ends_of(*behind) != nullptr; ++behind) count += ends_of(*behind)->size();
      joined->reserve(count);
      for (auto next = std::next(first); next != behind; ++next) {
        std::vector<CallEnd>& more = *ends_of(*next);
        joined->insert(joined->end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
        more.clear();
      }
    }
    first = behind;
  }
  std::erase_if(events, [](const DispatchEvent& event) {
    const auto* const ended = std::get_if<event::Ended>(&event);
    return ended != nullptr && ended->ends.empty();
  });
}

}  // namespace

void Engine::run_dispatch() {
  Instant next_tick = {};
  Instant next_look = {};
  Instant next_heads = {};  // the next look everywhere
  Instant next_counts = {};
  const Duration heads_every = parts_.roles.expand ? kHeadsEvery : kHeadsEveryWithoutExpander;
  while (!workers_stop_.load()) {
    std::vector<DispatchEvent> events = events_.take_all(std::min(kTickEvery, heads_every));
    const Instant now = clock_.steady();
    join_ends(events);
    for (DispatchEvent& event : events) carry_out(dispatcher_->on(std::move(event), clock_.moment()));
    if (events.empty() || now >= next_tick) {
      next_tick = now + kTickEvery;
      carry_out(dispatcher_->on(event::Tick{}, clock_.moment()));
    }
    if (parts_.roles.send && now >= next_look && !stopping_.load()) {
      next_look = now + heads_every;
      const Look look = now >= next_heads ? Look::Everywhere : Look::BehindClaims;
      if (look == Look::Everywhere)
        next_heads = now + std::clamp(heads_took_.load() * kHeadsShare, heads_every, kHeadsEvery);
      if (!heads_asked_.exchange(true)) claims_.put({.look = look});
    }
    if (stopping_.load()) drained_.store(dispatcher_->idle());
    if (now >= next_counts || events.empty()) {
      next_counts = now + kTickEvery;
      const std::lock_guard lock(state_mutex_);
      counts_ = dispatcher_->counts();
      waits_ = dispatcher_->waits();
    }
  }
  const std::lock_guard lock(state_mutex_);
  counts_ = dispatcher_->counts();
}

void Engine::carry_out(std::vector<DispatchEffect> effects) {
  for (DispatchEffect& effect : effects) {
    if (auto* claim = std::get_if<effect::Claim>(&effect)) {
      claims_.put({.claim = std::move(claim->request)});
    } else if (auto* calls = std::get_if<effect::Start>(&effect)) {
      POSTRIDER_FAULT_POINT("before_call");
      transport_->start(std::move(calls->calls));
    } else if (auto* aborted = std::get_if<effect::Abort>(&effect)) {
      transport_->abort(std::move(aborted->calls));
    } else if (auto* late = std::get_if<effect::Prepare>(&effect)) {
      late_.put(std::move(late->jobs));
    } else if (auto* record = std::get_if<effect::Record>(&effect)) {
      writes_.put({.record = std::move(record->completions)});
    } else if (auto* release = std::get_if<effect::Release>(&effect)) {
      writes_.put({.release = std::move(release->leases)});
    } else if (auto* alarm = std::get_if<effect::Alarm>(&effect)) {
      const ProviderRule* provider = parts_.rules.provider(alarm->provider);
      log_error("provider {} is held for {}: {} ({})", provider != nullptr ? provider->name : "?",
                format_duration(kMisconfiguredHold), words_of(alarm->reason), alarm->detail);
    }
  }
}

// What is claimed is held in our name: it is neither called unasked nor let go, so the question is asked again.
RefusedDeliveries Engine::refused_among(StoreSession& session, RefusedCheck& check, std::span<const Claim> claims) {
  for (;;) {
    auto refused = check.among(session, clock_.now(), claims);
    if (refused) return std::move(*refused);
    note_error("looking for suppressed addresses", refused.error());
    if (workers_stop_.load() || stopping_.load()) return {};  // what comes now is given back
    pause(kStorePause);
  }
}

void Engine::run_claims(StoreSession& session) {
  RefusedCheck check;
  while (!workers_stop_.load()) {
    for (StoreJob& job : claims_.take_all(kTickEvery)) {
      if (workers_stop_.load()) return;
      if (job.look) {
        const auto begun = std::chrono::steady_clock::now();
        auto heads = session.heads(*job.look);
        if (job.look == Look::Everywhere)
          heads_took_.store(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun));
        heads_asked_.store(false);
        if (heads) {
          if (!heads->empty()) events_.put(event::Heads{std::move(*heads)});
        } else {
          note_error("looking for work", heads.error());
          pause(kStorePause);
        }
        continue;
      }
      POSTRIDER_FAULT_POINT("before_claim");
      auto claimed = session.claim(clock_.now(), *job.claim);
      POSTRIDER_FAULT_POINT("after_claim");
      if (claimed) {
        RefusedDeliveries refused = refused_among(session, check, *claimed);
        events_.put(event::Claimed{std::move(*job.claim), std::move(*claimed), std::move(refused)});
      } else {
        note_error("claiming", claimed.error());
        if (claimed.error().code == ErrorCode::Ambiguous) lost_track("a claim");
        pause(kStorePause);
        events_.put(event::ClaimFailed{std::move(*job.claim)});
      }
    }
  }
}

void Engine::run_records(StoreSession& session) {
  while (!workers_stop_.load()) {
    for (WriteJob& job : writes_.take_all(kTickEvery)) {
      if (job.record) {
        POSTRIDER_FAULT_POINT("before_record");
        auto recorded = session.record(clock_.now(), *job.record);
        POSTRIDER_FAULT_POINT("after_record");
        if (recorded) {
          note_success();
          if (!stopping_.load()) pause(gathering(job.record->size(), kLargeRecord));
          events_.put(event::RecordDone{std::move(*recorded)});
        } else {
          note_error("recording outcomes", recorded.error());
          events_.put(event::RecordFailed{recorded.error().text});
        }
        continue;
      }
      auto released = session.give_back(clock_.now(), job.release);
      if (!released) {
        note_error("giving work back", released.error());
        pause(kStorePause);
      }
      events_.put(event::ReleaseDone{released.has_value()});
    }
  }
}

namespace {

// Such a template is left out: what would be written with it ends with "Template not found".
void tell_problems(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) log_error("a stored template cannot be used: {}", problem);
  if (problems.empty()) log_info("all stored templates can be used again");
}

}  // namespace

void Engine::run_expand(StoreSession& session) {
  ExpandStage stage({.store = session,
                     .rules = parts_.rules,
                     .ids = *ids_,
                     .node = lease_.node,
                     .places = parts_.roles.send ? &places_ : nullptr,
                     .catalog_changed = &catalog_changed_},
                    entropy());
  Instant last_row = {};
  Instant next_work = {};
  bool rung = false;
  std::vector<std::string> told;  // about stored templates
  Crowding crowding;
  Courtesy courtesy;
  const auto left_to_producers = [&](const OutboxProgress& outbox, Instant begun) {
    const Instant ended = clock_.steady();
    return courtesy.after(outbox, ended - begun, ended, outbox.more && crowding.look());
  };
  while (!stopping_.load()) {
    const Instant now = clock_.steady();
    auto report = stage.turn(clock_.now());
    const Duration left = report ? left_to_producers(report->outbox, now) : Duration{};
    if (stage.catalog().problems() != told) tell_problems(told = stage.catalog().problems());
    if (report && report->rows > 0) POSTRIDER_FAULT_POINT("after_expand");
    // Large messages and replays get their turn beside a steady stream too, and every turn when there is none.
    const bool work_is_mine = parts_.context == nullptr;
    const bool look_for_work = work_is_mine && report && (now >= next_work || (rung && report->rows == 0));
    rung = false;
    if (!work_is_mine && report && report->rows > 0) work_bell_.ring();
    if (look_for_work) {
      const bool stream = report->rows > 0;
      if (stream) last_row = now;
      hand_on(*report);
      report = stage.work(clock_.now());
      next_work = report && report->rows > 0 && !stream ? now : now + kWorkEvery;
    }
    if (!report) {
      note_error("expanding", report.error());
      if (report.error().code == ErrorCode::Ambiguous) lost_track("an expansion");
      pause(kStorePause);
      continue;
    }
    const std::size_t rows = report->rows;
    if (rows > 0) last_row = now;
    hand_on(*report);
    if (last_row == now) {
      pause(std::max(left, gathering_of_outbox(rows, parts_.store.nodes())));
      continue;
    }
    rung = expand_bell_.wait(now - last_row < kBusyFor ? kPollBusy : kPollIdle);
  }
}

// A question to the application's database may take its whole time-out. Where there are such, work has a thread of its
// own, so that the outbox does not wait with it.
void Engine::run_expand_work(StoreSession& session) {
  ExpandStage stage({session, parts_.rules, *ids_, lease_.node, nullptr, parts_.context}, entropy());
  while (!stopping_.load()) {
    auto report = stage.work(clock_.now());
    if (!report) {
      note_error("expanding", report.error());
      if (report.error().code == ErrorCode::Ambiguous) lost_track("an expansion");
      pause(kStorePause);
      continue;
    }
    const bool idle = report->rows == 0 && !stage.has_begun();
    hand_on(*report);
    if (idle) work_bell_.wait(kWorkEvery);
  }
}

// Texts that are written just before they are sent: a slow database of the application holds up only those.
void Engine::run_prepare(StoreSession& session) {
  PrepareStage stage({session, parts_.rules, parts_.context, parts_.secrets});
  while (!workers_stop_.load()) {
    for (std::vector<LateJob>& jobs : late_.take_all(std::chrono::seconds{1})) {
      if (workers_stop_.load()) return;
      if (late_catalog_changed_.exchange(false)) stage.catalog_changed();
      events_.put(event::Prepared{stage.turn(clock_.now(), jobs)});
    }
  }
}

void Engine::hand_on(ExpandReport& report) {
  expanded_.fetch_add(report.rows, std::memory_order_relaxed);
  if (!report.owned.empty()) events_.put(event::Owned{std::move(report.owned)});
  if (!report.queued.empty()) events_.put(event::Work{std::move(report.queued)});
  report = {};
}

// The heartbeat has a thread and a connection of its own: slow work elsewhere must not look like death.
void Engine::run_heartbeat(StoreSession& session) { keep(session, MaintainDuties::HeartbeatOnly); }
void Engine::run_maintain(StoreSession& session) { keep(session, MaintainDuties::All); }

void Engine::keep(StoreSession& session, MaintainDuties duties) {
  MaintainStage stage(session, lease_.node, duties);
  Instant next_clock = {};
  while (!workers_stop_.load()) {
    const Instant now = clock_.steady();
    if (now >= next_clock) {
      const Duration asked = DatabaseClock::asking();
      if (auto database_now = session.database_now()) {
        POSTRIDER_FAULT_POINT("after_clock");
        clock_.set(*database_now, asked);
      }
      next_clock = clock_.steady() + kClockEvery;
    }
    auto report = stage.turn({clock_.now(), now});
    if (!report) {
      note_error("keeping the lease", report.error());
      if (report.error().code == ErrorCode::Ambiguous) lost_track("a take-over");
      pause(kStorePause);
      continue;
    }
    if (report->declared_dead) {
      log_error("other nodes took node {} for dead; it starts anew", lease_.node);
      if (!starting_anew_.exchange(true)) parts_.on_start_anew();
      return;
    }
    if (report->beat) {
      events_.put(event::Beat{now, report->living});
      note_success();
      const std::lock_guard lock(state_mutex_);
      health_.living_nodes = report->living;
    }
    if (report->trouble) {
      note_error("maintaining", *report->trouble);
      if (report->trouble->code == ErrorCode::Ambiguous) lost_track("a take-over");
    }
    for (const NodeId dead : report->found_dead) log_warning("node {} stopped beating; its work is taken over", dead);
    if (!report->taken_over.empty()) {
      POSTRIDER_FAULT_POINT("after_take_over");
      log_warning("took over {} deliveries of a lost node; their outcome is unclear", report->taken_over.size());
      events_.put(event::TookOver{std::move(report->taken_over)});
    }
    if (!report->promoted.empty()) {
      POSTRIDER_FAULT_POINT("after_promote");
      const bool expand_work = std::any_of(report->promoted.begin(), report->promoted.end(),
                                           [](const QueueGroup& group) { return group.channel == Channel::Expand; });
      if (expand_work) {
        expand_bell_.ring();
        work_bell_.ring();
      }
      events_.put(event::Work{std::move(report->promoted)});
    }
    pause(std::chrono::milliseconds{10});
  }
}

// The store may hold rows in our name that we know nothing of. Only a node with another name can find them: they are
// then rows of a node that is gone.
void Engine::lost_track(std::string_view of) {
  if (starting_anew_.exchange(true)) return;
  log_error("the answer to {} was lost; node {} starts anew, so that what it may hold is taken over", of, lease_.node);
  parts_.on_start_anew();
}

void Engine::work_appeared(std::vector<QueueGroup> groups) {
  if (groups.empty()) return;
  expand_bell_.ring();
  events_.put(event::Work{std::move(groups)});
}

void Engine::stop(Duration grace) {
  if (stopping_.exchange(true)) return;
  if (intake_) intake_->stop();
  expand_bell_.ring();
  events_.put(event::Stop{});
  const auto wait_drained = [&](Duration longest) {
    const Instant until = clock_.steady() + longest;
    while (dispatch_thread_.joinable() && !drained_.load() && clock_.steady() < until)
      pause(std::chrono::milliseconds{5});
  };
  wait_drained(grace);
  if (!drained_.load()) events_.put(event::AbortAll{});
  wait_drained(std::chrono::seconds{2});
  workers_stop_.store(true);
  events_.close();
  claims_.close();
  writes_.close();
  late_.close();
  if (dispatch_thread_.joinable()) dispatch_thread_.join();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  transport_.reset();
  // Leaving says at once what others would otherwise find out in six seconds. With rows still held they must find out.
  if (drained_.load() && !sessions_.empty()) {
    if (auto left = sessions_.front()->remove(lease_.node); !left) log_warning("leaving: {}", left.error().text);
  }
  sessions_.clear();
}

std::vector<LimitWait> Engine::waits() const {
  const std::lock_guard lock(state_mutex_);
  return waits_;
}

DispatchCounts Engine::counts() const {
  const std::lock_guard lock(state_mutex_);
  return counts_;
}

EngineHealth Engine::health() const {
  const std::lock_guard lock(state_mutex_);
  return health_;
}

void Engine::note_success() {
  const std::lock_guard lock(state_mutex_);
  if (!health_.store_reachable && !health_.last_error.empty()) log_info("the store can be reached again");
  health_.store_reachable = true;
}

void Engine::note_error(std::string_view where, const Error& error) {
  const std::lock_guard lock(state_mutex_);
  const Instant now = clock_.steady();
  // The first error is logged at once, the same trouble then once a second: a log must not fill a disk that is full
  // already.
  if (health_.store_reachable || now - last_error_logged_ > std::chrono::seconds{1}) {
    log_error("{}: {}", where, error.text);
    last_error_logged_ = now;
  }
  health_.store_reachable = false;
  health_.last_error = error.text;
}

}  // namespace postrider
