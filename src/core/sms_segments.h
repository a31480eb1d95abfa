// What an SMS costs: in which alphabet its text goes, and in how many pieces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace postrider {

enum class SmsAlphabet : std::uint8_t { Gsm7, Ucs2 };

struct SmsSize {
  SmsAlphabet alphabet = SmsAlphabet::Gsm7;
  std::size_t units = 0;  // septets of GSM-7 (ten characters take two), or 16-bit units of UCS-2
  std::size_t segments = 0;
};

/// One segment holds 160 units of GSM-7 or 70 of UCS-2; of a longer text each holds 153 or 67, and no character is cut
/// in two. One character that GSM-7 lacks makes the whole text UCS-2. An empty text has no segment.
SmsSize sms_size(std::string_view text);

}  // namespace postrider
