#include "api/people.h"

#include <fmt/format.h>

#include "api/message_reader.h"
#include "api/people_views.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider {

std::variant<PeopleRequest, ApiError> read_people_request(const ApiParts& parts, const ApiRequest& request,
                                                          std::initializer_list<std::string_view> known) {
  auto query = Query::read(request.in.query, known);
  if (const auto* wrong = std::get_if<ApiError>(&query)) return *wrong;
  PeopleRequest out;
  out.query = std::get<Query>(std::move(query));
  const auto about = tenant_of(parts, request.caller, out.query.find("tenant"));
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  const auto& id = std::get<std::optional<TenantId>>(about);
  if (!id) return wrong_parameter("tenant", "is needed: this key is for all tenants, and this is one tenant's");
  out.tenant = parts.rules.tenant(*id);
  if (out.tenant == nullptr) {
    return ApiError{.code = ApiErrorCode::UnknownTenant, .message = "The tenant of this key is not configured here."};
  }
  const std::string why = out.query.text("why");
  if (why.size() > kTextFieldBytesMax) return wrong_parameter("why", "is too long");
  out.by = {.actor = request.caller.name, .why = why, .tenant = *id};
  out.shown = request.caller.sees_addresses() ? Addresses::Plain : Addresses::Masked;
  auto name = percent_decode(request.id, Plus::Stays);
  if (!name || (!request.id.empty() && !name_problem(*name).empty())) {
    return ApiError{.code = ApiErrorCode::NotFound, .message = "There is nothing under this name."};
  }
  out.name = std::move(*name);
  return out;
}

std::variant<JsonDocument, ApiError> read_json(const HttpIn& in) {
  if (media_type(in) != "application/json" || !says_utf8(in)) {
    return ApiError{.code = ApiErrorCode::UnsupportedMediaType,
                    .message = "Send JSON in UTF-8 with the header \"Content-Type: application/json\"."};
  }
  return read_body(in.body);
}

std::variant<std::vector<JsonView>, ApiError> read_items(JsonView root, std::string_view name) {
  if (root.is_object() && root.size() == 1) {
    if (const auto inside = root.find(name); inside && inside->is_array()) root = *inside;
  }
  std::vector<JsonView> items = root.items();
  if (!root.is_array()) items.push_back(root);
  if (items.empty()) return wrong_item({std::string{name}, "are none; send at least one"});
  if (items.size() > kPeoplePerRequestMax) {
    return ApiError{.code = ApiErrorCode::TooManyItems,
                    .message = fmt::format("{} in one request; {} are allowed. Nothing was changed.", items.size(),
                                           kPeoplePerRequestMax)};
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_object()) return wrong_item({std::string{name}, "must be JSON objects"}, i);
  }
  return items;
}

ApiError wrong_item(const FieldProblem& problem, std::optional<std::size_t> index) {
  return {.code = ApiErrorCode::InvalidField,
          .message = fmt::format("{}{} {}. Nothing was changed.", index ? fmt::format("Item {}: ", *index) : "",
                                 problem.field, problem.what),
          .index = index,
          .field = problem.field};
}

ApiError unknown_item_field(std::string_view field, std::string_view known, std::optional<std::size_t> index) {
  const std::string name = excerpt(field, 60);
  return {.code = ApiErrorCode::UnknownField,
          .message = fmt::format("{}\"{}\" is not known here; there is {}. Nothing was changed.",
                                 index ? fmt::format("Item {}: ", *index) : "", name, known),
          .index = index,
          .field = name};
}

ApiError page_failed(Worker& worker, const Error& error) {
  if (error.code == ErrorCode::Invalid) return wrong_parameter("cursor", "is not one that this API gave out");
  return store_failed(worker, error);
}

ApiError nothing_there(std::string_view what, std::string_view name) {
  return {.code = ApiErrorCode::NotFound, .message = fmt::format("There is no {} \"{}\".", what, excerpt(name, 60))};
}

HttpOut counted(std::string_view name, std::size_t count) {
  HttpOut out;
  out.body = JsonWriter{}.begin_object().member(name, count).end_object().take();
  return out;
}

std::optional<ApiError> read_channel_address(JsonView object, std::size_t index, ChannelAddress& into,
                                             const OtherMember& other) {
  for (const auto& [name, value] : object.members()) {
    if (name != "channel" && name != "address") {
      if (auto wrong = other(name, value)) return wrong;
      continue;
    }
    auto text = text_of(name, value);
    if (const auto* wrong = std::get_if<FieldProblem>(&text)) return wrong_item(*wrong, index);
    if (name == "address") {
      into.address = std::get<std::string>(std::move(text));
      continue;
    }
    into.channel = parse_channel(std::get<std::string>(text));
    if (!into.channel) return wrong_item({"channel", "is not a known channel"}, index);
  }
  return std::nullopt;
}

}  // namespace postrider
