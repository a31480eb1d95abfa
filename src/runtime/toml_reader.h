// A table of the configuration that remembers which keys were asked for, so that the rest can be named as unknown.
#pragma once
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// toml++ 3.3 asserts that a table's name begins with a letter before it reports that it does not ("[#x]").
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include "base/result.h"
#include "base/time.h"

namespace postrider {

/// The first problem found; everything after it is only read on.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}
  void add(const toml::node* node, std::string_view key, std::string_view reason) {
    if (first_) return;
    const auto line = node != nullptr ? node->source().begin.line : 0;
    first_ = line > 0 ? fmt::format("{}:{}: {}: {}", file_, line, key, reason)
                      : fmt::format("{}: {}: {}", file_, key, reason);
  }
  [[nodiscard]] const std::optional<std::string>& first() const { return first_; }

 private:
  std::string file_;
  std::optional<std::string> first_;
};

class TomlTable {
 public:
  TomlTable(const toml::table* table, std::string path, Problems& problems)
      : table_(table), path_(std::move(path)), problems_(problems) {}

  std::optional<std::string> text(std::string_view key) {
    const toml::node* node = take(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* value = node->as_string()) return value->get();
    problems_.add(node, name(key), "must be a text in quotes");
    return std::nullopt;
  }
  std::string text_or(std::string_view key, std::string_view otherwise) {
    return text(key).value_or(std::string{otherwise});
  }
  std::optional<std::int64_t> number(std::string_view key, std::int64_t least, std::int64_t most) {
    const toml::node* node = take(key);
    if (node == nullptr) return std::nullopt;
    const auto* value = node->as_integer();
    if (value == nullptr || value->get() < least || value->get() > most) {
      problems_.add(node, name(key), fmt::format("must be a whole number from {} to {}", least, most));
      return std::nullopt;
    }
    return value->get();
  }
  std::optional<double> real(std::string_view key) {
    const toml::node* node = take(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* value = node->as_floating_point()) return value->get();
    if (const auto* value = node->as_integer()) return static_cast<double>(value->get());
    problems_.add(node, name(key), "must be a number");
    return std::nullopt;
  }
  std::optional<bool> flag(std::string_view key) {
    const toml::node* node = take(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* value = node->as_boolean()) return value->get();
    problems_.add(node, name(key), "must be true or false");
    return std::nullopt;
  }
  std::optional<Duration> duration(std::string_view key) {
    const auto value = text(key);
    if (!value) return std::nullopt;
    const auto parsed = parse_duration(*value);
    if (!parsed) problem(key, fmt::format("\"{}\" is not a duration such as 250ms, 30s, 10m, 2h, 7d", *value));
    return parsed;
  }
  /// A word from a closed list, through its parser.
  template <class T>
  std::optional<T> word(std::string_view key, std::optional<T> (*parse)(std::string_view), std::string_view allowed) {
    const auto value = text(key);
    if (!value) return std::nullopt;
    const auto parsed = parse(*value);
    if (!parsed) problem(key, fmt::format("\"{}\" is not one of {}", *value, allowed));
    return parsed;
  }
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> out;
    const toml::node* node = take(key);
    if (node == nullptr) return out;
    if (const auto* single = node->as_string()) return {single->get()};
    const auto* array = node->as_array();
    if (array == nullptr) {
      problems_.add(node, name(key), "must be a list of texts");
      return out;
    }
    for (const toml::node& item : *array) {
      if (const auto* value = item.as_string()) {
        out.push_back(value->get());
      } else {
        problems_.add(&item, name(key), "must be a list of texts");
      }
    }
    return out;
  }
  /// The table under `key`; an empty one when it is absent.
  TomlTable table(std::string_view key) {
    const toml::node* node = take(key);
    if (node != nullptr && node->as_table() == nullptr) problems_.add(node, name(key), "must be a table");
    return {node != nullptr ? node->as_table() : nullptr, name(key), problems_};
  }
  std::vector<TomlTable> tables(std::string_view key) {
    std::vector<TomlTable> out;
    const toml::node* node = take(key);
    if (node == nullptr) return out;
    const auto* array = node->as_array();
    if (array == nullptr) {
      problems_.add(node, name(key), fmt::format("must be written as [[{}]]", key));
      return out;
    }
    for (std::size_t i = 0; i < array->size(); ++i) {
      const auto* entry = array->get(i)->as_table();
      if (entry == nullptr) problems_.add(array->get(i), name(key), fmt::format("must be written as [[{}]]", key));
      out.emplace_back(entry, fmt::format("{}[{}]", name(key), i), problems_);
    }
    return out;
  }
  /// Every key of this table, for tables whose keys are names.
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> out;
    if (table_ == nullptr) return out;
    for (const auto& [key, value] : *table_) out.emplace_back(key.str());
    return out;
  }
  const toml::node* take(std::string_view key) {
    asked_.emplace(key);
    return table_ == nullptr ? nullptr : table_->get(key);
  }
  void problem(std::string_view key, std::string_view reason) const {
    const toml::node* node = table_ != nullptr ? table_->get(key) : nullptr;
    problems_.add(node != nullptr ? node : static_cast<const toml::node*>(table_), name(key), reason);
  }
  /// Call last: whatever was never asked for is unknown here.
  void finish(std::string_view known_hint = "") {
    for (const std::string& key : keys()) {
      if (asked_.count(key) != 0) continue;
      std::string known{known_hint};
      for (const std::string& other : asked_) known += (known.empty() ? "" : ", ") + other;
      problem(key, "is not a known key here (known: " + known + ")");
    }
  }
  [[nodiscard]] bool present() const { return table_ != nullptr; }
  [[nodiscard]] std::string name(std::string_view key) const {
    return path_.empty() ? std::string{key} : path_ + "." + std::string{key};
  }

 private:
  const toml::table* table_;
  std::string path_;
  Problems& problems_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace postrider
