#include "sim/session.h"

#include "base/canary.h"
#include "sim/world.h"

namespace postrider::sim {
namespace {
const Error kGone{ErrorCode::Unavailable, "the store cannot be reached"};
const Error kUnknown{ErrorCode::Ambiguous, "the answer to a commit was lost"};
}  // namespace

// A process that is not there yet cannot die; its beginning fails as a whole.
bool SimSession::may_die() const { return owner_ != kWorld && world_.is_alive(owner_); }
bool SimSession::is_gone() const { return joined_ && owner_ != kWorld && !world_.is_alive(owner_); }

template <class Verb>
auto SimSession::read(const char* name, Verb verb) -> decltype(verb()) {
  if (is_gone()) return kGone;
  world_.set_database_clock();
  if (world_.store_is_gone() || world_.faults().strikes(Fault::StoreRefuses)) {
    world_.note("store refuses", name);
    return kGone;
  }
  return verb();
}

template <class Verb>
auto SimSession::write(const char* name, Verb verb) -> decltype(verb()) {
  if (is_gone()) return kGone;
  world_.set_database_clock();
  if (world_.store_is_gone() || world_.faults().strikes(Fault::StoreRefuses)) {
    world_.note("store refuses", name);
    return kGone;
  }
  joined_ = joined_ || may_die();
  const bool dies = may_die() && world_.faults().strikes(Fault::CrashAtVerb);
  if (dies && world_.random().below(2) == 0) {
    world_.note("dies before", name);
    world_.crash(owner_);
    return kGone;
  }
  if (world_.faults().strikes(Fault::CommitUnknown)) {
    world_.note("commit unknown, not done", name);
    return kUnknown;
  }
  auto result = verb();
  if (dies) {
    world_.note("dies after", name);
    world_.crash(owner_);
    return kUnknown;
  }
  if (result && world_.faults().strikes(Fault::AnswerLost)) {
    world_.note("answer lost", name);
    return kUnknown;
  }
  return result;
}

Result<std::vector<std::vector<Admitted>>> SimSession::accept(Instant now, std::span<const IntakeGroup> groups) {
  return write("accept", [&] { return real_->accept(now, groups); });
}

Result<ExpandReport> SimSession::expand(Instant now, NodeId node, std::size_t rows_max, const ExpandDecision& decide) {
  if (world_.database().outbox.empty()) return ExpandReport{};  // a look that finds nothing
  return write("expand", [&] {
    auto report = real_->expand(now, node, rows_max, decide);
    if (report) {
      for (const Claim& claim : report->owned) world_.claimed(claim, node);
    }
    return report;
  });
}

Result<std::vector<ExpandWork>> SimSession::claim_expand(Instant now, NodeId node, std::size_t count) {
  const auto& queue = world_.database().queue;
  const bool any = std::any_of(queue.begin(), queue.end(),
                               [](const auto& entry) { return entry.first.group.channel == Channel::Expand; });
  if (!any) return std::vector<ExpandWork>{};
  return write("claim_expand", [&] { return real_->claim_expand(now, node, count); });
}

Result<ExpandSteps> SimSession::expand_chunks(Instant now, std::span<const ExpandStep> steps) {
  return write("expand_chunks", [&] { return real_->expand_chunks(now, steps); });
}

Result<Done> SimSession::defer_expand(Instant now, const Lease& lease, Instant due_at, Reason reason,
                                      std::string detail) {
  return write("defer_expand", [&] { return real_->defer_expand(now, lease, due_at, reason, std::move(detail)); });
}

Result<std::vector<QueueHead>> SimSession::heads(Look look) {
  return read("heads", [&] { return real_->heads(look); });
}

Result<std::vector<LateDelivery>> SimSession::late_deliveries(std::span<const RowId> ids) {
  return read("late_deliveries", [&] { return real_->late_deliveries(ids); });
}

Result<std::vector<Claim>> SimSession::claim(Instant now, const ClaimRequest& request) {
  return write("claim", [&] {
    auto claims = real_->claim(now, request);
    if (claims) {
      for (const Claim& claim : *claims) world_.claimed(claim, request.node);
    }
    return claims;
  });
}

Result<std::vector<Recorded>> SimSession::record(Instant now, std::span<const Completion> completions) {
  return write("record", [&] {
    auto results = real_->record(now, completions);
    if (results) {
      for (std::size_t i = 0; i < completions.size(); ++i) world_.recorded(completions[i], (*results)[i]);
    }
    return results;
  });
}

Result<Done> SimSession::give_back(Instant now, std::span<const Lease> leases) {
  return write("give back", [&] {
    auto done = real_->give_back(now, leases);
    if (done) world_.given_back(leases);
    return done;
  });
}

Result<QueueStore::Promoted> SimSession::promote(Instant now, std::size_t count) {
  if (world_.database().deferred.empty()) return Promoted{};
  return write("promote", [&] { return real_->promote(now, count); });
}

Result<std::vector<Claim>> SimSession::take_over(Instant now, NodeId node, std::size_t count) {
  return write("take_over", [&] {
    auto claims = real_->take_over(now, node, count);
    if (claims) {
      for (const Claim& claim : *claims) world_.leased(claim, node);
    }
    return claims;
  });
}

Result<std::size_t> SimSession::expire(Instant now, std::size_t count) {
  return write("expire", [&] { return real_->expire(now, count); });
}

Result<Instant> SimSession::database_now() {
  return read("database_now", [&] { return real_->database_now(); });
}

Result<NodeLease> SimSession::join(Instant now, std::string_view name) {
  return write("join", [&] { return real_->join(now, name); });
}

Result<std::vector<Peer>> SimSession::beat(Instant now, NodeId node) {
  return write("beat", [&] {
    auto peers = real_->beat(now, node);
    if (peers) world_.beaten(node);
    return peers;
  });
}

Result<Done> SimSession::remove(NodeId node) {
  return write("remove", [&] {
    auto done = real_->remove(node);
    if (done) world_.removed(node);
    return done;
  });
}

// What the store says it called off is called off, whether anybody learns of it
// or not.
Result<Acted> SimSession::cancel(Instant now, const OperatorAction& action, std::span<const RowId> ids) {
  return write("cancel", [&] {
    auto acted =
        canary("cancel_forgotten") ? Result<Acted>{Acted{.changed = ids.size()}} : real_->cancel(now, action, ids);
    if (acted && acted->changed == ids.size()) {
      for (const RowId id : ids) world_.cancelled(id);
    }
    return acted;
  });
}

Result<Acted> SimSession::retry(Instant now, const OperatorAction& action, std::span<const RowId> ids) {
  return write("retry", [&] {
    auto acted = real_->retry(now, action, ids);
    if (acted && acted->changed == ids.size()) {
      for (const RowId id : ids) world_.retried(id);
    }
    return acted;
  });
}

Result<Acted> SimSession::discard(Instant now, const OperatorAction& action, std::span<const RowId> ids) {
  return write("discard", [&] { return real_->discard(now, action, ids); });
}

Result<Acted> SimSession::dispatch(Instant now, const OperatorAction& action, std::span<const RowId> ids) {
  return write("dispatch", [&] {
    auto acted = real_->dispatch(now, action, ids);
    if (acted) {
      for (const RowId id : ids) world_.dispatched(id);
    }
    return acted;
  });
}

Result<Acted> SimSession::suppress(Instant now, const OperatorAction& by, std::span<const Suppression> wanted) {
  return write("suppress", [&] {
    auto acted = canary("suppression_forgotten") ? Result<Acted>{Acted{}} : real_->suppress(now, by, wanted);
    if (acted) {
      for (const Suppression& each : wanted) world_.suppressed(each.address);
    }
    return acted;
  });
}

}  // namespace postrider::sim
