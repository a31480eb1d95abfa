// How a value is written for people: what a template may ask for, and the port behind which a library of locales
// answers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace postrider {

enum class FormatKind : std::uint8_t { Date, Time, DateTime, Number, Currency, Plural };

/// Some locales set spaces that no SMS alphabet has: one of them doubles the price of the message.
enum class Spaces : std::uint8_t { AsWritten, Plain };

struct FormatRequest {
  FormatKind kind = FormatKind::Number;
  /// Date, Time, DateTime: short, medium, long, full, a pattern (dd-MMM-yyyy) or a skeleton (::yMMMd); empty: medium.
  /// Number: integer, percent, a pattern (#,##0.00) or a skeleton (::compact-short); empty: the locale's own form.
  /// Currency: the code (EUR).
  std::string_view argument = {};
  std::string_view locale = {};  // a language tag: en-US
  std::string_view zone = {};    // Europe/Berlin; only for times that name a moment
  WrittenTime time = {};         // of Date, Time, DateTime
  std::string_view number = {};  // of Number and Currency: decimal digits
  Spaces spaces = Spaces::AsWritten;
};

class Formatter {
 public:
  virtual ~Formatter() = default;
  /// Appends the value as people of the locale write it. False, with nothing appended: it cannot be written so (a
  /// pattern that is none, a zone or a locale that nobody knows). May be called by many threads at once.
  [[nodiscard]] virtual bool append(const FormatRequest& request, std::string& out) const = 0;
  /// zero, one, two, few, many or other: which form the locale's grammar wants for this decimal number.
  [[nodiscard]] virtual std::string_view plural_form(std::string_view locale, std::string_view number) const = 0;
};

}  // namespace postrider
