// Key pairs for sealed secrets (X25519, libsodium's sealed boxes), each in a file of its own in one folder.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret_text.h"
#include "base/time.h"

namespace postrider {

enum class SealUse : bool { OpensOnly, SealsToo };

struct SealKey {
  std::string name = {};        // the first 8 hexadecimal digits of the public key's hash
  std::string public_key = {};  // 32 bytes
  SecretText private_key = {};  // 32 bytes
  Instant made_at = {};
  SealUse use = SealUse::SealsToo;
};

class SealKeys {
 public:
  /// Every *.key of the folder; none when there is no folder. A file that is damaged, or that others than its owner may
  /// read, is an error: a secret that cannot be opened is found out now and not when it is needed.
  static Result<SealKeys> load(const std::string& folder);
  /// Makes a pair and its file, readable by its owner only; whole or not at all.
  static Result<SealKey> make(const std::string& folder, Instant now);
  /// Seals no more; what it sealed can still be opened.
  static Result<Done> retire(const std::string& folder, std::string_view name);

  [[nodiscard]] const std::vector<SealKey>& all() const { return keys_; }  // newest first
  /// The newest that seals; null when there is none.
  [[nodiscard]] const SealKey* sealing() const;

  /// Base64 of a sealed box. NotFound: no key seals. Invalid: too large.
  [[nodiscard]] Result<std::string> seal(std::string_view plaintext) const;
  /// What is inside, with whichever key it was sealed. NotFound: with none of these. Invalid: it is no box, or what is
  /// inside is no JSON object.
  [[nodiscard]] Result<SecretText> open(std::string_view sealed) const;

 private:
  std::vector<SealKey> keys_;
};

}  // namespace postrider
