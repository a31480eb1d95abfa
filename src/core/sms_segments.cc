#include "core/sms_segments.h"

#include "base/text.h"

namespace postrider {
namespace {

// The default alphabet of GSM 03.38 without ESC, and the characters that are written as ESC and a second septet.
constexpr std::u32string_view kBasic =
    U"@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    U"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
constexpr std::u32string_view kExtended = U"\f^{}\\[~]|€";
static_assert(kBasic.size() == 127 && kExtended.size() == 10);

struct Capacity {
  std::size_t alone;
  std::size_t in_a_row;
};
constexpr Capacity kGsm7{160, 153};
constexpr Capacity kUcs2{70, 67};

// 0: GSM-7 does not have it.
std::size_t septets_of(char32_t c) {
  if (kBasic.find(c) != std::u32string_view::npos) return 1;
  return kExtended.find(c) != std::u32string_view::npos ? 2 : 0;
}
std::size_t words_of(char32_t c) { return c > 0xFFFF ? 2 : 1; }

bool fits_gsm7(std::string_view text) {
  while (!text.empty()) {
    if (septets_of(take_character(text)) == 0) return false;
  }
  return true;
}

template <class Units>
SmsSize count(std::string_view text, SmsAlphabet alphabet, Capacity capacity, const Units& units_of) {
  SmsSize size{alphabet, 0, 0};
  std::size_t used = 0;  // of the last of several segments
  std::size_t pieces = 0;
  while (!text.empty()) {
    const std::size_t units = units_of(take_character(text));
    size.units += units;
    if (pieces == 0 || used + units > capacity.in_a_row) {
      ++pieces;
      used = 0;
    }
    used += units;
  }
  size.segments = size.units == 0 ? 0 : size.units <= capacity.alone ? 1 : pieces;
  return size;
}

}  // namespace

SmsSize sms_size(std::string_view text) {
  if (fits_gsm7(text)) return count(text, SmsAlphabet::Gsm7, kGsm7, septets_of);
  return count(text, SmsAlphabet::Ucs2, kUcs2, words_of);
}

}  // namespace postrider
