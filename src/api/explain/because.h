// Why something is as it is: the one place where a reason and the values that led to it become a sentence.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/reason.h"

namespace postrider {

/// What is known where the sentence is told; what the sentence around it says already is left empty.
struct ReasonValues {
  std::string_view detail = {};  // what was recorded with the reason
  std::string_view type = {};    // of the event
  std::string_view channel = {};
  std::string_view provider = {};
  std::string_view quiet_hours = {};
  int attempts = 0;
  std::optional<Instant> due_at = {};
  std::optional<Instant> expires_at = {};
};

/// Without a full stop: "all attempts failed (503 busy, 3 attempts)".
std::string because(Reason reason, const ReasonValues& values);

}  // namespace postrider
