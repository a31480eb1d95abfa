#include <algorithm>

#include "base/fault.h"
#include "store/common/call_off.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

class Recorder {
 public:
  Recorder(Connection& c, Instant now)
      : c_(c),
        now_(now),
        settler_(c, now),
        held_(c.use("queue_held")),
        drop_(c.use("queue_drop")),
        attempt_(c.use("attempt_add")) {}

  Recorded record(const Completion& completion) {
    if (!end_lease(completion)) {
      note_late(completion);
      return Recorded::Stale;
    }
    move_on(completion);
    return Recorded::Applied;
  }

 private:
  bool end_lease(const Completion& completion) {
    const Lease& l = completion.lease;
    NodeId node = 0;
    int attempt = 0;
    ProviderId provider = 0;
    mark_.reset();
    {
      Rows rows = held_.query(l.lane, l.channel, l.tenant, l.position, l.id, l.fence);
      if (!rows.next()) return false;
      node = rows.number<NodeId>(0);
      attempt = rows.number<int>(1);
      provider = rows.number<ProviderId>(2);
      if (!rows.is_null(3)) mark_ = CancelMark{rows.reason(3), rows.text(4)};
    }
    drop_.run(l.lane, l.channel, l.tenant, l.position);
    if (completion.rendered) common::put_rendering(c_, l.id, now_, *completion.rendered);
    if (completion.attempt) {
      const AttemptEnd& a = *completion.attempt;
      attempt_.run(l.id, fence_of_call(completion), attempt, node, provider, a.outcome, a.reason, a.provider_message_id,
                   a.excerpt, a.started_at, a.ended_at);
    }
    return true;
  }

  void move_on(const Completion& completion) {
    const Lease& l = completion.lease;
    const Verdict& v = completion.verdict;
    if (v.state == DeliveryState::Retrying && mark_) {
      settler_.settle(common::called_off(l.id, l.tenant, *mark_));
    } else if (v.state == DeliveryState::Retrying) {
      c_.use("deferred_add")
          .run(v.due_at, l.id, l.lane, l.channel, l.tenant, l.fence, v.attempt, completion.guarantee, v.reason,
               completion.expires_at, completion.detail);
    } else if (v.state == DeliveryState::Parked) {
      c_.use("parked_add")
          .run(l.id, l.tenant, l.lane, l.channel, l.fence, v.attempt, completion.guarantee, v.reason, completion.detail,
               now_, completion.expires_at);
    } else {
      settler_.settle({l.id, l.tenant, v.state, v.reason, completion.detail});
    }
  }

  void note_late(const Completion& completion) {
    if (!completion.attempt) return;
    const Lease& l = completion.lease;
    const AttemptEnd& a = *completion.attempt;
    c_.use("attempt_add_late")
        .run(l.id, fence_of_call(completion), l.attempt, l.provider, a.outcome, a.reason, a.provider_message_id,
             a.excerpt, a.started_at, a.ended_at);
    if (a.outcome != OutcomeKind::Accepted || !drop_repeat(l)) return;
    const bool delivered = completion.verdict.state == DeliveryState::Delivered;
    settler_.settle({l.id, l.tenant, delivered ? DeliveryState::Delivered : DeliveryState::Sent, Reason::LateAnswer,
                     completion.detail});
  }

  // The queue is looked through last: its only order is that of the line.
  bool drop_repeat(const Lease& l) {
    if (c_.use("is_settled").any(l.id)) return false;
    if (c_.use("deferred_drop").run(l.id) == 1 || c_.use("parked_drop").run(l.id) == 1) return true;
    return common::drop_waiting(c_, {l.lane, l.channel, l.tenant}, l.id);
  }

  static int fence_of_call(const Completion& completion) {
    return completion.attempt_fence != 0 ? completion.attempt_fence : completion.lease.fence;
  }

  Connection& c_;
  Instant now_;
  common::Settler<Connection> settler_;
  std::optional<CancelMark> mark_;  // of the row whose lease was ended last
  Statement& held_;
  Statement& drop_;
  Statement& attempt_;
};

}  // namespace

Result<std::vector<Recorded>> SqliteSession::record(Instant now, std::span<const Completion> completions) {
  if (completions.empty()) return std::vector<Recorded>{};
  if (!std::all_of(completions.begin(), completions.end(),
                   [](const Completion& c) { return may_end_a_lease(c.verdict.state); })) {
    return Error{ErrorCode::Invalid, "a completion's state is not one that a lease can end in"};
  }
  return writer_.transact([&](Connection& c) {
    Recorder recorder{c, now};
    std::vector<Recorded> answers;
    answers.reserve(completions.size());
    for (const Completion& completion : completions) answers.push_back(recorder.record(completion));
    POSTRIDER_FAULT_POINT("in_record");
    return answers;
  });
}

}  // namespace postrider::sqlite
