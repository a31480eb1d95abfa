// Standard Webhooks: what we sign, we verify; nothing else verifies; and the signed request is one request on the wire,
// whatever stands in it.
#include "base/check.h"
#include "base/text.h"
#include "fuzz/input.h"
#include "net/http_parser.h"
#include "providers/registry.h"
#include "providers/webhook.h"
#include "transport/http_request.h"

namespace postrider {
namespace {

constexpr std::int64_t kSeconds = 1'772'000'000;
constexpr Instant kNow = instant_from_us(kSeconds * 1'000'000);

// What a stranger sends. It may pass only with a signature over exactly this.
void check_foreign(std::string_view key, const SignedRequest& request) {
  if (!verify_webhook(key, request, kNow)) return;
  const std::string seconds{request.timestamp};
  const std::int64_t timestamp = std::stoll(seconds);
  POSTRIDER_CHECK(timestamp >= kSeconds - 300 && timestamp <= kSeconds + 300 && !request.id.empty());
  const std::string expected = sign_webhook(key, request.id, timestamp, request.body);
  POSTRIDER_CHECK((" " + std::string{request.signatures} + " ").find(" " + expected + " ") != std::string::npos);
}

void check_own(const std::string& key, const std::string& id, const std::string& body, Prng random) {
  if (id.empty()) return;
  const std::string timestamp = std::to_string(kSeconds);
  const std::string signature = sign_webhook(key, id, kSeconds, body);
  const SignedRequest good{id, timestamp, signature, body};
  POSTRIDER_CHECK(verify_webhook(key, good, kNow));
  POSTRIDER_CHECK(verify_webhook(key, good, kNow + std::chrono::seconds{300}));
  POSTRIDER_CHECK(!verify_webhook(key, good, kNow + std::chrono::seconds{301}));
  POSTRIDER_CHECK(!verify_webhook(key, good, kNow - std::chrono::seconds{301}));
  const std::string beside = "v1,AAAA " + signature + " v1a,xyz";
  POSTRIDER_CHECK(verify_webhook(key, {id, timestamp, beside, body}, kNow));
  const auto flipped = [&](std::string text) {
    if (text.empty()) return text;
    char& one = text[random.below(text.size())];
    one = static_cast<char>(one ^ static_cast<char>(1 + random.below(255)));
    return text;
  };
  POSTRIDER_CHECK(!verify_webhook(key, {flipped(id), timestamp, signature, body}, kNow));
  POSTRIDER_CHECK(body.empty() || !verify_webhook(key, {id, timestamp, signature, flipped(body)}, kNow));
  POSTRIDER_CHECK(!verify_webhook(key, {id, timestamp, flipped(signature), body}, kNow));
  POSTRIDER_CHECK(!verify_webhook(flipped(key), good, kNow));
}

const std::string* find(const std::vector<std::pair<std::string, std::string>>& headers, std::string_view name) {
  const std::string* found = nullptr;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    POSTRIDER_CHECK(found == nullptr);
    found = &value;
  }
  return found;
}

// Composed, put into bytes and read by the receiver: the same signed request.
void check_on_the_wire(const std::string& secret, const std::string& key, const Delivery& delivery) {
  ProviderSettings settings{.name = "hook", .type = "webhook"};
  settings.values["url"] = "https://example.org/hook";
  settings.secrets["secret"] = Secret{secret};
  settings.secrets["previous_secret"] = Secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
  const auto adapter = find_adapter("webhook")->make(settings);
  POSTRIDER_CHECK(adapter);
  const auto request = std::get<HttpRequest>((*adapter)->compose(delivery, "0123456789abcdef", kNow));
  const auto url = net::parse_url(request.url);
  if (!url) return;
  const auto head = net::compose_head(request, *url);
  if (!head) return;
  net::HttpParser parser{net::HttpRole::Request, {.headers_max = 9, .body_bytes_max = 1U << 20U}};
  const std::string bytes = *head + request.body;
  const net::Fed fed = parser.put(bytes);
  POSTRIDER_CHECK(bytes.size() > net::kHeaderBytesMax ||
                  (fed.state == net::Parsed::Complete && fed.consumed == bytes.size()));
  if (fed.state != net::Parsed::Complete) return;
  const net::HttpMessage& message = parser.message();
  POSTRIDER_CHECK(message.method == "POST" && message.target == url->target && message.body == delivery.body);
  const std::string* id = find(message.headers, "webhook-id");
  const std::string* timestamp = find(message.headers, "webhook-timestamp");
  const std::string* signatures = find(message.headers, "webhook-signature");
  POSTRIDER_CHECK(id != nullptr && timestamp != nullptr && signatures != nullptr && find(message.headers, "host"));
  POSTRIDER_CHECK(id->find('.') == std::string::npos);  // Else the signed text could be cut in another place.
  POSTRIDER_CHECK(verify_webhook(key, {*id, *timestamp, *signatures, message.body}, kNow));
}

void run(fuzz::Input input) {
  const std::string secret = input.field();
  const std::string id = input.field();
  const std::string timestamp = input.field();
  const std::string signatures = input.field();
  Delivery delivery;
  delivery.traceparent = input.field();
  delivery.recipient = input.field();
  delivery.body = input.rest();
  auto key = read_webhook_secret(secret);
  if (key) {
    POSTRIDER_CHECK(key->size() >= 24 && key->size() <= 64);
    POSTRIDER_CHECK(read_webhook_secret("whsec_" + to_base64(*key)) == key);
    check_on_the_wire(secret, *key, delivery);
  } else {
    key = std::string(24, 'k');
  }
  check_foreign(*key, {id, timestamp, signatures, delivery.body});
  check_own(*key, id, delivery.body, fuzz::draws_from(signatures));
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::run({data, size});
  return 0;
}
