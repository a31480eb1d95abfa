#include "pipeline/contact_check.h"

#include <fmt/format.h>

#include <set>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::size_t kAttributesDepthMax = 16;

std::optional<FieldProblem> text_problem(std::string_view field, std::string_view text) {
  if (text.size() > kTextFieldBytesMax) {
    return FieldProblem{std::string{field}, fmt::format("is longer than {} bytes", kTextFieldBytesMax)};
  }
  if (!is_utf8(text)) return FieldProblem{std::string{field}, "is not UTF-8"};
  if (has_control(text)) return FieldProblem{std::string{field}, "contains a control character"};
  return std::nullopt;
}

std::optional<FieldProblem> addresses_problem(const Contact& contact) {
  std::set<Channel> seen;
  for (const ContactAddress& a : contact.addresses) {
    std::string field = fmt::format("addresses.{}", to_text(a.channel));
    if (!seen.insert(a.channel).second) return FieldProblem{std::move(field), "is given twice"};
    const std::string_view problem = address_problem(a.channel, a.address);
    if (!problem.empty()) return FieldProblem{std::move(field), std::string{problem}};
  }
  return std::nullopt;
}

std::optional<FieldProblem> preferences_problem(const Contact& contact) {
  if (contact.preferences.size() > kPreferencesMax) {
    return FieldProblem{"preferences", fmt::format("are more than {}", kPreferencesMax)};
  }
  std::set<std::pair<std::optional<Channel>, std::string>> seen;
  for (const Preference& p : contact.preferences) {
    if (auto wrong = text_problem("preferences.category", p.category)) return wrong;
    if (auto wrong = text_problem("preferences.source", p.source)) return wrong;
    if (!seen.emplace(p.channel, p.category).second) {
      return FieldProblem{"preferences",
                          fmt::format("name {} twice{}", p.channel ? to_text(*p.channel) : "every channel",
                                      p.category.empty() ? "" : " for " + p.category)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_problem(std::string_view text) {
  if (text.empty()) return "is empty";
  if (text.size() > kTextFieldBytesMax) return "is too long";
  if (!is_utf8(text)) return "is not UTF-8";
  if (has_control(text)) return "contains a control character";
  if (trim(text).size() != text.size()) return "begins or ends with a space";
  return "";
}

std::optional<FieldProblem> problem_of(const Contact& contact, const PeopleKnowledge& known) {
  if (const std::string_view wrong = name_problem(contact.key); !wrong.empty()) {
    return FieldProblem{"key", std::string{wrong}};
  }
  if (auto wrong = text_problem("name", contact.name)) return wrong;
  if (!contact.locale.empty() && known.is_locale != nullptr && !known.is_locale(contact.locale)) {
    return FieldProblem{"locale", "is not a language tag such as en-GB"};
  }
  if (auto wrong = text_problem("locale", contact.locale)) return wrong;
  if (!contact.timezone.empty() && known.zones != nullptr && !known.zones->knows(contact.timezone)) {
    return FieldProblem{"timezone", "is not a known time zone such as Europe/Berlin"};
  }
  if (auto wrong = text_problem("timezone", contact.timezone)) return wrong;
  if (auto wrong = addresses_problem(contact)) return wrong;
  if (auto wrong = preferences_problem(contact)) return wrong;
  if (!tidy_attributes(contact.attributes)) {
    return FieldProblem{"attributes", fmt::format("must be a JSON object of up to {} bytes and {} levels",
                                                  kAttributesBytesMax, kAttributesDepthMax)};
  }
  return std::nullopt;
}

std::optional<FieldProblem> problem_of(const ListMember& member) {
  if (!member.contact.empty()) {
    const std::string_view wrong = name_problem(member.contact);
    if (!wrong.empty()) return FieldProblem{"contact", std::string{wrong}};
    return std::nullopt;
  }
  const std::string_view wrong = address_problem(member.channel, member.address);
  if (!wrong.empty()) return FieldProblem{"address", std::string{wrong}};
  return std::nullopt;
}

std::optional<FieldProblem> problem_of(const Suppression& suppression) {
  const std::string_view wrong = address_problem(suppression.channel, suppression.address);
  if (!wrong.empty()) return FieldProblem{"address", std::string{wrong}};
  if (trim(suppression.evidence).empty()) {
    return FieldProblem{"evidence", "is needed: say what led to it, for example \"asked by phone on 3 May\""};
  }
  return text_problem("evidence", suppression.evidence);
}

std::optional<std::string> tidy_attributes(std::string_view json) {
  const auto document = JsonDocument::parse(json, {.bytes_max = kAttributesBytesMax, .depth_max = kAttributesDepthMax});
  if (!document || !document->root().is_object()) return std::nullopt;
  return document->root().json();
}

}  // namespace postrider
