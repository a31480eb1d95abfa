#include "api/secret_reader.h"

#include <fmt/format.h>

#include "base/secret_text.h"
#include "base/text.h"
#include "core/reason.h"

namespace postrider {
namespace {

constexpr std::size_t kPerByte = 6;  // of a text, at most: \u0001
constexpr std::size_t kNumberMax = 64;
constexpr std::size_t kRoom = kPerByte * kSecretBytesMax + kNumberMax;

ApiError wrong(std::string_view field, std::string what) {
  return {.code = ApiErrorCode::InvalidMessage,
          .message = fmt::format("{} {}", field, what),
          .field = std::string{field},
          .reason = std::string{code_of(Reason::InvalidField)}};
}

// Compact JSON into a buffer that is large enough from the start, so that no copy of a smaller one is left behind.
// False: it became too large.
bool write_secret(JsonView value, std::string& out) {
  const auto text = [&](std::string_view words) {
    if (out.size() + kPerByte * words.size() + 2 > out.capacity()) return false;
    append_json_string(out, words);
    return true;
  };
  const bool is_object = value.is_object();
  if (value.is_text()) return text(*value.text());
  if (!is_object && !value.is_array()) {
    if (out.size() + kNumberMax > out.capacity()) return false;
    out += value.kind() == JsonKind::Null ? "null" : value.spoken();
    return true;
  }
  out += is_object ? '{' : '[';
  bool first = true;
  for (JsonCursor at{value}; !at.at_end(); at.advance()) {
    if (out.size() + kNumberMax > out.capacity()) return false;
    if (!first) out += ',';
    first = false;
    if (is_object && !text(at.key())) return false;
    if (is_object) out += ':';
    if (!write_secret(at.value(), out)) return false;
  }
  out += is_object ? '}' : ']';
  return true;
}

}  // namespace

bool may_hold_secret(std::string_view body) {
  // The letters of a name can be written with escapes too.
  return body.find("secret") != std::string_view::npos || body.find("\\u") != std::string_view::npos;
}

std::variant<std::string, ApiError> seal_secret(JsonView secret, SecretSealer* sealer) {
  if (!secret.is_object()) return wrong("secret", "is not a JSON object");
  if (sealer == nullptr || !sealer->sealing_key()) {
    return ApiError{.code = ApiErrorCode::NoSealKey,
                    .message = "no key is there to seal a secret with; make one with `postrider keys seal new`",
                    .field = "secret"};
  }
  std::string plain;
  plain.reserve(kRoom);
  Result<std::string> box = Error{ErrorCode::Invalid, {}};
  if (write_secret(secret, plain) && plain.size() <= kSecretBytesMax) box = sealer->seal(plain);
  wipe(plain);
  if (box) return std::move(*box);
  if (box.error().code == ErrorCode::Invalid)
    return wrong("secret", fmt::format("is larger than {} KiB", kSecretBytesMax >> 10U));
  return from_store(box.error());
}

std::optional<ApiError> check_sealed(std::string_view sealed) {
  if (sealed.size() > 4 * (kSecretBytesMax + kSealBytes) / 3 + 4)
    return wrong("sealed", fmt::format("is larger than a box with {} KiB inside", kSecretBytesMax >> 10U));
  const auto box = from_base64(sealed);
  if (!box || box->size() < kSealBytes + 2) return wrong("sealed", "is not the base64 of a sealed box");
  return std::nullopt;
}

}  // namespace postrider
