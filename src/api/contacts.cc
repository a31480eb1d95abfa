// /api/v1/contacts: people, their addresses, language, clock and wishes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "api/people.h"
#include "api/people_views.h"
#include "base/json.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kContactFields =
    "key, name, locale, timezone, quiet_hours, addresses, attributes and preferences";

HttpOut contact_answer(const Contact& contact, Addresses shown) {
  JsonWriter json;
  write_contact(json, contact, shown);
  HttpOut out;
  out.body = json.take();
  return out;
}

using Wrong = std::optional<FieldProblem>;

Wrong read_addresses(JsonView value, Contact& contact) {
  if (value.kind() == JsonKind::Null) return std::nullopt;
  if (!value.is_object()) return FieldProblem{"addresses", "must be an object: a channel and its address"};
  for (const auto& [name, address] : value.members()) {
    const std::string field = "addresses." + excerpt(name, 60);
    const auto channel = parse_channel(name);
    if (!channel) return FieldProblem{field, "is not a known channel"};
    const auto text = address.text();
    if (!text) return FieldProblem{field, "must be a text"};
    contact.addresses.push_back({*channel, std::string{*text}});
  }
  return std::nullopt;
}

class ContactReader {
 public:
  ContactReader(const ApiParts& parts, TenantId tenant, std::optional<std::size_t> index)
      : parts_(parts), index_(index) {
    contact_.tenant = tenant;
  }

  /// `key` empty: the object must name it.
  std::variant<Contact, ApiError> read(JsonView json, std::string_view key) {
    if (!json.is_object()) return wrong_item({"The body", "is not a JSON object"}, index_);
    contact_.key = key;
    for (const auto& [name, value] : json.members()) {
      bool known = true;
      const Wrong wrong = take(name, value, known);
      if (!known) return unknown_item_field(name, kContactFields, index_);
      if (wrong) return wrong_item(*wrong, index_);
    }
    if (!key.empty() && contact_.key != key) return wrong_item({"key", "is not the one in the path"}, index_);
    const PeopleKnowledge knowledge{parts_.rules.zones, parts_.is_locale};
    if (const Wrong wrong = problem_of(contact_, knowledge)) return wrong_item(*wrong, index_);
    return std::move(contact_);
  }

 private:
  Wrong take(std::string_view name, JsonView value, bool& known) {
    if (name == "addresses") return read_addresses(value, contact_);
    if (name == "preferences") return read_preferences(value, {parts_.clock.now(), "api"}, contact_.preferences);
    if (name == "attributes") {
      if (value.kind() != JsonKind::Null) contact_.attributes = value.json();
      return std::nullopt;
    }
    static constexpr std::array kTexts{std::pair{std::string_view{"key"}, &Contact::key},
                                       std::pair{std::string_view{"name"}, &Contact::name},
                                       std::pair{std::string_view{"locale"}, &Contact::locale},
                                       std::pair{std::string_view{"timezone"}, &Contact::timezone}};
    const auto field = std::find_if(kTexts.begin(), kTexts.end(), [&](const auto& f) { return f.first == name; });
    known = field != kTexts.end() || name == "quiet_hours";
    if (!known) return std::nullopt;
    auto read = text_of(name, value);
    if (auto* wrong = std::get_if<FieldProblem>(&read)) return std::move(*wrong);
    if (field != kTexts.end()) {
      contact_.*field->second = std::get<std::string>(std::move(read));
      return std::nullopt;
    }
    const std::string& text = std::get<std::string>(read);
    contact_.quiet_hours = parse_quiet_hours(text);
    if (!text.empty() && !contact_.quiet_hours) return FieldProblem{"quiet_hours", "must be like \"22:00-08:00\""};
    return std::nullopt;
  }

  const ApiParts& parts_;
  std::optional<std::size_t> index_;
  Contact contact_;
};

/// A wish that stays the same keeps its time and its source.
void keep_old_wishes(const Contact& before, Contact& after) {
  for (Preference& p : after.preferences) {
    const auto same = std::find_if(before.preferences.begin(), before.preferences.end(), [&](const Preference& old) {
      return old.channel == p.channel && old.category == p.category && old.allowed == p.allowed;
    });
    if (same == before.preferences.end() || p.source != "api") continue;
    p.at = same->at;
    p.source = same->source;
  }
}

struct Found {
  StoreSession* session = nullptr;
  std::optional<Contact> contact = {};
};
std::variant<Found, ApiError> find_contact(Worker& worker, const PeopleRequest& asked) {
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const ContactRef ref{asked.tenant->id, asked.name};
  auto found = (*session)->find_contacts({&ref, 1});
  if (!found) return store_failed(worker, found.error());
  Found out{.session = *session};
  if (!found->empty()) out.contact = std::move(found->front());
  return out;
}

Answered save_one(const ApiParts& parts, Worker& worker, const PeopleRequest& asked, const Found& found,
                  Contact wanted) {
  if (found.contact) keep_old_wishes(*found.contact, wanted);
  const Instant now = parts.clock.now();
  const auto saved = found.session->save_contacts(now, asked.by, {&wanted, 1}, asked.tenant->exempt_categories);
  if (!saved) return store_failed(worker, saved.error());
  wanted.updated_at = now;
  HttpOut out = contact_answer(wanted, asked.shown);
  out.status = *saved == 1 ? 201 : 200;
  return out;
}

}  // namespace

Answered list_contacts(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant", "address", "limit", "cursor"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto limit = read_limit(asked.query);
  if (const auto* wrong = std::get_if<ApiError>(&limit)) return *wrong;
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto page =
      read_page<Contact>(asked.shown, asked.query.text("cursor"), std::get<std::size_t>(limit),
                         [&](const std::string& after, std::size_t count) -> Result<Chunk<Contact>> {
                           POSTRIDER_TRY(some, (*session)->contacts({.tenant = asked.tenant->id,
                                                                     .address = asked.query.text("address"),
                                                                     .after = after,
                                                                     .count_max = count + 1}));
                           if (some.size() <= count) return Chunk<Contact>{std::move(some)};
                           some.resize(count);
                           std::string next = some.back().key;
                           return Chunk<Contact>{std::move(some), std::move(next)};
                         });
  if (!page) return page_failed(worker, page.error());
  JsonWriter json;
  json.begin_object().key("contacts").begin_array();
  for (const Contact& contact : page->items) write_contact(json, contact, asked.shown);
  json.end_array();
  json.member("next", page->next.empty() ? std::nullopt : std::optional{page->next}).end_object();
  HttpOut out;
  out.body = json.take();
  return out;
}

Answered get_contact(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto found = find_contact(worker, asked);
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  const auto& contact = std::get<Found>(found).contact;
  if (!contact) return nothing_there("contact", asked.name);
  return contact_answer(*contact, asked.shown);
}

Answered put_contact(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant", "why"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto body = read_json(request.in);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
  auto contact =
      ContactReader{parts, asked.tenant->id, std::nullopt}.read(std::get<JsonDocument>(body).root(), asked.name);
  if (const auto* wrong = std::get_if<ApiError>(&contact)) return *wrong;
  const auto found = find_contact(worker, asked);
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  return save_one(parts, worker, asked, std::get<Found>(found), std::get<Contact>(std::move(contact)));
}

Answered put_contacts(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant", "why"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto body = read_json(request.in);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
  const auto items = read_items(std::get<JsonDocument>(body).root(), "contacts");
  if (const auto* wrong = std::get_if<ApiError>(&items)) return *wrong;
  std::vector<Contact> contacts;
  std::set<std::string> seen;
  for (const JsonView item : std::get<std::vector<JsonView>>(items)) {
    const std::size_t index = contacts.size();
    auto contact = ContactReader{parts, asked.tenant->id, index}.read(item, {});
    if (const auto* wrong = std::get_if<ApiError>(&contact)) return *wrong;
    contacts.push_back(std::get<Contact>(std::move(contact)));
    if (!seen.insert(contacts.back().key).second) return wrong_item({"key", "stands in this request twice"}, index);
  }
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto saved = (*session)->save_contacts(parts.clock.now(), asked.by, contacts, asked.tenant->exempt_categories);
  if (!saved) return store_failed(worker, saved.error());
  HttpOut out;
  out.body = JsonWriter{}.begin_object().member("saved", contacts.size()).member("new", *saved).end_object().take();
  return out;
}

Answered delete_contact(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant", "why"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const ContactRef ref{asked.tenant->id, asked.name};
  const auto removed = (*session)->remove_contacts(parts.clock.now(), asked.by, {&ref, 1});
  if (!removed) return store_failed(worker, removed.error());
  if (*removed == 0) return nothing_there("contact", asked.name);
  return counted("removed", *removed);
}

Answered get_preferences(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto found = find_contact(worker, asked);
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  const auto& contact = std::get<Found>(found).contact;
  if (!contact) return nothing_there("contact", asked.name);
  JsonWriter json;
  json.begin_object();
  write_preferences(json, *contact);
  HttpOut out;
  out.body = json.end_object().take();
  return out;
}

Answered put_preferences(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_people_request(parts, request, {"tenant", "why"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const auto& asked = std::get<PeopleRequest>(read);
  const auto body = read_json(request.in);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
  const JsonView root = std::get<JsonDocument>(body).root();
  const auto wishes = root.find("preferences");
  for (const auto& [name, value] : root.members()) {
    if (name != "preferences") return unknown_item_field(name, "preferences");
  }
  if (!wishes) return wrong_item({"preferences", "is needed: an array, empty for no wishes"});
  const auto found = find_contact(worker, asked);
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  const auto& old = std::get<Found>(found).contact;
  if (!old) return nothing_there("contact", asked.name);
  Contact wanted = *old;
  wanted.preferences.clear();
  if (const Wrong wrong = read_preferences(*wishes, {parts.clock.now(), "api"}, wanted.preferences))
    return wrong_item(*wrong);
  if (const Wrong wrong = problem_of(wanted, {})) return wrong_item(*wrong);
  return save_one(parts, worker, asked, std::get<Found>(found), std::move(wanted));
}

}  // namespace postrider
