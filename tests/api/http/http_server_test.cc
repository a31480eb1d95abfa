#include "api/http/http_server.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "api/http/raw_client.h"
#include "transport/caller.h"
#include "transport/certificates.h"

namespace postrider::test {
namespace {

using std::chrono::milliseconds;

// Says back what it understood.
void echo(const HttpIn& in, const Respond& respond) {
  HttpOut out;
  out.content_type = "text/plain";
  out.body = in.method + " " + in.path + " [" + in.query + "] " + in.body;
  if (const std::string* wanted = in.header("x-wanted")) out.headers.emplace_back("X-Got", *wanted);
  respond(std::move(out));
}

std::unique_ptr<HttpServer> serve(Handler handler, ServerOptions options = {}) {
  auto server = HttpServer::start(std::move(options), std::move(handler));
  EXPECT_TRUE(server);
  return std::move(server).value();
}

std::string body_of(const std::string& answer) {
  const std::size_t at = answer.find("\r\n\r\n");
  return at == std::string::npos ? "" : answer.substr(at + 4);
}

TEST(HttpServer, ARequestIsHandedOnWithPathQueryHeadersAndBody) {
  const auto server = serve(echo);
  RawClient client{server->port()};
  const std::string answer =
      client.ask("POST /a%20b/c?x=1&y=? HTTP/1.1\r\nHost: h\r\nX-WANTED: v\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(body_of(answer), "POST /a%20b/c [x=1&y=?] abc");
  EXPECT_NE(answer.find("X-Got: v\r\n"), std::string::npos);
}

TEST(HttpServer, ThePeerIsNamed) {
  const auto server = serve([](const HttpIn& in, const Respond& respond) { respond({.body = in.peer}); });
  RawClient client{server->port()};
  EXPECT_EQ(body_of(client.ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")), "127.0.0.1");
}

TEST(HttpServer, AConnectionIsKeptUntilTheClientWantsItClosed) {
  const auto server = serve(echo);
  RawClient client{server->port()};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(client.ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")), 200);
  const std::string last = client.ask("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(last.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(client.is_closed_within(milliseconds{1000}));
}

TEST(HttpServer, AnOldClientIsAnsweredAndClosedUnlessItAsksOtherwise) {
  const auto server = serve(echo);
  RawClient closing{server->port()};
  EXPECT_EQ(status_of(closing.ask("GET / HTTP/1.0\r\n\r\n")), 200);
  EXPECT_TRUE(closing.is_closed_within(milliseconds{1000}));
  RawClient keeping{server->port()};
  for (int i = 0; i < 3; ++i) {
    const std::string answer = keeping.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_NE(answer.find("Connection: keep-alive\r\n"), std::string::npos);
  }
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInTheirOrder) {
  std::vector<Respond> held;
  std::mutex mutex;
  int running = 0;
  int highest = 0;
  const auto server = serve([&](const HttpIn& in, Respond respond) {
    const std::lock_guard lock{mutex};
    highest = std::max(highest, ++running);
    std::thread{[&, path = in.path, respond = std::move(respond)] {
      {
        const std::lock_guard inner{mutex};
        --running;
      }
      respond({.body = path});
    }}.detach();
  });
  RawClient client{server->port()};
  std::string all;
  for (int i = 0; i < 20; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  client.send(all);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(body_of(client.read_answer()), "/" + std::to_string(i));
  EXPECT_EQ(highest, 1);
}

TEST(HttpServer, HeadIsAnsweredWithoutTheBodyButWithItsLength) {
  const auto server = serve(echo);
  RawClient client{server->port()};
  client.send("HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string head = client.read_answer(false);
  EXPECT_NE(head.find("Content-Length: 11\r\n"), std::string::npos) << head;
  EXPECT_EQ(body_of(client.ask("GET /y HTTP/1.1\r\nHost: h\r\n\r\n")), "GET /y [] ");
}

TEST(HttpServer, AnAnswerWithoutContentHasNoLength) {
  const auto server = serve([](const HttpIn&, const Respond& respond) { respond({.status = 204}); });
  RawClient client{server->port()};
  const std::string answer = client.ask("DELETE /x HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(answer, "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(HttpServer, ChunksAreJoined) {
  const auto server = serve(echo);
  RawClient client{server->port()};
  const std::string answer = client.ask(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: "
      "t\r\n\r\n");
  EXPECT_EQ(body_of(answer), "POST / [] abcdefg");
}

TEST(HttpServer, AClientThatExpectsToContinueIsInvited) {
  const auto server = serve(echo);
  RawClient client{server->port()};
  client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.read_answer(), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(body_of(client.ask("abc")), "POST / [] abc");
  EXPECT_EQ(status_of(client.ask("POST / HTTP/1.1\r\nHost: h\r\nExpect: miracles\r\nContent-Length: 3\r\n\r\nabc")),
            417);
}

TEST(HttpServer, TheFormOfAProxyIsUnderstood) {
  const auto server = serve(echo);
  RawClient client{server->port()};
  EXPECT_EQ(body_of(client.ask("GET http://h/p?q HTTP/1.1\r\nHost: h\r\n\r\n")), "GET /p [q] ");
}

TEST(HttpServer, AnAnswerMayComeFromAnyThreadAndOnlyTheFirstCounts) {
  const auto server = serve([](const HttpIn&, Respond respond) {
    std::thread{[respond = std::move(respond)] {
      respond({.body = "first"});
      respond({.body = "second"});
    }}.detach();
  });
  RawClient client{server->port()};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(body_of(client.ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")), "first");
}

TEST(HttpServer, ADroppedRequestIsAnswered500) {
  const auto server = serve([](const HttpIn& in, const Respond&) {
    if (in.path == "/throw") throw std::runtime_error{"secret"};
  });
  RawClient client{server->port()};
  for (const char* path : {"/drop", "/throw"}) {
    const std::string answer = client.ask("GET " + std::string{path} + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(status_of(answer), 500);
    EXPECT_NE(body_of(answer).find(R"({"error":{"code":"INTERNAL")"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("secret"), std::string::npos);
  }
}

TEST(HttpServer, AHeaderOfTheHandlerCannotBeginALine) {
  const auto server = serve([](const HttpIn&, const Respond& respond) {
    respond({.headers = {{"Location", "/x\r\nSet-Cookie: a=b"}, {"X-Good", "yes"}}, .body = "ok"});
  });
  RawClient client{server->port()};
  const std::string answer = client.ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(answer.find("Set-Cookie"), std::string::npos);
  EXPECT_NE(answer.find("X-Good: yes"), std::string::npos);
}

TEST(HttpServer, ALargeAnswerArrivesWhole) {
  const std::string large(8U << 20U, 'x');
  const auto server = serve([&](const HttpIn&, const Respond& respond) { respond({.body = large}); });
  RawClient client{server->port()};
  EXPECT_EQ(body_of(client.ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")).size(), large.size());
}

TEST(HttpServerStop, ARunningRequestIsCompletedAndIdleConnectionsAreClosed) {
  std::promise<Respond> arrived;
  auto server = serve([&](const HttpIn&, Respond respond) { arrived.set_value(std::move(respond)); });
  RawClient idle{server->port()};
  RawClient running{server->port()};
  running.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  Respond respond = arrived.get_future().get();
  std::thread stopping{[&] { server->stop(std::chrono::seconds{10}); }};
  EXPECT_TRUE(idle.is_closed_within(milliseconds{2000}));
  EXPECT_FALSE(RawClient{server->port()}.connected());
  respond({.body = "completed"});
  const std::string answer = running.read_all();
  stopping.join();
  EXPECT_EQ(body_of(answer), "completed");
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
}

TEST(HttpServerStop, TheGraceEndsAndALateAnswerGoesNowhere) {
  std::promise<Respond> arrived;
  auto server = serve([&](const HttpIn&, Respond respond) { arrived.set_value(std::move(respond)); });
  RawClient running{server->port()};
  running.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  Respond respond = arrived.get_future().get();
  server->stop(milliseconds{50});
  EXPECT_EQ(running.read_all(), "");
  respond({.body = "too late"});
  server.reset();
  respond({.body = "much too late"});
}

// The reaper's timer fires every 100 ms; when it fired while the last stop was on its way, it was armed again and the
// loop never ended.
TEST(HttpServerStop, ItEndsEvenWhileTheReaperWakes) {
  std::vector<std::thread> stoppers;
  for (int i = 0; i < 16; ++i) {
    stoppers.emplace_back([i] {
      for (int round = 0; round < 6; ++round) {
        auto server = serve(echo);
        std::this_thread::sleep_for(std::chrono::microseconds{99'700 + (i * 6 + round) * 8});
        server->stop(Duration{});
      }
    });
  }
  for (std::thread& stopper : stoppers) stopper.join();
}

TEST(HttpServerStart, APortInUseAndABadAddressAreErrors) {
  const auto server = serve(echo);
  ServerOptions taken;
  taken.port = server->port();
  EXPECT_FALSE(HttpServer::start(taken, echo));
  ServerOptions odd;
  odd.host = "no address";
  EXPECT_FALSE(HttpServer::start(odd, echo));
  ServerOptions half;
  half.tls_key_file = "/nowhere";
  EXPECT_FALSE(HttpServer::start(half, echo));
}

TEST(HttpServerStart, SeveralThreadsShareAPort) {
  ServerOptions options;
  options.threads = 3;
  const auto server = serve(echo, options);
  for (int i = 0; i < 30; ++i) {
    RawClient client{server->port()};
    EXPECT_EQ(status_of(client.ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")), 200);
  }
}

TEST(HttpServerTls, ItSpeaksTlsWhenItHasACertificate) {
  TestCa ca;
  const auto files = ca.make_leaf({});
  ServerOptions options;
  options.tls_certificate_file = files.certificate;
  options.tls_key_file = files.key;
  const auto server = serve(echo, options);
  Endpoint endpoint = local_endpoint();
  endpoint.ca_file = ca.file();
  Caller caller{endpoint};
  for (int i = 0; i < 5; ++i) {
    const Reply reply = caller.post("https://127.0.0.1:" + std::to_string(server->port()) + "/secure");
    EXPECT_EQ(describe(reply), "HTTP 200 POST /secure [] {}");
  }
  RawClient plain{server->port()};
  plain.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(plain.read_all().find("HTTP/1.1 200"), std::string::npos);
}

}  // namespace
}  // namespace postrider::test
