// An absolute http or https URL, read strictly: what is unusual in it is more often an attack than a need.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace postrider::net {

enum class Scheme : std::uint8_t { Http, Https };

struct Url {
  Scheme scheme = Scheme::Http;
  std::string host;  // lower case, without brackets and without a trailing dot
  std::uint16_t port = 0;
  std::string target;     // path and query as given; "/" when there was none
  std::string authority;  // for the Host header: brackets back on, the port only when it is not the scheme's own
};

/// Refused: user information, fragments, zone ids, percent signs in the host, anything that is not visible ASCII.
Result<Url> parse_url(std::string_view text);

}  // namespace postrider::net
