// Sealed secrets: closed with a public key before anything is stored, opened for as long as it takes to write a text.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace postrider {

inline constexpr std::size_t kSecretBytesMax = 16U << 10U;  // the JSON object inside a box
inline constexpr std::size_t kSealBytes = 48;               // what a box is longer than what is inside

class SecretOpener {
 public:
  virtual ~SecretOpener() = default;
  /// The JSON object inside a sealed box (base64). The caller wipes the text, and everything that it wrote with it, as
  /// soon as it is sent; neither may be stored, logged or put into an error. NotFound: no key here opens it. Invalid:
  /// it is no box, or what is inside is no JSON object. No error ever holds a part of what is inside. May be called by
  /// many threads at once.
  virtual Result<std::string> open(std::string_view sealed) = 0;
};

struct SealingKey {
  std::string name = {};        // the first 8 hexadecimal digits of its hash
  std::string public_key = {};  // base64 of 32 bytes (X25519)
};

class SecretSealer {
 public:
  virtual ~SecretSealer() = default;
  /// The key that seals at the moment. NotFound: there is none.
  virtual Result<SealingKey> sealing_key() = 0;
  /// Base64 of a sealed box with this text inside. NotFound: there is no key. Invalid: it is too large. May be called
  /// by many threads at once.
  virtual Result<std::string> seal(std::string_view plaintext) = 0;
};

}  // namespace postrider
