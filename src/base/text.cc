#include "base/text.h"

#include <algorithm>
#include <cstdint>

namespace postrider {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string to_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(bytes.size() * 2, '0');
  char* digit = out.data();
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    *digit++ = kDigits[byte >> 4];
    *digit++ = kDigits[byte & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

namespace {
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<std::uint8_t>(c);
    count += 8;
    while (count >= 6) {
      count -= 6;
      out += kBase64[bits >> count & 63];
    }
  }
  if (count > 0) out += kBase64[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const std::size_t value = kBase64.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(bits >> count & 255);
    }
  }
  if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;  // Bits that encode nothing must be zero.
  return out;
}

namespace {
// The length of the valid UTF-8 character at the front, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && at(1) < 0xA0) return 0;
    if (first == 0xED && at(1) > 0x9F) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && at(1) < 0x90) return 0;
    if (first == 0xF4 && at(1) > 0x8F) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool has_control(std::string_view text) { return std::any_of(text.begin(), text.end(), is_control); }

std::string excerpt(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string{text};
  std::size_t keep = bytes_max;
  while (keep > 0 && (static_cast<std::uint8_t>(text[keep]) & 0xC0U) == 0x80U) --keep;
  return std::string{text.substr(0, keep)} + "…";
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += '?';
      text.remove_prefix(1);
      continue;
    }
    if (length == 1 && is_control(text.front())) {
      out += ' ';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string printable_excerpt(std::string text, std::size_t bytes_max) {
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) < 0x80 && !is_control(c); };
  if (text.size() <= bytes_max && std::all_of(text.begin(), text.end(), is_plain)) return text;
  return excerpt(printable(text), bytes_max);
}

std::string mask_address(std::string_view address) {
  static constexpr std::string_view kDots = "•••";
  const auto head = [&](std::size_t count) {
    return excerpt(address, count).substr(0, std::min(count, address.size()));
  };
  if (address.empty()) return "";
  if (const std::size_t scheme = address.find("://"); scheme != std::string_view::npos) {
    const std::size_t path = address.find_first_of("/?#", scheme + 3);
    std::string_view host = address.substr(0, path);
    if (const std::size_t user = host.rfind('@'); user != std::string_view::npos) return std::string{kDots};
    return std::string{host} + (path == std::string_view::npos ? "" : "/" + std::string{kDots});
  }
  if (const std::size_t at = address.rfind('@'); at != std::string_view::npos && at > 0) {
    return std::string{address.substr(0, std::max<std::size_t>(utf8_length(address), 1))} + std::string{kDots} +
           std::string{address.substr(at)};
  }
  if (address.size() <= 7) return std::string{kDots};
  return printable(head(3)) + std::string{kDots} + printable(address.substr(address.size() - 4));
}

std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

namespace {
char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && starts_with_ignoring_case(a, b);
}
bool starts_with_ignoring_case(std::string_view text, std::string_view start) {
  if (start.size() > text.size()) return false;
  for (std::size_t i = start.size(); i > 0; --i) {  // Names that are alike (address1, address2) differ at their ends.
    if (text[i - 1] != start[i - 1] && lower_letter(text[i - 1]) != lower_letter(start[i - 1])) return false;
  }
  return true;
}

char32_t take_character(std::string_view& text) {
  const std::size_t length = utf8_length(text);
  const auto bits = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]) & 0x3FU; };
  const auto first = static_cast<std::uint8_t>(text.front());
  char32_t character = 0xFFFD;
  if (length == 1) character = first;
  if (length == 2) character = (first & 0x1FU) << 6U | bits(1);
  if (length == 3) character = (first & 0x0FU) << 12U | bits(1) << 6U | bits(2);
  if (length == 4) character = (first & 0x07U) << 18U | bits(1) << 12U | bits(2) << 6U | bits(3);
  text.remove_prefix(std::max<std::size_t>(length, 1));
  return character;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator, from)) {
    parts.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

}  // namespace postrider
