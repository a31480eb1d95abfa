#include "pipeline/world.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace postrider {

Request ScriptedAdapter::compose(const Delivery& delivery, std::string_view, Instant) const {
  return LocalRequest{std::to_string(delivery.id)};
}

Outcome ScriptedAdapter::interpret(const Reply& reply, Instant) const {
  if (const auto* broken = std::get_if<Broken>(&reply)) {
    const auto kind = broken->at == BrokenAt::Nothing ? OutcomeKind::NotSent : OutcomeKind::Unclear;
    return {.kind = kind, .reason = Reason::ConnectionLost, .detail = broken->detail};
  }
  const std::string& verdict = std::get<LocalReply>(reply).verdict;
  if (verdict == "nobody") return {.kind = OutcomeKind::Permanent, .reason = Reason::InvalidRecipient};
  for (const OutcomeKind kind : {OutcomeKind::Accepted, OutcomeKind::Transient, OutcomeKind::Permanent,
                                 OutcomeKind::Unclear, OutcomeKind::Misconfigured, OutcomeKind::Unmapped}) {
    if (to_text(kind) == verdict)
      return {.kind = kind, .reason = Reason::ServerBusy, .provider_message_id = "id", .detail = "said " + verdict};
  }
  ADD_FAILURE() << "no such verdict: " << verdict;
  return {};
}

Rules World::rules_for(const Shape& shape) {
  Rules rules;
  for (int t = 1; t <= shape.tenants; ++t) rules.tenants.push_back({t, "tenant-" + std::to_string(t), {}});
  for (int p = 1; p <= shape.providers; ++p) {
    const Channel channel = kChannels[static_cast<std::size_t>(p - 1)];
    const auto id = static_cast<ProviderId>(p);
    rules.providers.push_back({.id = id,
                               .name = "provider-" + std::to_string(p),
                               .channel = channel,
                               .window = shape.window,
                               .connections = shape.connections,
                               .ahead = shape.ahead});
    rules.chains[channel] = {id};
  }
  rules.providers.front().limit = shape.provider_limit;
  rules.tenants.front().limit = shape.tenant_limit;
  rules.zones = shape.zones;
  rules.routes.push_back({.type = "event", .guarantee = shape.guarantee});
  rules.policies.push_back({.policy = shape.policy});
  rules.index();
  return rules;
}

World::World(Shape shape)
    : rules(rules_for(shape)), places(rules), dispatcher([&] {
        for (const ProviderRule& rule : rules.providers) adapters.emplace(rule.id, &adapter);
        return Dispatcher{
            {.node = 1, .rules = rules, .providers = adapters, .places = places, .sends = shape.sends}, now, 1};
      }()) {}

std::vector<RowId> World::queue(int count, Lane lane, TenantId tenant, int provider, Guarantee guarantee) {
  std::vector<RowId> ids;
  for (int i = 0; i < count; ++i) {
    StoredRow row;
    row.delivery.id = next_id_++;
    row.delivery.tenant = tenant;
    row.delivery.lane = lane;
    row.delivery.channel = kChannels[static_cast<std::size_t>(provider - 1)];
    row.delivery.guarantee = guarantee;
    row.delivery.type = "event";
    ids.push_back(row.delivery.id);
    rows.emplace(row.delivery.id, std::move(row));
  }
  return ids;
}

void World::say_work(Lane lane, TenantId tenant, int provider) {
  on(event::Work{{{lane, kChannels[static_cast<std::size_t>(provider - 1)], tenant}}});
}

void World::look_at_heads() {
  std::set<QueueGroup> groups;
  for (const auto& [id, row] : rows) {
    if (row.state != RowState::Done) groups.insert({row.delivery.lane, row.delivery.channel, row.delivery.tenant});
  }
  event::Heads heads;
  for (const QueueGroup& group : groups) heads.heads.push_back({group, now - std::chrono::seconds{1}});
  on(std::move(heads));
}

void World::beat(int nodes) { on(event::Beat{.nodes = nodes}); }
void World::tick() { on(event::Tick{}); }
void World::stop() { on(event::Stop{}); }
void World::abort_all() { on(event::AbortAll{}); }

Claim World::hold(StoredRow& row, ProviderId provider) {
  EXPECT_EQ(row.state, RowState::Waiting);
  row.state = RowState::Held;
  ++row.fence;
  ++row.attempt;
  const Delivery& d = row.delivery;
  return {{d.lane, d.channel, d.tenant, d.id, d.id, row.fence, row.attempt, provider, now}, d};
}

void World::own(RowId id) {
  const ProviderId provider = rules.chains.at(delivery(id).channel).front();
  ASSERT_EQ(places.reserve(provider, 1, delivery(id).lane), 1);
  on(event::Owned{{hold(row(id), provider)}});
}

void World::take_over(RowId id) {
  StoredRow& lost = row(id);
  lost.fence = 2;
  lost.attempt = 1;
  lost.state = RowState::Held;
  const Delivery& d = lost.delivery;
  const ProviderId provider = rules.chains.at(d.channel).front();
  on(event::TookOver{{{{d.lane, d.channel, d.tenant, d.id, d.id, lost.fence, lost.attempt, provider, now}, d}}});
}

void World::store_answers_claims() {
  std::vector<ClaimRequest> asked;
  asked.swap(claims);
  for (ClaimRequest& request : asked) {
    event::Claimed claimed{request, {}, refused};
    for (const TenantShare& share : request.shares) {
      int left = share.quota;
      for (auto& [id, row] : rows) {
        const Delivery& d = row.delivery;
        const bool once = d.guarantee == Guarantee::AtMostOnce;
        if (left == 0 || row.state != RowState::Waiting || d.tenant != share.tenant || d.lane != request.lane ||
            d.channel != request.channel || once != (request.what == ClaimWhat::AtMostOnceOnly))
          continue;
        claimed.claims.push_back(hold(row, share.provider));
        --left;
      }
    }
    on(std::move(claimed));
  }
}

void World::store_fails_claims() {
  std::vector<ClaimRequest> asked;
  asked.swap(claims);
  for (ClaimRequest& request : asked) on(event::ClaimFailed{std::move(request)});
}

void World::store_answers_records() {
  auto asked = std::move(records);
  records.clear();
  for (const auto& batch : asked) {
    std::vector<Recorded> results;
    for (const Completion& completion : *batch) {
      StoredRow& row = rows.at(completion.lease.id);
      const bool mine = row.state == RowState::Held && row.fence == completion.lease.fence;
      results.push_back(mine ? Recorded::Applied : Recorded::Stale);
      if (!mine) continue;
      row.state = RowState::Done;
      row.verdict = completion.verdict;
      row.attempt = completion.verdict.attempt;
      row.attempt_end = completion.attempt;
      row.rendered = completion.rendered;
      row.detail = completion.detail;
      row.attempt_fence = completion.attempt_fence;
    }
    on(event::RecordDone{std::move(results)});
  }
}

void World::store_fails_records() {
  auto asked = std::move(records);
  records.clear();
  for (std::size_t i = 0; i < asked.size(); ++i) on(event::RecordFailed{"the store is gone"});
}

void World::store_answers_releases() {
  auto asked = std::move(releases);
  releases.clear();
  for (const auto& leases : asked) {
    for (const Lease& lease : leases) {
      StoredRow& row = rows.at(lease.id);
      if (row.state != RowState::Held || row.fence != lease.fence) continue;
      row.state = RowState::Waiting;
      --row.attempt;
    }
    on(event::ReleaseDone{true});
  }
}

void World::store_fails_releases() {
  auto asked = std::move(releases);
  releases.clear();
  for (std::size_t i = 0; i < asked.size(); ++i) on(event::ReleaseDone{false});
}

void World::end(CallId id, Reply reply) {
  const auto call = std::find_if(calls.begin(), calls.end(), [&](const Call& c) { return c.id == id; });
  ASSERT_NE(call, calls.end());
  calls.erase(call);
  aborts.erase(id);
  on(event::Ended{{{id, std::move(reply), now - call_time, now}}});
}

void World::provider_answers(RowId id, const std::string& verdict) {
  const auto call = std::find_if(calls.begin(), calls.end(), [&](const Call& c) { return row_of(c) == id; });
  ASSERT_NE(call, calls.end()) << "row " << id << " is not being called";
  end(call->id, LocalReply{verdict});
}

void World::provider_answers_all(const std::string& verdict) {
  for (const RowId id : calling()) provider_answers(id, verdict);
}

void World::call_breaks(RowId id, Broken broken) {
  const auto call = std::find_if(calls.begin(), calls.end(), [&](const Call& c) { return row_of(c) == id; });
  ASSERT_NE(call, calls.end());
  end(call->id, std::move(broken));
}

void World::text_comes(RowId id, decltype(LateAnswer::what) answer) {
  const auto job = std::find_if(prepares.begin(), prepares.end(), [&](const LateJob& j) { return j.delivery == id; });
  ASSERT_NE(job, prepares.end()) << "nobody asked for the text of row " << id;
  const CallId call = job->id;
  prepares.erase(job);
  on(event::Prepared{{{call, std::move(answer)}}});
}

void World::aborted_calls_end(BrokenAt at) {
  for (const CallId id : std::set<CallId>{aborts}) end(id, Broken{at, BrokenBy::Aborted, "aborted"});
}

void World::drain() {
  for (int round = 0; round < 10'000; ++round) {
    pass(std::chrono::milliseconds{250});
    beat();
    look_at_heads();
    for (int turn = 0; turn < 8 && !claims.empty(); ++turn) store_answers_claims();
    provider_answers_all("accepted");
    store_answers_records();
    store_answers_releases();
    const bool all_done =
        std::all_of(rows.begin(), rows.end(), [](const auto& entry) { return entry.second.state == RowState::Done; });
    if (all_done && dispatcher.idle()) return;
  }
  std::string left;
  for (const auto& [id, row] : rows) {
    if (row.state == RowState::Done) continue;
    left += " row " + std::to_string(id) + (row.state == RowState::Held ? " held" : " waiting") + " lane " +
            std::string{to_text(row.delivery.lane)} + " " + std::string{to_text(row.delivery.guarantee)} + ",";
  }
  FAIL() << "it does not come to rest:" << left;
}

std::vector<RowId> World::calling() const {
  std::vector<RowId> ids;
  for (const Call& call : calls) ids.push_back(row_of(call));
  return ids;
}

int World::reserved_by_open_claims() const {
  int sum = 0;
  for (const ClaimRequest& request : claims) {
    for (const TenantShare& share : request.shares) sum += share.quota;
  }
  return sum;
}

void World::on(DispatchEvent event) {
  for (const DispatchEffect& effect : dispatcher.on(std::move(event), {now + corrected, now})) take(effect);
}

void World::take(const DispatchEffect& effect) {
  if (const auto* claim = std::get_if<effect::Claim>(&effect)) {
    claims.push_back(claim->request);
    all_claims.push_back(claim->request);
  } else if (const auto* start = std::get_if<effect::Start>(&effect)) {
    for (const Call& call : start->calls) {
      const RowId id = std::stoll(std::get<LocalRequest>(call.request).verdict);
      StoredRow& row = rows.at(id);
      EXPECT_EQ(row.state, RowState::Held) << "a call without a lease";
      ++row.calls;
      EXPECT_EQ(call_rows_.count(call.id), 0U) << "a call's id came twice";
      call_rows_[call.id] = id;
      calls.push_back(call);
    }
  } else if (const auto* abort = std::get_if<effect::Abort>(&effect)) {
    aborts.insert(abort->calls.begin(), abort->calls.end());
  } else if (const auto* late = std::get_if<effect::Prepare>(&effect)) {
    ++prepares_asked;
    prepares.insert(prepares.end(), late->jobs.begin(), late->jobs.end());
  } else if (const auto* record = std::get_if<effect::Record>(&effect)) {
    records.push_back(record->completions);
    ++records_asked;
    EXPECT_EQ(records.size(), 1U) << "one batch at a time";
  } else if (const auto* release = std::get_if<effect::Release>(&effect)) {
    releases.push_back(release->leases);
  } else {
    alarms.push_back(std::get<effect::Alarm>(effect));
  }
}

}  // namespace postrider
