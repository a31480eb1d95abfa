// What the tests of adapters share: settings that work for each type, and a delivery to send.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "providers/registry.h"

namespace postrider {

inline constexpr Instant kNow = instant_from_us(1'800'000'000'000'000);
inline constexpr std::string_view kWebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
inline constexpr std::string_view kSmtpPassword = "hunter2-hunter2";

inline ProviderSettings settings_for(std::string_view type) {
  ProviderSettings settings{.name = "main", .type = std::string{type}};
  if (type == "smtp") {
    settings.values = {{"host", "mail.example.org"}, {"from", "Shop <shop@example.org>"}, {"user", "shop"}};
    settings.secrets.emplace("password", Secret{std::string{kSmtpPassword}});
  }
  if (type == "webhook") settings.secrets.emplace("secret", Secret{std::string{kWebhookSecret}});
  return settings;
}

inline std::unique_ptr<Provider> make_provider(const ProviderSettings& settings) {
  return std::move(find_adapter(settings.type)->make(settings)).value();
}
inline std::unique_ptr<Provider> make_provider(std::string_view type) { return make_provider(settings_for(type)); }

inline Delivery delivery_on(Channel channel) {
  Delivery d;
  d.id = 4711;
  d.tenant = 1;
  d.message_uuid = *parse_uuid("018f0000-0000-7000-8000-000000000001");
  d.channel = channel;
  d.type = "order.paid";
  d.key = "42:order.paid:email:t";
  d.recipient = channel == Channel::Email ? "ann@example.org" : "https://example.org/hook";
  d.subject = "Your order";
  d.body = "Thank you";
  return d;
}

}  // namespace postrider
