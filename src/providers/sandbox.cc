// Keeps what would have been sent: the delivery row and its attempt are the inbox, so nothing else needs to be stored.
#include "providers/adapters.h"

namespace postrider {
namespace {

class Sandbox final : public Provider {
 public:
  [[nodiscard]] CapabilityCard card() const override { return {.honours_key = true, .leaves_process = false}; }
  [[nodiscard]] Request compose(const Delivery&, std::string_view provider_key, Instant) const override {
    return LocalRequest{"sandbox-" + std::string{provider_key}};
  }
  [[nodiscard]] Outcome interpret(const Reply& reply, Instant) const override {
    const auto* local = std::get_if<LocalReply>(&reply);
    if (local == nullptr)
      return {.kind = OutcomeKind::NotSent, .reason = Reason::Aborted, .detail = "the sandbox was stopped"};
    return {.kind = OutcomeKind::Accepted,
            .reason = Reason::AcceptedByProvider,
            .provider_message_id = local->verdict,
            .detail = "kept in the sandbox"};
  }
};

}  // namespace

Result<std::unique_ptr<Provider>> make_sandbox(const ProviderSettings&) {
  return std::unique_ptr<Provider>(std::make_unique<Sandbox>());
}

}  // namespace postrider
