// What happened to a message, or to everything for a recipient, in sentences. Pure; the API and the command line tell
// the same story.
#pragma once
#include <optional>
#include <span>
#include <string>
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

/// In order of what led to what: the message, then each delivery with its attempts and where it stands.
Story explain_message(const MessageView& view, Addresses shown);
/// One line per item, as the store listed them.
Story explain_items(std::span<const ListItem> items, Addresses shown);

/// {"story":[{"at":…,"text":…,"reason":…}]}
std::string story_json(const Story& story);
/// One line each, for people.
std::string story_text(const Story& story);

}  // namespace postrider
