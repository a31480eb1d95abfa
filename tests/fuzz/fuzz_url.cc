// Where a webhook may go: a URL is read the same when it is written down again, names the host that its Host header
// says, and no spelling of an address is of another class than the address itself.
#include <arpa/inet.h>

#include <cstring>

#include "base/check.h"
#include "base/text.h"
#include "fuzz/input.h"
#include "net/http_parser.h"
#include "transport/address_class.h"
#include "transport/http_request.h"
#include "transport/resolver.h"
#include "transport/url.h"

namespace postrider::net {
namespace {

// Written anew, from the registries' text and with numbers instead of prefixes: what may not be called.
bool is_internal4(std::uint32_t a) {
  const std::uint32_t first = a >> 24U;
  return first == 0 || first == 10 || first == 127 || first >= 224 || (a >= 0x64400000 && a <= 0x647fffff) ||
         (a >= 0xa9fe0000 && a <= 0xa9feffff) || (a >= 0xac100000 && a <= 0xac1fffff) ||
         (a >= 0xc0a80000 && a <= 0xc0a8ffff) || (a >= 0xc0000000 && a <= 0xc00000ff) ||
         (a >= 0xc0000200 && a <= 0xc00002ff) || (a >= 0xc6120000 && a <= 0xc613ffff) ||
         (a >= 0xc6336400 && a <= 0xc63364ff) || (a >= 0xcb007100 && a <= 0xcb0071ff) ||
         (a >= 0xc0586300 && a <= 0xc05863ff);
}
bool is_internal6(const std::array<std::uint8_t, 16>& b) {
  const unsigned word = static_cast<unsigned>(b[0]) << 8U | b[1];
  const unsigned second = static_cast<unsigned>(b[2]) << 8U | b[3];
  if (word < 0x2000 || word > 0x3fff) return true;  // Everything but global unicast.
  if (word == 0x2002) return true;                  // An IPv4 address inside.
  if (word == 0x2001) return second < 0x0200 || second == 0x0db8;
  return word == 0x3fff && second < 0x1000;
}
bool is_internal(const IpAddress& address) {
  if (address.is_v6) return is_internal6(address.bytes);
  std::uint32_t number = 0;
  std::memcpy(&number, address.bytes.data(), 4);
  return is_internal4(ntohl(number));
}

void check_address(const IpAddress& address) {
  POSTRIDER_CHECK((classify(address) == AddressClass::Public) == !is_internal(address));
  const auto again = parse_ip(format_ip(address));
  POSTRIDER_CHECK(again && *again == address);
}

// "127.1", "0x7f000001", "2130706433": names for the resolver, addresses for the system.
void check_spelling(const std::string& host) {
  in_addr address{};
  if (inet_aton(host.c_str(), &address) == 0) return;
  const auto found = look_up(host);
  if (!found) return;
  for (const IpAddress& each : *found) {
    POSTRIDER_CHECK(!each.is_v6 && std::memcmp(each.bytes.data(), &address, 4) == 0);
    check_address(each);
  }
}

void check_head(const Url& url) {
  const auto head = compose_head({.method = "GET", .headers = {{"x-one", "1"}}}, url);
  POSTRIDER_CHECK(head);
  HttpParser parser{HttpRole::Request, {.header_bytes_max = 32U << 10U}};
  POSTRIDER_CHECK(parser.put(*head).state == Parsed::Complete);
  const HttpMessage& message = parser.message();
  POSTRIDER_CHECK(message.target == url.target && message.headers.size() == 3);
  POSTRIDER_CHECK(message.headers[0].first == "host" && message.headers[0].second == url.authority);
}

void check_url(const std::string& text) {
  const auto url = parse_url(text);
  if (!url) return;
  POSTRIDER_CHECK(!url->host.empty() && url->host == lower(url->host) && url->port != 0);
  POSTRIDER_CHECK(url->target.starts_with('/') && !has_control(url->target));
  POSTRIDER_CHECK(url->host.find_first_of("/@?#%[]\\ ") == std::string::npos);
  const std::string scheme = url->scheme == Scheme::Https ? "https://" : "http://";
  const auto again = parse_url(scheme + url->authority + url->target);
  POSTRIDER_CHECK(again && again->host == url->host && again->port == url->port && again->target == url->target);
  POSTRIDER_CHECK(again->authority == url->authority && again->scheme == url->scheme);
  // What stands before the path in the text is where it goes: nothing in front of the host, nothing behind it.
  const std::string before = lower(text).substr(text.find("://") + 3);
  POSTRIDER_CHECK(before.starts_with(url->host) || before.starts_with("[" + url->host + "]"));
  check_head(*url);
  if (const auto literal = parse_ip(url->host)) {
    check_address(*literal);
    return;
  }
  POSTRIDER_CHECK(url->host.find(':') == std::string::npos);
  check_spelling(url->host);
}

void run(fuzz::Input input) {
  if (input.rest().size() == 4 || input.rest().size() == 16) {
    IpAddress address;
    address.is_v6 = input.rest().size() == 16;
    std::memcpy(address.bytes.data(), input.rest().data(), input.rest().size());
    check_address(address);
  }
  if (const auto address = parse_ip(std::string{input.rest()})) check_address(*address);
  check_url(std::string{input.rest()});
}

}  // namespace
}  // namespace postrider::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::net::run({data, size});
  return 0;
}
