#include "transport/address_class.h"

#include <arpa/inet.h>

#include <cstring>

#include "base/check.h"

namespace postrider::net {
namespace {

struct Net {
  const char* prefix;
  int bits;
  AddressClass is;
};

// The first match decides, so the narrower net stands first. IANA special-purpose registries, read 2026-11.
constexpr Net kNets4[] = {
    {"0.0.0.0", 8, AddressClass::Unspecified},        {"10.0.0.0", 8, AddressClass::Private},
    {"100.64.0.0", 10, AddressClass::Shared},         {"127.0.0.0", 8, AddressClass::Loopback},
    {"169.254.0.0", 16, AddressClass::LinkLocal},     {"172.16.0.0", 12, AddressClass::Private},
    {"192.0.0.0", 24, AddressClass::Reserved},        {"192.0.2.0", 24, AddressClass::Documentation},
    {"192.88.99.0", 24, AddressClass::Translated},    {"192.168.0.0", 16, AddressClass::Private},
    {"198.18.0.0", 15, AddressClass::Benchmark},      {"198.51.100.0", 24, AddressClass::Documentation},
    {"203.0.113.0", 24, AddressClass::Documentation}, {"224.0.0.0", 4, AddressClass::Multicast},
    {"240.0.0.0", 4, AddressClass::Reserved},         {"0.0.0.0", 0, AddressClass::Public},
};
constexpr Net kNets6[] = {
    {"::", 128, AddressClass::Unspecified},
    {"::1", 128, AddressClass::Loopback},
    {"::ffff:0:0", 96, AddressClass::Translated},
    {"::", 96, AddressClass::Translated},
    {"::ffff:0:0:0", 96, AddressClass::Translated},
    {"64:ff9b::", 96, AddressClass::Translated},
    {"64:ff9b:1::", 48, AddressClass::Translated},
    {"2001::", 32, AddressClass::Translated},
    {"2001:2::", 48, AddressClass::Benchmark},
    {"2001:db8::", 32, AddressClass::Documentation},
    {"2001::", 23, AddressClass::Reserved},
    {"2002::", 16, AddressClass::Translated},
    {"3fff::", 20, AddressClass::Documentation},
    {"fc00::", 7, AddressClass::UniqueLocal},
    {"fe80::", 10, AddressClass::LinkLocal},
    {"fec0::", 10, AddressClass::SiteLocal},
    {"ff00::", 8, AddressClass::Multicast},
    {"2000::", 3, AddressClass::Public},
    {"::", 0, AddressClass::Reserved},
};

bool starts_with(const std::uint8_t* address, const std::uint8_t* prefix, int bits) {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (std::memcmp(address, prefix, whole) != 0) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff00U >> static_cast<unsigned>(bits % 8));
  return (address[whole] & mask) == (prefix[whole] & mask);
}

}  // namespace

std::string_view to_text(AddressClass c) {
  switch (c) {
    case AddressClass::Public: return "public";
    case AddressClass::Unspecified: return "unspecified";
    case AddressClass::Loopback: return "loopback";
    case AddressClass::Private: return "private";
    case AddressClass::LinkLocal: return "link-local";
    case AddressClass::Shared: return "carrier-grade NAT";
    case AddressClass::UniqueLocal: return "unique local";
    case AddressClass::SiteLocal: return "site-local";
    case AddressClass::Multicast: return "multicast";
    case AddressClass::Documentation: return "documentation";
    case AddressClass::Benchmark: return "benchmark";
    case AddressClass::Translated: return "translated";
    case AddressClass::Reserved: return "reserved";
  }
  POSTRIDER_DIE("an AddressClass outside its enum");
}

AddressClass classify(const IpAddress& address) {
  const auto first_match = [&](const auto& nets) {
    for (const Net& net : nets) {
      std::array<std::uint8_t, 16> prefix{};
      POSTRIDER_CHECK(inet_pton(address.is_v6 ? AF_INET6 : AF_INET, net.prefix, prefix.data()) == 1);
      if (starts_with(address.bytes.data(), prefix.data(), net.bits)) return net.is;
    }
    POSTRIDER_DIE("the last net matches everything");
  };
  return address.is_v6 ? first_match(kNets6) : first_match(kNets4);
}

std::optional<IpAddress> parse_ip(const std::string& text) {
  IpAddress address;
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) return address;
  address.is_v6 = true;
  if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

std::string format_ip(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.is_v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return text;
}

}  // namespace postrider::net
