// JSON that came from outside is read strictly (UTF-8, bounded depth, no number that overflows, no key twice); JSON
// that leaves is written by JsonWriter. simdjson stays inside json.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace postrider {

enum class JsonKind : std::uint8_t { Null, Bool, Number, Text, Array, Object };

class JsonCursor;

/// A place inside a parsed document. Valid as long as its document lives. Cheap to copy.
class JsonView {
 public:
  JsonView() = default;
  [[nodiscard]] JsonKind kind() const;
  [[nodiscard]] bool is_object() const { return kind() == JsonKind::Object; }
  [[nodiscard]] bool is_array() const { return kind() == JsonKind::Array; }
  [[nodiscard]] bool is_text() const { return kind() == JsonKind::Text; }
  /// The member with exactly this key; empty for anything that is no object.
  [[nodiscard]] std::optional<JsonView> find(std::string_view key) const;
  /// The same, beginning at `near`, which is then behind what was found: keys that are asked for in their order are
  /// each found at once. It may have been left anywhere in a document that still lives.
  [[nodiscard]] std::optional<JsonView> find(std::string_view key, JsonCursor& near) const;
  /// Walks "a.b.c" through objects.
  [[nodiscard]] std::optional<JsonView> find_path(std::string_view dotted) const;
  [[nodiscard]] std::optional<std::string_view> text() const;
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  [[nodiscard]] std::optional<double> number() const;  // any number, to the nearest double
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::vector<JsonView> items() const;                                 // empty unless an array
  [[nodiscard]] std::vector<std::pair<std::string_view, JsonView>> members() const;  // in document order
  /// How many items or members; 0 for a scalar. Counts nothing: the document knows it.
  [[nodiscard]] std::size_t size() const;
  /// A scalar as a person would write it (text as it is, numbers, true, false; null is empty); objects and arrays as
  /// JSON.
  [[nodiscard]] std::string spoken() const;
  /// The same behind what `out` already holds.
  void append_spoken(std::string& out) const;
  /// Compact JSON of this place.
  [[nodiscard]] std::string json() const;

 private:
  friend class JsonDocument;
  friend class JsonCursor;
  const void* document_ = nullptr;
  std::size_t index_ = 0;
};

/// Goes through an array's items or an object's members in their order, without making a list of them.
class JsonCursor {
 public:
  JsonCursor() = default;
  explicit JsonCursor(JsonView of);  // a scalar has nothing to go through
  [[nodiscard]] bool at_end() const { return index_ >= end_; }
  [[nodiscard]] std::string_view key() const;  // of a member
  [[nodiscard]] JsonView value() const;
  void advance();

 private:
  friend class JsonView;
  const void* document_ = nullptr;
  std::size_t index_ = 0;  // of the value
  std::size_t end_ = 0;
  std::size_t step_ = 0;  // members have a key before each value
};

struct JsonLimits {
  std::size_t bytes_max = 8U << 20U;
  std::size_t depth_max = 64;
};

/// Owns a parsed document.
class JsonDocument {
 public:
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();
  /// Invalid with a text that says what is wrong ("key \"a\" is given twice", "nested deeper than 64 levels", …).
  static Result<JsonDocument> parse(std::string_view text, JsonLimits limits = {});
  [[nodiscard]] JsonView root() const;

 private:
  struct Held;
  explicit JsonDocument(std::unique_ptr<Held> held);
  struct Spares;
  static Spares& spares();
  std::unique_ptr<Held> held_;
};

/// Writes compact JSON; commas come by themselves.
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view{text}); }
  JsonWriter& value(const std::string& text) { return value(std::string_view{text}); }
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
  JsonWriter& value(std::size_t number) { return value(static_cast<std::int64_t>(number)); }
  JsonWriter& value(bool flag);
  JsonWriter& value(double number);
  JsonWriter& null();
  JsonWriter& raw(std::string_view json);  // already valid JSON
  template <class T>
  JsonWriter& member(std::string_view name, const T& v) {
    key(name);
    return value(v);
  }
  template <class T>
  JsonWriter& member(std::string_view name, const std::optional<T>& v) {
    key(name);
    return v ? value(*v) : null();
  }
  [[nodiscard]] const std::string& text() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  void separate();
  std::string out_;
  bool first_ = true;
};
void append_json_string(std::string& out, std::string_view text);

}  // namespace postrider
