// One message for one recipient on one channel: the unit that is claimed, retried, parked and shown.
#pragma once
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "core/channel.h"
#include "core/lane.h"
#include "core/lifecycle.h"
#include "core/outcome.h"
#include "core/reason.h"

namespace postrider {

enum class Rendering : std::uint8_t {  // stored: never reuse a number
  Early = 0,                           // when the delivery is made
  Late = 1,                            // just before sending, from fresh data
};

/// Written once, when the message is expanded; never updated.
struct Delivery {
  RowId id = 0;
  RowId message = 0;
  Uuid message_uuid = {};
  TenantId tenant = 0;
  Channel channel = Channel::Email;
  Lane lane = Lane::Standard;
  Guarantee guarantee = Guarantee::AtLeastOnce;
  std::string type = {};
  std::string origin = {};
  std::string traceparent = {};
  std::string recipient = {};
  std::string key = {};  // the delivery's idempotency key (SPEC 3.2)
  std::string template_key = {};
  int template_version = 0;
  std::int64_t template_id = 0;  // of the store; 0: a template of the configuration file, or none
  std::string contact = {};      // the contact's key, where the address is a contact's
  std::string category = {};
  std::string locale = {};  // that it is written in
  Rendering rendering = Rendering::Early;
  std::string quiet = {};  // "22:00-08:00 Europe/Berlin": it is not sent then; empty: at any time
  std::string subject = {};
  std::string body = {};
  std::string html = {};
  std::string warnings = {};  // what rendering noticed ("no value for guest.name")
  std::optional<Instant> expires_at = {};
  std::string message_key = {};  // the producer's idempotency key; known only where a provider asks for it
};

/// Where a new delivery goes at once.
struct Placement {
  DeliveryState state = DeliveryState::Queued;  // Queued, Retrying (due later), Suppressed or Expired
  Reason reason = Reason::Waiting;
  std::string detail = {};
  Instant due_at = {};  // when state is Retrying
};

}  // namespace postrider
