#include "api/people_views.h"

#include <fmt/format.h>

#include "api/views.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kPreferenceFields = "channel, category, allowed, source and at";

using Wrong = std::optional<FieldProblem>;

/// Reads one thing that a person wishes. Who says nothing about the time means now.
class PreferenceReader {
 public:
  explicit PreferenceReader(const Unsaid& unsaid) {
    wish_.at = unsaid.at;
    wish_.source = unsaid.source;
  }

  std::variant<Preference, FieldProblem> read(JsonView json) {
    if (!json.is_object()) return FieldProblem{"preferences", fmt::format("must be objects of {}", kPreferenceFields)};
    for (const auto& [name, value] : json.members()) {
      if (auto wrong = take(name, value)) return std::move(*wrong);
    }
    if (!decided_) return FieldProblem{"preferences.allowed", "is needed: true or false"};
    return wish_;
  }

 private:
  Wrong take(std::string_view name, JsonView value) {
    if (name == "allowed") {
      const auto allowed = value.boolean();
      if (!allowed) return FieldProblem{"preferences.allowed", "must be true or false"};
      wish_.allowed = *allowed;
      decided_ = true;
      return std::nullopt;
    }
    auto read = text_of("preferences." + std::string{name}, value);
    if (auto* wrong = std::get_if<FieldProblem>(&read)) return std::move(*wrong);
    std::string& text = std::get<std::string>(read);
    if (name == "category") {
      wish_.category = std::move(text);
    } else if (name == "source") {
      if (!text.empty()) wish_.source = std::move(text);
    } else if (name == "channel") {
      wish_.channel = parse_channel(text);
      if (!wish_.channel && !text.empty()) return FieldProblem{"preferences.channel", "is not a known channel"};
    } else if (name == "at") {
      if (text.empty()) return std::nullopt;
      const auto at = parse_instant(text);
      if (!at) return FieldProblem{"preferences.at", "is not a time such as 2026-03-15T09:30:00Z"};
      wish_.at = *at;
    } else {
      return FieldProblem{"preferences." + excerpt(name, 60),
                          fmt::format("is not known here; there is {}", kPreferenceFields)};
    }
    return std::nullopt;
  }

  Preference wish_;
  bool decided_ = false;
};

}  // namespace

std::variant<std::string, FieldProblem> text_of(std::string_view field, JsonView value) {
  if (value.kind() == JsonKind::Null) return "";
  if (const auto text = value.text()) return std::string{*text};
  return FieldProblem{std::string{field}, "must be a text"};
}

std::optional<FieldProblem> read_preferences(JsonView value, const Unsaid& unsaid, std::vector<Preference>& into) {
  if (value.kind() == JsonKind::Null) return std::nullopt;
  if (!value.is_array()) return FieldProblem{"preferences", "must be an array"};
  for (const JsonView item : value.items()) {
    auto read = PreferenceReader{unsaid}.read(item);
    if (auto* wrong = std::get_if<FieldProblem>(&read)) return std::move(*wrong);
    into.push_back(std::get<Preference>(std::move(read)));
  }
  return std::nullopt;
}

void write_preferences(JsonWriter& json, const Contact& contact) {
  json.key("preferences").begin_array();
  for (const Preference& p : contact.preferences) {
    json.begin_object();
    text_or_null(json, "channel", p.channel ? to_text(*p.channel) : std::string_view{});
    text_or_null(json, "category", p.category);
    json.member("allowed", p.allowed);
    text_or_null(json, "source", p.source);
    json.member("at", format_instant(p.at));
    json.end_object();
  }
  json.end_array();
}

void write_contact(JsonWriter& json, const Contact& contact, Addresses shown) {
  Mask mask{shown};
  for (const ContactAddress& a : contact.addresses) mask.learn(a.address);
  json.begin_object();
  json.member("key", mask.text(contact.key));
  text_or_null(json, "name", mask.text(contact.name));
  text_or_null(json, "locale", contact.locale);
  text_or_null(json, "timezone", contact.timezone);
  text_or_null(json, "quiet_hours", contact.quiet_hours ? to_text(*contact.quiet_hours) : "");
  json.key("addresses").begin_object();
  for (const ContactAddress& a : contact.addresses) json.member(to_text(a.channel), mask.address(a.address));
  json.end_object();
  json.key("attributes").raw(mask.json(contact.attributes));
  write_preferences(json, contact);
  json.member("updated_at", format_instant(contact.updated_at));
  json.end_object();
}

void write_list(JsonWriter& json, const RecipientList& list) {
  json.begin_object();
  json.member("name", list.name);
  json.member("description", list.description);
  json.member("members", list.members);
  json.member("updated_at", format_instant(list.updated_at));
  json.end_object();
}

void write_member(JsonWriter& json, const ListMember& member, Addresses shown) {
  const Mask mask{shown};
  json.begin_object();
  json.member("id", std::to_string(member.id));
  const bool contact = !member.contact.empty();
  contact ? json.member("contact", mask.text(member.contact)) : json.key("contact").null();
  contact ? json.key("channel").null() : json.member("channel", to_text(member.channel));
  contact ? json.key("address").null() : json.member("address", mask.address(member.address));
  json.member("joined_at", format_instant(member.joined_at));
  json.end_object();
}

void write_suppression(JsonWriter& json, const Suppression& s, Addresses shown) {
  Mask mask{shown};
  mask.learn(s.address);
  json.begin_object();
  json.member("channel", to_text(s.channel));
  json.member("address", mask.address(s.address));
  json.member("cause", to_text(s.cause));
  json.member("evidence", mask.text(s.evidence));
  json.member("at", format_instant(s.at));
  json.end_object();
}

}  // namespace postrider
