// RFC 8259 as a recogniser and nothing else: a second opinion on what the reader accepts.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/text.h"

namespace postrider::fuzz {

class JsonModel {
 public:
  /// Whether all of `text` is one JSON value in UTF-8. `depth` is how deep it is nested.
  static bool accepts(std::string_view text, std::size_t& depth) {
    JsonModel model{text};
    const bool whole = is_utf8(text) && model.value(0) && (model.blanks(), model.rest_.empty());
    depth = model.deepest_;
    return whole;
  }

 private:
  explicit JsonModel(std::string_view text) : rest_(text) {}

  [[nodiscard]] char next() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void blanks() {
    while (!rest_.empty() && std::string_view{" \t\r\n"}.find(rest_.front()) != std::string_view::npos) {
      rest_.remove_prefix(1);
    }
  }
  bool value(std::size_t depth) {
    if (depth > 2000) return false;  // Far beyond every limit; this recogniser uses the stack.
    blanks();
    switch (next()) {
      case '{': return object(depth + 1);
      case '[': return array(depth + 1);
      case '"': return text();
      case 't': return take("true");
      case 'f': return take("false");
      case 'n': return take("null");
      default: return number();
    }
  }
  bool object(std::size_t depth) {
    deepest_ = std::max(deepest_, depth);
    take("{");
    blanks();
    if (take("}")) return true;
    do {
      blanks();
      if (!text()) return false;
      blanks();
      if (!take(":") || !value(depth)) return false;
      blanks();
    } while (take(","));
    return take("}");
  }
  bool array(std::size_t depth) {
    deepest_ = std::max(deepest_, depth);
    take("[");
    blanks();
    if (take("]")) return true;
    do {
      if (!value(depth)) return false;
      blanks();
    } while (take(","));
    return take("]");
  }
  // Four hexadecimal digits, or -1.
  int unit() {
    int value = 0;
    for (int i = 0; i < 4; ++i) {
      const int digit = hex_value(next());
      if (digit < 0) return -1;
      value = value * 16 + digit;
      rest_.remove_prefix(1);
    }
    return value;
  }
  bool escape() {
    if (!take("u")) {
      const bool known = !rest_.empty() && std::string_view{"\"\\/bfnrt"}.find(next()) != std::string_view::npos;
      if (known) rest_.remove_prefix(1);
      return known;
    }
    const int first = unit();
    if (first < 0 || (first >= 0xDC00 && first <= 0xDFFF)) return false;
    if (first < 0xD800 || first > 0xDBFF) return true;
    if (!take("\\u")) return false;  // Half a character is no character.
    const int second = unit();
    return second >= 0xDC00 && second <= 0xDFFF;
  }
  bool text() {
    if (!take("\"")) return false;
    while (!rest_.empty()) {
      if (take("\"")) return true;
      if (static_cast<unsigned char>(next()) < 0x20) return false;
      if (take("\\")) {
        if (!escape()) return false;
      } else {
        rest_.remove_prefix(1);
      }
    }
    return false;
  }
  bool digits() {
    const std::size_t count = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    rest_.remove_prefix(count);
    return count > 0;
  }
  bool number() {
    take("-");
    if (!take("0") && !digits()) return false;
    if (take(".") && !digits()) return false;
    if (next() != 'e' && next() != 'E') return true;
    rest_.remove_prefix(1);
    if (next() == '+' || next() == '-') rest_.remove_prefix(1);
    return digits();
  }

  std::string_view rest_;
  std::size_t deepest_ = 0;
};

}  // namespace postrider::fuzz
