#include "base/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/check.h"

namespace postrider {
namespace {
// Fetched once: looking the algorithm up costs more than hashing a key.
constexpr std::size_t kSha256Bytes = 32;

const EVP_MD* sha256_method() {
  static const EVP_MD* method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  POSTRIDER_CHECK(method != nullptr);
  return method;
}
const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
}  // namespace

namespace {
void sha256_into(std::string_view data, unsigned char* out) {  // 32 bytes
  // Kept per thread: making one costs as much as hashing a key.
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  thread_local const std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
  POSTRIDER_CHECK(context != nullptr);
  unsigned length = 0;
  POSTRIDER_CHECK(EVP_DigestInit_ex2(context.get(), sha256_method(), nullptr) == 1 &&
                  EVP_DigestUpdate(context.get(), data.data(), data.size()) == 1 &&
                  EVP_DigestFinal_ex(context.get(), out, &length) == 1);
  POSTRIDER_CHECK(length == kSha256Bytes);
}
}  // namespace

std::string sha256(std::string_view data) {
  std::string out(kSha256Bytes, '\0');
  sha256_into(data, reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

Hash128 hash128(std::string_view data) {
  std::array<std::uint8_t, kSha256Bytes> full{};
  sha256_into(data, full.data());
  Hash128 half;
  std::copy_n(full.begin(), half.bytes.size(), half.bytes.begin());
  return half;
}

std::string hmac_sha256(std::string_view key, std::string_view data) {
  std::string out(32, '\0');
  unsigned length = 0;
  POSTRIDER_CHECK(HMAC(sha256_method(), key.data(), static_cast<int>(key.size()), bytes_of(data), data.size(),
                       reinterpret_cast<unsigned char*>(out.data()), &length) != nullptr);
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(std::size_t count) {
  std::string out(count, '\0');
  POSTRIDER_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(count)) == 1);
  return out;
}

}  // namespace postrider
