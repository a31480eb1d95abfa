// An answer as bytes.
#pragma once
#include <string>

#include "api/http/http_server.h"

namespace postrider {

enum class ConnectionAfter : std::uint8_t { Keep, KeepHttp10, Close };

/// Status line and headers with the empty line behind. A header that could begin a new line is left out.
std::string answer_head(const HttpOut& out, ConnectionAfter then);
/// 1xx, 204 and 304 have none.
bool has_answer_body(int status);

}  // namespace postrider
