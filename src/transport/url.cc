#include "transport/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace postrider::net {
namespace {

constexpr std::size_t kUrlBytesMax = 8192;
constexpr std::size_t kHostBytesMax = 253;

Error invalid(std::string why) { return Error{ErrorCode::Invalid, "URL: " + std::move(why)}; }

bool is_allowed(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7f && std::string_view{"\"<>\\^`{|}#"}.find(c) == std::string_view::npos;
}

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0 || value > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(value);
}

Result<std::string> parse_host(std::string_view text) {
  std::string host = lower(text);
  if (!host.empty() && host.front() == '[') {
    if (host.back() != ']') return invalid("a bracket is not closed");
    host = host.substr(1, host.size() - 2);
    in6_addr ignored{};
    if (inet_pton(AF_INET6, host.c_str(), &ignored) != 1) return invalid("not an IPv6 address in brackets");
    return host;
  }
  if (!host.empty() && host.back() == '.') host.pop_back();
  if (host.empty() || host.size() > kHostBytesMax) return invalid("the host is empty or too long");
  if (!std::all_of(host.begin(), host.end(), is_host_char)) return invalid("a character that no host name has");
  if (host.front() == '.' || host.back() == '.' || host.find("..") != std::string::npos) {
    return invalid("an empty label in the host");
  }
  return host;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kUrlBytesMax) return invalid("too long");
  if (!std::all_of(text.begin(), text.end(), is_allowed)) return invalid("a character that must not be there");
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return invalid("not absolute");
  Url url;
  const std::string scheme = lower(text.substr(0, colon));
  if (scheme != "http" && scheme != "https") return invalid("neither http nor https");
  url.scheme = scheme == "https" ? Scheme::Https : Scheme::Http;
  const std::uint16_t default_port = url.scheme == Scheme::Https ? 443 : 80;
  text.remove_prefix(colon + 3);

  const std::size_t path = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, path);
  url.target = text.substr(path);
  if (url.target.empty() || url.target.front() == '?') url.target.insert(0, "/");
  if (authority.find('@') != std::string_view::npos) return invalid("user information is not allowed");

  url.port = default_port;
  const std::size_t bracket = authority.rfind(']');
  const std::size_t port_at = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (port_at != std::string_view::npos) {
    const auto port = parse_port(authority.substr(port_at + 1));
    if (!port) return invalid("not a port");
    url.port = *port;
    authority = authority.substr(0, port_at);
  }
  POSTRIDER_TRY(host, parse_host(authority));
  url.authority = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (url.port != default_port) url.authority += ":" + std::to_string(url.port);
  url.host = std::move(host);
  return url;
}

}  // namespace postrider::net
