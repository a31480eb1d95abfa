#include "pipeline/dispatch.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/canary.h"
#include "base/limits.h"
#include "base/secret_text.h"
#include "base/text.h"
#include "base/wiped_json.h"

namespace postrider {
namespace {

constexpr std::size_t lane_index(Lane lane) { return static_cast<std::size_t>(lane) - 1; }
// An eighth of the connections is never given to the other lanes, so that priority finds one free at once.
constexpr int connections_for_others(const ProviderRule& rule) { return rule.connections - rule.connections / 8; }
constexpr CallId call_id(std::uint32_t slot, std::uint32_t generation) {
  return static_cast<CallId>(generation) << 32U | slot;
}

}  // namespace

std::string provider_key(const Delivery& delivery, std::string_view provider_name) {
  constexpr std::size_t kDigitsMax = 20;
  std::string text;
  text.reserve(2 * (kDigitsMax + 1) + provider_name.size());
  for (const std::int64_t id : {std::int64_t{delivery.tenant}, std::int64_t{delivery.id}}) {
    std::array<char, kDigitsMax> digits{};
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), id).ptr);
    text += '\n';
  }
  text += provider_name;
  const Hash128 hash = hash128(text);
  return to_hex({reinterpret_cast<const char*>(hash.bytes.data()), hash.bytes.size()});
}

Dispatcher::Dispatcher(Parts parts, Moment at, std::uint64_t seed)
    : parts_(parts), random_(seed), limits_(parts.rules, at.steady), last_beat_(at.steady) {
  for (const ProviderRule& rule : parts_.rules.providers) {
    Desk desk;
    desk.rule = &rule;
    const auto adapter = parts_.providers.find(rule.id);
    POSTRIDER_CHECK(adapter != parts_.providers.end());
    desk.adapter = adapter->second;
    desks_.emplace(rule.id, std::move(desk));
  }
  any_at_most_once_ = std::any_of(parts_.rules.routes.begin(), parts_.rules.routes.end(),
                                  [](const Route& route) { return route.guarantee == Guarantee::AtMostOnce; });
}

std::vector<DispatchEffect> Dispatcher::on(DispatchEvent event, Moment at) {
  out_.clear();
  std::visit([&](auto&& what) { take(std::forward<decltype(what)>(what), at); }, std::move(event));
  start_calls(at);
  if (!to_prepare_.empty()) out_.emplace_back(effect::Prepare{std::exchange(to_prepare_, {})});
  flush_record(at);
  flush_release(at);
  plan_claims(at);
  return std::move(out_);
}

bool Dispatcher::idle() const {
  return open_calls_ == 0 && claims_open_ == 0 && to_record_.empty() && recording_ == nullptr && to_release_.empty() &&
         releasing_.empty() && free_slots_.size() == flights_.size();
}

// --- what came in

void Dispatcher::take(event::Work work, Moment at) {
  for (const QueueGroup& where : work.groups) {
    Group& group = groups_[where];
    if (!group.maybe_prefetchable && !group.maybe_at_most_once) group.oldest = at.now;
    group.maybe_prefetchable = group.more_prefetchable = true;
    if (any_at_most_once_) group.maybe_at_most_once = group.more_at_most_once = true;
  }
}

// Rows of an earlier configuration may be at-most-once although no route is any more, so looking assumes both kinds.
void Dispatcher::take(event::Heads heads, Moment) {
  for (const QueueHead& head : heads.heads) {
    Group& group = groups_[head.group];
    group.oldest = head.oldest;
    group.maybe_prefetchable = true;
    group.maybe_at_most_once = true;
  }
}

void Dispatcher::take(event::Claimed claimed, Moment) {
  --claims_open_;
  counts_.claimed += claimed.claims.size();
  std::map<TenantId, int> got;
  auto last = got.end();  // rows of one tenant come in a row
  for (const Claim& claim : claimed.claims) {
    if (last == got.end() || last->first != claim.lease.tenant) last = got.try_emplace(claim.lease.tenant).first;
    ++last->second;
  }
  for (const TenantShare& share : claimed.request.shares) {
    const int received = got[share.tenant];
    parts_.places.give_back(share.provider, share.quota - received);
    limits_.count_back(share.provider, share.tenant, share.quota - received);
    if (received == share.quota) continue;
    forget(claimed.request, share.tenant, Unless::MoreWasSaid);
    limits_.nothing_waits({claimed.request.lane, claimed.request.channel, share.tenant});
  }
  for (Claim& claim : claimed.claims) {
    const auto no = claimed.refused.find(claim.lease.id);
    no == claimed.refused.end() ? admit(std::move(claim)) : refuse(std::move(claim), no->second);
  }
}

void Dispatcher::take(event::ClaimFailed failed, Moment) {
  --claims_open_;
  for (const TenantShare& share : failed.request.shares) {
    parts_.places.give_back(share.provider, share.quota);
    limits_.count_back(share.provider, share.tenant, share.quota);
    forget(failed.request, share.tenant,
           Unless::Nothing);  // The next look at the heads finds them again: no busy loop.
  }
}

void Dispatcher::take(event::Owned owned, Moment) {
  counts_.owned += owned.claims.size();
  for (Claim& claim : owned.claims) admit(std::move(claim));
}

// Nobody knows how far the dead node got, so its open attempts end as unclear, and the route's guarantee decides.
void Dispatcher::take(event::TookOver taken, Moment at) {
  for (Claim& claim : taken.claims) {
    ++counts_.taken_over;
    const ProviderRule* rule = parts_.rules.provider(claim.lease.provider);
    const Outcome lost{OutcomeKind::Unclear, Reason::NodeLost};
    const Judged facts{.attempt = std::max(1, claim.lease.attempt),
                       .guarantee = claim.delivery.guarantee,
                       .expires_at = claim.delivery.expires_at,
                       .acceptance = rule != nullptr ? rule->acceptance : Acceptance::MayReportLater};
    const Verdict verdict = judge(lost, facts, parts_.rules.policy_for(claim.delivery, rule), at.now, random_.next());
    const AttemptEnd end{
        .outcome = lost.kind, .reason = lost.reason, .started_at = claim.lease.claimed_at, .ended_at = at.now};
    const int fence = claim.lease.fence - 1;
    complete(Flight{.claim = std::move(claim)}, verdict, canary("silent_take_over") ? std::nullopt : std::optional{end},
             "", fence);
  }
}

void Dispatcher::take(event::Ended ended, Moment at) {
  for (const CallEnd& end : ended.ends) {
    const auto slot = static_cast<std::uint32_t>(end.id & 0xffffffffU);
    POSTRIDER_CHECK(slot < flights_.size() && flights_[slot].calling && flights_[slot].generation == end.id >> 32U);
    end_call(slot, end, at);
  }
}

void Dispatcher::take(event::Beat beat, Moment at) {
  last_beat_ = std::max(last_beat_, beat.at.value_or(at.steady));
  limits_.set_nodes(beat.nodes);
}

void Dispatcher::take(event::Tick, Moment at) {
  // Without a heartbeat for this long another node may hold our rows any moment: what is open is ended while we still
  // may say how.
  if (at.steady - last_beat_ >= kAbortWithoutBeatFor) take(event::AbortAll{}, at);
}

void Dispatcher::take(event::Stop, Moment) {
  stopping_ = true;
  for (auto& [id, desk] : desks_) {
    parts_.places.set_open(id, false);
    give_back_ready(desk);
  }
}

void Dispatcher::take(event::AbortAll, Moment) {
  std::vector<CallId> calls;
  for (std::uint32_t slot = 0; slot < flights_.size(); ++slot) {
    if (flights_[slot].calling) calls.push_back(call_id(slot, flights_[slot].generation));
  }
  if (!calls.empty()) out_.emplace_back(effect::Abort{std::move(calls)});
}

// --- rows we hold

void Dispatcher::wipe_text(Flight& flight) {
  Content& content = flight.late->content;
  Delivery& d = flight.claim.delivery;
  for (std::string* text : {&content.subject, &content.body, &content.html, &d.subject, &d.body, &d.html}) wipe(*text);
  for (std::string& secret : flight.late->secrets) wipe(secret);
}

void Dispatcher::admit(Claim&& claim) {
  Desk* desk = desk_of(claim.lease.provider);
  POSTRIDER_CHECK(desk != nullptr);
  if (stopping_) {
    parts_.places.give_back(claim.lease.provider, 1);
    to_release_.push_back(claim.lease);
    return;
  }
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(flights_.size()));
    flights_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  Flight& flight = flights_[slot];
  flight.claim = std::move(claim);
  flight.calling = false;
  desk->ready[lane_index(flight.claim.lease.lane)].push_back(slot);
}

void Dispatcher::free_slot(std::uint32_t slot) {
  Flight& flight = flights_[slot];
  parts_.places.give_back(flight.claim.lease.provider, 1);
  limits_.let_go(flight.claim.lease.tenant);
  if (flight.late && !flight.late->may_be_kept) wipe_text(flight);
  // The next claim here is written over this one; only what may be large is let go of at once.
  Delivery& d = flight.claim.delivery;
  for (std::string* text : {&d.subject, &d.body, &d.html}) std::string{}.swap(*text);
  flight.calling = false;
  flight.preparing = false;
  flight.late.reset();
  ++flight.generation;
  free_slots_.push_back(slot);
}

void Dispatcher::give_back_ready(Desk& desk) {
  for (auto& lane : desk.ready) {
    for (const std::uint32_t slot : lane) {
      to_release_.push_back(flights_[slot].claim.lease);
      free_slot(slot);
    }
    lane.clear();
  }
}

// --- calls

bool Dispatcher::may_start(Moment at) const {
  if (canary("lease_ignored")) return !stopping_ && !record_broken_;
  return !stopping_ && !record_broken_ && at.steady - last_beat_ < kNoCallsWithoutBeatFor;
}

void Dispatcher::start_calls(Moment at) {
  if (!may_start(at)) return;
  std::vector<Call> calls;
  for (auto& [id, desk] : desks_) {
    if (at.steady < desk.held_until) continue;
    const int ahead = desk.pace.calls_ahead(*desk.rule);
    calls.reserve(calls.size() + starts_max(desk, ahead));
    const auto may_go = [this, ahead, &d = desk](Lane lane) {
      const auto& ready = d.ready[lane_index(lane)];
      if (ready.empty()) return false;
      // What may be called only once is handed over only when a connection is free for it.
      const int more = flights_[ready.front()].claim.delivery.guarantee == Guarantee::AtMostOnce ? 0 : ahead;
      return d.calling < d.rule->connections + more &&
             (lane == Lane::Priority || d.calling_others < connections_for_others(*d.rule) + more);
    };
    while (const auto lane = desk.starts.next(may_go)) {
      auto& ready = desk.ready[lane_index(*lane)];
      const std::uint32_t slot = ready.front();
      ready.pop_front();
      if (!start_one(desk, slot, at.now, calls)) continue;
      ++desk.calling;
      if (*lane != Lane::Priority) ++desk.calling_others;
    }
  }
  if (!calls.empty()) out_.emplace_back(effect::Start{std::move(calls)});
}

std::size_t Dispatcher::starts_max(const Desk& desk, int ahead) {
  std::size_t ready = 0;
  for (const auto& lane : desk.ready) ready += lane.size();
  return std::min(ready, static_cast<std::size_t>(std::max(0, desk.rule->connections + ahead - desk.calling)));
}

// What is not called after all: nothing was sent, and no attempt is used up.
bool Dispatcher::ends_before_the_call(std::uint32_t slot, Instant now) {
  const Flight& flight = flights_[slot];
  const Delivery& d = flight.claim.delivery;
  const int attempt = flight.claim.lease.attempt - 1;
  const auto end = [&](const Verdict& verdict, std::string detail) {
    complete(flight, verdict, std::nullopt, std::move(detail), flight.claim.lease.fence);
    free_slot(slot);
    return true;
  };
  // A late one-time code is worse than none.
  if (flight.expires_at() <= now) {
    return end({.state = DeliveryState::Expired, .reason = Reason::Expired, .attempt = attempt},
               "expired before the call");
  }
  if (d.quiet.empty() || parts_.rules.zones == nullptr) return false;
  const auto window = parse_quiet_window(d.quiet);
  const auto until =
      window ? quiet_until(window->hours, window->zone, now, *parts_.rules.zones) : std::optional<Instant>{};
  if (!until || canary("quiet_ignored")) return false;
  if (d.expires_at && *d.expires_at <= *until) {
    return end({.state = DeliveryState::Expired, .reason = Reason::Expired, .attempt = attempt},
               "quiet hours end only after it expires");
  }
  return end({.state = DeliveryState::Retrying, .reason = Reason::QuietHours, .due_at = *until, .attempt = attempt},
             d.quiet);
}

bool Dispatcher::wants_text(std::uint32_t slot) {
  Flight& flight = flights_[slot];
  Desk& desk = *desk_of(flight.claim.lease.provider);
  const bool needed = flight.claim.delivery.rendering == Rendering::Late || desk.adapter->card().asks_for_message_key;
  if (!needed || flight.late) return false;
  flight.preparing = true;
  ++desk.preparing[lane_index(flight.claim.lease.lane)];
  to_prepare_.push_back({call_id(slot, flight.generation), flight.claim.delivery.id});
  return true;
}

void Dispatcher::take(event::Prepared prepared, Moment at) {
  for (LateAnswer& answer : prepared.answers) {
    const auto slot = static_cast<std::uint32_t>(answer.id & 0xffffffffU);
    POSTRIDER_CHECK(slot < flights_.size() && flights_[slot].preparing &&
                    flights_[slot].generation == answer.id >> 32U);
    take_answer(slot, answer, at);
  }
}

void Dispatcher::take_answer(std::uint32_t slot, LateAnswer& answer, Moment at) {
  Flight& flight = flights_[slot];
  flight.preparing = false;
  Desk& desk = *desk_of(flight.claim.lease.provider);
  --desk.preparing[lane_index(flight.claim.lease.lane)];
  if (stopping_) {
    if (!canary("left_behind")) to_release_.push_back(flight.claim.lease);
    free_slot(slot);
    return;
  }
  if (auto* text = std::get_if<LateText>(&answer.what)) {
    flight.late = std::move(*text);
    Delivery& d = flight.claim.delivery;
    d.subject = flight.late->content.subject;
    d.body = flight.late->content.body;
    d.html = flight.late->content.html;
    d.message_key = flight.late->message_key;
    desk.ready[lane_index(flight.claim.lease.lane)].push_front(slot);
    return;
  }
  if (auto* refused = std::get_if<NotToBeSent>(&answer.what)) {
    const int attempt = flight.claim.lease.attempt - 1;
    complete(flight, {.state = refused->state, .reason = refused->reason, .attempt = attempt}, std::nullopt,
             std::move(refused->detail), flight.claim.lease.fence);
  } else {
    const auto& not_now = std::get<NotNow>(answer.what);
    const int attempt = flight.claim.lease.attempt;
    const Policy& policy = parts_.rules.policy_for(flight.claim.delivery, desk.rule);
    const Instant due = at.now + retry_delay(policy, std::max(1, attempt), random_.next());
    complete(flight,
             {.state = DeliveryState::Retrying, .reason = not_now.reason, .due_at = due, .attempt = attempt - 1},
             std::nullopt, excerpt(printable(not_now.detail), kExcerptBytesMax), flight.claim.lease.fence);
  }
  free_slot(slot);
}

bool Dispatcher::start_one(Desk& desk, std::uint32_t slot, Instant now, std::vector<Call>& calls) {
  if (ends_before_the_call(slot, now) || wants_text(slot)) return false;
  Flight& flight = flights_[slot];
  const Delivery& d = flight.claim.delivery;
  const Policy& policy = parts_.rules.policy_for(d, desk.rule);
  Call& call = calls.emplace_back();  // filled where it stands: a request is much to move
  call.id = call_id(slot, flight.generation);
  call.provider = desk.rule->id;
  call.lane = d.lane;
  call.request = desk.adapter->compose(d, provider_key(d, desk.rule->name), now);
  call.timeout = policy.timeout;
  // What waits ahead of a connection must not be begun by a node that slept past its lease.
  call.start_by = canary("lease_ignored") ? Instant::max() : last_beat_ + kNoCallsWithoutBeatFor;
  call.expires_at = flight.expires_at();
  flight.calling = true;
  ++open_calls_;
  ++counts_.calls;
  ++types_.of(d.type).attempts;
  return true;
}

void Dispatcher::end_call(std::uint32_t slot, const CallEnd& end, Moment at) {
  Flight& flight = flights_[slot];
  Desk& desk = *desk_of(flight.claim.lease.provider);
  --desk.calling;
  if (flight.claim.lease.lane != Lane::Priority) --desk.calling_others;
  --open_calls_;
  const auto* broken = std::get_if<Broken>(&end.reply);
  if (broken != nullptr && broken->by == BrokenBy::Aborted &&
      (broken->at == BrokenAt::Nothing || canary("called_given_back"))) {
    to_release_.push_back(flight.claim.lease);  // No socket got it: it is simply given back.
    free_slot(slot);
    return;
  }
  desk.pace.ended(end.ended_at - end.started_at);
  std::optional<WipedJson> wiped;  // an answer may repeat what it was sent
  if (flight.late && !flight.late->may_be_kept) wiped.emplace();
  Outcome outcome = flight.late && !canary("secret_in_answer")
                        ? interpret_discreetly(*desk.adapter, end.reply, at.now, flight.late->secrets)
                        : desk.adapter->interpret(end.reply, at.now);
  if (outcome.kind == OutcomeKind::Misconfigured && at.steady >= desk.held_until) {
    desk.held_until = at.steady + kMisconfiguredHold;
    parts_.places.set_open(desk.rule->id, false);
    give_back_ready(desk);
    out_.emplace_back(effect::Alarm{desk.rule->id, outcome.reason, outcome.detail});
  }
  const Delivery& d = flight.claim.delivery;
  types_.of(d.type).times.add(end.ended_at - end.started_at);
  if (outcome.kind != OutcomeKind::Accepted && outcome.reason != Reason::InvalidRecipient) ++counts_.call_errors;
  const Judged facts{.attempt = flight.claim.lease.attempt,
                     .guarantee = d.guarantee,
                     .expires_at = d.expires_at,
                     .acceptance = desk.rule->acceptance};
  const Verdict verdict = judge(outcome, facts, parts_.rules.policy_for(d, desk.rule), at.now, random_.next());
  AttemptEnd attempt{
      .outcome = outcome.kind,
      .reason = outcome.reason,
      .provider_message_id = printable_excerpt(std::move(outcome.provider_message_id), kTextFieldBytesMax),
      .excerpt = printable_excerpt(std::move(outcome.detail), kExcerptBytesMax),
      .started_at = end.started_at,
      .ended_at = end.ended_at};
  std::string detail = verdict.state == DeliveryState::Parked ? attempt.excerpt : "";
  complete(flight, verdict, std::move(attempt), std::move(detail), flight.claim.lease.fence);
  free_slot(slot);
}

// --- claiming

void Dispatcher::plan_claims(Moment at) {
  if (!parts_.sends || claims_open_ > 0 || !may_start(at)) return;
  for (auto& [id, desk] : desks_) {
    if (at.steady < desk.held_until) continue;
    plan_claims_for(desk, at);
  }
}

void Dispatcher::plan_claims_for(Desk& desk, Moment at) {
  const ProviderId id = desk.rule->id;
  Waiting prefetchable;
  Waiting at_most_once;
  std::map<Lane, Instant> oldest;
  for (const auto& [where, group] : groups_) {
    if (where.channel != desk.rule->channel || desk_for(where) != &desk) continue;
    if (group.maybe_prefetchable) {
      prefetchable[where.lane].push_back(where.tenant);
      const auto [place, fresh] = oldest.emplace(where.lane, group.oldest);
      if (!fresh) place->second = std::min(place->second, group.oldest);
    }
    if (group.maybe_at_most_once) at_most_once[where.lane].push_back(where.tenant);
  }
  if (prefetchable.empty()) {
    parts_.places.set_open(id, true);
  } else {
    parts_.places.set_open_before(id, prefetchable.begin()->first);
  }
  plan_at_most_once(desk, at_most_once, at);
  parts_.places.resize(id, desk.pace.held_max(*desk.rule));
  // A claim for a handful of rows costs as much as one for hundreds, so a busy provider is topped up in strides: when
  // every lane that waits has room for one, else the lane that may fill least would find room for nothing. Priority
  // does not wait for that while none of it is at hand.
  const int stride = std::max(1, parts_.places.size(id) / 4);
  const bool topped_up =
      parts_.places.used(id) > 0 && std::any_of(prefetchable.begin(), prefetchable.end(), [&](const auto& waiting) {
        return parts_.places.room(id, waiting.first) < stride;
      });
  std::vector<LaneDemand> demands;
  for (const auto& [lane, tenants] : prefetchable) {
    const bool urgent = lane == Lane::Priority && desk.ready[lane_index(lane)].empty();
    if (!topped_up || urgent) demands.push_back({lane, at.now - oldest[lane]});
  }
  auto shares = share_lanes(demands, std::min(parts_.places.free(id), static_cast<int>(kBatchMax)));
  // The least urgent lane first: it may fill the smallest part of the window, and would find that full.
  std::sort(shares.begin(), shares.end(), [](const LaneShare& a, const LaneShare& b) { return a.lane > b.lane; });
  for (const LaneShare& share : shares) {
    const int places = parts_.places.reserve(id, share.places, share.lane);
    ClaimRequest request{.node = parts_.node, .lane = share.lane, .channel = desk.rule->channel};
    for (const TenantTurn& turn : desk.rings[share.lane].share(prefetchable[share.lane], places)) {
      const int quota = allow(desk, {share.lane, desk.rule->channel, turn.tenant}, turn.quota, at);
      if (quota > 0) request.shares.push_back({turn.tenant, quota, id});
    }
    ask(std::move(request));
  }
}

// How much of the quota the limits let through; the rest of its places is free again.
int Dispatcher::allow(const Desk& desk, const QueueGroup& group, int quota, Moment at) {
  const int allowed = limits_.allow(*desk.rule, group, quota, at.steady);
  parts_.places.give_back(desk.rule->id, quota - allowed);
  return allowed;
}

void Dispatcher::plan_at_most_once(Desk& desk, const Waiting& waiting, Moment at) {
  int taken = desk.calling;
  int taken_by_others = desk.calling_others;
  for (const Lane lane : kLanes) {
    const int ready = static_cast<int>(desk.ready[lane_index(lane)].size()) + desk.preparing[lane_index(lane)];
    taken += ready;
    if (lane != Lane::Priority) taken_by_others += ready;
  }
  const auto may_go = [&](Lane lane) {
    return waiting.contains(lane) && taken < desk.rule->connections &&
           (lane == Lane::Priority || taken_by_others < connections_for_others(*desk.rule));
  };
  std::map<Lane, int> wanted;
  while (const auto lane = desk.once_claims.next(may_go)) {
    ++wanted[*lane];
    ++taken;
    if (*lane != Lane::Priority) ++taken_by_others;
  }
  for (const auto& [lane, connections] : wanted) {
    const int places = parts_.places.reserve(desk.rule->id, connections, lane);
    ClaimRequest request{
        .node = parts_.node, .lane = lane, .channel = desk.rule->channel, .what = ClaimWhat::AtMostOnceOnly};
    for (const TenantTurn& turn : desk.once_rings[lane].share(waiting.at(lane), places)) {
      const int quota = allow(desk, {lane, desk.rule->channel, turn.tenant}, turn.quota, at);
      if (quota > 0) request.shares.push_back({turn.tenant, quota, desk.rule->id});
    }
    ask(std::move(request));
  }
}

void Dispatcher::ask(ClaimRequest request) {
  if (request.shares.empty()) return;
  for (const TenantShare& share : request.shares) {
    Group& group = groups_[{request.lane, request.channel, share.tenant}];
    (request.what == ClaimWhat::AtMostOnceOnly ? group.more_at_most_once : group.more_prefetchable) = false;
  }
  ++claims_open_;
  out_.emplace_back(effect::Claim{std::move(request)});
}

// A claim found less than it asked for: there is nothing more, unless work was announced since.
void Dispatcher::forget(const ClaimRequest& request, TenantId tenant, Unless unless) {
  const auto found = groups_.find({request.lane, request.channel, tenant});
  if (found == groups_.end()) return;
  Group& group = found->second;
  const bool once = request.what == ClaimWhat::AtMostOnceOnly;
  const bool more = once ? group.more_at_most_once : group.more_prefetchable;
  (once ? group.maybe_at_most_once : group.maybe_prefetchable) = unless == Unless::MoreWasSaid && more;
  if (!group.maybe_at_most_once && !group.maybe_prefetchable) groups_.erase(found);
}

Dispatcher::Desk* Dispatcher::desk_of(ProviderId provider) {
  const auto found = desks_.find(provider);
  return found == desks_.end() ? nullptr : &found->second;
}

Dispatcher::Desk* Dispatcher::desk_for(const QueueGroup& group) {
  const Tenant* tenant = parts_.rules.tenant(group.tenant);
  if (tenant == nullptr) return nullptr;
  const ProviderRule* rule = parts_.rules.first_provider(*tenant, group.channel);
  return rule == nullptr ? nullptr : desk_of(rule->id);
}

}  // namespace postrider
