// The adapters that send nothing anywhere.
#include <gtest/gtest.h>

#include "providers/parts.h"

namespace postrider {
namespace {

Outcome send(const Provider& provider, const Delivery& delivery) {
  const Request request = provider.compose(delivery, "key-1", kNow);
  return provider.interpret(LocalReply{std::get<LocalRequest>(request).verdict}, kNow);
}
std::unique_ptr<Provider> shim_that_fails_on(std::string words) {
  ProviderSettings settings = settings_for("shim");
  settings.values["fail_on"] = std::move(words);
  return make_provider(settings);
}

TEST(Sandbox, AcceptsEverythingOnEveryChannelUnderAnIdOfItsKey) {
  const auto sandbox = make_provider("sandbox");
  for (const Channel channel : kChannels) {
    const Outcome outcome = send(*sandbox, delivery_on(channel));
    EXPECT_EQ(outcome.kind, OutcomeKind::Accepted) << to_text(channel);
    EXPECT_NE(outcome.provider_message_id.find("key-1"), std::string::npos);
  }
}

TEST(Shim, FailsOnTheTypesAndKeysItWasToldAndOnNoOthers) {
  const Delivery delivery = delivery_on(Channel::Email);
  for (const std::string& words : {delivery.type, delivery.key, "x, " + delivery.type + " ,y"})
    EXPECT_EQ(send(*shim_that_fails_on(words), delivery).kind, OutcomeKind::Transient) << words;
  for (const char* words : {"", ",", "order", "order.paid.later", "*"})
    EXPECT_EQ(send(*shim_that_fails_on(words), delivery).kind, OutcomeKind::Accepted) << words;
}

TEST(Shim, AFactsKeyStandsForAllItsDeliveries) {
  Delivery delivery = delivery_on(Channel::Sms);
  delivery.key = "booking:42:booking.created:1:sms:welcome";
  EXPECT_EQ(send(*shim_that_fails_on("booking:42:booking.created:1"), delivery).kind, OutcomeKind::Transient);
  for (const char* words :
       {"booking", "booking:42", "booking:42:booking.created", "booking:42:booking.created:1:email"})
    EXPECT_EQ(send(*shim_that_fails_on(words), delivery).kind, OutcomeKind::Accepted) << words;
}

TEST(Shim, TheProducersKeyOfTheMessageIsAskedForAndCounts) {
  Delivery delivery = delivery_on(Channel::Sms);
  delivery.message_key = "avail:7:2026-03-09:week_saved:f631";
  EXPECT_EQ(send(*shim_that_fails_on(delivery.message_key), delivery).kind, OutcomeKind::Transient);
  EXPECT_EQ(send(*shim_that_fails_on("avail:7"), delivery).kind, OutcomeKind::Accepted);
  EXPECT_TRUE(shim_that_fails_on("avail:7")->card().asks_for_message_key);
  EXPECT_FALSE(shim_that_fails_on(" , ")->card().asks_for_message_key) << "nothing to compare it with";
}

TEST(Shim, AKeyCanNeverBeMistakenForTheWordToFail) {
  const auto shim = shim_that_fails_on("other");
  const Request request = shim->compose(delivery_on(Channel::Email), "fail", kNow);
  EXPECT_EQ(shim->interpret(LocalReply{std::get<LocalRequest>(request).verdict}, kNow).kind, OutcomeKind::Accepted);
}

TEST(Registry, AnUnknownAdapterIsNone) { EXPECT_EQ(find_adapter("carrier-pigeon"), nullptr); }

}  // namespace
}  // namespace postrider
