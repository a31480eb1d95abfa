// When a person is not to be disturbed, by their own clock.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/contact.h"

namespace postrider {

/// What time it is elsewhere. A library of time zones answers.
class Zones {
 public:
  virtual ~Zones() = default;
  [[nodiscard]] virtual bool knows(std::string_view zone) const = 0;
  /// What has to be added to UTC at that moment; empty for a zone that nobody knows. May be called by many threads.
  [[nodiscard]] virtual std::optional<Duration> offset_at(Instant at, std::string_view zone) const = 0;
  /// The moment at which the zone's clocks show this (microseconds since 1970 as if they were UTC). A time that comes
  /// twice: the first; one that is left out: the moment at which the clocks go on.
  [[nodiscard]] virtual std::optional<Instant> moment_of(std::int64_t local_us, std::string_view zone) const = 0;
};

/// The end of the quiet hours that `at` falls into; empty when it falls into none, or the zone is not known.
std::optional<Instant> quiet_until(const QuietHours& hours, std::string_view zone, Instant at, const Zones& zones);

/// As it is kept with a delivery: "22:00-08:00 Europe/Berlin". Empty text: at any time.
struct QuietWindow {
  QuietHours hours = {};
  std::string zone = {};
};
std::string to_text(const QuietWindow& window);
std::optional<QuietWindow> parse_quiet_window(std::string_view text);

}  // namespace postrider
