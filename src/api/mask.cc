#include "api/mask.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"
#include "core/channel.h"

namespace postrider {
namespace {

constexpr std::string_view kBetweenWords = " \t\r\n<>()[]{},;:\"'=|&?/\\";

bool looks_like_address(std::string_view word) {
  return address_problem(Channel::Email, word).empty() || address_problem(Channel::Sms, word).empty();
}

}  // namespace

void Mask::learn(std::string_view address) {
  // Very short ones would take letters out of every word.
  if (shown_ == Addresses::Plain || address.size() < 4 || learned_.size() >= kAddressesLearned) return;
  if (std::find(learned_.begin(), learned_.end(), address) == learned_.end()) learned_.emplace_back(address);
}

std::string Mask::address(std::string_view text) const {
  return shown_ == Addresses::Plain ? std::string{text} : mask_address(text);
}

std::string Mask::without_learned(std::string_view text) const {
  std::string out{text};
  for (const std::string& address : learned_) {
    const std::string masked = mask_address(address);
    for (std::size_t at = out.find(address); at != std::string::npos; at = out.find(address, at + masked.size())) {
      out.replace(at, address.size(), masked);
    }
  }
  return out;
}

std::string Mask::text(std::string_view text) const {
  if (shown_ == Addresses::Plain) return std::string{text};
  const std::string known_gone = without_learned(text);
  const std::string_view rest = known_gone;
  std::string out;
  out.reserve(rest.size());
  std::size_t at = 0;
  while (at < rest.size()) {
    const std::size_t end = std::min(rest.find_first_of(kBetweenWords, at), rest.size());
    std::string_view word = rest.substr(at, end - at);
    std::string_view stop = {};  // the full stop behind an address ends a sentence
    if (word.ends_with('.')) {
      stop = word.substr(word.size() - 1);
      word.remove_suffix(1);
    }
    out += looks_like_address(word) ? mask_address(word) : std::string{word};
    out += stop;
    if (end < rest.size()) out += rest[end];
    at = end + 1;
  }
  return out;
}

std::string Mask::json(std::string_view json) const {
  const auto document = JsonDocument::parse(json, {.bytes_max = kRequestBodyBytesMax, .depth_max = kJsonDepthMax + 2});
  if (!document) return "null";
  if (shown_ == Addresses::Plain) return document->root().json();
  JsonWriter out;
  write(document->root(), out);
  return out.take();
}

// As deep as the document, and that is bounded.
void Mask::write(JsonView view, JsonWriter& out) const {
  switch (view.kind()) {
    case JsonKind::Null:
    case JsonKind::Bool:
    case JsonKind::Number: out.raw(view.json()); return;
    case JsonKind::Text: {
      const std::string_view value = *view.text();
      const bool url = address_problem(Channel::Webhook, value).empty();
      out.value(url ? mask_address(value) : text(value));
      return;
    }
    case JsonKind::Array:
      out.begin_array();
      for (const JsonView item : view.items()) write(item, out);
      out.end_array();
      return;
    case JsonKind::Object:
      out.begin_object();
      for (const auto& [key, value] : view.members()) {
        out.key(key);
        write(value, out);
      }
      out.end_object();
      return;
  }
  POSTRIDER_DIE("a JsonKind outside its enum");
}

}  // namespace postrider
