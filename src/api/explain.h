// What happened to a message, or to everything for a recipient, in sentences. Pure; the API and the command line tell
// the same story.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/mask.h"
#include "ports/store.h"

namespace postrider {

struct StoryLine {
  std::optional<Instant> at = {};  // empty: it holds now, since a time that is not kept
  std::string text = {};
  std::optional<Reason> reason = {};
};
using Story = std::vector<StoryLine>;

/// In order of what led to what: the message, then each delivery that was looked at with its attempts and where it
/// stands, then how many others there are.
Story explain_message(const MessageView& view, Addresses shown);
/// One line per item, as the store listed them. `recipient` is hidden in every text, where addresses are.
Story explain_items(std::span<const ListItem> items, Addresses shown, std::string_view recipient = {});

/// {"story":[{"at":…,"text":…,"reason":…}],"next":…}
std::string story_json(const Story& story, std::string_view next = {});
/// One line each, for people.
std::string story_text(const Story& story);

}  // namespace postrider
