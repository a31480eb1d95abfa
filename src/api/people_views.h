// People as JSON, the same for the HTTP API and the command line.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/mask.h"
#include "base/json.h"
#include "pipeline/contact_check.h"
#include "ports/store.h"

namespace postrider {

void write_contact(JsonWriter& json, const Contact& contact, Addresses shown);
/// "preferences":[…]
void write_preferences(JsonWriter& json, const Contact& contact);
void write_list(JsonWriter& json, const RecipientList& list);
void write_member(JsonWriter& json, const ListMember& member, Addresses shown);
void write_suppression(JsonWriter& json, const Suppression& suppression, Addresses shown);

/// Who says nothing about it means now, and is `source`.
struct Unsaid {
  Instant at = {};
  std::string_view source = {};
};
std::optional<FieldProblem> read_preferences(JsonView array, const Unsaid& unsaid, std::vector<Preference>& into);
/// The text of a member; null is empty. Not a text: the problem.
std::variant<std::string, FieldProblem> text_of(std::string_view field, JsonView value);

}  // namespace postrider
