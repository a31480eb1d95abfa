// A delivery whose text is written just before it is sent: what is asked for, and what came of it.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "core/content.h"
#include "core/delivery.h"
#include "ports/provider.h"
#include "ports/transport.h"

namespace postrider {

struct LateJob {
  CallId id = 0;  // of the call that is to be made with it
  RowId delivery = 0;
};

/// It is not to be sent: cancelled, or it cannot be written.
struct NotToBeSent {
  DeliveryState state = DeliveryState::Suppressed;
  Reason reason = Reason::TemplateBroken;
  std::string detail = {};
};
/// What it needs could not be asked for: it waits, and no attempt is used up.
struct NotNow {
  Reason reason = Reason::ContextFailed;
  std::string detail = {};
};
/// The text, and what of it nobody may keep: words of a secret that an answer could repeat.
struct LateText {
  Content content = {};
  int template_version = 0;
  std::vector<std::string> secrets = {};
  bool may_be_kept = true;       // no secret is in it
  std::string message_key = {};  // that the producer gave the message
};
struct LateAnswer {
  CallId id = 0;
  std::variant<LateText, NotToBeSent, NotNow> what = NotNow{};
};

/// What the provider answered; of what is told about it, nothing repeats these words.
Outcome interpret_discreetly(const Provider& adapter, const Reply& reply, Instant now,
                             const std::vector<std::string>& secrets);

}  // namespace postrider
