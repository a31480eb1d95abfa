// /api/v1/suppressions: addresses that must not be written to, and how we know.
#include <fmt/format.h>

#include "api/people.h"
#include "api/people_views.h"
#include "base/json.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kItemFields = "channel, address, cause and evidence";

std::optional<ApiError> read_cause(JsonView value, std::size_t index, Suppression& into) {
  const auto text = value.text();
  const auto cause = text ? parse_suppression_cause(*text) : std::nullopt;
  if (!cause) {
    return wrong_item({"cause", "must be unsubscribe, complaint, hard_bounce, operator or import"}, index);
  }
  into.cause = *cause;
  return std::nullopt;
}

enum class Evidence : bool { NotAsked, Needed };

std::variant<Suppression, ApiError> read_one(JsonView json, std::size_t index, TenantId tenant, Evidence evidence) {
  Suppression out{.tenant = tenant};
  ChannelAddress where;
  const auto other = [&](std::string_view name, JsonView value) -> std::optional<ApiError> {
    if (evidence == Evidence::NotAsked) return unknown_item_field(name, "channel and address", index);
    if (name == "cause") return read_cause(value, index, out);
    if (name != "evidence") return unknown_item_field(name, kItemFields, index);
    auto text = text_of(name, value);
    if (const auto* wrong = std::get_if<FieldProblem>(&text)) return wrong_item(*wrong, index);
    out.evidence = std::get<std::string>(std::move(text));
    return std::nullopt;
  };
  if (auto wrong = read_channel_address(json, index, where, other)) return std::move(*wrong);
  if (!where.channel) return wrong_item({"channel", "is needed"}, index);
  out.channel = *where.channel;
  out.address = std::move(where.address);
  if (evidence == Evidence::NotAsked) {
    const std::string_view wrong = address_problem(out.channel, out.address);
    if (!wrong.empty()) return wrong_item({"address", std::string{wrong}}, index);
    return out;
  }
  if (const auto wrong = problem_of(out)) return wrong_item(*wrong, index);
  return out;
}

struct Change {
  PeopleRequest asked = {};
  std::vector<Suppression> items = {};
};
std::variant<Change, ApiError> read_change(const ApiParts& parts, const ApiRequest& request, Evidence evidence) {
  auto read = read_people_request(parts, request, {"tenant", "why"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  Change change{.asked = std::get<PeopleRequest>(std::move(read))};
  const auto body = read_json(request.in);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
  const auto items = read_items(std::get<JsonDocument>(body).root(), "suppressions");
  if (const auto* wrong = std::get_if<ApiError>(&items)) return *wrong;
  for (const JsonView item : std::get<std::vector<JsonView>>(items)) {
    auto one = read_one(item, change.items.size(), change.asked.tenant->id, evidence);
    if (const auto* wrong = std::get_if<ApiError>(&one)) return *wrong;
    change.items.push_back(std::get<Suppression>(std::move(one)));
  }
  return change;
}

}  // namespace

Answered list_suppressions(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant", "channel", "address", "limit", "cursor"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  SuppressionFilter filter{
      .tenant = asked.tenant->id, .address = asked.query.text("address"), .after = asked.query.text("cursor")};
  if (const std::string* channel = asked.query.find("channel")) {
    filter.channel = parse_channel(*channel);
    if (!filter.channel) return wrong_parameter("channel", "is not a known channel");
  }
  const auto limit = read_limit(asked.query);
  if (const auto* wrong = std::get_if<ApiError>(&limit)) return *wrong;
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto page =
      read_page<Suppression>(asked.shown, asked.query.text("cursor"), std::get<std::size_t>(limit),
                             [&](const std::string& after, std::size_t count) -> Result<Chunk<Suppression>> {
                               filter.after = after;
                               filter.count_max = count;
                               POSTRIDER_TRY(some, (*session)->suppressions(filter));
                               return Chunk<Suppression>{std::move(some.items), std::move(some.next)};
                             });
  if (!page) return page_failed(worker, page.error());
  JsonWriter json;
  json.begin_object().key("suppressions").begin_array();
  for (const Suppression& s : page->items) write_suppression(json, s, asked.shown);
  json.end_array().member("next", page->next.empty() ? std::nullopt : std::optional{page->next}).end_object();
  HttpOut out;
  out.body = json.take();
  return out;
}

Answered add_suppressions(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_change(parts, request, Evidence::Needed);
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& [asked, items] = std::get<Change>(read);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto acted = (*session)->suppress(parts.clock.now(), asked.by, items);
  if (!acted) return store_failed(worker, acted.error());
  return counted("added", acted->changed);
}

Answered remove_suppressions(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_change(parts, request, Evidence::NotAsked);
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& [asked, items] = std::get<Change>(read);
  std::vector<SuppressionRef> refs;
  for (const Suppression& s : items) refs.push_back({s.tenant, s.channel, s.address});
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto removed = (*session)->unsuppress(parts.clock.now(), asked.by, refs);
  if (!removed) return store_failed(worker, removed.error());
  if (*removed == 0) {
    return ApiError{.code = ApiErrorCode::NotFound, .message = "None of these addresses is suppressed."};
  }
  return counted("removed", *removed);
}

}  // namespace postrider
