#include <algorithm>
#include <numeric>

#include "store/common/rows.h"
#include "store/postgres/rows.h"

namespace postrider::postgres {
namespace {

enum class Target : std::uint8_t { Settled = 1, Deferred = 2, Parked = 3 };

Target target_of(DeliveryState state) {
  if (state == DeliveryState::Retrying) return Target::Deferred;
  return state == DeliveryState::Parked ? Target::Parked : Target::Settled;
}

int fence_of_call(const Completion& completion) {
  return completion.attempt_fence != 0 ? completion.attempt_fence : completion.lease.fence;
}

QueueGroup group_of(const Lease& lease) { return {lease.lane, lease.channel, lease.tenant}; }

// Called, settled, and nothing more to say: what record_settled can write.
bool is_usual(const Completion& completion) {
  return completion.attempt && target_of(completion.verdict.state) == Target::Settled && completion.detail.empty() &&
         fence_of_call(completion) == completion.lease.fence;
}

// The columns of the statement for those: by place, or by the keys of one group.
class UsualRows {
 public:
  enum class Form : std::uint8_t { ByPlace, ByKey };
  explicit UsualRows(Form form) : form_(form) {}
  [[nodiscard]] bool takes(const Completion& completion) const {
    if (!is_usual(completion) || (completion.lease.where != 0) != (form_ == Form::ByPlace)) return false;
    return form_ == Form::ByPlace || !group || *group == group_of(completion.lease);
  }
  void add(const Completion& completion) {
    const Lease& l = completion.lease;
    const AttemptEnd& a = *completion.attempt;
    id.add_int8(l.id);
    fence.add_int4(l.fence);
    state.add_int2(static_cast<int>(completion.verdict.state));
    reason.add_int2(static_cast<int>(completion.verdict.reason));
    outcome.add_int2(static_cast<int>(a.outcome));
    call_reason.add_int2(static_cast<int>(a.reason));
    started.add_time(a.started_at);
    ended.add_time(a.ended_at);
    message_id.add(a.provider_message_id);
    if (excerpt.size() == 0) first_excerpt = a.excerpt;
    same_excerpt = same_excerpt && a.excerpt == first_excerpt;
    excerpt.add(a.excerpt);
    form_ == Form::ByPlace ? where.add_tid(l.where) : position.add_int8(l.position);
    group = group_of(l);
  }
  Rows write(Connection& c, Instant now) {
    Params p;
    for (Array* column : {&id, &fence, &state, &reason, &outcome, &call_reason, &started, &ended, &message_id})
      p.array(*column);
    Array one{Type::Text};
    one.add(first_excerpt);
    p.array(same_excerpt ? one : excerpt).time(now);
    if (form_ == Form::ByPlace) return c.query("record_settled", p.array(where));
    p.int2(static_cast<int>(group->lane)).int2(static_cast<int>(group->channel)).int4(group->tenant).array(position);
    return c.query("record_settled_by_key", p);
  }

 private:
  Form form_;
  Array id{Type::Int8}, fence{Type::Int4}, state{Type::Int2}, reason{Type::Int2}, outcome{Type::Int2},
      call_reason{Type::Int2}, started{Type::Int8}, ended{Type::Int8}, message_id{Type::Text}, excerpt{Type::Text};
  std::string_view first_excerpt;
  bool same_excerpt = true;
  Array where{Type::Tid}, position{Type::Int8};
  std::optional<QueueGroup> group;
};

// The columns of the statement that ends any lease, with its three forms.
class CompletionRows {
 public:
  explicit CompletionRows(std::string_view form) : form_(form) {}
  [[nodiscard]] bool takes(const Completion& completion) const {
    return form_ == "record_by_key" || completion.lease.where != 0;
  }
  void add(const Completion& completion) {
    const Lease& l = completion.lease;
    const Verdict& v = completion.verdict;
    static const AttemptEnd kNone;
    const AttemptEnd& a = completion.attempt ? *completion.attempt : kNone;
    lane.add_int2(static_cast<int>(l.lane));
    channel.add_int2(static_cast<int>(l.channel));
    tenant.add_int4(l.tenant);
    position.add_int8(l.position);
    id.add_int8(l.id);
    fence.add_int4(l.fence);
    target.add_int2(static_cast<int>(target_of(v.state)));
    state.add_int2(static_cast<int>(v.state));
    reason.add_int2(static_cast<int>(v.reason));
    due.add_time(v.due_at);
    attempt.add_int2(v.attempt);
    detail.add(completion.detail);
    called.add_flag(completion.attempt.has_value());
    call_fence.add_int4(fence_of_call(completion));
    outcome.add_int2(static_cast<int>(a.outcome));
    call_reason.add_int2(static_cast<int>(a.reason));
    message_id.add(a.provider_message_id);
    excerpt.add(a.excerpt);
    started.add_time(a.started_at);
    ended.add_time(a.ended_at);
    where.add_tid(l.where);
  }
  Rows write(Connection& c, Instant now) {
    Params p;
    for (Array* column :
         {&lane,   &channel,    &tenant,  &position,    &id,      &fence, &target, &state,      &reason, &due, &attempt,
          &called, &call_fence, &outcome, &call_reason, &started, &ended, &detail, &message_id, &excerpt}) {
      p.array(*column);
    }
    p.time(now).array(where);
    try {
      return c.query(form_, p);
    } catch (const Failure& failure) {
      if (failure.error().code != ErrorCode::Conflict) throw;
      return c.query("record_careful", p);
    }
  }

 private:
  std::string_view form_;  // the statement
  Array lane{Type::Int2}, channel{Type::Int2}, tenant{Type::Int4}, position{Type::Int8}, id{Type::Int8},
      fence{Type::Int4}, target{Type::Int2}, state{Type::Int2}, reason{Type::Int2}, due{Type::Int8},
      attempt{Type::Int2}, detail{Type::Text}, called{Type::Bool}, call_fence{Type::Int4}, outcome{Type::Int2},
      call_reason{Type::Int2}, message_id{Type::Text}, excerpt{Type::Text}, started{Type::Int8}, ended{Type::Int8},
      where{Type::Tid};
};

// The queue is looked through last: its only order is that of the line.
bool drop_repeat(Connection& c, const Lease& l) {
  if (c.use("is_settled").any(l.id)) return false;
  if (c.use("deferred_drop").run(l.id) == 1 || c.use("parked_drop").run(l.id) == 1) return true;
  return common::drop_waiting(c, {l.lane, l.channel, l.tenant}, l.id);
}

void note_late(Connection& c, const Completion& completion, common::Settler<Connection>& settler) {
  if (!completion.attempt) return;
  const Lease& l = completion.lease;
  const AttemptEnd& a = *completion.attempt;
  c.use("attempt_add_late")
      .run(l.id, fence_of_call(completion), l.attempt, l.provider, a.outcome, a.reason, a.provider_message_id,
           a.excerpt, a.started_at, a.ended_at);
  if (a.outcome != OutcomeKind::Accepted || !drop_repeat(c, l)) return;
  const bool delivered = completion.verdict.state == DeliveryState::Delivered;
  settler.settle({l.id, l.tenant, delivered ? DeliveryState::Delivered : DeliveryState::Sent, Reason::LateAnswer,
                  completion.detail});
}

void drop_secrets(Connection& c, std::span<const Completion> completions, const std::vector<RowId>& cancelled) {
  Array settled{Type::Int8};
  for (const Completion& completion : completions) {
    if (target_of(completion.verdict.state) == Target::Settled) settled.add_int8(completion.lease.id);
  }
  for (const RowId id : cancelled) settled.add_int8(id);
  if (settled.size() > 0) c.query("secret_drop_of_deliveries", Params{}.array(settled));
}

// By id, as those go who call deliveries off: two that want the same rows wait for each other, and not in a circle.
// Only what is recorded by place goes in the order of places; should that make a circle, PostgreSQL opens it and both
// are tried again.
std::vector<std::size_t> in_order_of_ids(std::span<const Completion> completions) {
  std::vector<std::size_t> order(completions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return completions[a].lease.id < completions[b].lease.id; });
  return order;
}

}  // namespace

Result<std::vector<Recorded>> PostgresSession::record(Instant now, std::span<const Completion> completions) {
  if (completions.empty()) return std::vector<Recorded>{};
  if (!std::all_of(completions.begin(), completions.end(),
                   [](const Completion& c) { return may_end_a_lease(c.verdict.state); })) {
    return Error{ErrorCode::Invalid, "a completion's state is not one that a lease can end in"};
  }
  const std::vector<std::size_t> order = in_order_of_ids(completions);
  return run([&](Connection& c) {
    std::vector<Recorded> answers(completions.size(), Recorded::Stale);
    bool any_secret = false;
    std::vector<RowId> cancelled;  // settled although their verdict says that they are tried again
    for (const Completion& completion : completions) {
      if (completion.rendered) common::put_rendering(c, completion.lease.id, now, *completion.rendered);
    }
    const auto write = [&](auto columns) {
      std::vector<std::size_t> asked;
      for (const std::size_t i : order) {
        if (answers[i] == Recorded::Applied || !columns.takes(completions[i])) continue;
        columns.add(completions[i]);
        asked.push_back(i);
      }
      if (asked.empty()) return;
      const Rows applied = columns.write(c, now);
      for (int i = 0; i < applied.count(); ++i) {
        const std::size_t which = asked[static_cast<std::size_t>(applied.number(i, 0) - 1)];
        answers[which] = Recorded::Applied;
        if (applied.flag(i, 2)) cancelled.push_back(completions[which].lease.id);
      }
      any_secret = any_secret || (!applied.empty() && applied.flag(0, 1));
    };
    // What ended as usual; then the others where the claim saw them; then what is not there, or was never claimed.
    for (const UsualRows::Form form : {UsualRows::Form::ByPlace, UsualRows::Form::ByKey}) {
      try {
        write(UsualRows{form});
      } catch (const Failure& failure) {
        if (failure.error().code != ErrorCode::Conflict) throw;  // written before: looked at more closely below
      }
    }
    write(CompletionRows{"record"});
    // Twice: a row that somebody marked while the first one waited for it has another place by then.
    for (int look = 0; look < 2; ++look) write(CompletionRows{"record_by_key"});
    if (any_secret) drop_secrets(c, completions, cancelled);
    if (std::all_of(answers.begin(), answers.end(), [](Recorded each) { return each == Recorded::Applied; }))
      return answers;
    // What came too late moves nothing but is kept; a crash before this leaves it as if its node had died before
    // reporting.
    Transaction transaction{c};
    common::Settler<Connection> settler{c, now};
    for (std::size_t i = 0; i < completions.size(); ++i) {
      if (answers[i] == Recorded::Stale) note_late(c, completions[i], settler);
    }
    transaction.commit();
    return answers;
  });
}

}  // namespace postrider::postgres
