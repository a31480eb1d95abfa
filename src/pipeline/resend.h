// Telling once more what was told about an entity by a channel: a new message beside the first, under a key of its own.
// The first stays as it is.
#pragma once
#include <optional>
#include <string>
#include <variant>

#include "base/prng.h"
#include "core/rules.h"
#include "ports/store.h"

namespace postrider {

inline constexpr std::size_t kRequestIdBytesMax = 100;

struct ResendWish {
  const Tenant& tenant;
  std::string entity = {};
  Channel channel = Channel::Email;
  std::string template_name = {};  // a number of the store, or a key; empty: the one that is in force
  std::string request_id = {};     // the same one again is the same request
  OperatorAction by = {};
};
struct Resent {
  Admitted admitted = {};
  std::optional<RowId> original = {};  // the delivery that is told again; none: the channel is a new one for it
  std::int64_t template_id = 0;        // of the store; 0: of the configuration file, or its own content
  std::string key = {};
  [[nodiscard]] bool repeated() const { return admitted.verdict != Admission::New; }
};
struct NotResent {
  enum class Why : std::uint8_t {
    NothingTold,       // by any channel
    NoTemplate,        // none is active for what was told
    UnknownTemplate,   // the one that was asked for
    InactiveTemplate,  // the one that was asked for
    Refused,           // as a new message would be: `refusal` says why
    Store              // `error`
  } why = Why::Store;
  std::string type = {};  // of what was told
  Refusal refusal = {};
  Error error = {};
};
std::variant<Resent, NotResent> resend(StoreSession& store, const Rules& rules, const ResendWish& wish, Instant now,
                                       Prng& random);

}  // namespace postrider
