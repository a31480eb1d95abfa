#include <algorithm>

#include "base/fault.h"
#include "store/common/call_off.h"
#include "store/sqlite/held.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

// Attempts and settled rows are gathered and written several at a time.
class Recorder {
 public:
  Recorder(Connection& c, Instant now) : c_(c), now_(now), settler_(c, now) {
    attempts_.reserve(kRowsAtOnce);
    settled_.reserve(kRowsAtOnce);
  }

  /// `held` has to stay where it is until finish().
  Recorded record(const Completion& completion, const std::optional<HeldRow>& held) {
    if (!held) {
      finish();  // what came before in the same batch may be about the same delivery
      note_late(completion);
      return Recorded::Stale;
    }
    if (completion.rendered) common::put_rendering(c_, completion.lease.id, now_, *completion.rendered);
    if (completion.attempt) {
      attempts_.push_back({&completion, &*held});
      if (attempts_.size() == kRowsAtOnce) write_attempts();
    }
    move_on(completion, held->mark);
    return Recorded::Applied;
  }
  void finish() {
    write_attempts();
    write_settled();
  }

 private:
  struct Called {
    const Completion* completion = nullptr;
    const HeldRow* row = nullptr;
  };

  void write_attempts() {
    write_rows(c_, {"attempt_add", "attempt_add_many"}, attempts_, [](RowBinder& binder, const Called& called) {
      const AttemptEnd& a = *called.completion->attempt;
      const HeldRow& row = *called.row;
      binder.add(called.completion->lease.id, fence_of_call(*called.completion), row.attempt, row.node, row.provider,
                 a.outcome, a.reason, a.provider_message_id, a.excerpt, a.started_at, a.ended_at);
    });
    attempts_.clear();
  }
  void write_settled() {
    write_rows(c_, {"settled_add", "settled_add_many"}, settled_,
               [this](RowBinder& binder, const common::Settling& end) {
                 binder.add(end.id, end.tenant, end.state, end.reason, end.detail, now_);
               });
    for (const common::Settling& end : settled_) settler_.erase_secret(end.id);
    settled_.clear();
  }
  void settle(const common::Settling& end) {
    settled_.push_back(end);
    if (settled_.size() == kRowsAtOnce) write_settled();
  }

  void move_on(const Completion& completion, const std::optional<CancelMark>& mark) {
    const Lease& l = completion.lease;
    const Verdict& v = completion.verdict;
    if (v.state == DeliveryState::Retrying && mark) {
      settle(common::called_off(l.id, l.tenant, *mark));
    } else if (v.state == DeliveryState::Retrying) {
      c_.use("deferred_add")
          .run(v.due_at, l.id, l.lane, l.channel, l.tenant, l.fence, v.attempt, completion.guarantee, v.reason,
               completion.expires_at, completion.detail);
    } else if (v.state == DeliveryState::Parked) {
      c_.use("parked_add")
          .run(l.id, l.tenant, l.lane, l.channel, l.fence, v.attempt, completion.guarantee, v.reason, completion.detail,
               now_, completion.expires_at);
    } else {
      settle({l.id, l.tenant, v.state, v.reason, completion.detail});
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
  std::vector<Called> attempts_;           // not yet written
  std::vector<common::Settling> settled_;  // not yet written
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
    EndedLeases ended = end_leases(c, completions);
    // Where every lease was held no two are about the same delivery, and rows are written cheapest in the order of
    // their keys. Late answers are noted in the order in which they came.
    if (!std::all_of(ended.rows.begin(), ended.rows.end(), [](const auto& row) { return row.has_value(); }))
      std::sort(ended.order.begin(), ended.order.end());
    std::vector<Recorded> answers(completions.size());
    for (const std::size_t i : ended.order) answers[i] = recorder.record(completions[i], ended.rows[i]);
    recorder.finish();
    POSTRIDER_FAULT_POINT("in_record");
    return answers;
  });
}

}  // namespace postrider::sqlite
