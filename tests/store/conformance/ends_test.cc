// Nothing ends without a reason: everything is brought to an end in every way that the core knows, and then looked at.
#include <set>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

/// Reasons for waiting: what has ended cannot have one of these.
const std::set<Reason> kWaits{Reason::Waiting,
                              Reason::Scheduled,
                              Reason::Expanding,
                              Reason::Released,
                              Reason::QuietHours,
                              Reason::RetriedByOperator,
                              Reason::DispatchedByOperator,
                              Reason::LimitedByRate,
                              Reason::LimitedByConcurrency};

bool has_ended(DeliveryState state) {
  switch (state) {
    case DeliveryState::Queued:
    case DeliveryState::Sending:
    case DeliveryState::Retrying: return false;
    case DeliveryState::Sent:
    case DeliveryState::Delivered:
    case DeliveryState::Parked:
    case DeliveryState::Discarded:
    case DeliveryState::Cancelled:
    case DeliveryState::Suppressed:
    case DeliveryState::Expired: return true;
  }
  return false;
}

class Ends : public Conformance {
 protected:
  Claim claim(const Plan& plan) {
    const bool once = plan.guarantee == Guarantee::AtMostOnce;
    return w.claim(1, plan, once ? ClaimWhat::AtMostOnceOnly : ClaimWhat::Prefetchable).at(0);
  }

  // Every outcome of a call, under every guarantee, at the first and at the last attempt, with and without an expiry.
  void end_calls() {
    const Policy policy{.attempts_max = 3};
    for (int kind = 1; kind <= static_cast<int>(OutcomeKind::Unmapped); ++kind) {
      for (const Guarantee guarantee : {Guarantee::AtLeastOnce, Guarantee::AtMostOnce, Guarantee::Reconcile}) {
        for (const int attempt : {1, 3}) {
          for (const auto acceptance : {Acceptance::MayReportLater, Acceptance::IsTheEnd}) {
            for (const bool expires : {false, true}) {
              const auto expires_at = expires ? std::optional{w.now + std::chrono::seconds{1}} : std::nullopt;
              const Plan plan{.guarantee = guarantee, .expires_at = expires_at};
              w.send_one(plan);
              const Outcome outcome{.kind = static_cast<OutcomeKind>(kind), .reason = Reason::ServerFault};
              Completion c = w.completion(claim(plan), DeliveryState::Sent);
              c.verdict = judge(outcome, {attempt, guarantee, expires_at, acceptance}, policy, w.now, 7);
              c.attempt = w.attempt(outcome.kind, outcome.reason);
              ASSERT_EQ(w.record(c), Recorded::Applied);
            }
          }
        }
      }
    }
  }

  void end_without_a_call() {
    w.send_one({.placement = {DeliveryState::Suppressed, Reason::NoRecipient, "no email address", {}}});
    w.send_one({.placement = {DeliveryState::Expired, Reason::Expired, "", {}}});
    w.send_one({.expires_at = w.now + std::chrono::seconds{1}});
    must(w.a->expire(w.now + std::chrono::minutes{1}, 100));
    const Sent cancelled = w.send_one();
    must(w.a->cancel(w.now, w.by_ada, cancelled.deliveries));
    const Sent discarded = w.send_one();
    w.park(w.claim_one());
    must(w.a->discard(w.now, w.by_ada, discarded.deliveries));
    w.send_one({.recipient = "spam@example.org"});
    must(w.a->suppress(w.now, w.by_ada,
                       std::vector{Suppression{.tenant = w.acme, .address = "spam@example.org", .evidence = "asked"}}));
    w.send_one({.contact = "c-1"});
    const std::vector<std::string> nothing_exempt;
    must(w.a->save_contacts(w.now, w.by_ada,
                            std::vector{Contact{.tenant = w.acme, .key = "c-1", .preferences = {{.allowed = false}}}},
                            nothing_exempt));
  }

  // A node that was taken for dead reports after all.
  void end_late() {
    w.send_one();
    const Claim lost = w.claim_one();
    const Node other = w.join("b");
    must(w.a->remove(w.a.id));
    const auto taken = must(other->take_over(w.now, other.id, 10));
    ASSERT_EQ(taken.size(), 1U);
    Completion unclear = w.completion(taken[0], DeliveryState::Parked);
    unclear.verdict.reason = Reason::UnclearReconcile;
    must(other->record(w.now, std::span{&unclear, 1}));
    const Completion late = w.completion(lost, DeliveryState::Delivered);
    EXPECT_EQ(must(other->record(w.now, std::span{&late, 1})).at(0), Recorded::Stale);
  }

  void end_messages() {
    for (const auto& [state, reason] :
         {std::pair{MessageState::Failed, Reason::TemplateNotFound}, std::pair{MessageState::Ignored, Reason::NoRoute},
          std::pair{MessageState::Cancelled, Reason::CancelledByCondition}}) {
      w.send_one({.deliveries = 0, .state = state, .reason = reason, .detail = "x"});
    }
    OutboxRow twice = w.row();
    twice.idempotency_key = "k-1";
    w.send_one({}, twice);
    twice.id = format_uuid(w.uuid());
    w.send_one({}, twice);
    w.send_one({.key = "fact"});
    w.send_one({.key = "fact"});
  }

  void look_at_everything() {
    std::set<DeliveryState> ends;
    std::set<MessageState> states;
    std::set<Reason> reasons;
    ListFilter filter{.count_max = 100};
    for (;;) {
      const auto items = must(w.a->list(filter));
      if (items.empty()) break;
      filter.before = items.back().id;
      for (const ListItem& item : items) {
        const MessageView view = w.look(item.message_uuid);
        states.insert(view.state);
        EXPECT_FALSE(kWaits.contains(view.reason)) << to_text(view.state) << " " << code_of(view.reason);
        if (!item.delivery || !has_ended(item.delivery->state)) continue;
        ends.insert(item.delivery->state);
        reasons.insert(item.delivery->reason);
        EXPECT_FALSE(kWaits.contains(item.delivery->reason))
            << to_text(item.delivery->state) << " " << code_of(item.delivery->reason);
        EXPECT_TRUE(item.delivery->since.has_value()) << to_text(item.delivery->state);
      }
    }
    for (const DeliveryState state : kDeliveryStates)
      EXPECT_EQ(ends.contains(state), has_ended(state)) << to_text(state);
    EXPECT_EQ(states, (std::set{MessageState::Expanded, MessageState::Ignored, MessageState::Duplicate,
                                MessageState::Failed, MessageState::Cancelled}));
    for (const Reason reason : {Reason::AcceptedByProvider, Reason::AcceptanceIsTheEnd, Reason::Expired,
                                Reason::RetriesUsedUp, Reason::UnclearNotRepeated, Reason::UnclearReconcile,
                                Reason::CancelledByOperator, Reason::DiscardedByOperator, Reason::SuppressedAddress,
                                Reason::OptedOut, Reason::NoRecipient, Reason::LateAnswer}) {
      EXPECT_TRUE(reasons.contains(reason)) << code_of(reason);
    }
  }
};

TEST_P(Ends, NothingEndsWithoutAReason) {
  end_calls();
  end_without_a_call();
  end_messages();
  end_late();
  look_at_everything();
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Ends);
}  // namespace postrider::conformance
