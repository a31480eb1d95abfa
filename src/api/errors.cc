#include "api/errors.h"

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kRetryAfterSeconds = "2";

}  // namespace

int status_of(ApiErrorCode code) {
  switch (code) {
#define X(name, status, text) \
  case ApiErrorCode::name: return status;
    POSTRIDER_API_ERRORS(X)
#undef X
  }
  POSTRIDER_DIE("an ApiErrorCode outside its enum");
}

std::string_view to_text(ApiErrorCode code) {
  switch (code) {
#define X(name, status, text) \
  case ApiErrorCode::name: return text;
    POSTRIDER_API_ERRORS(X)
#undef X
  }
  POSTRIDER_DIE("an ApiErrorCode outside its enum");
}

HttpOut to_answer(const ApiError& error) {
  HttpOut out;
  out.status = status_of(error.code);
  out.headers = error.headers;
  if (out.status == 503) out.headers.emplace_back("Retry-After", kRetryAfterSeconds);
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.member("code", to_text(error.code));
  json.member("message", printable(error.message));  // it may quote what the caller sent
  if (error.index) json.member("index", *error.index);
  if (!error.field.empty()) json.member("field", printable(error.field));
  if (!error.reason.empty()) json.member("reason", error.reason);
  if (!error.id.empty()) json.member("id", error.id);
  json.end_object().end_object();
  out.body = json.take();
  return out;
}

ApiError from_store(const Error& error) {
  switch (error.code) {
    case ErrorCode::Unavailable:
    case ErrorCode::Conflict:
      return {.code = ApiErrorCode::StoreUnavailable,
              .message = "The database cannot be reached at the moment. Nothing was changed; try again later."};
    case ErrorCode::Ambiguous:
      return {.code = ApiErrorCode::OutcomeUnknown,
              .message =
                  "The connection to the database broke while it was being written: it may or may not have "
                  "happened. Repeat the request with the same idempotency key or id, or look before you repeat."};
    case ErrorCode::Exhausted:
      return {
          .code = ApiErrorCode::Overloaded,
          .message = "Too much is waiting to be stored, or the disk is full. Nothing was changed; try again later."};
    case ErrorCode::Cancelled:
      return {.code = ApiErrorCode::ShuttingDown, .message = "This node is stopping. Nothing was changed; try again."};
    case ErrorCode::NotFound: return {.code = ApiErrorCode::NotFound, .message = "There is no such notification."};
    case ErrorCode::Invalid:
    case ErrorCode::Corrupt:
    case ErrorCode::Unsupported:
      return {.code = ApiErrorCode::Internal,
              .message = "The request could not be carried out. The log of this node says why."};
  }
  POSTRIDER_DIE("an ErrorCode outside its enum");
}

}  // namespace postrider
