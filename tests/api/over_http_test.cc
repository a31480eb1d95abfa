// The Api behind the real server: what comes over a socket means what it means in the other tests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/http/http_server.h"
#include "api/http/raw_client.h"
#include "api/world.h"

namespace postrider::testing {
namespace {

TEST(OverHttp, AMessageIsSentLookedAtAndRepeatedOverOneConnection) {
  World world;
  auto server = HttpServer::start({}, world.api->handler()).value();
  test::RawClient client{server->port()};
  ASSERT_TRUE(client.connected());
  const auto request = [&](std::string_view line, std::string_view body) {
    return client.ask(
        fmt::format("{} HTTP/1.1\r\nHost: x\r\nAUTHORIZATION: Bearer {}\r\nContent-Type: "
                    "application/json\r\nIdempotency-Key: k\r\nContent-Length: {}\r\n\r\n{}",
                    line, world.key(Role::Operator), body.size(), body));
  };
  const std::string sent = request("POST /api/v1/messages", R"({"type":"a"})");
  EXPECT_TRUE(sent.starts_with("HTTP/1.1 202")) << sent;
  EXPECT_NE(sent.find("X-Content-Type-Options: nosniff\r\n"), std::string::npos) << sent;
  EXPECT_TRUE(request("POST /api/v1/messages", R"({"type":"a"})").starts_with("HTTP/1.1 200"));
  const std::string id = sent.substr(sent.find("\"id\":\"") + 6, 36);
  const std::string seen = request("GET /api/v1/notifications/" + id + "?tenant=acme", "");
  EXPECT_TRUE(seen.starts_with("HTTP/1.1 200")) << seen;
  EXPECT_NE(seen.find("\"status\":\"pending\""), std::string::npos) << seen;
  EXPECT_TRUE(request("GET /metrics", "").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(request("GET /nothing", "").starts_with("HTTP/1.1 404"));
  server->stop(std::chrono::seconds{5});
  world.api->stop();
}

}  // namespace
}  // namespace postrider::testing
