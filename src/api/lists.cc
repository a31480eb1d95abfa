// /api/v1/lists: names that stand for many recipients, and who is on them.
#include <fmt/format.h>

#include <charconv>
#include <set>

#include "api/people.h"
#include "api/people_views.h"
#include "base/json.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kMemberFields = "contact, or channel and address";

std::variant<ListMember, ApiError> read_member(JsonView json, std::size_t index) {
  ListMember member;
  ChannelAddress where;
  auto wrong = read_channel_address(json, index, where, [&](std::string_view name, JsonView value) {
    if (name != "contact") return std::optional{unknown_item_field(name, kMemberFields, index)};
    auto text = text_of(name, value);
    if (const auto* problem = std::get_if<FieldProblem>(&text)) return std::optional{wrong_item(*problem, index)};
    member.contact = std::get<std::string>(std::move(text));
    return std::optional<ApiError>{};
  });
  if (wrong) return std::move(*wrong);
  const bool addressed = where.channel || !where.address.empty();
  if (member.contact.empty() != addressed || (addressed && !where.channel)) {
    return wrong_item({"A member", fmt::format("is {}", kMemberFields)}, index);
  }
  if (addressed) {
    member.channel = *where.channel;
    member.address = std::move(where.address);
  }
  if (const auto problem = problem_of(member)) return wrong_item(*problem, index);
  return member;
}

struct Change {
  PeopleRequest asked = {};
  std::vector<ListMember> members = {};
};
std::variant<Change, ApiError> read_change(const ApiParts& parts, const ApiRequest& request) {
  auto read = read_people_request(parts, request, {"tenant", "why"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  Change change{.asked = std::get<PeopleRequest>(std::move(read))};
  const auto body = read_json(request.in);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
  const auto items = read_items(std::get<JsonDocument>(body).root(), "members");
  if (const auto* wrong = std::get_if<ApiError>(&items)) return *wrong;
  for (const JsonView item : std::get<std::vector<JsonView>>(items)) {
    auto member = read_member(item, change.members.size());
    if (const auto* wrong = std::get_if<ApiError>(&member)) return *wrong;
    change.members.push_back(std::get<ListMember>(std::move(member)));
  }
  return change;
}

/// A slip of the pen is told to who made it, not found out when a message does not arrive.
std::optional<ApiError> unknown_contact(Worker& worker, StoreSession& session, TenantId tenant,
                                        const std::vector<ListMember>& members) {
  std::vector<ContactRef> refs;
  for (const ListMember& member : members) {
    if (!member.contact.empty()) refs.push_back({tenant, member.contact});
  }
  const auto found = session.find_contacts(refs);
  if (!found) return store_failed(worker, found.error());
  std::set<std::string> known;
  for (const Contact& contact : *found) known.insert(contact.key);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].contact.empty() || known.contains(members[i].contact)) continue;
    return ApiError{.code = ApiErrorCode::UnknownContact,
                    .message = fmt::format("Item {}: there is no contact \"{}\". Make it first. Nothing was changed.",
                                           i, excerpt(members[i].contact, 60)),
                    .index = i,
                    .field = "contact"};
  }
  return std::nullopt;
}

ApiError list_failed(Worker& worker, const Error& error, std::string_view name) {
  return error.code == ErrorCode::NotFound ? nothing_there("list", name) : store_failed(worker, error);
}

std::variant<MemberRange, ApiError> read_range(const ApiParts& parts, const Query& query) {
  MemberRange range{.as_of = parts.clock.now()};
  const auto limit = read_limit(query);
  if (const auto* wrong = std::get_if<ApiError>(&limit)) return *wrong;
  range.count_max = std::get<std::size_t>(limit) + 1;
  const auto cursor = read_cursor(query);
  if (const auto* wrong = std::get_if<ApiError>(&cursor)) return *wrong;
  range.after = std::get<std::optional<RowId>>(cursor).value_or(0);
  if (const std::string* text = query.find("as_of")) {
    const auto at = parse_instant(*text);
    if (!at) return wrong_parameter("as_of", "is not a time such as 2026-03-15T09:30:00Z");
    range.as_of = *at;
  }
  return range;
}

}  // namespace

Answered list_lists(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant", "limit", "cursor"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto limit = read_limit(asked.query);
  if (const auto* wrong = std::get_if<ApiError>(&limit)) return *wrong;
  const std::size_t count = std::get<std::size_t>(limit);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  auto page = (*session)->lists(asked.tenant->id, asked.query.text("cursor"), count + 1);
  if (!page) return store_failed(worker, page.error());
  std::optional<std::string> next;
  if (page->size() > count) {
    page->resize(count);
    next = page->back().name;
  }
  JsonWriter json;
  json.begin_object().key("lists").begin_array();
  for (const RecipientList& list : *page) write_list(json, list);
  json.end_array().member("next", next).end_object();
  HttpOut out;
  out.body = json.take();
  return out;
}

Answered get_list(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto list = (*session)->list_named(asked.tenant->id, asked.name);
  if (!list) return list_failed(worker, list.error(), asked.name);
  JsonWriter json;
  write_list(json, *list);
  HttpOut out;
  out.body = json.take();
  return out;
}

Answered put_list(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant", "why"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  RecipientList wanted{.tenant = asked.tenant->id, .name = asked.name};
  if (!request.in.body.empty()) {
    const auto body = read_json(request.in);
    if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
    const JsonView root = std::get<JsonDocument>(body).root();
    if (!root.is_object()) return wrong_item({"The body", "is not a JSON object"});
    for (const auto& [name, value] : root.members()) {
      if (name != "description") return unknown_item_field(name, "description");
      const auto text = value.text();
      if (!text || (!text->empty() && !name_problem(trim(*text)).empty())) {
        return wrong_item({"description", "must be a short text on one line"});
      }
      wanted.description = *text;
    }
  }
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const bool known = (*session)->list_named(asked.tenant->id, asked.name).has_value();
  const auto saved = (*session)->save_list(parts.clock.now(), asked.by, wanted);
  if (!saved) return store_failed(worker, saved.error());
  JsonWriter json;
  write_list(json, *saved);
  HttpOut out;
  out.status = known ? 200 : 201;
  out.body = json.take();
  return out;
}

Answered delete_list(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant", "why"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto removed = (*session)->remove_list(parts.clock.now(), asked.by, asked.tenant->id, asked.name);
  if (!removed) return list_failed(worker, removed.error(), asked.name);
  return counted("removed", 1);
}

Answered list_members(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant", "limit", "cursor", "as_of"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto range = read_range(parts, asked.query);
  if (const auto* wrong = std::get_if<ApiError>(&range)) return *wrong;
  const auto& wanted = std::get<MemberRange>(range);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  auto page = (*session)->members(asked.tenant->id, asked.name, wanted);
  if (!page) return list_failed(worker, page.error(), asked.name);
  std::optional<std::string> next;
  if (page->size() == wanted.count_max) {
    page->pop_back();
    next = format_cursor(page->back().id);
  }
  JsonWriter json;
  json.begin_object().key("members").begin_array();
  for (const ListMember& member : *page) write_member(json, member, asked.shown);
  json.end_array().member("next", next).end_object();
  HttpOut out;
  out.body = json.take();
  return out;
}

Answered add_members(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_change(parts, request);
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& [asked, members] = std::get<Change>(read);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  if (auto wrong = unknown_contact(worker, **session, asked.tenant->id, members)) return std::move(*wrong);
  const auto added = (*session)->add_members(parts.clock.now(), asked.by, asked.tenant->id, asked.name, members);
  if (!added) return list_failed(worker, added.error(), asked.name);
  return counted("added", *added);
}

Answered remove_members(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_change(parts, request);
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& [asked, members] = std::get<Change>(read);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto removed = (*session)->remove_members(parts.clock.now(), asked.by, asked.tenant->id, asked.name, members);
  if (!removed) return list_failed(worker, removed.error(), asked.name);
  return counted("removed", *removed);
}

}  // namespace postrider
