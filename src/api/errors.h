// Every error that the API answers with: a closed list, told to people in docs/reference/errors.md.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/http_server.h"
#include "base/result.h"

namespace postrider {

// name, HTTP status, code. Codes are a promise to callers: never rename one.
#define POSTRIDER_API_ERRORS(X)                          \
  X(InvalidJson, 400, "INVALID_JSON")                    \
  X(InvalidMessage, 400, "INVALID_MESSAGE")              \
  X(InvalidEvent, 400, "INVALID_EVENT")                  \
  X(InvalidHeader, 400, "INVALID_HEADER")                \
  X(InvalidParameter, 400, "INVALID_PARAMETER")          \
  X(InvalidTemplate, 400, "INVALID_TEMPLATE")            \
  X(InvalidField, 400, "INVALID_FIELD")                  \
  X(UnknownField, 400, "UNKNOWN_FIELD")                  \
  X(Unauthenticated, 401, "UNAUTHENTICATED")             \
  X(Forbidden, 403, "FORBIDDEN")                         \
  X(TenantForbidden, 403, "TENANT_FORBIDDEN")            \
  X(NotFound, 404, "NOT_FOUND")                          \
  X(MethodNotAllowed, 405, "METHOD_NOT_ALLOWED")         \
  X(Conflict, 409, "CONFLICT")                           \
  X(NotApplicable, 409, "NOT_APPLICABLE")                \
  X(BodyTooLarge, 413, "BODY_TOO_LARGE")                 \
  X(TooManyMessages, 413, "TOO_MANY_MESSAGES")           \
  X(TooManyItems, 413, "TOO_MANY_ITEMS")                 \
  X(UnsupportedMediaType, 415, "UNSUPPORTED_MEDIA_TYPE") \
  X(CannotRender, 422, "CANNOT_RENDER")                  \
  X(Expired, 422, "EXPIRED")                             \
  X(KeyReused, 422, "IDEMPOTENCY_KEY_REUSED")            \
  X(NoSealKey, 422, "NO_SEAL_KEY")                       \
  X(UnknownContact, 422, "UNKNOWN_CONTACT")              \
  X(UnknownTenant, 422, "UNKNOWN_TENANT")                \
  X(Internal, 500, "INTERNAL")                           \
  X(NotReady, 503, "NOT_READY")                          \
  X(OutcomeUnknown, 503, "OUTCOME_UNKNOWN")              \
  X(Overloaded, 503, "OVERLOADED")                       \
  X(ShuttingDown, 503, "SHUTTING_DOWN")                  \
  X(StoreUnavailable, 503, "STORE_UNAVAILABLE")

enum class ApiErrorCode : std::uint8_t {
#define X(name, status, code) name,
  POSTRIDER_API_ERRORS(X)
#undef X
};
inline constexpr std::array kApiErrorCodes{
#define X(name, status, code) ApiErrorCode::name,
    POSTRIDER_API_ERRORS(X)
#undef X
};

int status_of(ApiErrorCode code);
std::string_view to_text(ApiErrorCode code);

/// What is wrong and what to do. Empty members are not shown.
struct ApiError {
  ApiErrorCode code = ApiErrorCode::Internal;
  std::string message = {};
  std::optional<std::size_t> index = {};  // of the message in the request
  std::string field = {};                 // a field of the message, a parameter or a header
  std::string reason = {};                // a reason's code
  std::string id = {};                    // the message that came first
  std::vector<Header> headers = {};
};

/// Status, headers and {"error":{"code":…,"message":…,…}}. A 503 carries Retry-After.
HttpOut to_answer(const ApiError& error);
/// What a failed store verb means to the caller. The error's own text stays inside: it may name tables or hosts.
ApiError from_store(const Error& error);

}  // namespace postrider
