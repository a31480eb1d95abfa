// Outside, a message is a UUID. Inside, rows have 63-bit numbers that grow with time: partition key and claim order.
#pragma once
#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace postrider {

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const Uuid&) const = default;
};
std::string format_uuid(const Uuid& id);
/// Any version, any case, with dashes (8-4-4-4-12). Empty when it is none.
std::optional<Uuid> parse_uuid(std::string_view text);
/// Version 7 from the time and 74 random bits that the caller drew.
Uuid make_uuid7(Instant now, std::uint64_t random_high, std::uint64_t random_low);
/// The same with a check of its other bytes in the last two, so that an id that an engine made can be told from others:
/// of version 7, one in 65,536 looks like it.
Uuid make_checked_uuid7(Instant now, std::uint64_t random_high, std::uint64_t random_low);
bool is_checked(const Uuid& id);
/// When a version 7 was made, as it says itself; nothing for another version.
std::optional<Instant> uuid7_time(const Uuid& id);

using RowId = std::int64_t;       // message or delivery, inside
using TenantId = std::int32_t;    // a name of the `tenant` table
using ProviderId = std::int16_t;  // a name of the `provider` table; 0 = none
using NodeId = std::int32_t;      // one process start; 0 = nobody

constexpr Instant kIdEpoch = instant_from_us(1'704'067'200'000'000);  // 2024-01-01
constexpr int kIdSequenceBits = 12;
constexpr int kIdSlotBits = 9;
constexpr int kNodeSlots = 1 << kIdSlotBits;

/// The smallest id that could have been made at `at`: bounds for time filters and partitions.
RowId id_floor(Instant at);
Instant id_time(RowId id);

/// Makes ids for one node slot: milliseconds since 2024, slot, sequence; never the same twice, never smaller than
/// before. Thread-safe. When a millisecond's 4,096 are used up it borrows from the next.
class IdSource {
 public:
  explicit IdSource(int slot) : slot_(slot) {}
  RowId next(Instant now);

 private:
  int slot_;
  std::atomic<std::int64_t> last_{0};  // milliseconds << kIdSequenceBits | sequence
};

}  // namespace postrider
