#include <algorithm>

#include "base/canary.h"
#include "base/limits.h"
#include "store/model/model_session.h"

namespace postrider::model {
namespace {

int fence_of_call(const Completion& completion) {
  return completion.attempt_fence != 0 ? completion.attempt_fence : completion.lease.fence;
}

void note_late(ModelDatabase& db, Instant now, const Completion& completion) {
  if (!completion.attempt) return;
  const Lease& l = completion.lease;
  const AttemptEnd& end = *completion.attempt;
  const int fence = fence_of_call(completion);
  // A batch that is recorded again because its answer was lost finds its own row and adds no second one.
  const auto own = db.attempts.find({l.id, fence, 0});
  const bool repeated = own != db.attempts.end() && own->second.end.outcome == end.outcome &&
                        own->second.end.started_at == end.started_at && own->second.end.ended_at == end.ended_at;
  if (!repeated) db.attempts.emplace(AttemptKey{l.id, fence, 1}, AttemptRow{l.attempt, 0, l.provider, end});
  if (canary("late_over_settled") && db.settled.contains(l.id)) db.settled.at(l.id).reason = Reason::LateAnswer;
  if (end.outcome != OutcomeKind::Accepted || db.settled.contains(l.id) || canary("late_yes_ignored")) return;
  if (!db.take_deferred(l.id) && db.parked.erase(l.id) == 0 && !db.drop_waiting(l.id)) return;
  const bool delivered = completion.verdict.state == DeliveryState::Delivered;
  db.settle(l.id, {l.tenant, delivered ? DeliveryState::Delivered : DeliveryState::Sent, Reason::LateAnswer,
                   completion.detail, now});
}

void move_on(ModelDatabase& db, Instant now, const Completion& completion, const std::optional<CancelMark>& mark) {
  const Lease& l = completion.lease;
  const Verdict& v = completion.verdict;
  const WaitingRow waiting{.group = {l.lane, l.channel, l.tenant},
                           .fence = l.fence,
                           .attempt = v.attempt,
                           .guarantee = completion.guarantee,
                           .reason = v.reason,
                           .detail = completion.detail,
                           .at = now,
                           .expires_at = completion.expires_at};
  if (v.state == DeliveryState::Retrying && mark && !canary("mark_forgotten")) {
    db.settle_called_off(now, l.id, *mark);
  } else if (v.state == DeliveryState::Retrying) {
    db.defer(v.due_at, l.id, waiting);
  } else if (v.state == DeliveryState::Parked) {
    db.parked.emplace(l.id, waiting);
  } else {
    db.settle(l.id, {l.tenant, v.state, v.reason, completion.detail, now});
  }
}

Recorded record_one(ModelDatabase& db, Instant now, const Completion& completion) {
  const auto at = db.find_held(completion.lease);
  if (at == db.queue.end()) {
    note_late(db, now, completion);
    return Recorded::Stale;
  }
  const QueueRow row = at->second;
  db.queue.erase(at);
  if (completion.attempt && !(canary("yes_unrecorded") && completion.verdict.state == DeliveryState::Sent)) {
    db.attempts.emplace(AttemptKey{row.id, fence_of_call(completion), 0},
                        AttemptRow{row.attempt, row.node, row.provider, *completion.attempt});
  }
  move_on(db, now, completion, row.cancelled);
  return Recorded::Applied;
}

bool is_past(const std::optional<Instant>& expires_at, Instant now) { return expires_at && *expires_at <= now; }

}  // namespace

Result<std::vector<QueueHead>> ModelSession::heads(Look) {
  const Held db = hold();
  std::vector<QueueHead> heads;
  for (const auto& [key, row] : db->queue) {
    if (heads.empty() || heads.back().group != key.group) heads.push_back({key.group, id_time(key.position)});
  }
  return heads;
}

Result<std::vector<Claim>> ModelSession::claim(Instant now, const ClaimRequest& request) {
  if (request.channel == Channel::Expand) {
    return Error{ErrorCode::Invalid, "expand work is claimed by claim_expand()"};
  }
  const Held db = hold();
  std::vector<Claim> claims;
  const bool at_most_once = request.what == ClaimWhat::AtMostOnceOnly;
  for (const TenantShare& share : request.shares) {
    const QueueGroup group{request.lane, request.channel, share.tenant};
    int left = share.quota;
    for (auto at = db->queue.lower_bound({group, 0}); at != db->queue.end() && at->first.group == group && left > 0;
         ++at) {
      QueueRow& row = at->second;
      if (row.node != 0 || row.attempt >= kCallsPerDeliveryMax) continue;
      if ((row.guarantee == Guarantee::AtMostOnce) != at_most_once) continue;
      row.node = request.node;
      ++row.fence;
      ++row.attempt;
      row.provider = share.provider;
      row.claimed_at = now;
      const Lease lease{group.lane,  group.channel, group.tenant, at->first.position, row.id, row.fence,
                        row.attempt, row.provider,  now};
      claims.push_back({lease, db->deliveries.at(row.id)});
      if (canary("no_write_ahead")) row = QueueRow{row.id, 0, row.fence - 1, row.attempt - 1, 0, row.guarantee};
      --left;
    }
  }
  return claims;
}

Result<std::vector<Recorded>> ModelSession::record(Instant now, std::span<const Completion> completions) {
  if (!std::all_of(completions.begin(), completions.end(),
                   [](const Completion& c) { return may_end_a_lease(c.verdict.state); })) {
    return Error{ErrorCode::Invalid, "a completion's state is not one that a lease can end in"};
  }
  const Held db = hold();
  std::vector<Recorded> answers;
  for (const Completion& completion : completions) {
    if (completion.rendered) db->renderings.insert_or_assign(completion.lease.id, *completion.rendered);
    answers.push_back(record_one(*db, now, completion));
  }
  return answers;
}

Result<Done> ModelSession::give_back(Instant now, std::span<const Lease> leases) {
  const Held db = hold();
  for (const Lease& lease : leases) {
    const auto at = canary("stale_release") ? db->find_queued(lease.id) : db->find_held(lease);
    if (at == db->queue.end()) continue;
    QueueRow& row = at->second;
    if (row.cancelled) {
      const CancelMark mark = *row.cancelled;
      db->queue.erase(at);
      db->settle_called_off(now, lease.id, mark);
      continue;
    }
    row.node = 0;
    row.attempt = std::max(row.attempt - (canary("tries_wasted") ? 0 : 1), 0);
    row.provider = 0;
    row.claimed_at.reset();
  }
  return Done{};
}

Result<QueueStore::Promoted> ModelSession::promote(Instant now, std::size_t count_max) {
  const Held db = hold();
  Promoted promoted;
  Groups groups;
  while (promoted.rows < count_max && !db->deferred.empty() && db->deferred.begin()->first.first <= now) {
    const auto at = db->deferred.begin();
    const RowId id = at->first.second;
    const WaitingRow row = std::move(at->second);
    db->deferred.erase(at);
    db->due_of.erase(id);
    if (canary("lost_promotion") && id % 7 == 0) continue;
    db->queue.emplace(QueueKey{row.group, ids().next(now)}, QueueRow{.id = id,
                                                                     .fence = row.fence,
                                                                     .attempt = row.attempt,
                                                                     .guarantee = row.guarantee,
                                                                     .expires_at = row.expires_at});
    groups.insert(row.group);
    ++promoted.rows;
  }
  promoted.groups = as_list(groups);
  if (!db->deferred.empty()) promoted.next_due = db->deferred.begin()->first.first;
  return promoted;
}

Result<std::vector<Claim>> ModelSession::take_over(Instant, NodeId node, std::size_t count_max) {
  const Held db = hold();
  std::vector<Claim> taken;
  std::size_t seen = 0;
  for (auto& [key, row] : db->queue) {
    if (seen == count_max) break;
    if (row.node == 0 || db->nodes.contains(row.node)) continue;
    ++seen;
    ++row.fence;
    if (key.group.channel == Channel::Expand) {
      row.node = 0;
      row.claimed_at.reset();
      continue;
    }
    row.node = node;
    const Lease lease{key.group.lane,
                      key.group.channel,
                      key.group.tenant,
                      key.position,
                      row.id,
                      row.fence,
                      row.attempt,
                      row.provider,
                      row.claimed_at.value_or(Instant{})};
    taken.push_back({lease, db->deliveries.at(row.id)});
  }
  return taken;
}

Result<std::size_t> ModelSession::expire(Instant now, std::size_t count_max) {
  const Held db = hold();
  std::vector<std::pair<RowId, TenantId>> past;
  const auto note = [&](RowId id, const QueueGroup& group) {
    if (past.size() < count_max && group.channel != Channel::Expand) past.emplace_back(id, group.tenant);
  };
  for (const auto& [key, row] : db->queue) {
    if (row.node == 0 && is_past(row.expires_at, now)) note(row.id, key.group);
  }
  for (const auto& [key, row] : db->deferred) {
    if (is_past(row.expires_at, now)) note(key.second, row.group);
  }
  for (const auto& [id, row] : db->parked) {
    if (is_past(row.expires_at, now)) note(id, row.group);
  }
  for (const auto& [id, tenant] : past) {
    if (!db->drop_waiting(id) && !db->take_deferred(id)) db->parked.erase(id);
    db->settle(id, {tenant, DeliveryState::Expired, Reason::Expired, "", now});
  }
  return past.size();
}

}  // namespace postrider::model
