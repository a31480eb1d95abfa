// What the answers about contacts, lists and suppressions have in common. Private to src/api.
#pragma once
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "api/mask.h"
#include "api/query.h"
#include "api/resources.h"
#include "base/text.h"
#include "pipeline/contact_check.h"

namespace postrider {

inline constexpr std::size_t kPeoplePerRequestMax = 1000;

/// Whom a request is about, and who asks.
struct PeopleRequest {
  const Tenant* tenant = nullptr;
  Query query = {};
  OperatorAction by = {};
  std::string name = {};  // what {id} stands for, decoded
  Addresses shown = Addresses::Masked;
};
/// Reads the query (`tenant`, `why` and `known`), the tenant (ops must name one) and the {id}.
std::variant<PeopleRequest, ApiError> read_people_request(const ApiParts& parts, const ApiRequest& request,
                                                          std::initializer_list<std::string_view> known);

/// The body as JSON; an error when there is none.
std::variant<JsonDocument, ApiError> read_json(const HttpIn& in);
/// One object, an array, or {"<name>": [...]}: 1 to kPeoplePerRequestMax.
std::variant<std::vector<JsonView>, ApiError> read_items(JsonView root, std::string_view name);

ApiError wrong_item(const FieldProblem& problem, std::optional<std::size_t> index = {});
ApiError unknown_item_field(std::string_view field, std::string_view known, std::optional<std::size_t> index = {});
/// A page that could not be read: a wrong cursor, or the store.
ApiError page_failed(Worker& worker, const Error& error);
ApiError nothing_there(std::string_view what, std::string_view name);
/// {"<name>": count}
HttpOut counted(std::string_view name, std::size_t count);

/// Some of what there is, in the store's order, and where the rest begins (empty: there is no rest).
template <class Item>
struct Chunk {
  std::vector<Item> items = {};
  std::string next = {};
};
/// One page by `fetch(after, count_max)`. The store's own positions are keys and addresses: who may not see those gets
/// a count instead, and the pages before are walked again.
template <class Item, class Fetch>
Result<Chunk<Item>> read_page(Addresses shown, std::string_view cursor, std::size_t count_max, Fetch fetch) {
  const Error wrong{ErrorCode::Invalid, "cursor"};
  if (shown == Addresses::Plain) {
    const auto after = from_hex(cursor);
    if (!after) return wrong;
    auto page = fetch(*after, count_max);
    if (page) page->next = to_hex(page->next);
    return page;
  }
  const auto start = cursor.empty() ? std::optional<RowId>{0} : parse_cursor(cursor);
  if (!start) return wrong;
  Chunk<Item> out;
  RowId skip = *start;
  for (std::string after;;) {
    Result<Chunk<Item>> some = fetch(after, kPeoplePerRequestMax);
    if (!some) return some.error();
    for (Item& item : some->items) {
      if (skip > 0) {
        --skip;
      } else if (out.items.size() < count_max) {
        out.items.push_back(std::move(item));
      } else {
        out.next = format_cursor(*start + static_cast<RowId>(count_max));
        return out;
      }
    }
    if (some->next.empty()) return out;
    after = std::move(some->next);
  }
}

/// "channel" and "address" of an object that may also have `more`, each handed to `other`.
struct ChannelAddress {
  std::optional<Channel> channel = {};
  std::string address = {};
};
using OtherMember = std::function<std::optional<ApiError>(std::string_view name, JsonView value)>;
std::optional<ApiError> read_channel_address(JsonView object, std::size_t index, ChannelAddress& into,
                                             const OtherMember& other);

}  // namespace postrider
