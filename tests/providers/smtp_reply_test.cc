// SMTP replies by step, code and enhanced code.
#include <gtest/gtest.h>

#include "providers/parts.h"

namespace postrider {
namespace {

struct Case {
  MailStep step;
  int code;
  const char* text;
  OutcomeKind kind;
  std::optional<Reason> reason = {};
};

Outcome interpret(MailStep step, int code, const char* text) {
  return make_provider("smtp")->interpret(MailReply{step, code, text}, kNow);
}

TEST(SmtpReplies, HaveTheClassOfTheirCodesAndSteps) {
  using K = OutcomeKind;
  using S = MailStep;
  for (const Case& c : {
           Case{S::Body, 250, "2.0.0 queued as ABC123", K::Accepted},
           Case{S::RcptTo, 451, "4.7.1 Greylisting in action, please come back later", K::Transient,
                Reason::ServerBusy},
           Case{S::RcptTo, 450, "4.2.1 The user you are trying to contact is receiving mail too quickly", K::Transient,
                Reason::RateLimited},
           Case{S::RcptTo, 450, "4.2.1 receiving mail at a rate that prevents delivery", K::Transient,
                Reason::RateLimited},
           Case{S::RcptTo, 550, "5.1.1 No such user", K::Permanent, Reason::InvalidRecipient},
           Case{S::RcptTo, 553, "5.1.3 bad address", K::Permanent, Reason::InvalidRecipient},
           Case{S::RcptTo, 550, "no such user here", K::Permanent, Reason::InvalidRecipient},
           Case{S::Body, 550, "5.1.1 No such user", K::Permanent, Reason::InvalidRecipient},
           Case{S::RcptTo, 550, "5.2.1 mailbox disabled", K::Permanent, Reason::InvalidRecipient},
           Case{S::RcptTo, 452, "4.2.2 Mailbox full", K::Transient},
           Case{S::RcptTo, 552, "5.2.2 Mailbox full", K::Transient},
           Case{S::RcptTo, 552, "too many recipients", K::Transient, Reason::RateLimited},
           Case{S::Body, 552, "5.3.4 message too big", K::Permanent, Reason::ContentRefused},
           Case{S::Body, 554, "5.7.1 Message rejected as spam", K::Permanent, Reason::ContentRefused},
           Case{S::RcptTo, 554, "5.7.1 relay denied", K::Permanent, Reason::RequestRefused},
           Case{S::MailFrom, 421, "4.3.2 Service shutting down", K::Transient, Reason::ServerBusy},
           Case{S::Connect, 421, "too busy", K::Transient},
           Case{S::Auth, 535, "5.7.8 Authentication credentials invalid", K::Misconfigured,
                Reason::ProviderMisconfigured},
           Case{S::Auth, 454, "4.7.0 Temporary authentication failure", K::Transient},
           Case{S::Auth, 534, "5.7.9 mechanism too weak", K::Misconfigured},
           Case{S::StartTls, 454, "4.7.0 TLS not available", K::Transient},
           Case{S::StartTls, 502, "not implemented", K::Misconfigured},
           Case{S::MailFrom, 530, "5.7.0 Must issue a STARTTLS command first", K::Misconfigured},
           Case{S::Hello, 550, "go away", K::Misconfigured},
           Case{S::Connect, 554, "no SMTP service here", K::Misconfigured},
           Case{S::MailFrom, 550, "5.7.1 sender not allowed", K::Permanent},
           Case{S::Data, 554, "no valid recipients", K::Permanent},
           Case{S::Body, 999, "?", K::Unclear},
           Case{S::Body, 354, "?", K::Unclear},
           Case{S::RcptTo, 0, "", K::Unmapped},
       }) {
    const Outcome outcome = interpret(c.step, c.code, c.text);
    EXPECT_EQ(to_text(outcome.kind), to_text(c.kind)) << c.code << " " << c.text;
    if (c.reason) {
      EXPECT_EQ(code_of(outcome.reason), code_of(*c.reason)) << c.code << " " << c.text;
    }
    EXPECT_NE(outcome.detail.find(std::to_string(c.code)), std::string::npos);
  }
}

TEST(SmtpReplies, TheFirstDigitDecidesForEveryCodeWeDoNotKnow) {
  for (int code = 400; code < 500; ++code)
    EXPECT_EQ(interpret(MailStep::RcptTo, code, "x").kind, OutcomeKind::Transient);
  for (int code = 500; code < 600; ++code) {
    const OutcomeKind kind = interpret(MailStep::Body, code, "x").kind;
    EXPECT_TRUE(kind == OutcomeKind::Permanent || kind == OutcomeKind::Misconfigured) << code;
  }
}

TEST(SmtpReplies, OnlyTheReplyToTheFinalDotIsAcceptance) {
  for (const MailStep step : {MailStep::Connect, MailStep::Hello, MailStep::StartTls, MailStep::Auth,
                              MailStep::MailFrom, MailStep::RcptTo, MailStep::Data})
    EXPECT_NE(interpret(step, 250, "ok").kind, OutcomeKind::Accepted);
}

TEST(SmtpReplies, LostBeforeTheFinalDotIsNotSentAndLostAfterItIsUnclear) {
  const auto smtp = make_provider("smtp");
  EXPECT_EQ(smtp->interpret(Broken{BrokenAt::Nothing, BrokenBy::Reset, ""}, kNow).kind, OutcomeKind::NotSent);
  EXPECT_EQ(smtp->interpret(Broken{BrokenAt::Whole, BrokenBy::Reset, ""}, kNow).kind, OutcomeKind::Unclear);
  EXPECT_EQ(smtp->interpret(Broken{BrokenAt::Whole, BrokenBy::Timeout, ""}, kNow).kind, OutcomeKind::Unclear);
}

TEST(SmtpReplies, AnInvalidRecipientIsToldApartFromAFaultOfTheProvider) {
  EXPECT_EQ(interpret(MailStep::RcptTo, 550, "5.1.1 no").reason, Reason::InvalidRecipient);
  EXPECT_EQ(interpret(MailStep::Auth, 535, "5.7.8 no").reason, Reason::ProviderMisconfigured);
}

}  // namespace
}  // namespace postrider
