// Standard Webhooks signatures, also used to check what others send us.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace postrider {

/// The raw key of "whsec_<base64>" (or the base64 alone); empty when it is none, or shorter than 24 or longer than 64
/// bytes.
std::optional<std::string> read_webhook_secret(std::string_view text);
/// "v1,<base64>" over "id.timestamp.body".
std::string sign_webhook(std::string_view raw_key, std::string_view id, std::int64_t timestamp, std::string_view body);

struct SignedRequest {
  std::string_view id;
  std::string_view timestamp;
  std::string_view signatures;
  std::string_view body;
};
/// Whether one of the signatures is ours and the timestamp is within 300 s of `now`. In constant time per signature.
bool verify_webhook(std::string_view raw_key, const SignedRequest& request, Instant now);

}  // namespace postrider
