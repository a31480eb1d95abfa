// Secrets in requests: sealed before anything else happens to them, and wiped behind that.
#pragma once
#include <string>
#include <string_view>
#include <variant>

#include "api/errors.h"
#include "base/json.h"
#include "ports/secrets.h"

namespace postrider {

/// Whether a body may hold one; such a body is read with WipedJson and wiped.
bool may_hold_secret(std::string_view body);

/// The box for the member `secret` of a message. The error's index is left to the caller.
std::variant<std::string, ApiError> seal_secret(JsonView secret, SecretSealer* sealer);

/// What is wrong with a box (base64) that the producer made; whether it can be opened is not tried.
std::optional<ApiError> check_sealed(std::string_view sealed);

}  // namespace postrider
