#include <gtest/gtest.h>

#include <atomic>

#include "transport/mail_peer.h"

namespace postrider::test {
namespace {

using std::chrono::milliseconds;
using Lines = std::vector<std::string>;

MailScript without_pipelining() {
  MailScript script;
  script.hello = "250 mx.example.org";
  return script;
}

TEST(Smtp, AMailIsHandedOverInOnePipelinedTransaction) {
  MailPeer peer{{}};
  Caller caller{peer.endpoint()};
  const Reply reply = caller.call(a_mail());
  EXPECT_TRUE(is_mail(reply, MailStep::Body, 250)) << describe(reply);
  EXPECT_EQ(std::get<MailReply>(reply).text, "2.0.0 queued as 17");
  const std::string size = std::to_string(a_mail().data.size());
  EXPECT_EQ(peer.said(), (Lines{"EHLO localhost", "MAIL FROM:<me@example.org> SIZE=" + size,
                                "RCPT TO:<you@example.org>", "DATA", "MAIL BODY Subject: hello\r\n\r\n..dot\r\nbody"}));
}

TEST(Smtp, WithoutPipeliningEveryStepWaitsForItsReply) {
  MailPeer peer{without_pipelining()};
  Caller caller{peer.endpoint()};
  EXPECT_TRUE(is_mail(caller.call(a_mail()), MailStep::Body, 250));
  EXPECT_TRUE(peer.was_told("MAIL FROM:<me@example.org>"));
}

TEST(Smtp, TheConnectionIsUsedForTheNextMailWithoutAReset) {
  MailPeer peer{{}};
  Caller caller{peer.endpoint()};
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_mail(caller.call(a_mail()), MailStep::Body, 250));
  EXPECT_EQ(peer.connections(), 1);
  EXPECT_FALSE(peer.was_told("RSET"));
}

TEST(Smtp, AServerThatOnlyKnowsHeloIsServed) {
  MailScript script;
  script.replies["EHLO"] = "502 what";
  MailPeer peer{script};
  Caller caller{peer.endpoint()};
  EXPECT_TRUE(is_mail(caller.call(a_mail()), MailStep::Body, 250));
  EXPECT_TRUE(peer.was_told("HELO localhost"));
}

TEST(Smtp, ARefusalIsTheReplyOfItsStep) {
  const struct {
    const char* verb;
    const char* reply;
    MailStep step;
    int code;
  } cases[] = {{"EHLO", "421 busy", MailStep::Hello, 421},        {"MAIL", "550 no", MailStep::MailFrom, 550},
               {"MAIL", "451 later", MailStep::MailFrom, 451},    {"RCPT", "550 5.1.1 unknown", MailStep::RcptTo, 550},
               {"RCPT", "451 greylisted", MailStep::RcptTo, 451}, {"DATA", "554 no", MailStep::Data, 554}};
  for (const auto& c : cases) {
    for (MailScript script : {MailScript{}, without_pipelining()}) {
      script.replies[c.verb] = c.reply;
      MailPeer peer{script};
      Caller caller{peer.endpoint()};
      const Reply reply = caller.call(a_mail());
      EXPECT_TRUE(is_mail(reply, c.step, c.code)) << c.verb << ": " << describe(reply);
    }
  }
}

TEST(Smtp, ABusyBannerIsTheReplyOfTheConnect) {
  MailScript script;
  script.banner = "421 too many connections";
  MailPeer peer{script};
  Caller caller{peer.endpoint()};
  EXPECT_TRUE(is_mail(caller.call(a_mail()), MailStep::Connect, 421));
}

TEST(Smtp, ARefusedRecipientWithDataAcceptedMailsNothing) {
  MailScript script;
  script.replies["RCPT"] = "550 no";  // And yet DATA is answered 354.
  MailPeer peer{script};
  Caller caller{peer.endpoint()};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(is_mail(caller.call(a_mail()), MailStep::RcptTo, 550));
  EXPECT_EQ(peer.connections(), 2);
  for (const std::string& line : peer.said()) EXPECT_EQ(line.find("MAIL BODY"), std::string::npos);
}

TEST(Smtp, AfterARefusedRecipientTheTransactionIsResetOnTheSameConnection) {
  MailScript script;
  script.replies["RCPT"] = "550 no";
  script.replies["DATA"] = "503 no recipients";
  MailPeer peer{script};
  Caller caller{peer.endpoint()};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_mail(caller.call(a_mail()), MailStep::RcptTo, 550));
  EXPECT_EQ(peer.connections(), 1);
  const Lines said = peer.said();
  EXPECT_EQ(std::count(said.begin(), said.end(), "RSET"), 2);
}

TEST(Smtp, ARefusedBodyIsTheReplyOfTheBody) {
  MailScript script;
  script.after_dot = "554 5.7.1 spam";
  MailPeer peer{script};
  Caller caller{peer.endpoint()};
  EXPECT_TRUE(is_mail(caller.call(a_mail()), MailStep::Body, 554));
}

TEST(Smtp, LostAfterTheDotItMayHaveBeenTaken) {
  MailScript script;
  script.close_after_dot = true;
  MailPeer peer{script};
  Caller caller{peer.endpoint()};
  const Reply reply = caller.call(a_mail());
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Reset)) << describe(reply);
  EXPECT_EQ(peer.connections(), 1);
}

TEST(Smtp, LostBeforeTheDotNothingWasTaken) {
  MailScript script;
  script.close_before_dot = true;
  MailPeer peer{script};
  Caller caller{peer.endpoint()};
  MailRequest large = a_mail();
  for (int i = 0; i < 200'000; ++i)
    large.data += "a line of a mail that does not fit into the buffers of the kernel\r\n";
  const Reply reply = caller.call(std::move(large));
  EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Reset)) << describe(reply);
}

TEST(Smtp, AHangBeforeTheDotLeavesNothing) {
  HostilePeer silent{[](PeerSocket& socket) { socket.wait_for_close(); }};
  Endpoint endpoint = local_endpoint();
  endpoint.smtp_host = "127.0.0.1";
  endpoint.smtp_port = silent.port();
  endpoint.smtp_tls = TlsMode::None;
  Caller caller{endpoint};
  EXPECT_TRUE(is_broken(caller.call(a_mail(), milliseconds{150}), BrokenAt::Nothing, BrokenBy::Timeout));
}

TEST(Smtp, AHangAfterTheDotIsWhole) {
  HostilePeer hanging{[](PeerSocket& socket) {
    socket.write("220 x\r\n");
    socket.read_line();
    socket.write("250 PIPELINING\r\n");
    for (int i = 0; i < 3; ++i) socket.read_line();
    socket.write("250 a\r\n250 b\r\n354 c\r\n");
    socket.wait_for_close();
  }};
  Endpoint endpoint = local_endpoint();
  endpoint.smtp_host = "127.0.0.1";
  endpoint.smtp_port = hanging.port();
  endpoint.smtp_tls = TlsMode::None;
  Caller caller{endpoint};
  const Reply reply = caller.call(a_mail(), milliseconds{200});
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Timeout)) << describe(reply);
}

TEST(Smtp, RepliesOutOfOrderAreGarbageAndMailNothing) {
  MailScript script;
  script.replies["RCPT"] = "354 too early";
  MailPeer peer{script};
  Caller caller{peer.endpoint()};
  EXPECT_TRUE(is_broken(caller.call(a_mail()), BrokenAt::Nothing, BrokenBy::Garbage));
  for (const char* banner : {"SSH-2.0-OpenSSH", "HTTP/1.1 400 Bad Request", "354 go on"}) {
    MailScript odd;
    odd.banner = banner;
    MailPeer no_mail{odd};
    Caller other{no_mail.endpoint()};
    EXPECT_TRUE(is_broken(other.call(a_mail()), BrokenAt::Nothing, BrokenBy::Garbage)) << banner;
  }
}

TEST(Smtp, AnInjectionIsRefusedBeforeAByteIsWritten) {
  MailPeer peer{{}};
  Caller caller{peer.endpoint()};
  for (const char* address :
       {"a@b\r\nRCPT TO:<c@d", "a@b>\r\nDATA", "a@b> x", "<a@b", "a\nb@c", "a b@c", "a\tb@c", ""}) {
    EXPECT_TRUE(is_broken(caller.call(a_mail(address)), BrokenAt::Nothing, BrokenBy::Invalid)) << address;
  }
  MailRequest smuggled = a_mail();
  smuggled.data = "Subject: x\r\n\r\nfirst\n.\nMAIL FROM:<evil@example.org>\r\n";
  EXPECT_TRUE(is_broken(caller.call(smuggled), BrokenAt::Nothing, BrokenBy::Invalid));
  EXPECT_EQ(peer.connections(), 0);
}

TEST(Smtp, AUtf8AddressNeedsAServerThatTakesIt) {
  MailPeer peer{{}};
  Caller caller{peer.endpoint()};
  EXPECT_TRUE(is_mail(caller.call(a_mail("j\xc3\xbcrgen@example.org")), MailStep::Body, 250));
  const std::string size = std::to_string(a_mail().data.size());
  EXPECT_TRUE(peer.was_told("MAIL FROM:<me@example.org> SMTPUTF8 SIZE=" + size));
  MailPeer old{without_pipelining()};
  Caller other{old.endpoint()};
  EXPECT_TRUE(is_broken(other.call(a_mail("j\xc3\xbcrgen@example.org")), BrokenAt::Nothing, BrokenBy::Invalid));
  EXPECT_TRUE(is_mail(other.call(a_mail()), MailStep::Body, 250));  // The connection is still good.
  EXPECT_EQ(old.connections(), 1);
}

TEST(Smtp, EightBitTextIsAnnounced) {
  MailPeer peer{{}};
  Caller caller{peer.endpoint()};
  MailRequest mail = a_mail();
  mail.data += "gr\xc3\xbc\xc3\x9f\x65\r\n";
  const std::string size = std::to_string(mail.data.size());
  EXPECT_TRUE(is_mail(caller.call(mail), MailStep::Body, 250));
  EXPECT_TRUE(peer.was_told("MAIL FROM:<me@example.org> BODY=8BITMIME SIZE=" + size));
}

TEST(Smtp, AnIdleConnectionThatTheServerClosedIsReplaced) {
  std::atomic<int> closed{0};
  HostilePeer peer{[&closed](PeerSocket& socket) {
    socket.write("220 x\r\n");
    socket.read_line();
    socket.write("250 PIPELINING\r\n");
    for (int i = 0; i < 3; ++i) socket.read_line();
    socket.write("250 a\r\n250 b\r\n354 c\r\n");
    socket.read_until("\r\n.\r\n");
    socket.write("250 taken\r\n");
    std::this_thread::sleep_for(milliseconds{5});
    socket.write("421 idle for too long\r\n");
    ++closed;
  }};
  Endpoint endpoint = local_endpoint();
  endpoint.smtp_host = "127.0.0.1";
  endpoint.smtp_port = peer.port();
  endpoint.smtp_tls = TlsMode::None;
  Caller caller{endpoint};
  for (int i = 0; i < 3; ++i) {
    const Reply reply = caller.call(a_mail());
    EXPECT_TRUE(is_mail(reply, MailStep::Body, 250)) << describe(reply);
    for (int wait = 0; wait < 1000 && closed.load() <= i; ++wait) std::this_thread::sleep_for(milliseconds{10});
    std::this_thread::sleep_for(milliseconds{50});
  }
  EXPECT_EQ(peer.connections(), 3);
}

TEST(Smtp, AnInternalMailServerIsForbiddenUnlessAllowed) {
  MailPeer peer{{}};
  Endpoint endpoint = peer.endpoint();
  endpoint.internal = InternalAddresses::Forbidden;
  Caller caller{endpoint};
  EXPECT_TRUE(is_broken(caller.call(a_mail()), BrokenAt::Nothing, BrokenBy::Forbidden));
  EXPECT_EQ(peer.connections(), 0);
}

}  // namespace
}  // namespace postrider::test
