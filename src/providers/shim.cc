// Fails on chosen event types or idempotency keys, else accepts; one effect per key is what its attempts then show.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "providers/adapters.h"

namespace postrider {
namespace {

constexpr std::string_view kFail = "fail";

class Shim final : public Provider {
 public:
  explicit Shim(std::string_view fail_on) {
    for (const std::string_view entry : split(fail_on, ',')) {
      if (const std::string_view word = trim(entry); !word.empty()) fail_on_.emplace_back(word);
    }
  }
  [[nodiscard]] CapabilityCard card() const override {
    return {.honours_key = true, .leaves_process = false, .asks_for_message_key = !fail_on_.empty()};
  }
  [[nodiscard]] Request compose(const Delivery& delivery, std::string_view provider_key, Instant) const override {
    // A fact's key, such as booking:42:booking.created:1, is what its deliveries' keys begin with.
    const std::string by_channel = fmt::format(":{}:", to_text(delivery.channel));
    const bool told_to_fail = std::any_of(fail_on_.begin(), fail_on_.end(), [&](const std::string& word) {
      return word == delivery.type || word == delivery.message_key || word == delivery.key ||
             delivery.key.starts_with(word + by_channel);
    });
    return LocalRequest{told_to_fail ? std::string{kFail} : "shim-" + std::string{provider_key}};
  }
  [[nodiscard]] Outcome interpret(const Reply& reply, Instant) const override {
    const auto* local = std::get_if<LocalReply>(&reply);
    if (local == nullptr)
      return {.kind = OutcomeKind::NotSent, .reason = Reason::Aborted, .detail = "the shim was stopped"};
    if (local->verdict == kFail)
      return {.kind = OutcomeKind::Transient, .reason = Reason::ShimFailure, .detail = "the shim was told to fail"};
    return {.kind = OutcomeKind::Accepted,
            .reason = Reason::AcceptedByProvider,
            .provider_message_id = local->verdict,
            .detail = "recorded by the shim"};
  }

 private:
  std::vector<std::string> fail_on_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_shim(const ProviderSettings& settings) {
  return std::unique_ptr<Provider>(std::make_unique<Shim>(setting(settings, "fail_on")));
}

}  // namespace postrider
