// The JSON form of a message: the same names as the columns of the SQL contract, read strictly. What the values mean is
// judged later, in one place for HTTP and SQL.
#pragma once
#include <string_view>
#include <variant>
#include <vector>

#include "api/errors.h"
#include "api/http/http_server.h"
#include "base/json.h"
#include "core/message.h"
#include "ports/secrets.h"

namespace postrider {

/// The media type without parameters, in lower case; empty when there is none.
std::string media_type(const HttpIn& in);
/// UTF-8 is the only charset of JSON; none named is UTF-8.
bool says_utf8(const HttpIn& in);

/// Parses a request's body within the limits of a request.
std::variant<JsonDocument, ApiError> read_body(std::string_view body);

/// One message. `tenant` stays empty when the message names none. The error's index is left to the caller.
/// `secret` is sealed here (null: refused), so that a row never holds it.
std::variant<OutboxRow, ApiError> read_message(JsonView json, SecretSealer* sealer = nullptr);

/// One object, or an array of 1 to kMessagesPerRequestMax.
std::variant<std::vector<OutboxRow>, ApiError> read_messages(JsonView root, SecretSealer* sealer = nullptr);

}  // namespace postrider
