// Standard Webhooks, with the published vector.
#include "providers/webhook.h"

#include <gtest/gtest.h>

#include <map>

#include "base/text.h"
#include "providers/parts.h"

namespace postrider {
namespace {

using std::chrono::seconds;

constexpr std::string_view kId = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr std::int64_t kTimestamp = 1614265330;
constexpr std::string_view kBody = R"({"test": 2432232314})";
constexpr std::string_view kSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
constexpr Instant kSignedAt = instant_from_us(kTimestamp * 1'000'000);

std::string key() { return *read_webhook_secret(kWebhookSecret); }

bool verify(std::string_view signatures, std::string_view timestamp = "1614265330", Instant now = kSignedAt,
            std::string_view id = kId, std::string_view body = kBody) {
  return verify_webhook(key(), {id, timestamp, signatures, body}, now);
}

TEST(WebhookSignature, HasThePublishedVector) { EXPECT_EQ(sign_webhook(key(), kId, kTimestamp, kBody), kSignature); }

TEST(WebhookSignature, IsVerifiedOverTheExactBytes) {
  EXPECT_TRUE(verify(kSignature));
  EXPECT_FALSE(verify(kSignature, "1614265330", kSignedAt, kId, R"({"test":2432232314})"));
  EXPECT_FALSE(verify(kSignature, "1614265330", kSignedAt, "msg_other"));
  EXPECT_FALSE(verify(kSignature, "1614265331"));
  EXPECT_FALSE(verify(kSignature, "1614265330", kSignedAt, ""));
  EXPECT_FALSE(verify_webhook(std::string(24, 'x'), {kId, "1614265330", kSignature, kBody}, kSignedAt));
}

TEST(WebhookSignature, IsGoodForThreeHundredSecondsBothWaysTheEndsIncluded) {
  for (const int age : {-300, -299, 0, 299, 300})
    EXPECT_TRUE(verify(kSignature, "1614265330", kSignedAt + seconds{age})) << age;
  for (const int age : {-301, 301, 86'400})
    EXPECT_FALSE(verify(kSignature, "1614265330", kSignedAt + seconds{age})) << age;
}

TEST(WebhookSignature, JunkInTheTimestampIsRefused) {
  for (const char* timestamp :
       {"", " ", "1614265330 ", " 1614265330", "+1614265330", "1614265330.0", "1614265330x", "0x60379e32", "now",
        "-9223372036854775808", "9223372036854775807", "-1614265330", "99999999999999999999"})
    EXPECT_FALSE(verify(kSignature, timestamp)) << timestamp;
}

TEST(WebhookSignature, OneGoodSignatureAmongSeveralIsEnough) {
  const std::string good{kSignature};
  EXPECT_TRUE(verify("v1,AAAA " + good));
  EXPECT_TRUE(verify(good + " v1,AAAA"));
  EXPECT_TRUE(verify("v2,whatever  " + good + " v1a,x"));
  EXPECT_FALSE(verify(""));
  EXPECT_FALSE(verify("v1,AAAA v1,BBBB"));
  EXPECT_FALSE(verify(good.substr(3)));
  EXPECT_FALSE(verify("v2," + good.substr(3)));
  EXPECT_FALSE(verify(good + ","));
  EXPECT_FALSE(verify("V1," + good.substr(3)));
}

TEST(WebhookSignature, AFloodOfSignaturesIsNotReadToItsEnd) {
  std::string flood;
  for (int i = 0; i < 100'000; ++i) flood += "v1,AAAA ";
  EXPECT_FALSE(verify(flood + std::string{kSignature}));
}

TEST(WebhookSecret, IsTwentyFourToSixtyFourBytesOfBase64) {
  EXPECT_TRUE(read_webhook_secret(kWebhookSecret));
  EXPECT_TRUE(read_webhook_secret(kWebhookSecret.substr(6)));
  for (const std::size_t size : {24U, 32U, 64U})
    EXPECT_TRUE(read_webhook_secret(to_base64(std::string(size, 'k')))) << size;
  for (const std::size_t size : {0U, 16U, 23U, 65U, 500U})
    EXPECT_FALSE(read_webhook_secret("whsec_" + to_base64(std::string(size, 'k')))) << size;
  EXPECT_FALSE(read_webhook_secret("whsec_not base64 at all, sadly!!"));
}

std::map<std::string, std::string> headers_of(const HttpRequest& request) {
  return {request.headers.begin(), request.headers.end()};
}
HttpRequest compose(const ProviderSettings& settings, const Delivery& delivery) {
  return std::get<HttpRequest>(make_provider(settings)->compose(delivery, "0123abcd", kSignedAt));
}

TEST(Webhook, TheRequestIsSignedAndCarriesItsIdKeyAndTrace) {
  Delivery delivery = delivery_on(Channel::Webhook);
  delivery.body = R"({"a":1})";
  delivery.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const HttpRequest request = compose(settings_for("webhook"), delivery);
  const auto headers = headers_of(request);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, delivery.recipient);
  EXPECT_EQ(request.body, delivery.body);
  EXPECT_EQ(headers.at("content-type"), "application/json");
  EXPECT_EQ(headers.at("idempotency-key"), "0123abcd");
  EXPECT_EQ(headers.at("traceparent"), delivery.traceparent);
  EXPECT_TRUE(verify_webhook(
      key(), {headers.at("webhook-id"), headers.at("webhook-timestamp"), headers.at("webhook-signature"), request.body},
      kSignedAt));
  for (const auto& [name, value] : request.headers) EXPECT_FALSE(has_control(value)) << name;
}

TEST(Webhook, WhileSecretsChangeBothSign) {
  ProviderSettings settings = settings_for("webhook");
  const std::string old(24, 'o');
  settings.secrets.emplace("previous_secret", Secret{"whsec_" + to_base64(old)});
  const auto headers = headers_of(compose(settings, delivery_on(Channel::Webhook)));
  for (const std::string& each : {key(), old})
    EXPECT_TRUE(verify_webhook(
        each, {headers.at("webhook-id"), headers.at("webhook-timestamp"), headers.at("webhook-signature"), "Thank you"},
        kSignedAt));
}

TEST(Webhook, WithoutASecretNothingPretendsToBeSigned) {
  EXPECT_EQ(
      headers_of(compose({.name = "x", .type = "webhook"}, delivery_on(Channel::Webhook))).count("webhook-signature"),
      0U);
}

TEST(Webhook, TextIsSentAsText) {
  const auto headers = headers_of(compose(settings_for("webhook"), delivery_on(Channel::Webhook)));
  EXPECT_EQ(headers.at("content-type"), "text/plain; charset=utf-8");
}

TEST(Webhook, WrongSettingsAreRefusedByName) {
  ProviderSettings settings = settings_for("webhook");
  settings.values["url"] = "https://user:pass@example.org";
  EXPECT_TRUE(find_adapter("webhook")->make(settings).error().text.starts_with("url "));
  settings.values.clear();
  settings.secrets["previous_secret"] = Secret{"short"};
  EXPECT_TRUE(find_adapter("webhook")->make(settings).error().text.starts_with("previous_secret "));
}

TEST(Webhook, AReceiversIdIsKeptWhereItGivesOne) {
  const auto hook = make_provider("webhook");
  EXPECT_EQ(hook->interpret(HttpReply{200, {}, R"({"id":"rcv-1"})"}, kNow).provider_message_id, "rcv-1");
  for (const char* body : {"", "OK", "{}", R"({"id":17})", "{", "[\"id\"]"})
    EXPECT_EQ(hook->interpret(HttpReply{200, {}, body}, kNow).provider_message_id, "") << body;
  EXPECT_EQ(hook->interpret(HttpReply{410, {}, ""}, kNow).reason, Reason::EndpointGone);
}

}  // namespace
}  // namespace postrider
