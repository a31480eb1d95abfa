// An adapter translates: what to put on the wire for one delivery, and what the answer means. It does no I/O.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/delivery.h"
#include "core/outcome.h"
#include "ports/transport.h"

namespace postrider {

/// What a provider can promise; tests/providers checks each declaration against a fake peer.
struct CapabilityCard {
  bool honours_key = false;  // the same key twice takes effect once
  bool gives_receipts = false;
  bool server_fault_is_refusal = false;  // 500/502/504 mean nothing was done
  bool leaves_process = true;            // sandbox and shim do not
  bool asks_for_message_key = false;     // compose() wants to know the key that the producer gave the message
};

class Provider {
 public:
  virtual ~Provider() = default;
  [[nodiscard]] virtual CapabilityCard card() const = 0;
  /// `provider_key` stays the same over all attempts of this delivery at this provider. `random` is for boundaries and
  /// the like.
  [[nodiscard]] virtual Request compose(const Delivery& delivery, std::string_view provider_key, Instant now) const = 0;
  [[nodiscard]] virtual Outcome interpret(const Reply& reply, Instant now) const = 0;
};

}  // namespace postrider
