// What /metrics and /ops/metrics-lite show, in Prometheus text format.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/dispatch.h"
#include "runtime/engine.h"

namespace postrider {

struct MetricsInput {
  std::string prefix = "postrider";
  DispatchCounts counts = {};
  EngineHealth health = {};
  std::uint64_t expanded = 0;
  QueueStats stats = {};
  bool stats_known = false;
  Instant now = {};
  std::map<std::pair<std::string, int>, std::uint64_t> http_requests = {};  // route, status
};
std::string metrics_text(const MetricsInput& input);
/// Of these only how the outbox is emptied: the families that the alert rules in ops/ need.
std::string metrics_lite_text(const MetricsInput& input);

}  // namespace postrider
