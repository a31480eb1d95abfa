// What hostile clients get: a clear answer that reaches them, and their connection closed.
#include <gtest/gtest.h>

#include <list>

#include "api/http/http_server.h"
#include "api/http/raw_client.h"

namespace postrider::test {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

ServerOptions small() {
  ServerOptions options;
  options.body_bytes_max = 1000;
  options.header_max = milliseconds{300};
  options.body_max = milliseconds{300};
  options.idle_max = milliseconds{300};
  options.answer_max = milliseconds{300};
  return options;
}

class HttpServerLimits : public ::testing::Test {
 protected:
  void start(ServerOptions options = small()) {
    auto started = HttpServer::start(std::move(options), [this](const HttpIn&, const Respond& respond) {
      ++handled_;
      respond({.body = large_});
    });
    ASSERT_TRUE(started);
    server_ = std::move(started).value();
  }
  /// The answer, which must be the last thing on its connection.
  std::string refused(const std::string& bytes) {
    RawClient client{server_->port()};
    client.send(bytes);
    return client.read_all();
  }
  void expect_refused(const std::string& bytes, int status, const char* code) {
    const std::string answer = refused(bytes);
    EXPECT_EQ(status_of(answer), status) << bytes.substr(0, 200) << "\n" << answer;
    EXPECT_NE(answer.find(std::string{R"({"error":{"code":")"} + code + '"'), std::string::npos) << answer;
    EXPECT_NE(answer.find("Content-Type: application/json\r\n"), std::string::npos);
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  }
  std::string large_ = "ok";
  std::atomic<int> handled_{0};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerLimits, ALargeBodyIs413HoweverItIsSent) {
  start();
  expect_refused("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n", 413, "BODY_TOO_LARGE");
  expect_refused("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000000\r\n\r\n" + std::string(5'000'000, 'x'), 413,
                 "BODY_TOO_LARGE");
  std::string chunks = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 2000; ++i) chunks += "100\r\n" + std::string(256, 'x') + "\r\n";
  expect_refused(chunks, 413, "BODY_TOO_LARGE");
  expect_refused("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n", 413,
                 "BODY_TOO_LARGE");
  EXPECT_EQ(handled_, 0);
}

TEST_F(HttpServerLimits, LargeOrManyHeadersAre431) {
  start();
  expect_refused("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(65536, 'x') + "\r\n\r\n", 431, "HEADERS_TOO_LARGE");
  expect_refused("GET /" + std::string(65536, 'x') + " HTTP/1.1\r\n\r\n", 431, "HEADERS_TOO_LARGE");
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 101; ++i) many += "X: y\r\n";
  expect_refused(many + "\r\n", 431, "HEADERS_TOO_LARGE");
  EXPECT_EQ(handled_, 0);
}

TEST_F(HttpServerLimits, WhatIsMalformedIs400) {
  start();
  for (const char* bytes : {
           "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
           "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n",
           "GET / HTTP/1.1\nHost: h\n\n",
           "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
           "GET / HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
           "GET / HTTP/3.0\r\nHost: h\r\n\r\n",
           "GET * HTTP/1.1\r\nHost: h\r\n\r\n",
           "CONNECT a:1 HTTP/1.1\r\nHost: h\r\n\r\n",
           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
           "\x16\x03\x01\x02\r\n\r\n",
       }) {
    expect_refused(bytes, 400, "MALFORMED_REQUEST");
  }
  EXPECT_EQ(handled_, 0);
}

TEST_F(HttpServerLimits, ARequestSmuggledBehindARefusalIsNotHandled) {
  start();
  refused(
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
      "GET /admin HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(handled_, 0);
}

TEST_F(HttpServerLimits, ASlowHeaderIsCutAtItsDeadline) {
  start();
  RawClient client{server_->port()};
  const auto begin = Steady::now();
  client.send("GET / HTTP/1.1\r\nX: ");
  std::string answer;
  while (Steady::now() - begin < std::chrono::seconds{5} && !client.is_closed_within(milliseconds{20})) {
    if (!client.send("x")) break;  // One more byte does not buy more time.
    if (Steady::now() - begin > milliseconds{800}) break;
  }
  answer = client.read_all();
  EXPECT_EQ(status_of(answer), 408) << answer;
  EXPECT_GE(Steady::now() - begin, milliseconds{290});
}

TEST_F(HttpServerLimits, ASlowBodyIsCutAtItsDeadline) {
  start();
  expect_refused("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc", 408, "REQUEST_TIMEOUT");
  EXPECT_EQ(handled_, 0);
}

TEST_F(HttpServerLimits, ASilentConnectionIsClosedWithoutAWord) {
  start();
  RawClient client{server_->port()};
  EXPECT_TRUE(client.is_closed_within(milliseconds{2000}));
  RawClient kept{server_->port()};
  EXPECT_EQ(status_of(kept.ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")), 200);
  EXPECT_TRUE(kept.is_closed_within(milliseconds{2000}));
}

TEST_F(HttpServerLimits, ASlowReaderIsCut) {
  large_.assign(64U << 20U, 'x');
  start();
  RawClient client{server_->port()};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  std::this_thread::sleep_for(milliseconds{700});
  EXPECT_LT(client.read_all().size(), large_.size());
}

TEST_F(HttpServerLimits, OneConnectionTooManyIsTold503) {
  ServerOptions options;
  options.connections_max = 3;
  start(options);
  std::list<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(status_of(clients.emplace_back(server_->port()).ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")), 200);
  }
  expect_refused("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 503, "TOO_MANY_CONNECTIONS");
  clients.pop_front();
  for (int i = 0; i < 200; ++i) {  // The place is free as soon as the server has seen the close.
    RawClient again{server_->port()};
    if (status_of(again.ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")) == 200) return;
  }
  FAIL() << "the place was not given on";
}

TEST_F(HttpServerLimits, ManySlowClientsDoNotKeepAGoodOneWaiting) {
  start();
  std::list<RawClient> slow;
  for (int i = 0; i < 200; ++i) slow.emplace_back(server_->port()).send("GET / HTTP/1.1\r\nX");
  const auto begin = Steady::now();
  RawClient good{server_->port()};
  EXPECT_EQ(status_of(good.ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")), 200);
  EXPECT_LT(Steady::now() - begin, milliseconds{250});
}

}  // namespace
}  // namespace postrider::test
