// The two transition functions against tables written by hand from the requirements, and the page that is generated
// from the functions. `POSTRIDER_WRITE_DOCS=1` rewrites the page.
#include "core/lifecycle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace postrider {
namespace {

using DeliveryStep = std::pair<DeliveryState, DeliveryTrigger>;
using MessageStep = std::pair<MessageState, MessageTrigger>;

// Everything that is not listed changes nothing.
const std::map<DeliveryStep, DeliveryState>& delivery_table() {
  using S = DeliveryState;
  using T = DeliveryTrigger;
  static const std::map<DeliveryStep, DeliveryState> kTable{
      {{S::Queued, T::Claim}, S::Sending},
      {{S::Queued, T::Cancel}, S::Cancelled},
      {{S::Queued, T::Suppress}, S::Suppressed},
      {{S::Queued, T::Expire}, S::Expired},
      {{S::Queued, T::LateAccept}, S::Sent},
      {{S::Queued, T::Confirm}, S::Delivered},

      {{S::Retrying, T::Promote}, S::Queued},
      {{S::Retrying, T::Cancel}, S::Cancelled},
      {{S::Retrying, T::Suppress}, S::Suppressed},
      {{S::Retrying, T::Expire}, S::Expired},
      {{S::Retrying, T::LateAccept}, S::Sent},
      {{S::Retrying, T::Confirm}, S::Delivered},

      {{S::Sending, T::Accept}, S::Sent},
      {{S::Sending, T::AcceptAsEnd}, S::Delivered},
      {{S::Sending, T::Confirm}, S::Delivered},
      {{S::Sending, T::Defer}, S::Retrying},
      {{S::Sending, T::Park}, S::Parked},
      {{S::Sending, T::Release}, S::Queued},
      {{S::Sending, T::Cancel}, S::Cancelled},
      {{S::Sending, T::Suppress}, S::Suppressed},
      {{S::Sending, T::Expire}, S::Expired},

      {{S::Sent, T::Confirm}, S::Delivered},
      {{S::Sent, T::Defer}, S::Retrying},
      {{S::Sent, T::Park}, S::Parked},
      {{S::Sent, T::Suppress}, S::Suppressed},

      {{S::Parked, T::Requeue}, S::Queued},
      {{S::Parked, T::Discard}, S::Discarded},
      {{S::Parked, T::LateAccept}, S::Sent},
      {{S::Parked, T::Confirm}, S::Delivered},
      {{S::Parked, T::Expire}, S::Expired},
  };
  return kTable;
}

const std::map<MessageStep, MessageState>& message_table() {
  using S = MessageState;
  using T = MessageTrigger;
  static const std::map<MessageStep, MessageState> kTable{
      {{S::Pending, T::Expand}, S::Expanded},    {{S::Pending, T::StartChunks}, S::Expanding},
      {{S::Pending, T::Ignore}, S::Ignored},     {{S::Pending, T::Repeat}, S::Duplicate},
      {{S::Pending, T::Fail}, S::Failed},        {{S::Pending, T::Cancel}, S::Cancelled},
      {{S::Expanding, T::Expand}, S::Expanded},  {{S::Expanding, T::Fail}, S::Failed},
      {{S::Expanding, T::Cancel}, S::Cancelled}, {{S::Ignored, T::Replay}, S::Pending},
      {{S::Failed, T::Replay}, S::Pending},
  };
  return kTable;
}

TEST(Lifecycle, EveryDeliveryStateAndTriggerLeadsWhereTheTableSays) {
  for (const DeliveryState from : kDeliveryStates) {
    for (const DeliveryTrigger on : kDeliveryTriggers) {
      const auto listed = delivery_table().find({from, on});
      const auto wanted = listed == delivery_table().end() ? std::nullopt : std::optional{listed->second};
      EXPECT_EQ(next_state(from, on), wanted) << to_text(from) << " on " << to_text(on);
    }
  }
}

TEST(Lifecycle, EveryMessageStateAndTriggerLeadsWhereTheTableSays) {
  for (const MessageState from : kMessageStates) {
    for (const MessageTrigger on : kMessageTriggers) {
      const auto listed = message_table().find({from, on});
      const auto wanted = listed == message_table().end() ? std::nullopt : std::optional{listed->second};
      EXPECT_EQ(next_state(from, on), wanted) << to_text(from) << " on " << to_text(on);
    }
  }
}

TEST(Lifecycle, DiscardedIsReachedFromParkedOnly) {
  for (const DeliveryState from : kDeliveryStates) {
    for (const DeliveryTrigger on : kDeliveryTriggers) {
      if (next_state(from, on) != DeliveryState::Discarded) continue;
      EXPECT_EQ(from, DeliveryState::Parked);
      EXPECT_EQ(on, DeliveryTrigger::Discard);
    }
  }
}

TEST(Lifecycle, NothingBecomesSendingWithoutAClaim) {
  for (const DeliveryState from : kDeliveryStates) {
    for (const DeliveryTrigger on : kDeliveryTriggers) {
      if (next_state(from, on) != DeliveryState::Sending) continue;
      EXPECT_EQ(on, DeliveryTrigger::Claim) << to_text(from);
    }
  }
}

TEST(Lifecycle, SentNeverBecomesDeliveredWithoutAReceipt) {
  for (const DeliveryTrigger on : kDeliveryTriggers) {
    if (next_state(DeliveryState::Sent, on) != DeliveryState::Delivered) continue;
    EXPECT_EQ(on, DeliveryTrigger::Confirm);
  }
}

TEST(Lifecycle, ADeliveredOrAbandonedDeliveryNeverMovesAgain) {
  for (const DeliveryState end : {DeliveryState::Delivered, DeliveryState::Discarded, DeliveryState::Cancelled,
                                  DeliveryState::Suppressed, DeliveryState::Expired}) {
    EXPECT_TRUE(is_settled(end));
    for (const DeliveryTrigger on : kDeliveryTriggers) EXPECT_FALSE(next_state(end, on)) << to_text(end);
  }
}

TEST(Lifecycle, EveryStateOfADeliveryCanBeReachedFromQueued) {
  std::set<DeliveryState> reached{DeliveryState::Queued};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const DeliveryState from : std::set<DeliveryState>{reached}) {
      for (const DeliveryTrigger on : kDeliveryTriggers) {
        if (const auto to = next_state(from, on)) reached.insert(*to);
      }
    }
  }
  EXPECT_EQ(reached.size(), kDeliveryStates.size());
}

TEST(Lifecycle, EveryLiveStateCanStillExpire) {
  for (const DeliveryState live :
       {DeliveryState::Queued, DeliveryState::Retrying, DeliveryState::Sending, DeliveryState::Parked}) {
    EXPECT_EQ(next_state(live, DeliveryTrigger::Expire), DeliveryState::Expired) << to_text(live);
    EXPECT_FALSE(is_settled(live));
  }
}

TEST(Lifecycle, EveryStateIsReadBackFromItsOwnWord) {
  for (const DeliveryState state : kDeliveryStates) EXPECT_EQ(parse_delivery_state(to_text(state)), state);
  for (const MessageState state : kMessageStates) EXPECT_EQ(parse_message_state(to_text(state)), state);
  EXPECT_FALSE(parse_delivery_state("pending"));
  EXPECT_FALSE(parse_message_state("Pending"));
}

// --- the page

template <class State, class Trigger, class States, class Triggers>
std::string transitions(const States& states, const Triggers& triggers) {
  std::string out = "| from | on | to |\n|---|---|---|\n";
  for (const State from : states) {
    for (const Trigger on : triggers) {
      if (const auto to = next_state(from, on))
        out += fmt::format("| `{}` | {} | `{}` |\n", to_text(from), to_text(on), to_text(*to));
    }
  }
  return out;
}

template <class State, class Trigger, class States, class Triggers>
std::string diagram(const States& states, const Triggers& triggers) {
  std::string out = "```mermaid\nstateDiagram-v2\n";
  for (const State from : states) {
    std::map<State, std::string> labels;  // One arrow between two states, whatever leads along it.
    for (const Trigger on : triggers) {
      if (const auto to = next_state(from, on)) {
        std::string& label = labels[*to];
        label += (label.empty() ? "" : ", ") + std::string{to_text(on)};
      }
    }
    for (const auto& [to, label] : labels) out += fmt::format("  {} --> {}: {}\n", to_text(from), to_text(to), label);
  }
  return out + "```\n";
}

std::string lifecycle_page() {
  std::string page =
      "# Lifecycle\n\n"
      "Generated from `src/core/lifecycle.h` by `core_lifecycle_test`; a test fails when this page and the code "
      "differ.\n"
      "`POSTRIDER_WRITE_DOCS=1` in that test's environment writes it anew. What the states mean is in the\n"
      "[glossary](../glossary.md). A trigger that is not listed for a state means nothing there and changes "
      "nothing.\n\n"
      "## A message\n\n";
  page += diagram<MessageState, MessageTrigger>(kMessageStates, kMessageTriggers) + "\n";
  page += transitions<MessageState, MessageTrigger>(kMessageStates, kMessageTriggers);
  page += "\n## A delivery\n\n";
  page += diagram<DeliveryState, DeliveryTrigger>(kDeliveryStates, kDeliveryTriggers) + "\n";
  page += transitions<DeliveryState, DeliveryTrigger>(kDeliveryStates, kDeliveryTriggers);
  page += "\nSettled, which only a receipt moves on:";
  for (const DeliveryState state : kDeliveryStates) {
    if (is_settled(state)) page += fmt::format(" `{}`", to_text(state));
  }
  return page + ".\n";
}

TEST(LifecyclePage, IsWhatTheFunctionsGive) {
  const std::string path = POSTRIDER_SOURCE_DIR "/docs/reference/lifecycle.md";
  if (std::getenv("POSTRIDER_WRITE_DOCS") != nullptr) std::ofstream{path} << lifecycle_page();
  std::ostringstream found;
  found << std::ifstream{path}.rdbuf();
  EXPECT_EQ(found.str(), lifecycle_page()) << "run this test with POSTRIDER_WRITE_DOCS=1";
}

}  // namespace
}  // namespace postrider
