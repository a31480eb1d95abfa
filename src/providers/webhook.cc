#include "providers/webhook.h"

#include <fmt/format.h>

#include <charconv>

#include "base/crypto.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "providers/adapters.h"
#include "providers/answers.h"

namespace postrider {

std::optional<std::string> read_webhook_secret(std::string_view text) {
  if (text.starts_with("whsec_")) text.remove_prefix(6);
  auto key = from_base64(text);
  if (!key || key->size() < 24 || key->size() > 64) return std::nullopt;
  return key;
}

std::string sign_webhook(std::string_view raw_key, std::string_view id, std::int64_t timestamp, std::string_view body) {
  std::string content;
  content.reserve(id.size() + body.size() + 24);
  content += id;
  content += '.';
  content += std::to_string(timestamp);
  content += '.';
  content += body;
  return "v1," + to_base64(hmac_sha256(raw_key, content));
}

bool verify_webhook(std::string_view raw_key, const SignedRequest& request, Instant now) {
  constexpr std::int64_t kTolerance = 300;
  constexpr std::size_t kSignaturesMax = 16;
  std::int64_t timestamp = 0;
  const char* const end = request.timestamp.data() + request.timestamp.size();
  const auto [stop, error] = std::from_chars(request.timestamp.data(), end, timestamp);
  if (error != std::errc{} || stop != end || request.id.empty()) return false;
  const std::int64_t seconds = to_us(now) / 1'000'000;
  if (timestamp < seconds - kTolerance || timestamp > seconds + kTolerance) return false;
  const std::string expected = sign_webhook(raw_key, request.id, timestamp, request.body);
  bool valid = false;
  std::size_t seen = 0;
  for (const std::string_view signature : split(request.signatures, ' ')) {
    if (++seen > kSignaturesMax) break;
    if (equal_in_constant_time(signature, expected)) valid = true;
  }
  return valid;
}

namespace {

class Webhook final : public Provider {
 public:
  Webhook(std::string url, std::vector<Secret> keys) : url_(std::move(url)), keys_(std::move(keys)) {}

  [[nodiscard]] CapabilityCard card() const override { return {.honours_key = true}; }

  [[nodiscard]] Request compose(const Delivery& delivery, std::string_view provider_key, Instant now) const override {
    const std::string id = "msg_" + std::string{provider_key};
    const std::int64_t timestamp = to_us(now) / 1'000'000;
    HttpRequest request{
        .method = "POST", .url = delivery.recipient.empty() ? url_ : delivery.recipient, .body = delivery.body};
    const bool looks_like_json = !request.body.empty() && (request.body.front() == '{' || request.body.front() == '[');
    request.headers.reserve(7);  // a list of pairs would be copied
    request.headers.emplace_back("content-type", looks_like_json ? "application/json" : "text/plain; charset=utf-8");
    request.headers.emplace_back("user-agent", "postrider/" POSTRIDER_VERSION);
    request.headers.emplace_back("idempotency-key", provider_key);
    request.headers.emplace_back("webhook-id", id);
    request.headers.emplace_back("webhook-timestamp", std::to_string(timestamp));
    std::string signatures;
    for (const Secret& key : keys_) {
      if (!signatures.empty()) signatures += ' ';
      signatures += sign_webhook(key.reveal(), id, timestamp, request.body);
    }
    if (!signatures.empty()) request.headers.emplace_back("webhook-signature", std::move(signatures));
    if (!delivery.traceparent.empty()) request.headers.emplace_back("traceparent", delivery.traceparent);
    return request;
  }

  [[nodiscard]] Outcome interpret(const Reply& reply, Instant now) const override {
    if (const auto* broken = std::get_if<Broken>(&reply)) return outcome_of(*broken);
    const auto* http = std::get_if<HttpReply>(&reply);
    if (http == nullptr)
      return {.kind = OutcomeKind::Unclear, .reason = Reason::GarbageAnswer, .detail = "not an HTTP answer"};
    Outcome outcome = outcome_of_status(*http, now);
    if (outcome.kind == OutcomeKind::Accepted) outcome.provider_message_id = message_id(http->body);
    return outcome;
  }

 private:
  // Receivers owe us no id; where one answers {"id": …} it is kept.
  static std::string message_id(const std::string& body) {
    if (body.empty() || body.front() != '{' || body.size() > 4096) return "";
    const auto document = JsonDocument::parse(body, {.bytes_max = 4096, .depth_max = 8});
    if (!document) return "";
    const auto id = document->root().find("id");
    return id && id->is_text() ? excerpt(*id->text(), 200) : "";
  }

  std::string url_;
  std::vector<Secret> keys_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_webhook(const ProviderSettings& settings) {
  std::vector<Secret> keys;
  for (const char* name : {"secret", "previous_secret"}) {
    const std::string_view text = secret_setting(settings, name);
    if (text.empty()) continue;
    auto key = read_webhook_secret(text);
    if (!key) return Error{ErrorCode::Invalid, fmt::format("{} is not whsec_ and the base64 of 24 to 64 bytes", name)};
    keys.emplace_back(std::move(*key));
  }
  const std::string url = setting(settings, "url");
  if (!url.empty()) {
    if (const auto problem = address_problem(Channel::Webhook, url); !problem.empty()) {
      return Error{ErrorCode::Invalid, fmt::format("url {}", problem)};
    }
  }
  return std::unique_ptr<Provider>(std::make_unique<Webhook>(url, std::move(keys)));
}

}  // namespace postrider
