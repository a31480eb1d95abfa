// POST /api/v1/messages: what is taken, what is refused, and that a refusal leaves nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/world.h"
#include "base/limits.h"

namespace postrider::testing {
namespace {

constexpr std::string_view kMessages = "/api/v1/messages";

Writing& writing_of(World& world) {
  for (Tenant& tenant : world.rules.tenants) {
    if (tenant.name == "acme") return tenant.writing;
  }
  throw std::logic_error("there is no acme");
}

struct Case {
  std::string body;
  int status;
  std::string code;
  std::string field = "<none>";
};

class Refusals : public ::testing::Test {
 protected:
  void expect(const Case& c) {
    const Answer answer = world.post(kMessages, world.key(Role::Producer), c.body);
    const std::string what = c.body.substr(0, 200) + "\n" + answer.body.substr(0, 500);
    EXPECT_EQ(answer.status, c.status) << what;
    EXPECT_EQ(answer.code(), c.code) << what;
    EXPECT_EQ(answer.at("error.field"), c.field) << what;
    EXPECT_GT(answer.at("error.message").size(), 20U) << what;
    EXPECT_EQ(world.stored(), 0U) << what;
  }
  World world;
};

TEST_F(Refusals, JsonThatCannotBeRead) {
  for (const std::string body : {"",
                                 " ",
                                 "{",
                                 "[",
                                 "nul",
                                 "{\"type\":}",
                                 R"({"type":"a"} x)",
                                 R"({"type":"a",})",
                                 R"({'type':'a'})",
                                 R"({"type":"a","type":"b"})",
                                 R"({"type":"a","payload":{"x":{"k":1,"k":2}}})",
                                 "{\"type\":\"\xff\xfe\"}",
                                 "{\"type\":\"\xc0\xaf\"}",
                                 R"({"type":"\ud800"})",
                                 "{\"type\":\"a\nb\"}",
                                 R"({"type":"a","payload":{"n":1e9999}})",
                                 R"({"type":"a","payload":{"n":800e8889}})",
                                 R"({"type":"a","payload":{"n":99999999999999999999999}})",
                                 R"({"type":"a","payload":{"n":01}})",
                                 R"({"type":"a","payload":{"n":NaN}})"}) {
    expect({body, 400, "INVALID_JSON"});
  }
}

TEST_F(Refusals, JsonThatIsDeep) {
  expect({std::string(100'000, '['), 400, "INVALID_JSON"});
  expect({std::string(100'000, '[') + std::string(100'000, ']'), 400, "INVALID_JSON"});
  std::string deep = R"({"type":"a","payload":)";
  for (int i = 0; i < 100'000; ++i) deep += R"({"a":)";
  deep += "1" + std::string(100'001, '}');
  expect({deep, 400, "INVALID_JSON"});
}

TEST_F(Refusals, JsonThatIsHuge) {
  expect({std::string(kRequestBodyBytesMax + 1, ' '), 413, "BODY_TOO_LARGE"});
  expect({R"({"type":"a","payload":{"x":")" + std::string(kPayloadBytesMax, 'x') + "\"}}", 400, "INVALID_MESSAGE",
          "payload"});
  std::string keys = R"({"type":"a","payload":{"k":0)";
  for (int i = 0; i < 100'000; ++i) keys += fmt::format(",\"k{}\":{}", i, i);
  expect({keys + "}}", 400, "INVALID_MESSAGE", "payload"});
}

TEST_F(Refusals, WhatIsNoMessage) {
  for (const std::string body : {"null", "1", "\"text\"", "[]", "[1]", "[[]]", "[null]", "true"}) {
    expect({body, 400, "INVALID_MESSAGE"});
  }
}

TEST_F(Refusals, FieldsThatAreUnknown) {
  expect({R"({"type":"a","typo":1})", 400, "UNKNOWN_FIELD", "typo"});
  expect({R"({"type":"a","entityId":"1"})", 400, "UNKNOWN_FIELD", "entityId"});
  expect({R"({"type":"a","accepted":1})", 400, "UNKNOWN_FIELD", "accepted"});
  expect({R"({"type":"a","position":1})", 400, "UNKNOWN_FIELD", "position"});
  expect({R"({"type":"a","source":{"place":"x"}})", 400, "UNKNOWN_FIELD", "source.place"});
}

TEST_F(Refusals, FieldsThatAreWrong) {
  const std::string long_text(600, 'x');
  const std::vector<Case> cases{
      {R"({"payload":{}})", 400, "INVALID_MESSAGE", "type"},
      {R"({"type":""})", 400, "INVALID_MESSAGE", "type"},
      {R"({"type":1})", 400, "INVALID_MESSAGE", "type"},
      {R"({"type":["a"]})", 400, "INVALID_MESSAGE", "type"},
      {R"({"type":")" + long_text + "\"}", 400, "INVALID_MESSAGE", "type"},
      {R"({"type":"a","id":"7"})", 400, "INVALID_MESSAGE", "id"},
      {R"({"type":"a","payload":null})", 400, "INVALID_MESSAGE", "payload"},
      {R"({"type":"a","payload":[]})", 400, "INVALID_MESSAGE", "payload"},
      {R"({"type":"a","payload":"{}"})", 400, "INVALID_MESSAGE", "payload"},
      {R"({"type":"a","version":1.5})", 400, "INVALID_MESSAGE", "version"},
      {R"({"type":"a","version":true})", 400, "INVALID_MESSAGE", "version"},
      {R"({"type":"a","lane":"fast"})", 400, "INVALID_MESSAGE", "lane"},
      {R"({"type":"a","channel":"pigeon"})", 400, "INVALID_MESSAGE", "channel"},
      {R"({"type":"a","channel":"expand"})", 400, "INVALID_MESSAGE", "channel"},
      {R"({"type":"a","due_at":"tomorrow"})", 400, "INVALID_MESSAGE", "due_at"},
      {R"({"type":"a","due_at":1772000000})", 400, "INVALID_MESSAGE", "due_at"},
      {R"({"type":"a","occurred_at":"2026-13-01T00:00:00Z"})", 400, "INVALID_MESSAGE", "occurred_at"},
      {R"({"type":"a","idempotency_key":")" + long_text + "\"}", 400, "INVALID_MESSAGE", "idempotency_key"},
      {R"({"type":"a","source":"x"})", 400, "INVALID_MESSAGE", "source"},
      {R"({"type":"a","source_site":"x","source":{"site":"y"}})", 400, "INVALID_MESSAGE", "source"},
      {R"({"type":"a","channel":"email","recipient":"a@b.c\r\nBcc: x@y.z"})", 400, "INVALID_MESSAGE", "recipient"},
      {R"({"type":"a","channel":"email","recipient":"a@b.c\u0000"})", 400, "INVALID_MESSAGE", "recipient"},
      {R"({"type":"a","subject":"Hi\r\nBcc: x@y.z"})", 400, "INVALID_MESSAGE", "subject"},
      {R"({"type":"a","body":"x\u0000y"})", 400, "INVALID_MESSAGE", "body"},
  };
  for (const Case& c : cases) expect(c);
}

TEST_F(Refusals, AMessageThatExpired) {
  expect({R"({"type":"a","expires_at":"2020-01-01T00:00:00Z"})", 422, "EXPIRED", "expires_at"});
}

TEST_F(Refusals, MoreThanAThousand) {
  std::string body = R"([{"type":"a"})";
  for (std::size_t i = 0; i < kMessagesPerRequestMax; ++i) body += R"(,{"type":"a"})";
  expect({body + "]", 413, "TOO_MANY_MESSAGES"});
}

TEST_F(Refusals, OneBadInAThousandRefusesAllAndIsNamed) {
  const auto batch = [](std::size_t bad, std::string_view with) {
    std::string body = "[";
    for (std::size_t i = 0; i < kMessagesPerRequestMax; ++i) {
      body += fmt::format("{}{}", i == 0 ? "" : ",", i == bad ? with : R"({"type":"a"})");
    }
    return body + "]";
  };
  for (const std::string_view bad : {R"({"type":"a","lane":"fast"})", R"({"type":7})"}) {
    const Answer answer = world.post(kMessages, world.key(Role::Producer), batch(637, bad));
    EXPECT_EQ(answer.code(), "INVALID_MESSAGE");
    EXPECT_EQ(answer.at("error.index"), "637");
    EXPECT_NE(answer.at("error.reason"), "<none>");
    EXPECT_EQ(world.stored(), 0U);
  }
  EXPECT_EQ(world.post(kMessages, world.key(Role::Producer), batch(9999, "")).status, 202);
  EXPECT_EQ(world.stored(), kMessagesPerRequestMax);
}

TEST_F(Refusals, AnotherContentType) {
  const auto with = [&](std::vector<Header> headers) {
    return world.send({.method = "POST",
                       .path = std::string{kMessages},
                       .key = world.key(Role::Producer),
                       .body = R"({"type":"a"})",
                       .headers = std::move(headers)});
  };
  EXPECT_EQ(with({}).status, 415);
  EXPECT_EQ(with({{"content-type", "text/plain"}}).code(), "UNSUPPORTED_MEDIA_TYPE");
  EXPECT_EQ(with({{"content-type", "application/x-www-form-urlencoded"}}).status, 415);
  EXPECT_EQ(with({{"content-type", "application/json; charset=latin1"}}).status, 415);
  EXPECT_EQ(world.stored(), 0U);
  EXPECT_EQ(with({{"content-type", "Application/JSON; charset=UTF-8"}}).status, 202);
}

TEST_F(Refusals, ParametersThatAreUnknownOrBroken) {
  const std::string key = world.key(Role::Producer);
  EXPECT_EQ(world.post("/api/v1/messages?sync=1", key, R"({"type":"a"})").code(), "INVALID_PARAMETER");
  EXPECT_EQ(world.post("/api/v1/messages?tenant=%ff", key, R"({"type":"a"})").code(), "INVALID_PARAMETER");
  EXPECT_EQ(world.stored(), 0U);
}

TEST_F(Refusals, WhenTheStoreCannotTakeIt) {
  const std::string key = world.key(Role::Producer);
  const std::vector<std::pair<ErrorCode, std::string>> cases{{ErrorCode::Unavailable, "STORE_UNAVAILABLE"},
                                                             {ErrorCode::Exhausted, "OVERLOADED"},
                                                             {ErrorCode::Cancelled, "SHUTTING_DOWN"},
                                                             {ErrorCode::Ambiguous, "OUTCOME_UNKNOWN"},
                                                             {ErrorCode::Conflict, "STORE_UNAVAILABLE"}};
  for (const auto& [error, code] : cases) {
    world.accept_fails = Error{error, "SELECT hunter2 FROM secrets"};
    const Answer answer = world.post(kMessages, key, R"({"type":"a"})");
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.code(), code);
    EXPECT_FALSE(answer.header("Retry-After").empty());
    EXPECT_EQ(answer.body.find("hunter2"), std::string::npos);
  }
  world.accept_fails = Error{ErrorCode::Corrupt, "hunter2"};
  EXPECT_EQ(world.post(kMessages, key, R"({"type":"a"})").status, 500);
}

TEST(Messages, AllFieldsArriveAsTheyWereSent) {
  World world;
  const std::string id = world.accepted(R"({
    "id":"0195A000-0000-7000-8000-00000000000A","tenant":"acme","topic":"bookings","type":"booking.confirmed",
    "entity_id":4711,"version":3,"idempotency_key":"k","payload":{"email":"ada@example.org","n":1.5},
    "lane":"priority","category":"transactional","locale":"de-DE","origin":"shop","correlation_id":"c",
    "traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","schema_version":"2",
    "occurred_at":"2026-02-25T10:00:00+01:00","due_at":"2026-03-01","expires_at":"2030-01-01T00:00:00Z",
    "source":{"site":"s1","instance":"i1","script":"x.cc","site_enqueued_at":"2026-02-25T09:00:00Z"},
    "type_data":{"free":[1,"two"]},"channel":"email","recipient":"ada@example.org","contact":"c-1","list":"l-1",
    "subject":"Hello","body":"World","template":"t","sealed":"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3ODk="})");
  EXPECT_EQ(id, "0195a000-0000-7000-8000-00000000000a");
  const Answer seen = world.get("/api/v1/notifications/" + id, world.key(Role::Operator));
  const std::map<std::string, std::string> expected{
      {"id", id},
      {"tenant", "acme"},
      {"topic", "bookings"},
      {"type", "booking.confirmed"},
      {"entity_id", "4711"},
      {"version", "3"},
      {"idempotency_key", "k"},
      {"payload", R"({"email":"ada@example.org","n":1.5})"},
      {"lane", "priority"},
      {"category", "transactional"},
      {"locale", "de-DE"},
      {"origin", "shop"},
      {"correlation_id", "c"},
      {"schema_version", "2"},
      {"occurred_at", "2026-02-25T09:00:00.000Z"},
      {"due_at", "2026-03-01T00:00:00.000Z"},
      {"expires_at", "2030-01-01T00:00:00.000Z"},
      {"source.site", "s1"},
      {"source.instance", "i1"},
      {"source.script", "x.cc"},
      {"source.site_enqueued_at", "2026-02-25T09:00:00.000Z"},
      {"type_data", R"({"free":[1,"two"]})"},
      {"channel", "email"},
      {"recipient", "ada@example.org"},
      {"contact", "c-1"},
      {"list", "l-1"},
      {"subject", "Hello"},
      {"body", "World"},
      {"template", "t"},
      {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
      {"state", "pending"},
      {"status", "pending"}};
  for (const auto& [path, value] : expected) EXPECT_EQ(seen.at(path), value) << path;
  EXPECT_EQ(seen.body.find("QUJDREVG"), std::string::npos) << "a sealed secret is never shown";
  EXPECT_EQ(seen.body.find("sealed"), std::string::npos);
}

TEST(Messages, AnAnswerComesInTheFormOfTheRequest) {
  World world;
  const std::string key = world.key(Role::Producer);
  const Answer one = world.post(kMessages, key, R"({"type":"a"})");
  EXPECT_EQ(one.status, 202);
  EXPECT_EQ(one.at("state"), "accepted");
  EXPECT_EQ(one.at("duplicate"), "false");
  const Answer list = world.post(kMessages, key, R"([{"type":"a"},{"type":"b","source_site":"s"}])");
  EXPECT_EQ(list.status, 202);
  EXPECT_NE(list.at("messages.1.id"), list.at("messages.0.id"));
  EXPECT_EQ(list.at("messages.2"), "<none>");
  EXPECT_EQ(world.stored(), 3U);
}

TEST(Messages, APayloadMayBeAsDeepInAnArrayAsByItself) {
  World world;
  const std::string key = world.key(Role::Producer);
  const auto nested = [](int levels) {
    std::string json = "1";
    for (int i = 0; i < levels; ++i) json = R"({"a":)" + json + "}";
    return json;
  };
  int deepest = 1;
  while (JsonDocument::parse(nested(deepest + 1), {.depth_max = kJsonDepthMax})) ++deepest;
  EXPECT_GE(deepest, 60);
  EXPECT_EQ(world.post(kMessages, key, R"([{"type":"a","payload":)" + nested(deepest) + "}]").status, 202);
  EXPECT_EQ(world.post(kMessages, key, R"([{"type":"a","payload":)" + nested(deepest + 1) + "}]").status, 400);
}

TEST(Messages, TheTraceOfTheRequestIsTakenWhereTheMessageHasNone) {
  World world;
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const std::string ops = world.key(Role::Ops);
  const auto seen = [&](std::string_view body, std::string header) {
    const Answer sent = world.post(kMessages, world.key(Role::Producer), body, {{"traceparent", std::move(header)}});
    return world.get("/api/v1/notifications/" + sent.at("id"), ops).at("traceparent");
  };
  EXPECT_EQ(seen(R"({"type":"a"})", trace), trace);
  EXPECT_EQ(seen(R"({"type":"a","traceparent":"own"})", trace), "own");
  EXPECT_EQ(seen(R"({"type":"a"})", "garbage" + std::string(1000, 'x')), "null");
}

TEST(Idempotency, TheSameKeyAndContentIsAnsweredWithTheFirst) {
  World world;
  const std::string key = world.key(Role::Producer);
  const std::string body = R"({"type":"a","payload":{"x":1}})";
  const Answer first = world.post(kMessages, key, body, {{"idempotency-key", "k1"}});
  EXPECT_EQ(first.status, 202);
  const std::vector<Answer> repeats{
      world.post(kMessages, key, body, {{"idempotency-key", "k1"}}),
      world.post(kMessages, key, body, {{"idempotency-key", "\"k1\""}}),
      world.post(kMessages, key, R"({ "payload" : {"x":1}, "type":"a", "idempotency_key":"k1" })"),
      // A client that repeats starts a new span.
      world.post(
          kMessages, key, body,
          {{"idempotency-key", "k1"}, {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}})};
  for (const Answer& again : repeats) {
    EXPECT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(again.at("id"), first.at("id"));
    EXPECT_EQ(again.at("duplicate"), "true");
  }
  world.expand();
  EXPECT_EQ(world.post(kMessages, key, body, {{"idempotency-key", "k1"}}).at("id"), first.at("id"));
  EXPECT_EQ(world.stored(), 1U);
}

// Nothing can repeat a message without id and key until its id is given back.
TEST(Idempotency, AnIdThatWasAnsweredMayBeGivenBack) {
  World world;
  writing_of(world).locales = {"en-US", "de"};
  const std::string key = world.key(Role::Producer);
  const std::string content = R"("type":"a","payload":{"x": 1},"entity_id":7,"due_at":"2031-01-01T02:00:00+02:00")";
  const std::vector<Header> spoken{{"accept-language", "de-CH"},
                                   {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}};
  for (const std::vector<Header>& headers : {std::vector<Header>{}, spoken}) {
    const Answer first = world.post(kMessages, key, "{" + content + "}", headers);
    EXPECT_EQ(first.status, 202) << first.body;
    const std::string named = R"(,"id":")" + first.at("id") + "\"}";
    const auto give_back = [&] {
      for (const std::vector<Header>& others : {spoken, std::vector<Header>{}}) {
        const Answer again = world.post(kMessages, key, "{" + content + named, others);
        EXPECT_EQ(again.status, 200) << again.body;
        EXPECT_EQ(again.at("id"), first.at("id"));
        const Answer other = world.post(kMessages, key, R"({"type":"b")" + named, others);
        EXPECT_EQ(other.code(), "IDEMPOTENCY_KEY_REUSED") << other.body;
        EXPECT_EQ(other.at("error.id"), first.at("id"));
      }
    };
    give_back();
    world.expand();
    give_back();
  }
  EXPECT_EQ(world.stored(), 2U);
}

TEST(AcceptLanguageHeader, IsTheLocaleOfMessagesThatNameNone) {
  World world;
  const std::string key = world.key(Role::Operator);
  const std::vector<Header> asking{{"accept-language", "en;q=0.1, de-CH;q=0.9, *;q=0.05, nonsense!"}};
  const auto locale_of = [&](std::string_view body, const std::vector<Header>& headers) {
    const Answer sent = world.post(kMessages, key, body, headers);
    EXPECT_LT(sent.status, 300) << sent.body;
    return world.get("/api/v1/notifications/" + sent.at("id"), key).at("locale");
  };
  EXPECT_EQ(locale_of(R"({"type":"a"})", asking), "null") << "this tenant names no locales to look it up in";
  writing_of(world).locales = {"en-US", "de"};
  EXPECT_EQ(locale_of(R"({"type":"a","idempotency_key":"k"})", asking), "de-CH, en, *");
  EXPECT_EQ(locale_of(R"({"type":"a","idempotency_key":"k"})", {}), "de-CH, en, *") << "the same fact, asked for anew";
  EXPECT_EQ(locale_of(R"({"type":"a","locale":"fr-CA"})", asking), "fr-CA");
  EXPECT_EQ(locale_of(R"({"type":"a"})", {{"accept-language", "!!"}}), "null");
  EXPECT_EQ(locale_of(R"({"type":"a"})", {}), "null");
}

TEST(Idempotency, TheSameKeyWithAnotherContentIsRefusedWithTheFirstId) {
  World world;
  const std::string key = world.key(Role::Producer);
  const Answer first = world.post(kMessages, key, R"({"type":"a","idempotency_key":"k"})");
  const Answer other =
      world.post(kMessages, key, R"([{"type":"new"},{"type":"b","idempotency_key":"k"},{"type":"new"}])");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other.code(), "IDEMPOTENCY_KEY_REUSED");
  EXPECT_EQ(other.at("error.index"), "1");
  EXPECT_EQ(other.at("error.id"), first.at("id"));
  EXPECT_EQ(world.stored(), 1U) << "nothing of the refused request is stored";
}

TEST(Idempotency, KeysOfTenantsAreIndependent) {
  World world;
  const std::string body = R"({"type":"a","idempotency_key":"k","id":"0195a000-0000-7000-8000-000000000001"})";
  EXPECT_EQ(world.post(kMessages, world.key(Role::Producer), body).status, 202);
  const Answer other = world.post(kMessages, world.foreign_key(Role::Producer),
                                  R"({"type":"b","idempotency_key":"k","id":"0195a000-0000-7000-8000-000000000001"})");
  EXPECT_EQ(other.status, 202);
  EXPECT_EQ(other.at("duplicate"), "false");
}

TEST(Idempotency, RepeatsInsideOneRequest) {
  World world;
  const std::string key = world.key(Role::Producer);
  const Answer same =
      world.post(kMessages, key, R"([{"type":"a","idempotency_key":"k"},{"type":"a","idempotency_key":"k"}])");
  EXPECT_EQ(same.status, 202);
  EXPECT_EQ(same.at("messages.1.duplicate"), "true");
  EXPECT_EQ(same.at("messages.1.id"), same.at("messages.0.id"));
  const Answer other =
      world.post(kMessages, key, R"([{"type":"a","idempotency_key":"j"},{"type":"b","idempotency_key":"j"}])");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(world.stored(), 1U);
}

TEST(Idempotency, TheHeaderIsForASingleMessageAndMustAgree) {
  World world;
  const std::string key = world.key(Role::Producer);
  EXPECT_EQ(world.post(kMessages, key, R"([{"type":"a"}])", {{"idempotency-key", "k"}}).code(), "INVALID_HEADER");
  EXPECT_EQ(world.post(kMessages, key, R"({"type":"a"})", {{"idempotency-key", " "}}).code(), "INVALID_HEADER");
  EXPECT_EQ(world.post(kMessages, key, R"({"type":"a","idempotency_key":"x"})", {{"idempotency-key", "k"}}).code(),
            "INVALID_HEADER");
  EXPECT_EQ(world.stored(), 0U);
  EXPECT_EQ(world.post(kMessages, key, R"({"type":"a","idempotency_key":"k"})", {{"idempotency-key", "k"}}).status,
            202);
}

}  // namespace
}  // namespace postrider::testing
