// The application beside the engine: its records, its secrets, and the clocks
// on its walls.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/quiet_hours.h"
#include "ports/context.h"
#include "ports/secrets.h"
#include "sim/watcher.h"

namespace postrider::sim {

class World;

/// Everybody lives by UTC.
struct Utc final : Zones {
  [[nodiscard]] bool knows(std::string_view zone) const override { return zone == "UTC"; }
  [[nodiscard]] std::optional<Duration> offset_at(Instant, std::string_view) const override { return Duration{}; }
  [[nodiscard]] std::optional<Instant> moment_of(std::int64_t local_us, std::string_view) const override {
    return instant_from_us(local_us);
  }
};

/// The application's database as one process sees it: it may be gone, or slow.
class Records final : public ContextSource {
 public:
  explicit Records(World& world) : world_(world) {}
  std::vector<ContextRecord> load(const ContextRule& rule, std::span<const ContextAsk> asks) override;
  /// How long the questions since the last time took.
  [[nodiscard]] Duration took() { return std::exchange(took_, Duration{}); }

 private:
  World& world_;
  Duration took_ = {};
  std::map<std::string, std::string, std::less<>> first_;  // what was answered first, for a planted bug
};

/// Boxes that open to {"code": "code-0012"}.
class Boxes final : public SecretOpener {
 public:
  Result<std::string> open(std::string_view sealed) override;
};
std::string sealed_box(int number);

}  // namespace postrider::sim
