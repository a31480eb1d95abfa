// What follows from the outcome of a call, over every kind of outcome, guarantee, attempts left and expiry.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "base/limits.h"
#include "core/outcome.h"

namespace postrider {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Instant kNow = instant_from_us(1'800'000'000'000'000);
constexpr std::array kKinds{OutcomeKind::Accepted,  OutcomeKind::NotSent, OutcomeKind::Transient,
                            OutcomeKind::Permanent, OutcomeKind::Unclear, OutcomeKind::Misconfigured,
                            OutcomeKind::Unmapped};
constexpr std::array kGuarantees{Guarantee::AtLeastOnce, Guarantee::AtMostOnce, Guarantee::Reconcile};

Policy one_minute(int attempts_max) {
  return {.kind = PolicyKind::Fixed, .base = minutes{1}, .attempts_max = attempts_max};
}
Outcome outcome_of(OutcomeKind kind) { return {.kind = kind, .reason = Reason::ServerBusy}; }

bool may_have_been_sent(OutcomeKind kind) { return kind == OutcomeKind::Accepted || kind == OutcomeKind::Unclear; }

// The rules in words, once more and independent of the code under test.
struct Expected {
  DeliveryState state;
  Reason reason;
};
Expected expected(OutcomeKind kind, Guarantee guarantee, int attempt, int attempts_max, bool too_late) {
  const bool spent = attempt >= attempts_max;
  const Expected repeat = spent      ? Expected{DeliveryState::Parked, Reason::RetriesUsedUp}
                          : too_late ? Expected{DeliveryState::Expired, Reason::Expired}
                                     : Expected{DeliveryState::Retrying, Reason::ServerBusy};
  switch (kind) {
    case OutcomeKind::Accepted: return {DeliveryState::Sent, Reason::AcceptedByProvider};
    case OutcomeKind::NotSent:
    case OutcomeKind::Transient: return repeat;
    case OutcomeKind::Permanent: return {DeliveryState::Parked, Reason::ServerBusy};
    case OutcomeKind::Unclear:
      if (guarantee == Guarantee::AtMostOnce) return {DeliveryState::Parked, Reason::UnclearNotRepeated};
      if (guarantee == Guarantee::Reconcile) return {DeliveryState::Parked, Reason::UnclearReconcile};
      return repeat;
    case OutcomeKind::Misconfigured:
      return too_late ? Expected{DeliveryState::Expired, Reason::Expired}
                      : Expected{DeliveryState::Retrying, Reason::ServerBusy};
    case OutcomeKind::Unmapped: return attempt >= 2 ? Expected{DeliveryState::Parked, Reason::RetriesUsedUp} : repeat;
  }
  POSTRIDER_DIE("an OutcomeKind outside its enum");
}

TEST(Judge, WhatItsRecipientDoesNotWantIsSuppressedAndAnythingElseThatIsCalledOffIsCancelled) {
  for (int number = 0; number < 256; ++number) {
    const auto reason = reason_from(number);
    if (!reason) continue;
    const bool by_recipient = code_of(*reason) == "opted_out" || code_of(*reason) == "suppressed_address";
    EXPECT_EQ(state_when_called_off(*reason), by_recipient ? DeliveryState::Suppressed : DeliveryState::Cancelled)
        << code_of(*reason);
  }
}

TEST(Judge, EveryOutcomeGuaranteeAttemptAndExpiryHasTheVerdictOfTheRules) {
  const Policy policy = one_minute(3);
  const std::array<std::optional<Instant>, 3> expiries{std::nullopt, kNow + seconds{10}, kNow + hours{1}};
  for (const OutcomeKind kind : kKinds) {
    for (const Guarantee guarantee : kGuarantees) {
      for (int attempt = 1; attempt <= 4; ++attempt) {
        for (const auto& expires_at : expiries) {
          const Judged facts{.attempt = attempt, .guarantee = guarantee, .expires_at = expires_at};
          const Verdict verdict = judge(outcome_of(kind), facts, policy, kNow, 7);
          const bool too_late = expires_at && *expires_at < kNow + minutes{1};
          const Expected wanted = expected(kind, guarantee, attempt, 3, too_late);
          const auto where = ::testing::Message() << to_text(kind) << " " << to_text(guarantee) << " call " << attempt
                                                  << (too_late ? " too late" : "");
          EXPECT_EQ(verdict.state, wanted.state) << where;
          EXPECT_EQ(verdict.reason, wanted.reason) << where;
        }
      }
    }
  }
}

TEST(Judge, AtMostOnceNeverCallsAgainAfterAcceptedOrUnclear) {
  for (const OutcomeKind kind : kKinds) {
    if (!may_have_been_sent(kind)) continue;
    for (int attempt = 1; attempt <= 10; ++attempt) {
      const Judged facts{.attempt = attempt, .guarantee = Guarantee::AtMostOnce};
      EXPECT_NE(judge(outcome_of(kind), facts, one_minute(100), kNow, 0).state, DeliveryState::Retrying);
    }
  }
}

TEST(Judge, AnUnclearCallThatIsRepeatedIsMarkedAsPossibleDuplicateAndNothingElseIs) {
  for (const OutcomeKind kind : kKinds) {
    for (const Guarantee guarantee : kGuarantees) {
      const Verdict verdict = judge(outcome_of(kind), {.guarantee = guarantee}, one_minute(3), kNow, 0);
      const bool wanted = kind == OutcomeKind::Unclear && guarantee == Guarantee::AtLeastOnce;
      EXPECT_EQ(verdict.possible_duplicate, wanted) << to_text(kind) << " " << to_text(guarantee);
    }
  }
}

TEST(Judge, AcceptanceIsDeliveredOnlyWhereItIsTheProvidersEnd) {
  const Judged last_word{.acceptance = Acceptance::IsTheEnd};
  const Verdict verdict = judge(outcome_of(OutcomeKind::Accepted), last_word, one_minute(3), kNow, 0);
  EXPECT_EQ(verdict.state, DeliveryState::Delivered);
  EXPECT_EQ(verdict.reason, Reason::AcceptanceIsTheEnd);
}

TEST(Judge, AnAcceptedCallCountsEvenWhenTheExpiryHasPassedMeanwhile) {
  const Judged late{.expires_at = kNow - seconds{1}};
  EXPECT_EQ(judge(outcome_of(OutcomeKind::Accepted), late, one_minute(3), kNow, 0).state, DeliveryState::Sent);
}

TEST(Judge, ARetryIsNeverScheduledAtOrPastTheExpiry) {
  for (const seconds slack : {seconds{-1}, seconds{0}, seconds{1}}) {
    const Judged facts{.expires_at = kNow + minutes{1} + slack};
    const Verdict verdict = judge(outcome_of(OutcomeKind::Transient), facts, one_minute(3), kNow, 0);
    EXPECT_EQ(verdict.state, slack > seconds{0} ? DeliveryState::Retrying : DeliveryState::Expired);
    if (slack > seconds{0}) {
      EXPECT_LT(verdict.due_at, *facts.expires_at);
    }
  }
}

TEST(Judge, MaxAttemptsCountsCallsTheFirstIncluded) {
  int calls = 0;
  Verdict verdict{.state = DeliveryState::Retrying};
  while (verdict.state == DeliveryState::Retrying) {
    verdict = judge(outcome_of(OutcomeKind::Transient), {.attempt = ++calls}, one_minute(5), kNow, 0);
  }
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(verdict.state, DeliveryState::Parked);
  EXPECT_EQ(verdict.reason, Reason::RetriesUsedUp);
}

TEST(Judge, APolicyWithOneAttemptParksAtOnceAlsoAfterAnUnmappedAnswer) {
  for (const OutcomeKind kind : {OutcomeKind::Transient, OutcomeKind::NotSent, OutcomeKind::Unmapped}) {
    EXPECT_EQ(judge(outcome_of(kind), {}, one_minute(1), kNow, 0).state, DeliveryState::Parked) << to_text(kind);
  }
}

TEST(Judge, AnUnmappedAnswerIsTriedOnceMoreThenParked) {
  EXPECT_EQ(judge(outcome_of(OutcomeKind::Unmapped), {.attempt = 1}, one_minute(6), kNow, 0).state,
            DeliveryState::Retrying);
  EXPECT_EQ(judge(outcome_of(OutcomeKind::Unmapped), {.attempt = 2}, one_minute(6), kNow, 0).state,
            DeliveryState::Parked);
}

TEST(Judge, AMisconfiguredCallUsesUpNoAttempt) {
  int attempt = 0;
  for (int round = 0; round < 50; ++round) {
    const Verdict verdict =
        judge(outcome_of(OutcomeKind::Misconfigured), {.attempt = attempt + 1}, one_minute(3), kNow, 0);
    EXPECT_EQ(verdict.state, DeliveryState::Retrying);
    EXPECT_EQ(verdict.due_at, kNow + kMisconfiguredHold);
    attempt = verdict.attempt;
  }
  EXPECT_EQ(attempt, 0);
}

TEST(Judge, EveryOtherOutcomeKeepsTheCountOfCalls) {
  for (const OutcomeKind kind : kKinds) {
    if (kind == OutcomeKind::Misconfigured) continue;
    EXPECT_EQ(judge(outcome_of(kind), {.attempt = 2}, one_minute(5), kNow, 0).attempt, 2) << to_text(kind);
  }
}

TEST(Judge, RetryAfterIsRespectedWhenItIsLongerThanThePolicysWait) {
  Outcome busy = outcome_of(OutcomeKind::Transient);
  busy.retry_after = minutes{10};
  EXPECT_EQ(judge(busy, {}, one_minute(3), kNow, 0).due_at, kNow + minutes{10});
  busy.retry_after = seconds{1};
  EXPECT_EQ(judge(busy, {}, one_minute(3), kNow, 0).due_at, kNow + minutes{1});
}

TEST(Judge, AnAbsurdRetryAfterIsCutToADay) {
  Outcome busy = outcome_of(OutcomeKind::Transient);
  for (const Duration absurd : {Duration{hours{1'000'000}}, Duration::max()}) {
    busy.retry_after = absurd;
    EXPECT_EQ(judge(busy, {}, one_minute(3), kNow, 0).due_at, kNow + hours{24});
  }
  busy.retry_after = seconds{-5};
  EXPECT_EQ(judge(busy, {}, one_minute(3), kNow, 0).due_at, kNow + minutes{1});
}

TEST(Judge, ARetryAfterThatLeadsPastTheExpiryEndsAsExpired) {
  Outcome busy = outcome_of(OutcomeKind::Transient);
  busy.retry_after = minutes{10};
  EXPECT_EQ(judge(busy, {.expires_at = kNow + minutes{5}}, one_minute(3), kNow, 0).state, DeliveryState::Expired);
}

TEST(Judge, NoPolicyMayGoBeyondTheHardLimitOfCalls) {
  const Verdict verdict =
      judge(outcome_of(OutcomeKind::Transient), {.attempt = kCallsPerDeliveryMax}, one_minute(100'000), kNow, 0);
  EXPECT_EQ(verdict.state, DeliveryState::Parked);
}

TEST(Judge, APermanentRefusalParksAtOnceWithItsOwnReason) {
  const Outcome refused{.kind = OutcomeKind::Permanent, .reason = Reason::InvalidRecipient};
  const Verdict verdict = judge(refused, {.attempt = 1}, one_minute(6), kNow, 0);
  EXPECT_EQ(verdict.state, DeliveryState::Parked);
  EXPECT_EQ(verdict.reason, Reason::InvalidRecipient);
}

TEST(Judge, EveryVerdictIsAMoveThatTheLifecycleAllows) {
  const std::map<DeliveryState, DeliveryTrigger> trigger_of{{DeliveryState::Sent, DeliveryTrigger::Accept},
                                                            {DeliveryState::Delivered, DeliveryTrigger::AcceptAsEnd},
                                                            {DeliveryState::Retrying, DeliveryTrigger::Defer},
                                                            {DeliveryState::Parked, DeliveryTrigger::Park},
                                                            {DeliveryState::Expired, DeliveryTrigger::Expire}};
  for (const OutcomeKind kind : kKinds) {
    for (const Guarantee guarantee : kGuarantees) {
      for (const Acceptance acceptance : {Acceptance::IsTheEnd, Acceptance::MayReportLater}) {
        const Judged facts{.guarantee = guarantee, .expires_at = kNow + seconds{70}, .acceptance = acceptance};
        const Verdict verdict = judge(outcome_of(kind), facts, one_minute(2), kNow, 0);
        ASSERT_TRUE(trigger_of.contains(verdict.state));
        EXPECT_EQ(next_state(DeliveryState::Sending, trigger_of.at(verdict.state)), verdict.state);
      }
    }
  }
}

TEST(Guarantees, AreReadBackFromTheirOwnWords) {
  for (const Guarantee guarantee : kGuarantees) EXPECT_EQ(parse_guarantee(to_text(guarantee)), guarantee);
  EXPECT_FALSE(parse_guarantee("exactly_once"));
}

}  // namespace
}  // namespace postrider
