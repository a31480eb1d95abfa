// Hashes, MACs and entropy from OpenSSL, behind plain text in and out.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace postrider {

struct Hash128 {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const Hash128&) const = default;
};

std::string sha256(std::string_view data);                             // 32 bytes
Hash128 hash128(std::string_view data);                                // the first half of SHA-256
std::string hmac_sha256(std::string_view key, std::string_view data);  // 32 bytes
bool equal_in_constant_time(std::string_view a, std::string_view b);
std::string random_bytes(std::size_t count);  // the system's entropy; stops the process when there is none

}  // namespace postrider
