// What a name in a template means: the values around it, innermost first.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "core/program.h"

namespace postrider {

/// What a setting names (`cancel_when`, recipients, …): the path as it is written, else in either case of letters,
/// because databases fold the names of their columns.
std::optional<JsonView> find_field(JsonView data, std::string_view path);

class Scopes {
 public:
  explicit Scopes(JsonView data) {
    scopes_.reserve(8);
    scopes_.push_back(data);
  }
  void push(JsonView value) { scopes_.push_back(value); }
  void replace(JsonView value) { scopes_.back() = value; }
  void pop() { scopes_.pop_back(); }

  /// As Mustache defines it; where that finds nothing, the same in either case of letters, and then the value whose
  /// path, written without dots, is this name (`guestPhone` for `guest.phone`).
  std::optional<JsonView> find(const Program& program, const Name& name);
  /// Members looked at so far.
  [[nodiscard]] std::size_t looked_at() const { return looked_at_; }

 private:
  enum class Letters : bool { Exact, AnyCase };
  std::optional<JsonView> find_path(const Program& program, const Name& name, Letters letters);
  std::optional<JsonView> member(JsonView object, std::string_view key, Letters letters);
  std::optional<JsonView> flattened(JsonView object, std::string_view name);

  std::vector<JsonView> scopes_;
  JsonCursor near_;  // where the last name was found: a text mostly names values in their order
  std::size_t looked_at_ = 0;
};

}  // namespace postrider
