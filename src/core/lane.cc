#include "core/lane.h"

#include "base/check.h"

namespace postrider {

std::string_view to_text(Lane lane) {
  switch (lane) {
    case Lane::Priority: return "priority";
    case Lane::Standard: return "standard";
    case Lane::Bulk: return "bulk";
  }
  POSTRIDER_DIE("a Lane outside its enum");
}

std::optional<Lane> parse_lane(std::string_view text) {
  for (const Lane lane : kLanes) {
    if (to_text(lane) == text) return lane;
  }
  return std::nullopt;
}

Duration latency_target(Lane lane) {
  switch (lane) {
    case Lane::Priority: return std::chrono::seconds{5};
    case Lane::Standard: return std::chrono::seconds{30};
    case Lane::Bulk: return std::chrono::minutes{5};
  }
  POSTRIDER_DIE("a Lane outside its enum");
}

}  // namespace postrider
