// The head of a request as it goes on the wire, checked: nothing an adapter puts into a header can begin a new line.
#pragma once
#include <string>

#include "base/result.h"
#include "ports/transport.h"
#include "transport/url.h"

namespace postrider::net {

/// Request line and headers with the empty line behind. Host, Content-Length, Transfer-Encoding and Connection are the
/// transport's own: a request that brings one of them is refused.
Result<std::string> compose_head(const HttpRequest& request, const Url& url);

}  // namespace postrider::net
