// Who may answer over TLS: only a certificate that is valid now, for this host, from an authority we know.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "support/hostile_peer.h"
#include "transport/caller.h"
#include "transport/certificates.h"

namespace postrider::test {
namespace {

using std::chrono::milliseconds;

HostilePeer::Script over_tls(ssl_ctx_st* context, std::string response) {
  return [=](PeerSocket& socket) {
    if (!socket.start_tls(context)) return;
    while (!socket.read_request().empty()) socket.write(response);
  };
}
std::string https_url(const HostilePeer& peer, const std::string& host = "127.0.0.1") {
  return "https://" + host + ":" + std::to_string(peer.port()) + "/";
}
Endpoint trusting(const TestCa& ca) {
  Endpoint endpoint = local_endpoint();
  endpoint.ca_file = ca.file();
  return endpoint;
}

class Https : public ::testing::Test {
 protected:
  Reply call(const Leaf& leaf, const std::string& host = "127.0.0.1") {
    HostilePeer peer{over_tls(ca_.server(leaf), ok_response("secret"))};
    Caller caller{trusting(ca_)};
    return caller.post(https_url(peer, host));
  }
  TestCa ca_;
};

TEST_F(Https, AGoodCertificateIsAnsweredAndTheConnectionKept) {
  HostilePeer peer{over_tls(ca_.server({}), ok_response("secret"))};
  Caller caller{trusting(ca_)};
  for (int i = 0; i < 10; ++i) {
    const Reply reply = caller.post(https_url(peer));
    EXPECT_EQ(status_of(reply), 200) << describe(reply);
  }
  EXPECT_EQ(peer.connections(), 1);
}

TEST_F(Https, AHostNameIsCheckedAndSentAhead) {
  const Reply reply = call({.san = "DNS:localhost"}, "localhost");
  EXPECT_EQ(status_of(reply), 200) << describe(reply);
}

TEST_F(Https, AWrongHostLeavesNothing) {
  for (const char* san : {"DNS:other.example.org", "IP:127.0.0.2", "DNS:127.0.0.1"}) {
    const Reply reply = call({.san = san});
    EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Tls)) << san << ": " << describe(reply);
  }
  const Reply reply = call({.san = "IP:127.0.0.1"}, "localhost");
  EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Tls)) << describe(reply);
}

TEST_F(Https, AnExpiredOrFutureCertificateLeavesNothing) {
  const Reply expired = call({.from_seconds = -3000, .until_seconds = -60});
  EXPECT_TRUE(is_broken(expired, BrokenAt::Nothing, BrokenBy::Tls)) << describe(expired);
  EXPECT_NE(as_broken(expired).detail.find("expired"), std::string::npos) << describe(expired);
  const Reply future = call({.from_seconds = 600, .until_seconds = 1200});
  EXPECT_TRUE(is_broken(future, BrokenAt::Nothing, BrokenBy::Tls)) << describe(future);
}

TEST_F(Https, AnUnknownAuthorityLeavesNothing) {
  TestCa other;
  HostilePeer peer{over_tls(other.server({}), ok_response("secret"))};
  Caller caller{trusting(ca_)};
  const Reply reply = caller.post(https_url(peer));
  EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Tls)) << describe(reply);
  Caller with_system_authorities;
  EXPECT_TRUE(is_broken(with_system_authorities.post(https_url(peer)), BrokenAt::Nothing, BrokenBy::Tls));
}

TEST_F(Https, AnOldVersionLeavesNothing) {
  ssl_ctx_st* context = ca_.server({});
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
  SSL_CTX_set_security_level(context, 0);
  HostilePeer peer{over_tls(context, ok_response("secret"))};
  Caller caller{trusting(ca_)};
  EXPECT_TRUE(is_broken(caller.post(https_url(peer)), BrokenAt::Nothing, BrokenBy::Tls));
}

TEST_F(Https, AMissingAuthorityFileLeavesNothing) {
  HostilePeer peer{over_tls(ca_.server({}), ok_response("secret"))};
  Endpoint endpoint = local_endpoint();
  endpoint.ca_file = "/nowhere/ca.pem";
  Caller caller{endpoint};
  EXPECT_TRUE(is_broken(caller.post(https_url(peer)), BrokenAt::Nothing, BrokenBy::Tls));
}

TEST_F(Https, APlainServerOrAnEndInTheHandshakeLeavesNothing) {
  HostilePeer plain{[](PeerSocket& socket) {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    socket.wait_for_close();
  }};
  HostilePeer closing{[](PeerSocket& socket) { socket.close(); }};
  HostilePeer hanging{[](PeerSocket& socket) { socket.wait_for_close(); }};
  Caller caller{trusting(ca_)};
  EXPECT_TRUE(is_broken(caller.post(https_url(plain)), BrokenAt::Nothing, BrokenBy::Tls));
  EXPECT_TRUE(is_broken(caller.post(https_url(closing)), BrokenAt::Nothing, BrokenBy::Tls));
  EXPECT_TRUE(is_broken(caller.post(https_url(hanging), milliseconds{150}), BrokenAt::Nothing, BrokenBy::Timeout));
}

TEST_F(Https, AHangAfterTheRequestIsWhole) {
  ssl_ctx_st* context = ca_.server({});
  HostilePeer peer{[=](PeerSocket& socket) {
    if (socket.start_tls(context)) socket.wait_for_close();
  }};
  Caller caller{trusting(ca_)};
  const Reply reply = caller.post(https_url(peer), milliseconds{300});
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Timeout)) << describe(reply);
}

TEST_F(Https, ATruncatedAnswerWithoutLengthIsNotTaken) {
  ssl_ctx_st* context = ca_.server({});
  HostilePeer peer{[=](PeerSocket& socket) {
    if (!socket.start_tls(context)) return;
    socket.read_request();
    socket.write("HTTP/1.1 200 OK\r\n\r\ncut");  // Closed without the alert that ends TLS.
  }};
  Caller caller{trusting(ca_)};
  const Reply reply = caller.post(https_url(peer));
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Reset)) << describe(reply);
}

TEST_F(Https, UnaskedRecordsAreNotTakenForTheNextAnswer) {
  ssl_ctx_st* context = ca_.server({});
  HostilePeer peer{[=](PeerSocket& socket) {
    if (!socket.start_tls(context)) return;
    socket.read_request();
    socket.write(ok_response("right"));
    socket.write(ok_response("poison"));
    socket.wait_for_close();
  }};
  Caller caller{trusting(ca_)};
  for (int i = 0; i < 3; ++i) {
    const Reply reply = caller.post(https_url(peer));
    EXPECT_EQ(describe(reply).find("poison"), std::string::npos) << describe(reply);
    std::this_thread::sleep_for(milliseconds{10});
  }
  EXPECT_EQ(peer.connections(), 3);
}

}  // namespace
}  // namespace postrider::test
