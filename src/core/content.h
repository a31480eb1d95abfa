// From a template and its data to what a person reads.
#pragma once
#include <string>
#include <string_view>
#include <variant>

#include "core/rules.h"

namespace postrider {

struct Content {
  std::string subject = {};
  std::string body = {};
  std::string html = {};
  std::string warnings = {};  // what rendering noticed ("no value for guest.name")
};
/// Why there is none.
struct Unwritable {
  Reason reason = Reason::TemplateBroken;
  std::string detail = {};
};

struct Author {  // for whom, and by whose settings
  const Rules& rules;
  const TemplateSet& templates;
  const Tenant& tenant;
  const Route* route = nullptr;
  Channel channel = Channel::Email;
  std::string_view locale = {};
  std::string_view timezone = {};  // empty: the tenant's
};

/// The text of `content` in this locale, filled with `data`.
std::variant<Content, Unwritable> write_content(const Template& content, JsonView data, const Author& author);

/// A message's own content, which no template wrote, kept to what can be stored and sent: no NUL, a subject of one
/// line, a body of bounded size.
std::optional<Unwritable> make_sendable(Content& content);

/// The locale for a person (null: nobody known) of what `wished` (a language tag, or an Accept-Language header) asks.
std::string locale_for(const Tenant& tenant, const Contact* contact, std::string_view wished);

/// What templates see of a contact under `contact`: key, name, locale, and its attributes.
std::string contact_data(const Contact& contact);

}  // namespace postrider
