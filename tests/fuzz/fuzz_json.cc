// JSON: what is accepted is JSON by a second opinion too, within the limits, without a key twice; written down again it
// is the same, so no row that was taken can be one that cannot be read.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "fuzz/input.h"
#include "fuzz/json_model.h"

namespace postrider {
namespace {

constexpr JsonLimits kLimits{.bytes_max = 1U << 16U, .depth_max = 16};

// Through the accessors and the writer, as the API does it.
void write_again(JsonView at, JsonWriter& out) {
  switch (at.kind()) {
    case JsonKind::Null: out.null(); return;
    case JsonKind::Bool: out.value(*at.boolean()); return;
    case JsonKind::Text: out.value(*at.text()); return;
    case JsonKind::Number:
      if (const auto whole = at.integer()) {
        out.value(*whole);
      } else {
        out.raw(at.json());
      }
      return;
    case JsonKind::Array:
      out.begin_array();
      for (const JsonView item : at.items()) write_again(item, out);
      out.end_array();
      return;
    case JsonKind::Object:
      out.begin_object();
      for (const auto& [key, value] : at.members()) {
        out.key(key);
        write_again(value, out);
      }
      out.end_object();
      return;
  }
}

void check_places(JsonView at) {
  POSTRIDER_CHECK(is_utf8(at.spoken()) && is_utf8(at.json()));
  std::set<std::string_view> keys;
  for (const auto& [key, value] : at.members()) {
    POSTRIDER_CHECK(keys.insert(key).second);
    const auto found = at.find(key);
    POSTRIDER_CHECK(found && found->json() == value.json());
    POSTRIDER_CHECK(at.find_path(key) && at.find_path(key)->json() == value.json());
    check_places(value);
  }
  for (const JsonView item : at.items()) check_places(item);
}

void run(std::string_view text) {
  std::size_t depth = 0;
  const bool is_json = fuzz::JsonModel::accepts(text, depth);
  const auto document = JsonDocument::parse(text, kLimits);
  if (!document) {
    // Refused although it is JSON: too deep, a key twice, or a number that does not fit. Nothing else.
    const std::string& why = document.error().text;
    POSTRIDER_CHECK(!is_json || depth >= kLimits.depth_max || why.find("is given twice") != std::string::npos ||
                    why == "a number is malformed or out of range" || why.starts_with("larger than"));
    return;
  }
  POSTRIDER_CHECK(is_json && depth <= kLimits.depth_max);
  const std::string once = document->root().json();
  POSTRIDER_CHECK(std::none_of(once.begin(), once.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  const auto again = JsonDocument::parse(once, kLimits);
  POSTRIDER_CHECK(again && again->root().json() == once);
  JsonWriter writer;
  write_again(document->root(), writer);
  const auto written = JsonDocument::parse(writer.text(), kLimits);
  POSTRIDER_CHECK(written && written->root().json() == once);
  check_places(document->root());
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
