// What is wrong with people as they come from outside, by HTTP or from a file. Pure.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/contact.h"
#include "core/quiet_hours.h"

namespace postrider {

inline constexpr std::size_t kAttributesBytesMax = 16U << 10U;
inline constexpr std::size_t kPreferencesMax = 100;

/// What the world outside the core knows. Null: everything is taken.
struct PeopleKnowledge {
  const Zones* zones = nullptr;
  bool (*is_locale)(std::string_view) = nullptr;
};

struct FieldProblem {
  std::string field = {};  // "addresses.email", "timezone", …
  std::string what = {};   // "is not a known time zone"
};

/// Why a text cannot be a key or a name; empty when it can.
std::string_view name_problem(std::string_view text);
std::optional<FieldProblem> problem_of(const Contact& contact, const PeopleKnowledge& known);
std::optional<FieldProblem> problem_of(const ListMember& member);
/// Evidence is asked for: nobody is silenced without a word.
std::optional<FieldProblem> problem_of(const Suppression& suppression);

/// As JSON writes it, without spaces; empty when it is no JSON object or too large.
std::optional<std::string> tidy_attributes(std::string_view json);

}  // namespace postrider
