// Lanes: three independent queues with their own latency targets.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace postrider {

enum class Lane : std::uint8_t { Priority = 1, Standard = 2, Bulk = 3 };
inline constexpr std::array kLanes{Lane::Priority, Lane::Standard, Lane::Bulk};

std::string_view to_text(Lane lane);
/// "priority", "standard", "bulk".
std::optional<Lane> parse_lane(std::string_view text);
/// How long a message of this lane may wait before it is late.
Duration latency_target(Lane lane);

}  // namespace postrider
