// What every adapter owes, over the registry: a new adapter is tested by being registered.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "pipeline/dispatch.h"
#include "providers/parts.h"

namespace postrider {
namespace {

constexpr std::array kAt{BrokenAt::Nothing, BrokenAt::Partly, BrokenAt::Whole};
constexpr std::array kBy{BrokenBy::Dns,     BrokenBy::Connect, BrokenBy::Tls,      BrokenBy::Timeout,
                         BrokenBy::Reset,   BrokenBy::Garbage, BrokenBy::TooLarge, BrokenBy::Forbidden,
                         BrokenBy::Invalid, BrokenBy::Aborted};

class AdapterContract : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] const Adapter& adapter() const { return *find_adapter(GetParam()); }
  [[nodiscard]] bool leaves_process() const { return provider_->card().leaves_process; }
  [[nodiscard]] bool speaks_http() const {
    return std::holds_alternative<HttpRequest>(provider_->compose(delivery_, "k", kNow));
  }
  std::unique_ptr<Provider> provider_ = make_provider(GetParam());
  Delivery delivery_ = delivery_on(find_adapter(GetParam())->channels.front());
};

std::vector<std::string> adapter_types() {
  std::vector<std::string> types;
  for (const Adapter& adapter : adapters()) types.emplace_back(adapter.type);
  return types;
}
INSTANTIATE_TEST_SUITE_P(Registry, AdapterContract, ::testing::ValuesIn(adapter_types()),
                         [](const auto& param) { return param.param; });

std::string wire_text(const Request& request) {
  if (const auto* http = std::get_if<HttpRequest>(&request)) {
    std::string out = http->method + " " + http->url + "\n";
    for (const auto& [name, value] : http->headers) out += name + ": " + value + "\n";
    return out + "\n" + http->body;
  }
  if (const auto* mail = std::get_if<MailRequest>(&request))
    return mail->envelope_from + "\n" + mail->envelope_to + "\n" + mail->data;
  return std::get<LocalRequest>(request).verdict;
}

TEST_P(AdapterContract, IsDescribedSoThatItsConfigurationCanBeChecked) {
  EXPECT_FALSE(adapter().meaning.empty());
  EXPECT_FALSE(adapter().channels.empty());
  ASSERT_NE(adapter().make, nullptr);
  ASSERT_NE(adapter().endpoint, nullptr);
  std::set<std::string_view> keys;
  for (const SettingRule& rule : adapter().settings) {
    EXPECT_FALSE(rule.meaning.empty()) << rule.key;
    EXPECT_TRUE(keys.insert(rule.key).second) << rule.key << " is there twice";
  }
  EXPECT_TRUE(adapter().endpoint(settings_for(GetParam())));
}

// Where nothing of the request left, a repeat is safe; where some of it may have been acted on, nothing may say that it
// was not sent, because such a call is repeated under any guarantee.
TEST_P(AdapterContract, HowFarTheBytesGotDecidesWhatABreakMeans) {
  if (!leaves_process()) return;  // nothing leaves
  for (const BrokenAt at : kAt) {
    for (const BrokenBy by : kBy) {
      const Outcome outcome = provider_->interpret(Broken{at, by, "why"}, kNow);
      const auto where = ::testing::Message() << "at " << int(at) << " by " << int(by) << ": " << to_text(outcome.kind);
      if (at != BrokenAt::Nothing) {
        EXPECT_EQ(outcome.kind, OutcomeKind::Unclear) << where;
      } else if (by == BrokenBy::Invalid) {
        EXPECT_EQ(outcome.kind, OutcomeKind::Permanent) << where;
      } else if (by == BrokenBy::Forbidden) {
        EXPECT_TRUE(outcome.kind == OutcomeKind::Permanent || outcome.kind == OutcomeKind::Misconfigured) << where;
      } else if (by == BrokenBy::Tls) {
        EXPECT_TRUE(outcome.kind == OutcomeKind::NotSent || outcome.kind == OutcomeKind::Misconfigured) << where;
      } else {
        EXPECT_EQ(outcome.kind, OutcomeKind::NotSent) << where;
      }
    }
  }
}

TEST_P(AdapterContract, WhatStaysInTheProcessIsNeverUnclear) {
  if (leaves_process()) return;  // leaves the process
  for (const BrokenAt at : kAt) {
    for (const BrokenBy by : kBy) EXPECT_EQ(provider_->interpret(Broken{at, by, ""}, kNow).kind, OutcomeKind::NotSent);
  }
}

OutcomeKind class_of(int status, bool server_fault_is_refusal) {
  if (status / 100 == 2) return OutcomeKind::Accepted;
  if (status == 408 || status == 425 || status == 429 || status == 503) return OutcomeKind::Transient;
  if (status / 100 == 3 || status / 100 == 4) return OutcomeKind::Permanent;
  if (status / 100 == 5) return server_fault_is_refusal ? OutcomeKind::Transient : OutcomeKind::Unclear;
  return OutcomeKind::Unclear;
}

TEST_P(AdapterContract, EveryHttpStatusHasTheClassOfTheRules) {
  if (!speaks_http()) return;  // no HTTP
  for (int status = 0; status < 700; ++status) {
    for (const char* body : {"", "not json", "{\"id\":17}", "{\"id\":\"x\"}", "[[[[[[[[[[[[[[[", "\xff\r\n"}) {
      const Outcome outcome = provider_->interpret(HttpReply{status, {}, body}, kNow);
      EXPECT_EQ(outcome.kind, class_of(status, provider_->card().server_fault_is_refusal)) << status;
      EXPECT_FALSE(has_control(outcome.detail)) << status;
      EXPECT_LE(outcome.detail.size(), 500U);
    }
  }
}

TEST_P(AdapterContract, AnAnswerOfAnotherProtocolIsNeverTakenForAcceptance) {
  if (!leaves_process()) return;  // nothing leaves
  for (const Reply& reply : {Reply{LocalReply{"x"}}, speaks_http() ? Reply{MailReply{MailStep::Body, 250, "ok"}}
                                                                   : Reply{HttpReply{200, {}, ""}}}) {
    EXPECT_EQ(provider_->interpret(reply, kNow).kind, OutcomeKind::Unclear);
  }
}

TEST_P(AdapterContract, TheProviderKeyTravelsAndIsTheSameOverAllAttempts) {
  const std::string key = provider_key(delivery_, "main");
  const std::string first = wire_text(provider_->compose(delivery_, key, kNow));
  const std::string later = wire_text(provider_->compose(delivery_, key, kNow + std::chrono::hours{5}));
  EXPECT_NE(first.find(key), std::string::npos);
  EXPECT_NE(later.find(key), std::string::npos);
}

TEST(ProviderKeys, DifferBetweenProvidersTenantsAndDeliveriesAndDependOnNothingElse) {
  Delivery d = delivery_on(Channel::Email);
  const std::string key = provider_key(d, "main");
  EXPECT_NE(provider_key(d, "second"), key);
  d.body = "changed";
  d.recipient = "other@example.org";
  EXPECT_EQ(provider_key(d, "main"), key);
  d.id = 4712;
  EXPECT_NE(provider_key(d, "main"), key);
  d.id = 4711;
  d.tenant = 2;
  EXPECT_NE(provider_key(d, "main"), key);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos) << "safe in a header, a URL and an address";
}

TEST_P(AdapterContract, NoSecretIsInAnyRequestOutcomeOrError) {
  const ProviderSettings settings = settings_for(GetParam());
  std::vector<std::string> told{wire_text(provider_->compose(delivery_, "k", kNow))};
  for (const BrokenAt at : kAt) {
    for (const BrokenBy by : kBy) told.push_back(provider_->interpret(Broken{at, by, "x"}, kNow).detail);
  }
  for (const int status : {200, 301, 401, 403, 429, 500, 503, 999})
    told.push_back(provider_->interpret(HttpReply{status, {}, "denied"}, kNow).detail);
  for (const int code : {250, 421, 530, 535, 550})
    told.push_back(provider_->interpret(MailReply{MailStep::Auth, code, "5.7.8 no"}, kNow).detail);
  ProviderSettings broken = settings;
  for (auto& [key, value] : broken.values) value = "\r\nbroken";
  for (auto& [key, secret] : broken.secrets) secret = Secret{"not-a-good-" + std::string{secret.reveal()}};
  if (auto made = adapter().make(broken); !made) told.push_back(made.error().text);
  if (auto endpoint = adapter().endpoint(broken); !endpoint) told.push_back(endpoint.error().text);
  for (const auto& [key, secret] : settings.secrets) {
    for (const std::string& text : told)
      EXPECT_EQ(text.find(secret.reveal().substr(6)), std::string::npos) << key << " in: " << text;
  }
}

}  // namespace
}  // namespace postrider
