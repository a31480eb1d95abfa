// A second reader of HTTP/1.1, written as plainly as possible: where two readers disagree about the end of a message,
// requests are smuggled. It is asked only about messages that the parser under test accepted.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace postrider::fuzz {

struct PlainMessage {
  std::string first_line = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in lower case, values trimmed
  std::string body = {};
  std::size_t size = 0;  // of the whole message
};

class PlainHttp {
 public:
  explicit PlainHttp(std::string_view bytes) : all_(bytes), rest_(bytes) {}

  /// One request; empty when the plain reading does not come to an end.
  std::optional<PlainMessage> request() {
    while (rest_.starts_with("\r\n")) rest_.remove_prefix(2);
    PlainMessage message;
    if (!read_head(message)) return std::nullopt;
    const std::string* length = find(message, "content-length");
    if (find(message, "transfer-encoding") != nullptr) {
      if (length != nullptr || !read_chunks(message.body)) return std::nullopt;
    } else if (length != nullptr && !read_body(*length, 10, message.body)) {
      return std::nullopt;
    }
    message.size = all_.size() - rest_.size();
    return message;
  }

 private:
  static const std::string* find(const PlainMessage& message, std::string_view name) {
    for (const auto& [key, value] : message.headers) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  std::optional<std::string_view> line() {
    const std::size_t end = rest_.find("\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    return text;
  }
  bool read_head(PlainMessage& message) {
    const auto first = line();
    if (!first) return false;
    message.first_line = *first;
    for (;;) {
      const auto next = line();
      if (!next) return false;
      if (next->empty()) return true;
      const std::size_t colon = next->find(':');
      if (colon == std::string_view::npos) return false;
      message.headers.emplace_back(lower(next->substr(0, colon)), trim(next->substr(colon + 1)));
    }
  }
  static std::optional<std::size_t> number(std::string_view digits, std::size_t base) {
    std::size_t value = 0;
    if (digits.empty() || digits.size() > 12) return std::nullopt;
    for (const char c : digits) {
      const int digit = hex_value(c);
      if (digit < 0 || static_cast<std::size_t>(digit) >= base) return std::nullopt;
      value = value * base + static_cast<std::size_t>(digit);
    }
    return value;
  }
  bool read_body(std::string_view digits, std::size_t base, std::string& body) {
    while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
    const auto size = number(digits, base);
    if (!size || *size > rest_.size()) return false;
    body += rest_.substr(0, *size);
    rest_.remove_prefix(*size);
    return true;
  }
  bool read_chunks(std::string& body) {
    for (;;) {
      const auto head = line();
      if (!head) return false;
      const std::string_view digits = trim(head->substr(0, head->find(';')));
      const std::size_t before = body.size();
      if (!read_body(digits, 16, body)) return false;
      if (body.size() == before) break;
      if (!rest_.starts_with("\r\n")) return false;
      rest_.remove_prefix(2);
    }
    for (auto trailer = line(); trailer; trailer = line()) {
      if (trailer->empty()) return true;
    }
    return false;
  }

  std::string_view all_;
  std::string_view rest_;
};

}  // namespace postrider::fuzz
