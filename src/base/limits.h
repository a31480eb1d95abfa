// Everything has a limit with a name.
#pragma once
#include <chrono>
#include <cstddef>

#include "base/time.h"

namespace postrider {

inline constexpr std::size_t kBatchMax = 500;  // rows in one store statement
inline constexpr std::size_t kMessagesPerRequestMax = 1000;
inline constexpr std::size_t kRequestBodyBytesMax = 8U << 20U;
inline constexpr std::size_t kPayloadBytesMax = 1U << 20U;
inline constexpr std::size_t kJsonDepthMax = 64;
inline constexpr std::size_t kTextFieldBytesMax = 512;      // type, key, topic, addresses, …
inline constexpr std::size_t kContentBytesMax = 1U << 20U;  // one rendered part
inline constexpr std::size_t kTemplateDepthMax = 16;        // sections in sections, and partials in partials
inline constexpr std::size_t kTemplateNameBytesMax = 200;   // a placeholder's
inline constexpr std::size_t kRenderStepsMax = 1'000'000;   // of one part: keys looked at, things written
inline constexpr std::size_t kWarningsMax = 100;            // of one rendering
inline constexpr std::size_t kDeliveriesPerExpansionMax = 500;
inline constexpr std::size_t kRecipientsMax = 100'000;
inline constexpr std::size_t kDeliveriesShownMax = 100;  // of one message at once; all of them are counted
inline constexpr std::size_t kExcerptBytesMax = 500;     // of a provider's answer, kept with the attempt
inline constexpr int kCallsPerDeliveryMax = 100;         // physical calls, enforced in the store before each
inline constexpr Duration kHeartbeatEvery = std::chrono::seconds{1};
inline constexpr Duration kNoCallsWithoutBeatFor = std::chrono::seconds{3};
inline constexpr Duration kAbortWithoutBeatFor = std::chrono::seconds{5};
inline constexpr int kRoundsUntilDead = 5;

}  // namespace postrider
