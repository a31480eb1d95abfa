// What a provider can do to a call, and what exactly is reported: how far the bytes got and what broke.
#include <gtest/gtest.h>

#include "support/hostile_peer.h"
#include "transport/caller.h"

namespace postrider::test {
namespace {

using std::chrono::milliseconds;

// One call against a peer that reads the request and then does this.
Reply after_request(std::function<void(PeerSocket&)> then, Duration timeout = std::chrono::seconds{5}) {
  HostilePeer peer{[&](PeerSocket& socket) {
    if (!socket.read_request().empty()) then(socket);
  }};
  Caller caller;
  return caller.post(peer.url(), timeout);
}
Reply after_answer(std::string response, Duration timeout = std::chrono::seconds{5}) {
  return after_request(
      [&](PeerSocket& socket) {
        socket.write(response);
        socket.wait_for_close();
      },
      timeout);
}

TEST(HostileHttp, AnAnswerIsReadWithItsHeadersInLowerCase) {
  const Reply reply = after_answer("HTTP/1.1 202 Accepted\r\nX-Message-ID: 17\r\nContent-Length: 4\r\n\r\nbody");
  const auto* http = std::get_if<HttpReply>(&reply);
  ASSERT_NE(http, nullptr) << describe(reply);
  EXPECT_EQ(http->status, 202);
  EXPECT_EQ(http->headers.front(), Header("x-message-id", "17"));
  EXPECT_EQ(http->body, "body");
}

TEST(HostileHttp, TheRequestArrivesAsComposed) {
  std::string seen;
  HostilePeer peer{[&](PeerSocket& socket) {
    seen = socket.read_request();
    socket.write(ok_response(""));
  }};
  Caller caller;
  (void)caller.call(HttpRequest{"POST", peer.url("/v1?x=1"), {{"Idempotency-Key", "k"}}, "{\"a\":1}"});
  EXPECT_EQ(seen, "POST /v1?x=1 HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(peer.port()) +
                      "\r\nIdempotency-Key: k\r\nUser-Agent: postrider/" POSTRIDER_VERSION
                      "\r\nContent-Length: 7\r\n\r\n{\"a\":1}");
}

TEST(HostileHttp, AHeaderThatCouldBeginALineIsInvalid) {
  HostilePeer peer{answering(ok_response(""))};
  Caller caller;
  const std::vector<Header> bad[] = {{{"X", "a\r\nY: b"}},
                                     {{"X", "a\nb"}},
                                     {{"X\r\nY", "b"}},
                                     {{"X Y", "b"}},
                                     {{"", "b"}},
                                     {{"X", std::string("a\0b", 3)}},
                                     {{"Host", "other"}},
                                     {{"content-length", "7"}},
                                     {{"Transfer-Encoding", "chunked"}},
                                     {{"Connection", "close"}}};
  for (const auto& headers : bad) {
    const Reply reply = caller.call(HttpRequest{"POST", peer.url(), headers, ""});
    EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Invalid)) << describe(reply);
  }
  const Reply reply = caller.call(HttpRequest{"GET / HTTP/1.1\r\nX:", peer.url(), {}, ""});
  EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Invalid));
  EXPECT_EQ(peer.connections(), 0);
}

TEST(HostileHttp, NobodyListeningLeavesNothing) {
  std::string url;
  {
    const HostilePeer gone{answering("")};
    url = gone.url();
  }
  Caller caller;
  const Reply reply = caller.post(url);
  EXPECT_TRUE(is_broken(reply, BrokenAt::Nothing, BrokenBy::Connect)) << describe(reply);
}

TEST(HostileHttp, AHangEndsAtTheDeadline) {
  const Reply reply = after_request([](PeerSocket& socket) { socket.wait_for_close(); }, milliseconds{150});
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Timeout)) << describe(reply);
}

TEST(HostileHttp, ADripEndsAtTheSameDeadline) {
  const Reply reply = after_request(
      [](PeerSocket& socket) {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        socket.drip(std::string(1000, 'x'), milliseconds{10});
      },
      milliseconds{150});
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Timeout)) << describe(reply);
}

TEST(HostileHttp, ADrippedHeaderEndsAtTheSameDeadline) {
  const Reply reply = after_request(
      [](PeerSocket& socket) { socket.drip("HTTP/1.1 200 OK\r\nX: " + std::string(1000, 'x'), milliseconds{10}); },
      milliseconds{150});
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Timeout)) << describe(reply);
}

TEST(HostileHttp, ABodyThatNobodyReadsIsPartlySentAtTheDeadline) {
  HostilePeer peer{[](PeerSocket& socket) { socket.read_line(), std::this_thread::sleep_for(milliseconds{400}); }};
  Caller caller;
  const Reply reply = caller.call(HttpRequest{"POST", peer.url(), {}, std::string(32U << 20U, 'x')}, milliseconds{200});
  EXPECT_TRUE(is_broken(reply, BrokenAt::Partly, BrokenBy::Timeout)) << describe(reply);
}

TEST(HostileHttp, AResetAfterTheRequestIsWhole) {
  const Reply reply = after_request([](PeerSocket& socket) { socket.reset(); });
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Reset)) << describe(reply);
}

TEST(HostileHttp, AResetAfterAcceptIsSafeOnlyIfItCameBeforeTheWrite) {
  HostilePeer peer{[](PeerSocket& socket) { socket.reset(); }};
  Caller caller;
  for (int i = 0; i < 20; ++i) {
    const Reply reply = caller.post(peer.url());
    const Broken broken = as_broken(reply);
    const bool before =
        broken.at == BrokenAt::Nothing && (broken.by == BrokenBy::Reset || broken.by == BrokenBy::Connect);
    EXPECT_TRUE(before || is_broken(reply, BrokenAt::Whole, BrokenBy::Reset)) << describe(reply);
  }
}

TEST(HostileHttp, AResetInTheAnswerIsWhole) {
  const Reply reply = after_request([](PeerSocket& socket) {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    std::this_thread::sleep_for(milliseconds{50});
    socket.reset();
  });
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Reset)) << describe(reply);
}

TEST(HostileHttp, AHalfCloseBeforeTheAnswerIsWhole) {
  const Reply reply = after_request([](PeerSocket& socket) {
    socket.half_close();
    socket.wait_for_close();
  });
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Reset)) << describe(reply);
}

TEST(HostileHttp, AHalfSentHeaderIsWhole) {
  const Reply reply = after_request([](PeerSocket& socket) { socket.write("HTTP/1.1 200 OK\r\nContent-"); });
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Reset)) << describe(reply);
}

TEST(HostileHttp, GarbageIsGarbage) {
  for (const char* text :
       {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    const Reply reply = after_answer(text);
    EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Garbage)) << text << ": " << describe(reply);
  }
}

TEST(HostileHttp, AWrongLengthIsGarbage) {
  const char* const wrong[] = {
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nlonger",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nab",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nab",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nab",
  };
  for (const char* text : wrong) {
    const Reply reply = after_answer(text);
    EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Garbage)) << text << ": " << describe(reply);
  }
}

TEST(HostileHttp, AnAnswerThatEndsBeforeItsLengthIsGarbage) {
  const Reply reply =
      after_request([](PeerSocket& socket) { socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"); });
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Garbage)) << describe(reply);
}

TEST(HostileHttp, AnInterimAnswerThatLastsUntilTheEndIsGarbage) {
  const Reply reply = after_request([](PeerSocket& socket) { socket.write("HTTP/1.1 042 Until the end\r\n\r\nbody"); });
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::Garbage)) << describe(reply);
}

TEST(HostileHttp, AnEndlessBodyIsCutAndTheConnectionDropped) {
  for (const char* head : {"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n"}) {
    const Reply reply = after_request([&](PeerSocket& socket) {
      socket.write(head);
      while (socket.write(std::string(65536, 'x'))) {
      }
    });
    const auto* http = std::get_if<HttpReply>(&reply);
    ASSERT_NE(http, nullptr) << describe(reply);
    EXPECT_EQ(http->status, 200);
    EXPECT_EQ(http->body.size(), kReplyBodyBytesMax);
  }
}

TEST(HostileHttp, AnEndlessChunkedBodyIsCutToo) {
  const Reply reply = after_request([](PeerSocket& socket) {
    socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (socket.write("1000\r\n" + std::string(4096, 'x') + "\r\n")) {
    }
  });
  ASSERT_EQ(status_of(reply), 200) << describe(reply).substr(0, 200);
  EXPECT_EQ(std::get<HttpReply>(reply).body.size(), kReplyBodyBytesMax);
}

TEST(HostileHttp, AHeaderWithoutEndIsTooLarge) {
  const Reply reply = after_request([](PeerSocket& socket) {
    socket.write("HTTP/1.1 200 OK\r\n");
    while (socket.write("X-Filler: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  EXPECT_TRUE(is_broken(reply, BrokenAt::Whole, BrokenBy::TooLarge)) << describe(reply);
}

TEST(HostileHttp, InterimAnswersAreSkippedButNotForEver) {
  const std::string hint = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
  const Reply few = after_answer("HTTP/1.1 100 Continue\r\n\r\n" + hint + ok_response("ok"));
  EXPECT_EQ(status_of(few), 200) << describe(few);
  const Reply flood = after_request([&](PeerSocket& socket) {
    while (socket.write(hint)) {
    }
  });
  EXPECT_TRUE(is_broken(flood, BrokenAt::Whole, BrokenBy::Garbage)) << describe(flood);
}

TEST(HostileHttp, ARedirectIsAnAnswerAndIsNotFollowed) {
  HostilePeer inside{answering(ok_response("secret"))};
  for (const int status : {301, 302, 303, 307, 308}) {
    const Reply reply = after_answer("HTTP/1.1 " + std::to_string(status) + " Moved\r\nLocation: " + inside.url() +
                                     "\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(status_of(reply), status);
  }
  EXPECT_EQ(inside.connections(), 0);
}

TEST(HostileHttp, ARefusalBeforeTheWholeBodyWasReadIsStillRead) {
  HostilePeer peer{[](PeerSocket& socket) {
    socket.read_line();
    socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  }};
  Caller caller;
  const Reply reply = caller.call(HttpRequest{"POST", peer.url(), {}, std::string(16U << 20U, 'x')});
  const bool partly = is_broken(reply, BrokenAt::Partly, BrokenBy::Reset);  // The reset may have swallowed the answer.
  EXPECT_TRUE(status_of(reply) == 413 || partly) << describe(reply);
}

TEST(HostileHttp, TheAnswerToHeadHasNoBody) {
  HostilePeer peer{answering("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")};
  Caller caller;
  EXPECT_EQ(status_of(caller.call(HttpRequest{"HEAD", peer.url(), {}, ""})), 200);
}

TEST(HostileHttp, AnAnswerUntilTheEndOfTheConnectionIsTaken) {
  const Reply reply = after_request([](PeerSocket& socket) { socket.write("HTTP/1.0 200 OK\r\n\r\nall of it"); });
  ASSERT_EQ(status_of(reply), 200) << describe(reply);
  EXPECT_EQ(std::get<HttpReply>(reply).body, "all of it");
}

}  // namespace
}  // namespace postrider::test
