#include "sim/world.h"

#include <cstdio>

#include "base/limits.h"
#include "providers/adapters.h"
#include "sim/session.h"

namespace postrider::sim {
namespace {

constexpr std::size_t kOrdersMin = 20;
constexpr std::size_t kOrdersSpread = 40;
constexpr Duration kTroubleEvery = std::chrono::milliseconds{500};
constexpr Duration kQuietEnough = std::chrono::seconds{8};
constexpr std::uint64_t kFaultsMin = 20;
constexpr std::uint64_t kStepsMax = 3'000'000;
constexpr Duration kRestMax = std::chrono::hours{24 * 14};

constexpr std::string_view kTypes[] = {"order.least", "order.once", "order.reconcile", "order.record", "order.code"};
constexpr Guarantee kGuarantees[] = {Guarantee::AtLeastOnce, Guarantee::AtMostOnce, Guarantee::Reconcile,
                                     Guarantee::AtLeastOnce, Guarantee::AtMostOnce};
constexpr std::size_t kRecord = 3;  // about something that the application has a record of
constexpr std::size_t kCode = 4;    // with a sealed secret
constexpr Channel kChannels[] = {Channel::Webhook, Channel::Email};

Duration seconds_between(Prng& random, int from, int to) {
  return std::chrono::milliseconds{from * 1000 +
                                   static_cast<int>(random.below(static_cast<std::uint64_t>(to - from) * 1000))};
}

Result<CompiledText> text(const char* body) { return CompiledText::compile(body); }

}  // namespace

World::World(std::uint64_t seed, Trace trace)
    : seed_(seed), printing_(trace), random_(seed * 0x9E3779B97F4A7C15ULL + 1), faults_(random_), network_(*this) {
  make_rules();
  checkers_ = all_checkers(rules_);
  operator_session_ = open_session(kWorld);
  operator_session_->use_ids(operator_ids_);
  places_ = 1 + static_cast<int>(random_.below(3));
}

World::~World() = default;

// --- the world as it is configured

void World::make_rules() {
  make_tenants();
  make_providers();
  make_routes();
  Policy policy{.kind = PolicyKind::Exponential};
  policy.base = seconds_between(random_, 1, 60);
  policy.cap = std::chrono::minutes{16};
  policy.attempts_max = 2 + static_cast<int>(random_.below(5));
  policy.timeout = seconds_between(random_, 3, 30);
  policy.jitter = std::chrono::milliseconds{random_.below(1000)};
  rules_.policies.push_back({.policy = policy});
  rules_.zones = &zones_;
  rules_.index();
}

// The world begins at eight in the morning; quiet hours begin soon after in
// some seeds, so that what is repeated meets them.
void World::make_tenants() {
  const std::vector<std::string> names{"north", "south"};
  auto session = std::move(store_.open_session()).value();
  const auto ids = session->tenants(names).value();
  for (std::size_t i = 0; i < names.size(); ++i) rules_.tenants.push_back({ids[i], names[i], {}});
  Tenant& south = rules_.tenants.back();
  if (random_.below(2) == 0) {
    const int from = 8 * 60 + 1 + static_cast<int>(random_.below(15));
    south.quiet_hours = QuietHours{from, from + 5 + static_cast<int>(random_.below(120))};
  }
  if (random_.below(3) == 0) {
    south.limit = {.per_second = 0.2 + static_cast<double>(random_.below(40)) / 10,
                   .burst = 1 + static_cast<double>(random_.below(3)),
                   .concurrency = 1 + static_cast<int>(random_.below(3))};
  }
  // An engine that knows of no suppression asks for none until it looks again:
  // here there is always one.
  const std::vector<Suppression> nobody{{.tenant = ids[0], .address = "nobody@example.test", .evidence = "none"}};
  session->use_ids(operator_ids_);
  (void)session->suppress(clock_.instant(), {.actor = "operator"}, nobody).value();
}

void World::make_providers() {
  auto session = std::move(store_.open_session()).value();
  const auto ids = session->providers(std::vector<std::string>{"hook", "mail"}).value();
  owned_adapters_.push_back(make_webhook({.name = "hook", .type = "webhook", .channel = Channel::Webhook}).value());
  owned_adapters_.push_back(
      make_smtp({.name = "mail", .type = "smtp", .channel = Channel::Email, .values = {{"from", "a@example.test"}}})
          .value());
  const int window = 4 << random_.below(5);
  for (std::size_t i = 0; i < 2; ++i) {
    rules_.providers.push_back({.id = ids[i],
                                .name = i == 0 ? "hook" : "mail",
                                .channel = kChannels[i],
                                .acceptance = random_.below(4) == 0 ? Acceptance::IsTheEnd : Acceptance::MayReportLater,
                                .window = window,
                                .connections = std::max(1, window / 2),
                                .ahead = random_.below(2) == 0 ? 0 : window / 4});
    if (random_.below(4) == 0) {
      rules_.providers.back().limit = {.per_second = 0.5 + static_cast<double>(random_.below(80)) / 10,
                                       .burst = 1 + static_cast<double>(random_.below(4))};
    }
    rules_.chains[kChannels[i]] = {ids[i]};
    adapters_[ids[i]] = owned_adapters_[i].get();
  }
}

void World::make_routes() {
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    Route route{.type = std::string{kTypes[i]}, .guarantee = kGuarantees[i]};
    if (random_.below(4) == 0 || (i == kRecord && random_.below(4) != 0)) route.rendering = Rendering::Late;
    if (i == kRecord) {
      route.context = ContextRule{
          .database = "application",
          .sql = compile_context_sql("SELECT * FROM booking WHERE id = :entity_id", SqlDialect::Sqlite).value()};
      route.cancel_when = {.field = "status", .values = {"off"}};
    }
    route.recipients.push_back({Channel::Webhook, "urls", RecipientShape::Array});
    route.recipients.push_back({Channel::Email, "mails", RecipientShape::Array});
    rules_.routes.push_back(std::move(route));
    for (const Channel channel : kChannels) {
      add_template(std::string{kTypes[i]}, channel,
                   i == kRecord ? R"({"ref":"{{ref}}","seen":"{{seen}}"})"
                   : i == kCode ? R"({"ref":"{{ref}}","code":"{{secret.code}}"})"
                                : R"({"ref":"{{ref}}"})");
    }
  }
}

void World::add_template(const std::string& type, Channel channel, const char* body) {
  Template made{.key = fmt::format("{}-{}", type, to_text(channel)), .type = type, .channel = channel};
  made.texts.push_back({.subject = text("{{ref}}").value(), .body = text(body).value()});
  rules_.templates.add(std::move(made));
}

std::unique_ptr<StoreSession> World::open_session(Owner owner) {
  return std::make_unique<SimSession>(*this, owner, std::move(store_.open_session()).value());
}

Duration World::moment(int milliseconds) {
  return Duration{static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(milliseconds) * 1000))};
}

// --- processes

void World::start_process(int place) {
  starting_.erase(place);
  const Owner owner = ++last_owner_;
  auto process = std::make_unique<Process>(*this, owner, place);
  if (!process->begin()) {
    starting_.insert(place);
    clock_.after(std::chrono::seconds{1}, kWorld, Kind::Once, [this, place] { start_process(place); });
    return;
  }
  tell([&](Checker& checker) { checker.node_begins(process->node(), clock_.now()); });
  processes_.emplace(owner, std::move(process));
}

void World::ended(Process& process) {
  const auto found = processes_.find(process.self());
  if (found == processes_.end()) return;
  note("ends", fmt::format("node {}", process.node()));
  const int place = process.place();
  network_.forget(process.self());
  ended_.push_back(std::move(found->second));  // its own step may still be running
  processes_.erase(found);
  starting_.insert(place);
  const Duration wait = faults_.healed() ? std::chrono::milliseconds{100} : seconds_between(random_, 0, 15);
  clock_.after(wait, kWorld, Kind::Once, [this, place] { start_process(place); });
}

void World::crash(Owner owner) {
  Process& process = *processes_.at(owner);
  note("crash", fmt::format("node {}", process.node()));
  ended(process);
}

Process* World::any_process() {
  std::vector<Process*> able;
  for (const auto& [owner, process] : processes_) {
    if (process->accepts()) able.push_back(process.get());
  }
  return able.empty() ? nullptr : able[random_.below(able.size())];
}

// --- producers

void World::plan_orders() {
  const std::size_t count = kOrdersMin + random_.below(kOrdersSpread);
  sending_ends_ = seconds_between(random_, 5, 40);
  for (std::size_t i = 0; i < count; ++i) {
    const int number = static_cast<int>(i);
    orders_.push_back(make_order(number));
    rows_.push_back(make_row(orders_.back(), number));
    tell([&](Checker& checker) { checker.ordered(orders_.back()); });
    const Duration at{static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(sending_ends_.count())))};
    clock_.after(at, kWorld, Kind::Once, [this, number] { send(number); });
  }
}

Order World::make_order(int number) {
  Order order;
  order.tenant = random_.below(3) == 0 ? "south" : "north";
  order.ref = fmt::format("m{}", number);
  if (random_.below(2) == 0) order.key = fmt::format("key-{}", number);
  // The same key of another tenant is another key.
  const std::string before = fmt::format("key-{}", number - 1);
  if (random_.below(4) == 0 && number > 0 && orders_.back().key == before && orders_.back().tenant != order.tenant)
    order.key = before;
  order.id = new_id();
  const std::uint64_t draw = random_.below(40);
  if (draw == 0) {
    order.ends = MessageState::Ignored;
    return order;
  }
  const bool crowd = draw == 1 && random_.below(12) == 0;  // more than one expansion can make: in chunks
  const std::uint64_t recipients = crowd ? kDeliveriesPerExpansionMax + 20 : 1 + random_.below(4);
  for (std::uint64_t i = 0; i < recipients; ++i) {
    const std::string name = fmt::format("{}-r{}", order.ref, i);
    order.recipients.push_back(random_.below(2) == 0 ? "https://" + name + ".example.test/in" : name + "@example.test");
  }
  return order;
}

std::string World::new_id() { return format_uuid(make_uuid7(clock_.instant(), random_.next(), random_.next())); }

OutboxRow World::make_row(Order& order, int number) {
  OutboxRow row;
  row.tenant = order.tenant;
  row.id = order.id;
  row.idempotency_key = order.key;
  const std::size_t type = random_.below(std::size(kTypes));
  row.type = order.ends ? "nobody.knows" : std::string{kTypes[type]};
  if (type == kCode) row.sealed = sealed_box(number);
  if (type == kRecord) {
    row.entity_id = fmt::format("e{}", number);
    records_[row.entity_id] = {.ref = order.ref};
  }
  std::string urls;
  std::string mails;
  for (const std::string& recipient : order.recipients) {
    std::string& list = recipient.starts_with("https:") ? urls : mails;
    if (!list.empty()) list += ',';
    list += '"' + recipient + '"';
  }
  row.payload = fmt::format(R"({{"ref":"{}","urls":[{}],"mails":[{}]}})", order.ref, urls, mails);
  const std::string_view lanes[] = {"", "priority", "standard", "bulk"};
  row.lane = lanes[random_.below(4)];
  if (random_.below(6) == 0) {
    order.due_at = clock_.instant() + seconds_between(random_, 1, 600);
    row.due_at = format_instant(*order.due_at);
  }
  if (random_.below(type == kRecord ? 2 : 6) == 0) {
    const bool soon = random_.below(2) == 0;  // perhaps before anybody got to it
    row.expires_at = format_instant(clock_.instant() + seconds_between(random_, soon ? 5 : 60, soon ? 60 : 3600));
  }
  return row;
}

// By SQL: the commit is the promise. By HTTP: the answer is, and until it comes
// the producer sends again.
void World::send(int number) {
  const auto at = static_cast<std::size_t>(number);
  const Order& order = orders_[at];
  if (random_.below(2) == 0) {
    // Inserting under an id that an earlier HTTP request left unanswered would
    // be a second producer; one way for each.
    database_->insert_outbox(rows_[at]);
    note("inserted", fmt::format("{} m{}", order.id, number));
    tell([&](Checker& checker) { checker.promised(order, order.id); });
    if (faults_.strikes(Fault::RepeatedSend)) {
      OutboxRow again = rows_[at];
      // With a key it is the same fact, whatever id the repetition has.
      if (!order.key.empty() && random_.below(2) == 0) again.id = new_id();
      database_->insert_outbox(std::move(again));
    }
    return;
  }
  // Who gives neither an id nor a key cannot repeat: it is asked for once, and what comes of it is known only from an
  // answer.
  if (order.key.empty() && random_.below(3) == 0) return send_once(number);
  unanswered_.insert(number);
  if (!order.key.empty() && random_.below(2) == 0) rows_[at].id.clear();  // the engine gives one, each time another
  repeat_until_answered(number);
}

void World::send_once(int number) {
  const auto at = static_cast<std::size_t>(number);
  Process* process = any_process();
  if (process == nullptr) {
    clock_.after(seconds_between(random_, 2, 6), kWorld, Kind::Once, [this, number] { send_once(number); });
    return;
  }
  rows_[at].id.clear();
  Order nameless = orders_[at];
  nameless.id.clear();
  process->accept(nameless, {rows_[at]});
}

// The id that the engine gave comes back, perhaps while its message still waits in the outbox.
void World::give_back(const Order& told) {
  const std::uint64_t draw = random_.below(3);
  Process* process = any_process();
  if (process == nullptr || draw == 0) return;
  if (draw == 1) return steal_key(told);
  const auto same = [&](const Order& order) { return order.ref == told.ref; };
  const auto found = std::find_if(orders_.begin(), orders_.end(), same);
  OutboxRow row = rows_[static_cast<std::size_t>(found - orders_.begin())];
  row.id = told.id;
  note("given back", told.id);
  process->accept(told, {std::move(row)});
}

void World::repeat_until_answered(int number) {
  if (!unanswered_.contains(number)) return;
  const auto at = static_cast<std::size_t>(number);
  if (Process* process = any_process()) {
    process->accept(orders_[at], {rows_[at]});
    if (faults_.strikes(Fault::RepeatedSend)) {
      if (Process* other = any_process()) other->accept(orders_[at], {rows_[at]});
    }
  }
  clock_.after(seconds_between(random_, 2, 6), kWorld, Kind::Once, [this, number] { repeat_until_answered(number); });
}

void World::answered(const Order& order, const Result<std::vector<std::vector<Admitted>>>& admitted) {
  if (!admitted) return;
  const Admitted& first = admitted->front().front();
  if (first.verdict == Admission::KeyReused) {
    note("key refused", order.ref);
    if (!order.steals_key) tell([&](Checker& checker) { checker.key_refused(order); });
  } else if (order.steals_key) {
    note("key stolen", order.ref);
    tell([&](Checker& checker) { checker.key_stolen(order); });
  } else {
    Order told = order;
    told.id = format_uuid(first.first);
    note("acknowledged", told.id);
    tell([&](Checker& checker) { checker.promised(told, told.id); });
    if (!order.key.empty() && !faults_.healed() && random_.below(4) == 0) steal_key(order);
    if (order.id.empty()) give_back(told);
  }
  no_longer_waits_for_answer(order);
}

// Somebody takes the same key, or a given id, for something else: refused, and nothing is kept.
void World::steal_key(const Order& order) {
  Process* process = any_process();
  if (process == nullptr) return;
  Order other{.key = order.key, .tenant = order.tenant, .ref = order.ref + "-thief", .steals_key = true};
  OutboxRow row;
  if (order.key.empty()) row.id = other.id = order.id;
  row.tenant = other.tenant;
  row.idempotency_key = other.key;
  row.type = kTypes[0];
  row.payload = fmt::format(R"({{"ref":"{0}","urls":["https://{0}.example.test/in"],"mails":[]}})", other.ref);
  process->accept(other, {std::move(row)});
}

// An expiry that passed before anybody took the message: the producer is told,
// and nothing is kept.
void World::refused(const Order& order) {
  note("refused", order.ref);
  no_longer_waits_for_answer(order);
}

void World::no_longer_waits_for_answer(const Order& order) {
  for (const int number : std::set<int>{unanswered_}) {
    if (orders_[static_cast<std::size_t>(number)].ref == order.ref) unanswered_.erase(number);
  }
}

// --- what goes wrong

void World::plan_trouble() {
  clock_.after(kTroubleEvery, kWorld, Kind::Once, [this] {
    if (faults_.healed()) return;
    trouble();
    plan_trouble();
  });
}

void World::trouble() {
  if (random_.below(6) == 0) cancel_one();
  if (random_.below(6) == 0) operate();
  for (const auto& [owner, process] : std::map<Owner, Process*>{[&] {
         std::map<Owner, Process*> all;
         for (const auto& [id, each] : processes_) all.emplace(id, each.get());
         return all;
       }()}) {
    if (faults_.strikes(Fault::Crash)) {
      crash(owner);
    } else if (faults_.strikes(Fault::Stall)) {
      process->asleep_until = clock_.now() + seconds_between(random_, 1, 25);
      note("stalls", fmt::format("node {}", process->node()));
    } else if (faults_.strikes(Fault::Restart)) {
      process->stop();
    }
  }
  if (faults_.strikes(Fault::StoreGone)) {
    store_gone_until_ = clock_.now() + seconds_between(random_, 0, 20);
    note("store gone", format_duration(store_gone_until_ - clock_.now()));
  }
  if (faults_.strikes(Fault::ClockStep)) {
    const Duration by = seconds_between(random_, 0, 7200) - std::chrono::hours{1};
    clock_step_ += by;
    note("clock step", format_duration(by));
    tell([](Checker& checker) { checker.clock_stepped(); });
  }
  if (faults_.strikes(Fault::ProviderDown)) {
    const auto provider = rules_.providers[random_.below(rules_.providers.size())].id;
    network_.provider_down(provider, clock_.now() + seconds_between(random_, 10, 6 * 3600));
    note("provider down", std::to_string(provider));
  }
}

void World::heal() {
  note("healed", "");
  faults_.heal();
  for (const auto& [owner, process] : processes_) process->asleep_until.reset();
}

// --- running

bool World::at_rest() const {
  if (!unanswered_.empty() || !starting_.empty() || processes_.empty()) return false;
  if (!database_->outbox.empty() || !database_->queue.empty() || !database_->deferred.empty()) return false;
  return std::all_of(processes_.begin(), processes_.end(), [](const auto& entry) { return entry.second->idle(); });
}

void World::step() {
  Clockwork::Entry entry = clock_.pop();
  ++steps_;
  ended_.clear();
  if (entry.owner != kWorld) {
    const auto process = processes_.find(entry.owner);
    if (process == processes_.end()) return;
    const auto& asleep_until = process->second->asleep_until;
    if (asleep_until && clock_.now() < *asleep_until) {
      entry.at = *asleep_until;
      clock_.push(std::move(entry));
      return;
    }
  }
  mix(static_cast<std::uint64_t>(clock_.now().count()) * 31 + static_cast<std::uint64_t>(entry.owner));
  entry.action();
}

// Hours in which only heartbeats would be heard are not played. Everybody who
// is awake beats on arrival, as they would have all the time.
void World::skip_quiet_time() {
  if (!database_->outbox.empty() || !database_->queue.empty()) return;
  Duration until = clock_.next_once();
  if (!database_->deferred.empty()) {
    const Instant due = database_->deferred.begin()->first.first;
    until = std::min(until, due - clock_.instant() - clock_step_ + clock_.now());
  }
  if (until == Duration::max() || until - clock_.now() < kQuietEnough) return;
  for (const auto& [owner, process] : processes_) {
    if (process->asleep_until && *process->asleep_until > clock_.now()) return;
    if (!process->idle()) return;
  }
  clock_.skip_to(until - std::chrono::seconds{1});
  std::vector<Process*> awake;
  for (const auto& [owner, process] : processes_) awake.push_back(process.get());
  for (Process* process : awake) process->beat_now();
}

void World::look() {
  tell([&](Checker& checker) { checker.look(*database_); });
}

Outcome World::run() {
  for (int place = 0; place < places_; ++place) start_process(place);
  plan_orders();
  plan_people();
  plan_trouble();
  look();
  Duration next_look = std::chrono::seconds{2};
  const auto limit = [&] { return steps_ > kStepsMax; };
  // Faults strike while orders come in and for a while after, until there were
  // enough of them.
  Duration troubled = sending_ends_ + seconds_between(random_, 5, 60);
  const Duration longest = troubled + std::chrono::hours{2};
  while (!limit() && (clock_.now() < troubled || (faults_.total() < kFaultsMin && clock_.now() < longest))) {
    step();
    if (clock_.now() >= next_look) {
      look();
      next_look = clock_.now() + std::chrono::seconds{5};
    }
  }
  heal();
  const Duration healed = clock_.now();
  while (!limit() && !at_rest() && clock_.now() - healed < kRestMax) {
    step();
    skip_quiet_time();
  }
  look();
  Outcome outcome{.seed = seed_,
                  .deliveries = database_->deliveries.size(),
                  .faults = faults_.total(),
                  .steps = steps_,
                  .trace = trace_,
                  .simulated = clock_.now()};
  if (!at_rest()) {
    outcome.violations.push_back(
        {"settles", fmt::format("{} after healing: {} in the outbox, {} in the queue, {} "
                                "deferred, {} unanswered",
                                format_duration(clock_.now() - healed), database_->outbox.size(),
                                database_->queue.size(), database_->deferred.size(), unanswered_.size())});
  } else {
    tell([&](Checker& checker) { checker.at_rest(*database_); });
  }
  for (const auto& checker : checkers_) {
    outcome.violations.insert(outcome.violations.end(), checker->violations().begin(), checker->violations().end());
  }
  return outcome;
}

// --- what the checkers are shown

void World::claimed(const Claim& claim, NodeId node) {
  tell([&](Checker& checker) { checker.claimed(claim, node, clock_.now()); });
  leased(claim, node);
}
void World::leased(const Claim& claim, NodeId node) {
  delivery_of_[claim.delivery.recipient] = claim.delivery.id;
  note("leased", fmt::format("delivery {} fence {} to node {}", claim.delivery.id, claim.lease.fence, node));
  tell([&](Checker& checker) { checker.leased(claim, node); });
}
void World::recorded(const Completion& completion, Recorded result) {
  note(result == Recorded::Applied ? "recorded" : "stale",
       fmt::format("delivery {} fence {} as {}: {}", completion.lease.id, completion.lease.fence,
                   to_text(completion.verdict.state), code_of(completion.verdict.reason)));
  tell([&](Checker& checker) { checker.recorded(completion, result); });
}
void World::given_back(std::span<const Lease> leases) {
  for (const Lease& lease : leases) {
    note("given back", fmt::format("delivery {} fence {}", lease.id, lease.fence));
    tell([&](Checker& checker) { checker.given_back(lease); });
  }
}
void World::removed(NodeId node) {
  std::optional<Duration> silent_for;
  for (const auto& [owner, process] : processes_) {
    if (process->node() != node) continue;
    if (!process->leaves()) {
      silent_for = clock_.now() - process->last_beat;
    } else if (!process->lost_track()) {
      tell([&](Checker& checker) { checker.left(node); });
    }
  }
  note("removed", fmt::format("node {}", node));
  tell([&](Checker& checker) { checker.removed(node, silent_for); });
}
void World::told_to_wait(const CallFacts& facts, Instant until) {
  tell([&](Checker& checker) { checker.told_to_wait(facts, until); });
}
void World::beaten(NodeId node) {
  for (const auto& [owner, process] : processes_) {
    if (process->node() == node) process->last_beat = clock_.now();
  }
}
void World::call_begins(const CallFacts& facts) {
  note("calls", fmt::format("delivery {} fence {} by node {}", facts.delivery, facts.fence, facts.node));
  tell([&](Checker& checker) { checker.call_begins(facts); });
}
void World::call_ends(const CallFacts& facts) {
  tell([&](Checker& checker) { checker.call_ends(facts); });
}
void World::call_not_counted(RowId delivery) {
  tell([&](Checker& checker) { checker.call_not_counted(delivery); });
}
void World::effect(const CallFacts& facts) {
  note("takes effect", fmt::format("delivery {} fence {}", facts.delivery, facts.fence));
  tell([&](Checker& checker) { checker.effect(facts); });
}

RowId World::delivery_of(const std::string& recipient) {
  const auto found = delivery_of_.find(recipient);
  return found == delivery_of_.end() ? 0 : found->second;
}

void World::note(std::string_view what, std::string_view about) {
  for (const char c : what) mix(static_cast<std::uint8_t>(c));
  for (const char c : about) mix(static_cast<std::uint8_t>(c));
  if (printing_ == Trace::Print)
    fmt::print("{:>14.6f}  {:<24} {}\n", static_cast<double>(clock_.now().count()) / 1e6, what, about);
}

}  // namespace postrider::sim
