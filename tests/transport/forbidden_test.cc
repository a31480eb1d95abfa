// Which addresses are never called: by their class, however they are written, whatever the resolver says.
#include <gtest/gtest.h>

#include "support/hostile_peer.h"
#include "transport/caller.h"

namespace postrider::test {
namespace {

Endpoint strict_endpoint() { return Endpoint{}; }

TEST(ForbiddenAddress, NoFormOfAnInternalAddressIsConnectedTo) {
  HostilePeer peer{answering(ok_response("reached"))};
  const std::string port = ":" + std::to_string(peer.port()) + "/";
  Caller caller{strict_endpoint()};
  const char* const hosts[] = {
      "127.0.0.1",
      "127.0.0.1.",
      "127.1",
      "127.0.1",
      "2130706433",
      "0x7f000001",
      "0x7f.0.0.1",
      "0x7f.1",
      "0177.0.0.1",
      "017700000001",
      "0",
      "0.0.0.0",
      "localhost",
      "localhost.",
      "LOCALHOST",
      "[::1]",
      "[::]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[::127.0.0.1]",
      "[64:ff9b::7f00:1]",
      "[2002:7f00:1::]",
      "10.0.0.1",
      "172.16.0.1",
      "192.168.1.1",
      "169.254.169.254",
      "100.64.0.1",
      "198.18.0.1",
      "192.0.2.1",
      "224.0.0.1",
      "255.255.255.255",
      "240.0.0.1",
      "[fe80::1]",
      "[fc00::1]",
      "[fec0::1]",
      "[ff02::1]",
  };
  for (const char* host : hosts) {
    const Reply reply = caller.post("http://" + std::string{host} + port);
    EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Forbidden)) << host << ": " << describe(reply);
  }
  EXPECT_EQ(peer.connections(), 0);
}

TEST(ForbiddenAddress, AnOddUrlIsInvalidBeforeAnythingIsLookedUp) {
  Caller caller{strict_endpoint()};
  for (const char* url : {"http://user@127.0.0.1/", "http://[::1%25lo]/", "http://127.0.0.1%2f/", "ftp://127.0.0.1/",
                          "http://example.org@127.0.0.1/",
                          "http://127\xe3\x80\x82"
                          "0.0.1/",
                          "127.0.0.1", ""}) {
    const Reply reply = caller.post(url);
    EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Invalid)) << url << ": " << describe(reply);
  }
}

TEST(ForbiddenAddress, ANameThatPointsInsideIsRefusedAtEveryLookup) {
  HostilePeer peer{answering(ok_response("reached"))};
  NetTransportOptions options;
  options.lookup = [](const std::string&) -> Result<net::Addresses> {
    return net::Addresses{*net::parse_ip("10.0.0.7"), *net::parse_ip("127.0.0.1"), *net::parse_ip("::1")};
  };
  Caller caller{strict_endpoint(), options};
  for (int i = 0; i < 3; ++i) {
    const Reply reply = caller.post("http://rebind.example.org:" + std::to_string(peer.port()) + "/");
    EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Forbidden)) << describe(reply);
  }
  EXPECT_EQ(peer.connections(), 0);
}

TEST(ForbiddenAddress, WhereInternalAddressesAreAllowedTheyAreCalled) {
  HostilePeer peer{answering(ok_response("reached"))};
  Caller caller;
  EXPECT_EQ(status_of(caller.post("http://localhost:" + std::to_string(peer.port()) + "/")), 200);
  EXPECT_EQ(status_of(caller.post("http://2130706433:" + std::to_string(peer.port()) + "/")), 200);
}

TEST(Lookup, ANameWithoutAddressIsBrokenByDns) {
  NetTransportOptions options;
  options.lookup = [](const std::string&) -> Result<net::Addresses> {
    return Error{ErrorCode::NotFound, "no such name"};
  };
  Caller caller{local_endpoint(), options};
  const Reply reply = caller.post("http://nowhere.example.org/");
  EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Dns)) << describe(reply);
}

TEST(Lookup, ASlowOneEndsWithTheDeadlineOfTheCall) {
  std::mutex gate;
  gate.lock();
  NetTransportOptions options;
  options.lookup = [&](const std::string&) -> Result<net::Addresses> {
    const std::lock_guard wait{gate};
    return Error{ErrorCode::Unavailable, "too late"};
  };
  Caller caller{local_endpoint(), options};
  const Reply reply = caller.post("http://slow.example.org/", std::chrono::milliseconds{100});
  gate.unlock();
  EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Timeout)) << describe(reply);
}

TEST(Lookup, TheNextAddressIsTriedWhenOneRefuses) {
  HostilePeer peer{answering(ok_response("second"))};
  NetTransportOptions options;
  options.lookup = [](const std::string&) -> Result<net::Addresses> {
    return net::Addresses{*net::parse_ip("127.0.0.2"), *net::parse_ip("127.0.0.1")};
  };
  Caller caller{local_endpoint(), options};
  const Reply reply = caller.post("http://two.example.org:" + std::to_string(peer.port()) + "/");
  EXPECT_EQ(status_of(reply), 200) << describe(reply);
}

}  // namespace
}  // namespace postrider::test
