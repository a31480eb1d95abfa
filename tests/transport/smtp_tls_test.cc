// Encryption and log-in of the mail client.
#include <gtest/gtest.h>

#include "base/text.h"
#include "transport/certificates.h"
#include "transport/mail_peer.h"

namespace postrider::test {
namespace {

class SmtpTls : public ::testing::Test {
 protected:
  MailScript script(const Leaf& leaf = {}) {
    MailScript made;
    made.hello = "250-mx\r\n250-STARTTLS\r\n250-AUTH LOGIN PLAIN\r\n250 PIPELINING";
    made.tls = ca_.server(leaf);
    return made;
  }
  Endpoint trusting(Endpoint endpoint) {
    endpoint.ca_file = ca_.file();
    return endpoint;
  }
  TestCa ca_;
};

TEST_F(SmtpTls, StartTlsIsFollowedByASecondHello) {
  MailPeer peer{script()};
  Caller caller{trusting(peer.endpoint(TlsMode::StartTls))};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_mail(caller.call(a_mail()), MailStep::Body, 250));
  EXPECT_EQ(peer.connections(), 1);
  const auto said = peer.said();
  EXPECT_EQ(said[0], "EHLO localhost");
  EXPECT_EQ(said[1], "STARTTLS");
  EXPECT_EQ(said[2], "EHLO localhost");
}

TEST_F(SmtpTls, WithoutTheOfferNothingIsSentInTheClear) {
  MailScript plain = script();
  plain.hello = "250-mx\r\n250-AUTH PLAIN\r\n250 PIPELINING";
  MailPeer peer{plain};
  Endpoint endpoint = trusting(peer.endpoint(TlsMode::StartTls));
  endpoint.smtp_user = "user";
  endpoint.smtp_password = Secret{"secret"};
  Caller caller{endpoint};
  EXPECT_TRUE(is_broken(caller.call(a_mail()), BrokenAt::Nothing, BrokenBy::Tls));
  EXPECT_EQ(peer.said(), (std::vector<std::string>{"EHLO localhost"}));
}

TEST_F(SmtpTls, ARefusedStartTlsIsItsReply) {
  MailScript refusing = script();
  refusing.replies["STARTTLS"] = "454 not now";
  MailPeer peer{refusing};
  Caller caller{trusting(peer.endpoint(TlsMode::StartTls))};
  EXPECT_TRUE(is_mail(caller.call(a_mail()), MailStep::StartTls, 454));
}

TEST_F(SmtpTls, WordsBetweenTheReplyAndTheHandshakeAreGarbage) {
  MailScript injecting = script();
  injecting.replies["STARTTLS"] = "220 go on\r\n250 injected";
  MailPeer peer{injecting};
  Caller caller{trusting(peer.endpoint(TlsMode::StartTls))};
  const Reply reply = caller.call(a_mail());
  EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Garbage)) << describe(reply);
}

TEST_F(SmtpTls, ABadCertificateIsNotTalkedTo) {
  for (const TlsMode mode : {TlsMode::StartTls, TlsMode::Implicit}) {
    MailScript bad = script({.san = "DNS:other.example.org"});
    bad.implicit_tls = mode == TlsMode::Implicit;
    MailPeer peer{bad};
    Caller caller{trusting(peer.endpoint(mode))};
    const Reply reply = caller.call(a_mail());
    EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Tls)) << describe(reply);
  }
}

TEST_F(SmtpTls, ImplicitTlsBeginsAtOnceAndLogsIn) {
  MailScript implicit = script();
  implicit.implicit_tls = true;
  MailPeer peer{implicit};
  Endpoint endpoint = trusting(peer.endpoint(TlsMode::Implicit));
  endpoint.smtp_user = "user";
  endpoint.smtp_password = Secret{"secret"};
  Caller caller{endpoint};
  const Reply reply = caller.call(a_mail());
  EXPECT_TRUE(is_mail(reply, MailStep::Body, 250)) << describe(reply);
  EXPECT_TRUE(peer.was_told("AUTH PLAIN " + to_base64(std::string("\0user\0secret", 12))));
}

TEST_F(SmtpTls, LoginIsUsedWherePlainIsNotOffered) {
  MailScript login;
  login.hello = "250 AUTH LOGIN";
  login.replies["AUTH"] = "334 VXNlcm5hbWU6";
  MailPeer peer{login};
  Endpoint endpoint = peer.endpoint(TlsMode::None);
  endpoint.smtp_user = "user";
  endpoint.smtp_password = Secret{"secret"};
  Caller caller{endpoint};
  EXPECT_TRUE(is_mail(caller.call(a_mail()), MailStep::Body, 250));
  EXPECT_TRUE(peer.was_told("user " + to_base64("user")));
  EXPECT_TRUE(peer.was_told("password " + to_base64("secret")));
}

TEST_F(SmtpTls, AWrongPasswordIsTheReplyOfTheLogIn) {
  MailScript refusing;
  refusing.hello = "250 AUTH PLAIN";
  refusing.replies["AUTH"] = "535 5.7.8 wrong";
  MailPeer peer{refusing};
  Endpoint endpoint = peer.endpoint(TlsMode::None);
  endpoint.smtp_user = "user";
  endpoint.smtp_password = Secret{"secret"};
  Caller caller{endpoint};
  const Reply reply = caller.call(a_mail());
  EXPECT_TRUE(is_mail(reply, MailStep::Auth, 535)) << describe(reply);
  EXPECT_EQ(describe(reply).find("secret"), std::string::npos);
}

}  // namespace
}  // namespace postrider::test
