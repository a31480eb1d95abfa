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
  std::string subject = {};
  std::string body = {};
  std::string html = {};
  std::string warnings = {};  // what rendering noticed ("no value for guest.name")
  std::optional<Instant> expires_at = {};
};

/// Where a new delivery goes at once.
struct Placement {
  DeliveryState state = DeliveryState::Queued;  // Queued, Retrying (due later), Suppressed or Expired
  Reason reason = Reason::Waiting;
  std::string detail = {};
  Instant due_at = {};  // when state is Retrying
};

}  // namespace postrider
