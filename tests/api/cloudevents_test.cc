#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/world.h"

namespace postrider::testing {
namespace {

class CloudEvents : public ::testing::Test {
 protected:
  Answer send(std::string_view type, std::string body, std::vector<Header> headers = {}) {
    if (!type.empty()) headers.emplace_back("content-type", std::string{type});
    return world.send({.method = "POST",
                       .path = "/api/v1/cloudevents",
                       .key = world.key(Role::Producer),
                       .body = std::move(body),
                       .headers = std::move(headers)});
  }
  Answer structured(std::string body) { return send("application/cloudevents+json; charset=utf-8", std::move(body)); }
  Answer batch(std::string body) { return send("application/cloudevents-batch+json", std::move(body)); }
  Answer binary(std::string_view type, std::string body, std::string id, std::vector<Header> more = {}) {
    std::vector<Header> headers{
        {"ce-specversion", "1.0"}, {"ce-type", "t.x"}, {"ce-source", "/s"}, {"ce-id", std::move(id)}};
    headers.insert(headers.end(), more.begin(), more.end());
    return send(type, std::move(body), std::move(headers));
  }
  Answer seen(const Answer& sent) {
    EXPECT_EQ(sent.status, 202) << sent.body;
    return world.get("/api/v1/notifications/" + sent.at("id"), world.key(Role::Operator));
  }
  World world;
};

TEST_F(CloudEvents, AStructuredOneBecomesAMessage) {
  const Answer message = seen(structured(
      R"({"specversion":"1.0","type":"com.example.booked","source":"/engine/1","id":"e-1","subject":"4711",
          "time":"2026-02-25T10:00:00Z","datacontenttype":"application/json","traceparent":"00-a-b-01","partition":7,
          "urgent":true,"nothing":null,"data":{"a":1}})"));
  EXPECT_EQ(message.at("type"), "com.example.booked");
  EXPECT_EQ(message.at("entity_id"), "4711");
  EXPECT_EQ(message.at("occurred_at"), "2026-02-25T10:00:00.000Z");
  EXPECT_EQ(message.at("idempotency_key"), "ce:/engine/1:e-1");
  EXPECT_EQ(message.at("payload"), R"({"a":1})");
  EXPECT_EQ(message.at("traceparent"), "00-a-b-01");
  EXPECT_EQ(
      message.at("type_data"),
      R"({"datacontenttype":"application/json","id":"e-1","partition":7,"source":"/engine/1","specversion":"1.0","urgent":true})");
}

TEST_F(CloudEvents, ABinaryOneHasItsAttributesInHeaders) {
  const Answer message = seen(binary(
      "application/json", R"({"a":1})", "1",
      {{"ce-time", "2026-02-25T10:00:00Z"}, {"ce-subject", "Caf%C3%A9%20%25"}, {"ce-where", "\"a \\\"b\\\"\""}}));
  EXPECT_EQ(message.at("type"), "t.x");
  EXPECT_EQ(message.at("payload"), R"({"a":1})");
  EXPECT_EQ(message.at("entity_id"), "Café %");
  EXPECT_EQ(message.at("type_data.where"), "a \"b\"");
  EXPECT_EQ(message.at("type_data.datacontenttype"), "application/json");
}

TEST_F(CloudEvents, ABatchIsAllOrNothing) {
  const auto event = [](std::string_view id, std::string_view more = "") {
    return fmt::format(R"({{"specversion":"1.0","type":"t","source":"/s","id":"{}"{}}})", id, more);
  };
  const Answer bad = batch("[" + event("1") + "," + event("") + "]");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.code(), "INVALID_EVENT");
  EXPECT_EQ(bad.at("error.index"), "1");
  EXPECT_EQ(bad.at("error.field"), "id");
  EXPECT_EQ(world.stored(), 0U);
  const Answer good = batch("[" + event("1", R"(,"data":1)") + "," + event("2", R"(,"data":2)") + "]");
  EXPECT_EQ(good.status, 202);
  EXPECT_NE(good.at("messages.1.id"), "<none>");
  EXPECT_EQ(world.stored(), 2U);
  const Answer empty = batch("[]");
  EXPECT_EQ(empty.status, 202);
  EXPECT_EQ(empty.at("messages"), "[]");
  std::string many = "[" + event("0");
  for (int i = 1; i <= 1000; ++i) many += "," + event(std::to_string(i));
  EXPECT_EQ(batch(many + "]").code(), "TOO_MANY_MESSAGES");
}

TEST_F(CloudEvents, TheSameEventTwiceIsOneMessage) {
  const std::string event = R"({"specversion":"1.0","type":"t","source":"/s","id":"1","data":{"a":1}})";
  const Answer first = structured(event);
  const Answer again = structured(event);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.at("id"), first.at("id"));
  EXPECT_EQ(again.at("duplicate"), "true");
  EXPECT_EQ(structured(R"({"specversion":"1.0","type":"t","source":"/s","id":"1","data":{"a":2}})").code(),
            "IDEMPOTENCY_KEY_REUSED");
}

TEST_F(CloudEvents, IdAndSourceAreNotMixedUp) {
  EXPECT_EQ(structured(R"({"specversion":"1.0","type":"t","source":"a:b","id":"c"})").status, 202);
  const Answer other = structured(R"({"specversion":"1.0","type":"t","source":"a","id":"b:c"})");
  EXPECT_EQ(other.status, 202);
  EXPECT_EQ(other.at("duplicate"), "false");
}

TEST_F(CloudEvents, DataOfEveryKindBecomesAnObject) {
  const auto payload = [&](std::string_view id, std::string_view member) {
    return seen(structured(fmt::format(R"({{"specversion":"1.0","type":"t","source":"/s","id":"{}"{}}})", id, member)))
        .at("payload");
  };
  EXPECT_EQ(payload("1", ""), "{}");
  EXPECT_EQ(payload("2", R"(,"data":"text")"), R"({"data":"text"})");
  EXPECT_EQ(payload("3", R"(,"data":[1,2])"), R"({"data":[1,2]})");
  EXPECT_EQ(payload("4", R"(,"data":null)"), R"({"data":null})");
  EXPECT_EQ(payload("5", R"(,"data_base64":"AAEC")"), R"({"data_base64":"AAEC"})");
  EXPECT_EQ(seen(binary("text/plain", "hi \"x\"", "6")).at("payload"), R"({"data":"hi \"x\""})");
  EXPECT_EQ(seen(binary("image/png", std::string("\x00\x01\x02", 3), "7")).at("payload"), R"({"data_base64":"AAEC"})");
  EXPECT_EQ(seen(binary("text/plain", "\xff", "8")).at("payload"), R"({"data_base64":"/w=="})");
  EXPECT_EQ(seen(binary("", "", "9")).at("payload"), "{}");
}

TEST_F(CloudEvents, WhatIsNotOneIsRefused) {
  const std::string good = R"("specversion":"1.0","type":"t","source":"/s","id":"1")";
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"type":"t","source":"/s","id":"1"})", "specversion"},
      {R"({"specversion":"0.3","type":"t","source":"/s","id":"1"})", "specversion"},
      {R"({"specversion":1.0,"type":"t","source":"/s","id":"1"})", "specversion"},
      {R"({"specversion":"1.0","source":"/s","id":"1"})", "type"},
      {R"({"specversion":"1.0","type":"t","id":"1"})", "source"},
      {R"({"specversion":"1.0","type":"t","source":"","id":"1"})", "source"},
      {R"({"specversion":"1.0","type":"t","source":"/s"})", "id"},
      {R"({"specversion":"1.0","type":"t","source":"/s","id":7})", "id"},
      {R"({"specversion":"1.0","type":"t","source":"/s","id":null})", "id"},
      {"{" + good + R"(,"data":1,"data_base64":"AA=="})", "data"},
      {"{" + good + R"(,"data_base64":"?"})", "data_base64"},
      {"{" + good + R"(,"data_base64":1})", "data_base64"},
      {"{" + good + R"(,"Upper":"x"})", "Upper"},
      {"{" + good + R"(,"under_score":"x"})", "under_score"},
      {"{" + good + R"(,"deep":{"a":1}})", "deep"},
      {"{" + good + R"(,"half":1.5})", "half"},
      {"[]", "The event"},
  };
  for (const auto& [body, field] : cases) {
    const Answer answer = structured(body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(answer.code(), "INVALID_EVENT") << body;
    EXPECT_EQ(answer.at("error.field"), field) << answer.body;
  }
  EXPECT_EQ(structured("{" + good + R"(,"time":"yesterday"})").at("error.field"), "occurred_at");
  EXPECT_EQ(structured("{").code(), "INVALID_JSON");
  EXPECT_EQ(batch("{" + good + "}").code(), "INVALID_EVENT");
  EXPECT_EQ(binary("application/json", "{", "1").code(), "INVALID_JSON");
  EXPECT_EQ(binary("application/json", "{}", "1", {{"ce-subject", "%zz"}}).at("error.field"), "ce-subject");
  EXPECT_EQ(binary("application/json", "{}", "1", {{"ce-subject", "%ff"}}).at("error.field"), "ce-subject");
  EXPECT_EQ(binary("application/json", "{}", "1", {{"ce-datacontenttype", "x"}}).code(), "INVALID_EVENT");
  EXPECT_EQ(binary("application/json", "{}", "1", {{"ce-id", "2"}}).at("error.field"), "ce-id");
  EXPECT_EQ(send("application/json", "{}", {{"ce-specversion", "1.0"}, {"ce-type", "t.x"}, {"ce-source", "/s"}})
                .at("error.field"),
            "id");
  EXPECT_EQ(world.stored(), 0U);
}

TEST_F(CloudEvents, AnotherFormatIsUnsupported) {
  EXPECT_EQ(send("application/json", R"({"specversion":"1.0"})").status, 415);
  EXPECT_EQ(send("application/cloudevents+xml", "<x/>").status, 415);
  EXPECT_EQ(send("application/cloudevents-batch+xml", "<x/>").status, 415);
  EXPECT_EQ(send("application/cloudevents+json; charset=utf-16", "{}").code(), "UNSUPPORTED_MEDIA_TYPE");
  EXPECT_EQ(send("", "").status, 415);
}

}  // namespace
}  // namespace postrider::testing
