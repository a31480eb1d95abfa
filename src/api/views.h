// What the store found, as JSON for callers. Pure: everything shown comes in. A sealed secret has no way out here.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "api/mask.h"
#include "base/json.h"
#include "core/rules.h"
#include "ports/store.h"

namespace postrider {

inline void text_or_null(JsonWriter& json, std::string_view name, std::string_view text) {
  json.key(name);
  text.empty() ? json.null() : json.value(text);
}
inline void time_or_null(JsonWriter& json, std::string_view name, const std::optional<Instant>& at) {
  json.key(name);
  at ? json.value(format_instant(*at)) : json.null();
}

/// One word for a whole message. While a delivery is live: "retrying" when one waits to be tried again, else "pending".
/// Then "parked" if any is; then "delivered" if any is; then "sent" if any is; then how the others ended, in the order
/// expired, suppressed, cancelled, discarded; and without deliveries the message's own state.
std::string_view message_status(const MessageView& view);

/// An unclear call was followed by another one: the recipient may have got it twice.
bool possible_duplicate(const DeliveryView& view);

/// Not all recipients are known here: what may name the others (payload, detail) is not for those who see no addresses.
bool hides_others(const MessageView& view, Addresses shown);

/// The story: message, all deliveries counted, those that were looked at with their attempts. `next`: the cursor of the
/// deliveries behind them; empty: there are none.
std::string message_json(const MessageView& view, Addresses shown, std::string_view next);
/// As much as a producer may know of its own message: states and reasons, no address, no content.
std::string message_state_json(const MessageView& view, std::string_view next);

struct ListPage {
  std::span<const ListItem> items;
  std::string next;  // the next page's cursor; empty: there is none
};
std::string list_json(const ListPage& page, const Rules& rules, Addresses shown);

/// What a producer said of an effect's message.
struct ProducersWords {
  std::string key = {};  // empty where it gave none
  std::string payload = {};
};
/// Of the messages of these, in their order.
Result<std::vector<ProducersWords>> producers_words(StoreSession& store, std::span<const SandboxItem> items);
struct SandboxPage {
  std::span<const SandboxItem> items;
  std::span<const ProducersWords> words;  // one for each
  std::string next;
};
std::string sandbox_json(const SandboxPage& page, const Rules& rules, Addresses shown);

}  // namespace postrider
