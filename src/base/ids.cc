#include "base/ids.h"

#include "base/check.h"
#include "base/text.h"

namespace postrider {

std::string format_uuid(const Uuid& id) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(36, '-');
  std::size_t at = 0;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) ++at;
    out[at++] = kDigits[id.bytes[i] >> 4];
    out[at++] = kDigits[id.bytes[i] & 15];
  }
  return out;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Uuid id;
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int value = hex_value(text[i]);
    if (value < 0) return std::nullopt;
    auto& byte = id.bytes[nibble / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | value);
    ++nibble;
  }
  return id;
}

Uuid make_uuid7(Instant now, std::uint64_t random_high, std::uint64_t random_low) {
  const auto ms = static_cast<std::uint64_t>(to_us(now) / 1000);
  Uuid id;
  for (std::size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
  id.bytes[6] = static_cast<std::uint8_t>(0x70 | ((random_high >> 8) & 0x0f));
  id.bytes[7] = static_cast<std::uint8_t>(random_high);
  for (std::size_t i = 0; i < 8; ++i) id.bytes[8 + i] = static_cast<std::uint8_t>(random_low >> (56 - 8 * i));
  id.bytes[8] = static_cast<std::uint8_t>(0x80 | (id.bytes[8] & 0x3f));
  return id;
}

namespace {

/// FNV-1a over all bytes but the last two, folded.
std::uint16_t check_of(const Uuid& id) {
  std::uint32_t hash = 2'166'136'261U;
  for (std::size_t i = 0; i + 2 < id.bytes.size(); ++i) hash = (hash ^ id.bytes[i]) * 16'777'619U;
  return static_cast<std::uint16_t>(hash >> 16U ^ hash);
}

}  // namespace

Uuid make_checked_uuid7(Instant now, std::uint64_t random_high, std::uint64_t random_low) {
  Uuid id = make_uuid7(now, random_high, random_low);
  const std::uint16_t check = check_of(id);
  id.bytes[14] = static_cast<std::uint8_t>(check >> 8U);
  id.bytes[15] = static_cast<std::uint8_t>(check);
  return id;
}

std::optional<Instant> uuid7_time(const Uuid& id) {
  if (id.bytes[6] >> 4 != 7) return std::nullopt;
  std::int64_t ms = 0;
  for (std::size_t i = 0; i < 6; ++i) ms = ms << 8 | id.bytes[i];
  return instant_from_us(ms * 1000);
}

bool is_checked(const Uuid& id) {
  const bool is_version_7 = id.bytes[6] >> 4 == 7 && id.bytes[8] >> 6 == 2;
  return is_version_7 && (id.bytes[14] << 8 | id.bytes[15]) == check_of(id);
}

RowId id_floor(Instant at) {
  const std::int64_t ms = (to_us(at) - to_us(kIdEpoch)) / 1000;
  return ms <= 0 ? 0 : ms << (kIdSequenceBits + kIdSlotBits);
}

Instant id_time(RowId id) { return kIdEpoch + std::chrono::milliseconds{id >> (kIdSequenceBits + kIdSlotBits)}; }

RowId IdSource::next(Instant now) {
  POSTRIDER_CHECK(slot_ >= 0 && slot_ < kNodeSlots);
  const std::int64_t floor = ((to_us(now) - to_us(kIdEpoch)) / 1000) << kIdSequenceBits;
  std::int64_t last = last_.load(std::memory_order_relaxed);
  std::int64_t mine = 0;
  do {
    mine = floor > last ? floor : last + 1;
  } while (!last_.compare_exchange_weak(last, mine, std::memory_order_relaxed));
  const std::int64_t ms = mine >> kIdSequenceBits;
  const std::int64_t sequence = mine & ((1 << kIdSequenceBits) - 1);
  return ms << (kIdSequenceBits + kIdSlotBits) | static_cast<std::int64_t>(slot_) << kIdSequenceBits | sequence;
}

}  // namespace postrider
