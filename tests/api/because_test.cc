// Every reason of the list is told as a sentence of its own, with its values.
#include "api/explain/because.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace postrider {
namespace {

const Instant kDue = instant_from_us(1'772'000'000'000'000);
const Instant kExpiry = instant_from_us(1'773'000'000'000'000);

const ReasonValues kValues{.detail = "the-detail",
                           .type = "booking.made",
                           .channel = "whatsapp",
                           .provider = "mail-1",
                           .quiet_hours = "22:00-08:00 Europe/Berlin",
                           .attempts = 3,
                           .due_at = kDue,
                           .expires_at = kExpiry};

enum class Told : std::uint8_t {
  OnlyItsDetail,
  Type,
  Channel,
  Provider,
  Due,
  QuietAndDue,
  Expiry,
  Attempts,
  Cap,
  Shim
};

std::vector<std::string> words_for(Told names) {
  switch (names) {
    case Told::OnlyItsDetail: return {};
    case Told::Type: return {"type \"booking.made\""};
    case Told::Channel: return {"channel whatsapp"};
    case Told::Provider: return {"through mail-1"};
    case Told::Due: return {"until " + format_instant(kDue)};
    case Told::QuietAndDue: return {"22:00-08:00 Europe/Berlin", "until " + format_instant(kDue)};
    case Told::Expiry: return {"good until " + format_instant(kExpiry)};
    case Told::Attempts: return {"3 attempts", "through mail-1"};
    case Told::Cap: return {"3 attempts", "at most 100"};
    case Told::Shim: return {"type \"booking.made\"", "through mail-1"};
  }
  return {"?"};
}

// What an operator must be able to read from each. A reason that is not here fails the test below.
const std::map<Reason, Told> kNames{
    {Reason::Waiting, Told::OnlyItsDetail},
    {Reason::Scheduled, Told::Due},
    {Reason::Expanded, Told::OnlyItsDetail},
    {Reason::Expanding, Told::OnlyItsDetail},
    {Reason::NoRoute, Told::Type},
    {Reason::TemplateNotFound, Told::Type},
    {Reason::NoRecipient, Told::Channel},
    {Reason::UnknownTenant, Told::OnlyItsDetail},
    {Reason::InvalidPayload, Told::OnlyItsDetail},
    {Reason::InvalidLane, Told::OnlyItsDetail},
    {Reason::InvalidTime, Told::OnlyItsDetail},
    {Reason::InvalidChannel, Told::OnlyItsDetail},
    {Reason::InvalidField, Told::OnlyItsDetail},
    {Reason::DuplicateMessage, Told::OnlyItsDetail},
    {Reason::DuplicateDelivery, Told::OnlyItsDetail},
    {Reason::MissingData, Told::OnlyItsDetail},
    {Reason::TemplateBroken, Told::OnlyItsDetail},
    {Reason::TooManyRecipients, Told::OnlyItsDetail},
    {Reason::ExpansionFailed, Told::OnlyItsDetail},
    {Reason::Replayed, Told::OnlyItsDetail},
    {Reason::NoContent, Told::Channel},
    {Reason::NoProvider, Told::Channel},
    {Reason::ContentTooLarge, Told::OnlyItsDetail},
    {Reason::AcceptedByProvider, Told::Provider},
    {Reason::AcceptanceIsTheEnd, Told::Provider},
    {Reason::Expired, Told::Expiry},
    {Reason::CancelledByOperator, Told::OnlyItsDetail},
    {Reason::DiscardedByOperator, Told::OnlyItsDetail},
    {Reason::RetriedByOperator, Told::OnlyItsDetail},
    {Reason::Released, Told::Provider},
    {Reason::DispatchedByOperator, Told::OnlyItsDetail},
    {Reason::RateLimited, Told::Provider},
    {Reason::ServerBusy, Told::Provider},
    {Reason::ServerFault, Told::Provider},
    {Reason::ConnectFailed, Told::Provider},
    {Reason::DnsFailed, Told::Provider},
    {Reason::TlsFailed, Told::Provider},
    {Reason::Timeout, Told::Provider},
    {Reason::ConnectionLost, Told::Provider},
    {Reason::GarbageAnswer, Told::Provider},
    {Reason::RequestRefused, Told::Provider},
    {Reason::InvalidRecipient, Told::Provider},
    {Reason::ProviderMisconfigured, Told::Provider},
    {Reason::NodeLost, Told::Provider},
    {Reason::Aborted, Told::Provider},
    {Reason::RetriesUsedUp, Told::Attempts},
    {Reason::UnclearNotRepeated, Told::Provider},
    {Reason::UnclearReconcile, Told::Provider},
    {Reason::UnmappedAnswer, Told::Provider},
    {Reason::EndpointGone, Told::Provider},
    {Reason::ContentRefused, Told::Provider},
    {Reason::CallCapReached, Told::Cap},
    {Reason::ShimFailure, Told::Shim},
    {Reason::ForbiddenAddress, Told::Provider},
    {Reason::LateAnswer, Told::Provider},
    {Reason::TooLargeAnswer, Told::Provider},
    {Reason::OptedOut, Told::OnlyItsDetail},
    {Reason::SuppressedAddress, Told::OnlyItsDetail},
    {Reason::QuietHours, Told::QuietAndDue},
    {Reason::CancelledByCondition, Told::OnlyItsDetail},
    {Reason::CancelledWithEntity, Told::OnlyItsDetail},
    {Reason::UnknownContact, Told::OnlyItsDetail},
    {Reason::UnknownList, Told::OnlyItsDetail},
    {Reason::ContextFailed, Told::OnlyItsDetail},
    {Reason::ContextAmbiguous, Told::OnlyItsDetail},
    {Reason::InvalidSchedule, Told::OnlyItsDetail},
    {Reason::LimitedByRate, Told::Provider},
    {Reason::LimitedByConcurrency, Told::Provider},
    {Reason::SecretMissing, Told::OnlyItsDetail},
    {Reason::ResentByOperator, Told::OnlyItsDetail},
};

std::vector<Reason> all_reasons() {
  std::vector<Reason> all;
#define X(name, number, code, words) all.push_back(Reason::name);
  POSTRIDER_REASONS(X)
#undef X
  return all;
}

TEST(Because, EveryReasonIsASentenceOfItsOwnWithItsValues) {
  std::set<std::string> told;
  for (const Reason reason : all_reasons()) {
    const std::string_view code = code_of(reason);
    const auto names = kNames.find(reason);
    ASSERT_NE(names, kNames.end()) << code << ": say in this table which values it names";
    const std::string text = because(reason, kValues);
    EXPECT_TRUE(text.starts_with(words_of(reason))) << code;
    EXPECT_NE(text.find("(the-detail"), std::string::npos) << code << ": " << text;
    for (const std::string& word : words_for(names->second))
      EXPECT_NE(text.find(word), std::string::npos) << code << ": " << text;
    EXPECT_GE(words_of(reason).size(), 9U) << code << ": too short for a sentence";
    EXPECT_EQ(words_of(reason).find('_'), std::string_view::npos) << code << ": a code is no sentence";
    EXPECT_TRUE(told.insert(text).second) << code << " is told like another one: " << text;
  }
  EXPECT_EQ(kNames.size(), all_reasons().size()) << "a reason of the table is no more";
}

TEST(Because, ValuesThatAreNotKnownLeaveNoTrace) {
  for (const Reason reason : all_reasons()) {
    if (reason == Reason::CallCapReached) continue;  // its limit is always known
    EXPECT_EQ(because(reason, {}), words_of(reason)) << code_of(reason);
  }
  EXPECT_EQ(because(Reason::RetriesUsedUp, {.attempts = 1}), "all attempts failed (1 attempt)");
}

TEST(Because, WhatTheDetailSaysIsNotSaidAgain) {
  EXPECT_EQ(because(Reason::NoRoute, {.detail = "type \"x.y\"", .type = "x.y"}),
            "no route and no template knows this type; replay it when one appears (type \"x.y\")");
  EXPECT_EQ(because(Reason::NoRecipient, {.detail = "no sms address", .channel = "sms"}),
            "No recipient (no sms address)");
}

}  // namespace
}  // namespace postrider
