#include "base/json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "base/secret_text.h"
#include "base/wiped_json.h"

namespace postrider {
namespace {

thread_local int wiped_readers = 0;

constexpr std::size_t kSmallBytes = 4096;        // what a parser has room for at least
constexpr std::size_t kSpareBytes = 64U << 10U;  // a larger one is not kept

using Element = simdjson::dom::element;
struct Place {
  const void* document;
  std::size_t index;
};
static_assert(sizeof(Element) == sizeof(Place) && std::is_trivially_copyable_v<Element>);

Element element_at(const void* document, std::size_t index) { return std::bit_cast<Element>(Place{document, index}); }
Place place_of(Element element) { return std::bit_cast<Place>(element); }

constexpr std::size_t kFewKeys = 32;  // so many are compared where they stand

std::string first_repeated_key(Element element);

// Empty, as all answers here: nothing is wrong.
std::string first_repeated_key_in(simdjson::dom::object object) {
  std::array<std::string_view, kFewKeys> few;
  std::vector<std::string_view> more;
  std::size_t count = 0;
  for (const auto& [key, value] : object) {
    count < kFewKeys ? static_cast<void>(few[count] = key) : more.push_back(key);
    ++count;
    if (!value.is_object() && !value.is_array()) continue;
    if (std::string inner = first_repeated_key(value); !inner.empty()) return inner;
  }
  std::span<std::string_view> keys{few.data(), std::min(count, kFewKeys)};
  if (!more.empty()) {
    more.insert(more.end(), few.begin(), few.end());
    keys = more;
  }
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  return twice != keys.end() ? fmt::format("key \"{}\" is given twice", *twice) : "";
}

std::string first_repeated_key(Element element) {
  if (element.is_object()) return first_repeated_key_in(element.get_object().value_unsafe());
  if (!element.is_array()) return "";
  for (const Element item : simdjson::dom::array(element)) {
    if (std::string inner = first_repeated_key(item); !inner.empty()) return inner;
  }
  return "";
}

}  // namespace

struct JsonDocument::Held {
  simdjson::dom::parser parser;
  Element root;
  std::size_t secret_bytes = 0;  // of the text, when nothing may be left of it

  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (secret_bytes == 0 || !parser.doc.string_buf || !parser.doc.tape) return;
    // Texts are in one buffer (each with its length and its end, so in at most 5/3 of the text), numbers in the other.
    wipe(parser.doc.string_buf.get(), 5 * secret_bytes / 3);
    wipe(parser.doc.tape.get(), secret_bytes * sizeof(std::uint64_t));
  }
  auto parse(std::string_view text) {
    if (wiped_readers == 0) return parser.parse(text.data(), text.size()).get(root);
    // From a copy of ours, because the parser's own would stay.
    secret_bytes = text.size();
    SecretText copy{text.size() + simdjson::SIMDJSON_PADDING};
    std::copy(text.begin(), text.end(), copy.data());
    return parser.parse(copy.data(), text.size(), false).get(root);
  }
};

WipedJson::WipedJson() { ++wiped_readers; }
WipedJson::~WipedJson() { --wiped_readers; }

JsonDocument::JsonDocument(std::unique_ptr<Held> held) : held_(std::move(held)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;

// A parser's buffers cost more than reading a small document with them: each thread keeps some for the next ones. Two
// documents are often open at once, and of another depth each.
struct JsonDocument::Spares {
  std::array<std::unique_ptr<Held>, 2> kept;
  std::size_t next = 0;  // the place that is given up when all are taken

  std::unique_ptr<Held> take(std::size_t capacity, std::size_t depth) {
    for (std::unique_ptr<Held>& each : kept) {
      if (each && each->parser.capacity() >= capacity && each->parser.max_depth() == depth) return std::move(each);
    }
    return nullptr;
  }
  void put(std::unique_ptr<Held> held) {
    const auto free = std::find(kept.begin(), kept.end(), nullptr);
    if (free != kept.end()) {
      *free = std::move(held);
      return;
    }
    kept[next] = std::move(held);
    next = (next + 1) % kept.size();
  }
};
JsonDocument::Spares& JsonDocument::spares() {
  thread_local Spares mine;
  return mine;
}
JsonDocument::~JsonDocument() {
  if (held_ && held_->secret_bytes == 0 && held_->parser.capacity() <= kSpareBytes) spares().put(std::move(held_));
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, JsonLimits limits) {
  if (text.size() > limits.bytes_max) {
    return Error{ErrorCode::Invalid, fmt::format("larger than {} bytes", limits.bytes_max)};
  }
  std::unique_ptr<Held> held = wiped_readers == 0 ? spares().take(text.size() + 1, limits.depth_max) : nullptr;
  if (!held) {
    held = std::make_unique<Held>();
    if (held->parser.allocate(std::max(text.size() + 1, kSmallBytes), limits.depth_max) != simdjson::SUCCESS) {
      return Error{ErrorCode::Exhausted, "no memory to read the JSON"};
    }
  }
  const auto error = held->parse(text);
  if (error == simdjson::DEPTH_ERROR) {
    return Error{ErrorCode::Invalid, fmt::format("nested deeper than {} levels", limits.depth_max)};
  }
  if (error == simdjson::UTF8_ERROR) return Error{ErrorCode::Invalid, "not UTF-8"};
  if (error == simdjson::NUMBER_ERROR) return Error{ErrorCode::Invalid, "a number is malformed or out of range"};
  if (error == simdjson::EMPTY) return Error{ErrorCode::Invalid, "empty"};
  if (error != simdjson::SUCCESS) return Error{ErrorCode::Invalid, simdjson::error_message(error)};
  if (std::string repeated = first_repeated_key(held->root); !repeated.empty()) {
    return Error{ErrorCode::Invalid, std::move(repeated)};
  }
  return JsonDocument{std::move(held)};
}

JsonView JsonDocument::root() const {
  JsonView view;
  const Place place = place_of(held_->root);
  view.document_ = place.document;
  view.index_ = place.index;
  return view;
}

namespace {
JsonKind kind_of(Element element) {
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY: return JsonKind::Array;
    case simdjson::dom::element_type::OBJECT: return JsonKind::Object;
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64:
    case simdjson::dom::element_type::DOUBLE: return JsonKind::Number;
    case simdjson::dom::element_type::STRING: return JsonKind::Text;
    case simdjson::dom::element_type::BOOL: return JsonKind::Bool;
    case simdjson::dom::element_type::NULL_VALUE: return JsonKind::Null;
  }
  POSTRIDER_DIE("a JSON type outside its enum");
}
}  // namespace

JsonKind JsonView::kind() const {
  return document_ == nullptr ? JsonKind::Null : kind_of(element_at(document_, index_));
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
  if (kind() != JsonKind::Object) return std::nullopt;
  Element found;
  if (element_at(document_, index_).at_key(key).get(found) != simdjson::SUCCESS) return std::nullopt;
  JsonView view;
  const Place place = place_of(found);
  view.document_ = place.document;
  view.index_ = place.index;
  return view;
}

std::optional<JsonView> JsonView::find(std::string_view key, JsonCursor& near) const {
  if (kind() != JsonKind::Object) return std::nullopt;
  const JsonCursor first{*this};
  // Every object ends at another place.
  if (near.document_ != document_ || near.end_ != first.end_) near = first;
  const std::size_t began = near.index_;
  const auto walk_to = [&](std::size_t end) -> std::optional<JsonView> {
    while (near.index_ < end) {
      const JsonView value = near.value();
      const bool found = near.key() == key;
      near.advance();
      if (found) return value;
    }
    return std::nullopt;
  };
  if (auto behind = walk_to(first.end_)) return behind;
  near = first;
  return walk_to(began);
}

std::optional<JsonView> JsonView::find_path(std::string_view dotted) const {
  if (auto whole = find(dotted)) return whole;  // A key that itself contains dots wins.
  std::optional<JsonView> at = *this;
  while (at && !dotted.empty()) {
    const std::size_t dot = dotted.find('.');
    at = at->find(dotted.substr(0, dot));
    dotted = dot == std::string_view::npos ? std::string_view{} : dotted.substr(dot + 1);
  }
  return at;
}

std::optional<std::string_view> JsonView::text() const {
  if (kind() != JsonKind::Text) return std::nullopt;
  return std::string_view{element_at(document_, index_)};
}

std::optional<std::int64_t> JsonView::integer() const {
  std::int64_t number = 0;
  if (kind() != JsonKind::Number || element_at(document_, index_).get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

std::optional<double> JsonView::number() const {
  double number = 0;
  if (kind() != JsonKind::Number || element_at(document_, index_).get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

std::optional<bool> JsonView::boolean() const {
  if (kind() != JsonKind::Bool) return std::nullopt;
  return bool{element_at(document_, index_)};
}

std::vector<JsonView> JsonView::items() const {
  std::vector<JsonView> out;
  if (kind() != JsonKind::Array) return out;
  for (const Element item : simdjson::dom::array(element_at(document_, index_))) {
    JsonView view;
    const Place place = place_of(item);
    view.document_ = place.document;
    view.index_ = place.index;
    out.push_back(view);
  }
  return out;
}

std::vector<std::pair<std::string_view, JsonView>> JsonView::members() const {
  std::vector<std::pair<std::string_view, JsonView>> out;
  if (kind() != JsonKind::Object) return out;
  for (const auto& [key, value] : simdjson::dom::object(element_at(document_, index_))) {
    JsonView view;
    const Place place = place_of(value);
    view.document_ = place.document;
    view.index_ = place.index;
    out.emplace_back(key, view);
  }
  return out;
}

namespace {
simdjson::internal::tape_ref tape_at(const void* document, std::size_t index) {
  return {static_cast<const simdjson::dom::document*>(document), index};
}
}  // namespace

std::size_t JsonView::size() const {
  const JsonKind what = kind();
  if (what != JsonKind::Array && what != JsonKind::Object) return 0;
  return tape_at(document_, index_).scope_count();
}

JsonCursor::JsonCursor(JsonView of) {
  const JsonKind what = of.kind();
  if (what != JsonKind::Array && what != JsonKind::Object) return;
  document_ = of.document_;
  step_ = what == JsonKind::Object ? 1 : 0;
  index_ = of.index_ + 1 + step_;
  end_ = tape_at(document_, of.index_).after_element() - 1;
}
std::string_view JsonCursor::key() const { return tape_at(document_, index_ - 1).get_string_view(); }
JsonView JsonCursor::value() const {
  JsonView view;
  view.document_ = document_;
  view.index_ = index_;
  return view;
}
void JsonCursor::advance() { index_ = tape_at(document_, index_).after_element() + step_; }

std::string JsonView::json() const {
  return document_ == nullptr ? "null" : simdjson::minify(element_at(document_, index_));
}

std::string JsonView::spoken() const {
  std::string out;
  append_spoken(out);
  return out;
}

void JsonView::append_spoken(std::string& out) const {
  switch (kind()) {
    case JsonKind::Null: return;
    case JsonKind::Text: out += *text(); return;
    case JsonKind::Number:
      if (const auto whole = integer()) {
        const fmt::format_int digits{*whole};
        out.append(digits.data(), digits.size());
        return;
      }
      out += json();
      return;
    case JsonKind::Bool:
    case JsonKind::Array:
    case JsonKind::Object: out += json(); return;
  }
  POSTRIDER_DIE("a JsonKind outside its enum");
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void JsonWriter::separate() {
  if (!first_) out_ += ',';
  first_ = false;
}
JsonWriter& JsonWriter::begin_object() {
  separate();
  out_ += '{';
  first_ = true;
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  out_ += '}';
  first_ = false;
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  separate();
  out_ += '[';
  first_ = true;
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  out_ += ']';
  first_ = false;
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += ':';
  first_ = true;  // The value that follows takes no comma.
  return *this;
}
JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}
JsonWriter& JsonWriter::value(std::int64_t number) {
  separate();
  out_ += fmt::format_int(number).str();
  return *this;
}
JsonWriter& JsonWriter::value(bool flag) {
  separate();
  out_ += flag ? "true" : "false";
  return *this;
}
JsonWriter& JsonWriter::value(double number) {
  POSTRIDER_CHECK(std::isfinite(number));
  separate();
  out_ += fmt::format("{}", number);
  return *this;
}
JsonWriter& JsonWriter::null() {
  separate();
  out_ += "null";
  return *this;
}
JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace postrider
