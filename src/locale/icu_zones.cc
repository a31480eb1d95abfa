#include "locale/icu_zones.h"

#include <unicode/basictz.h>
#include <unicode/timezone.h>

#include <map>
#include <memory>
#include <string>

namespace postrider {
namespace {

constexpr std::size_t kZonesKept = 600;  // there are about so many
constexpr double kUsPerMs = 1000.0;

class IcuZones final : public Zones {
 public:
  [[nodiscard]] bool knows(std::string_view zone) const override { return find(zone) != nullptr; }

  [[nodiscard]] std::optional<Duration> offset_at(Instant at, std::string_view name) const override {
    const icu::TimeZone* zone = find(name);
    if (zone == nullptr) return std::nullopt;
    std::int32_t raw = 0;
    std::int32_t saving = 0;
    UErrorCode status = U_ZERO_ERROR;
    zone->getOffset(static_cast<double>(to_us(at)) / kUsPerMs, static_cast<UBool>(false), raw, saving, status);
    if (U_FAILURE(status) != 0) return std::nullopt;
    return std::chrono::milliseconds{raw + saving};
  }

  [[nodiscard]] std::optional<Instant> moment_of(std::int64_t local_us, std::string_view name) const override {
    const icu::TimeZone* zone = find(name);
    const auto* rules = dynamic_cast<const icu::BasicTimeZone*>(zone);
    if (rules == nullptr) return std::nullopt;
    std::int32_t raw = 0;
    std::int32_t saving = 0;
    UErrorCode status = U_ZERO_ERROR;
    // A time that is left out is read by the clock before the gap, so it comes out just behind it by as much as it was
    // inside; the gap's own end is what people mean.
    rules->getOffsetFromLocal(static_cast<double>(local_us) / kUsPerMs, UCAL_TZ_LOCAL_FORMER, UCAL_TZ_LOCAL_FORMER, raw,
                              saving, status);
    if (U_FAILURE(status) != 0) return std::nullopt;
    const Instant read = instant_from_us(local_us - (std::int64_t{raw} + saving) * 1000);
    const auto there = offset_at(read, name);
    if (!there || to_us(read) + there->count() == local_us) return read;
    icu::TimeZoneTransition gap;
    if (rules->getPreviousTransition(static_cast<double>(to_us(read)) / kUsPerMs, static_cast<UBool>(true), gap) == 0)
      return read;
    return instant_from_us(static_cast<std::int64_t>(gap.getTime()) * 1000);
  }

 private:
  static const icu::TimeZone* find(std::string_view name) {
    thread_local std::map<std::string, std::unique_ptr<icu::TimeZone>, std::less<>> known;
    if (const auto found = known.find(name); found != known.end()) return found->second.get();
    std::unique_ptr<icu::TimeZone> zone{icu::TimeZone::createTimeZone(
        icu::UnicodeString::fromUTF8(icu::StringPiece{name.data(), static_cast<std::int32_t>(name.size())}))};
    if (*zone == icu::TimeZone::getUnknown()) zone.reset();
    if (known.size() >= kZonesKept) known.clear();
    return known.emplace(std::string{name}, std::move(zone)).first->second.get();
  }
};

}  // namespace

const Zones& icu_zones() {
  static const IcuZones zones;
  return zones;
}

}  // namespace postrider
