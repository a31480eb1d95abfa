// Which network an address belongs to. Only Public may be called unless the operator allows more (SSRF).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace postrider::net {

struct IpAddress {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // network order; four of them for IPv4
  bool operator==(const IpAddress&) const = default;
};

enum class AddressClass : std::uint8_t {
  Public,
  Unspecified,    // 0.0.0.0/8, ::
  Loopback,       // 127/8, ::1
  Private,        // RFC 1918
  LinkLocal,      // 169.254/16 (cloud metadata), fe80::/10
  Shared,         // carrier-grade NAT, 100.64/10
  UniqueLocal,    // fc00::/7
  SiteLocal,      // fec0::/10
  Multicast,      // 224/4, ff00::/8
  Documentation,  // TEST-NET-1 to 3, 2001:db8::/32, 3fff::/20
  Benchmark,      // 198.18/15, 2001:2::/48
  Translated,     // an IPv4 address inside: mapped, compatible, 6to4, NAT64, Teredo
  Reserved,       // class E, broadcast, IETF assignments, everything outside 2000::/3
};

std::string_view to_text(AddressClass c);
AddressClass classify(const IpAddress& address);
/// The plain forms only ("192.0.2.1", "2001:db8::1"); "0x7f.1" and "2130706433" go through the resolver like names.
std::optional<IpAddress> parse_ip(const std::string& text);
std::string format_ip(const IpAddress& address);

}  // namespace postrider::net
