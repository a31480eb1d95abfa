#include "locale/icu_formatter.h"

#include <unicode/calendar.h>
#include <unicode/decimfmt.h>
#include <unicode/dtptngen.h>
#include <unicode/locid.h>
#include <unicode/numberformatter.h>
#include <unicode/plurrule.h>
#include <unicode/smpdtfmt.h>
#include <unicode/timezone.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"

namespace postrider {
namespace {

using icu::number::LocalizedNumberFormatter;
using icu::number::NumberFormatter;

constexpr std::size_t kKeptMax = 256;  // formatters of one thread
constexpr std::array<std::string_view, 6> kForms{"zero", "one", "two", "few", "many", "other"};

// What ICU needs 40 µs to make and 3 to use. `std::monostate`: it was tried, and cannot be made.
using Made = std::variant<std::monostate, std::unique_ptr<icu::DateFormat>, LocalizedNumberFormatter,
                          std::unique_ptr<icu::PluralRules>>;

icu::StringPiece piece(std::string_view text) { return {text.data(), static_cast<std::int32_t>(text.size())}; }
icu::UnicodeString unicode(std::string_view text) { return icu::UnicodeString::fromUTF8(piece(text)); }

std::optional<icu::Locale> locale_of(std::string_view tag) {
  UErrorCode status = U_ZERO_ERROR;
  icu::Locale locale = icu::Locale::forLanguageTag(piece(tag), status);
  if (U_FAILURE(status) != 0 || locale.isBogus() != 0 || *locale.getLanguage() == '\0') return std::nullopt;
  return locale;
}

std::unique_ptr<icu::TimeZone> zone_of(std::string_view name) {
  std::unique_ptr<icu::TimeZone> zone{icu::TimeZone::createTimeZone(unicode(name))};
  if (*zone == icu::TimeZone::getUnknown()) return nullptr;
  return zone;
}

std::optional<icu::DateFormat::EStyle> style_of(std::string_view argument) {
  if (argument == "short") return icu::DateFormat::kShort;
  if (argument == "medium") return icu::DateFormat::kMedium;
  if (argument == "long") return icu::DateFormat::kLong;
  if (argument == "full") return icu::DateFormat::kFull;
  return std::nullopt;
}

std::unique_ptr<icu::DateFormat> styled(FormatKind kind, std::string_view argument, const icu::Locale& locale) {
  using icu::DateFormat;
  // Seconds and zones are for those who ask for them.
  const DateFormat::EStyle date = argument.empty() ? DateFormat::kMedium : *style_of(argument);
  const DateFormat::EStyle time = argument.empty() ? DateFormat::kShort : *style_of(argument);
  DateFormat* made = kind == FormatKind::Date   ? DateFormat::createDateInstance(date, locale)
                     : kind == FormatKind::Time ? DateFormat::createTimeInstance(time, locale)
                                                : DateFormat::createDateTimeInstance(date, time, locale);
  return std::unique_ptr<DateFormat>{made};
}

std::unique_ptr<icu::DateFormat> patterned(std::string_view argument, const icu::Locale& locale) {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString pattern = unicode(argument);
  if (argument.starts_with("::")) {
    const std::unique_ptr<icu::DateTimePatternGenerator> generator{
        icu::DateTimePatternGenerator::createInstance(locale, status)};
    if (U_FAILURE(status) != 0) return nullptr;
    pattern = generator->getBestPattern(unicode(argument.substr(2)), status);
  }
  auto made = std::make_unique<icu::SimpleDateFormat>(pattern, locale, status);
  if (U_FAILURE(status) != 0) return nullptr;
  return made;
}

Made make_date(const FormatRequest& request, std::string_view zone_name, const icu::Locale& locale) {
  std::unique_ptr<icu::TimeZone> zone = zone_of(zone_name);
  if (!zone) return {};
  const bool is_style = request.argument.empty() || style_of(request.argument);
  auto made = is_style ? styled(request.kind, request.argument, locale) : patterned(request.argument, locale);
  if (!made) return {};
  made->adoptTimeZone(zone.release());
  return made;
}

Made make_number(const FormatRequest& request, const icu::Locale& locale) {
  UErrorCode status = U_ZERO_ERROR;
  const std::string_view argument = request.argument;
  if (request.kind == FormatKind::Currency) {
    const icu::CurrencyUnit unit{piece(argument), status};
    if (U_FAILURE(status) != 0) return {};
    return NumberFormatter::withLocale(locale).unit(unit);
  }
  if (argument.empty()) return NumberFormatter::withLocale(locale);
  if (argument == "integer") return NumberFormatter::withLocale(locale).precision(icu::number::Precision::integer());
  if (argument == "percent") {
    return NumberFormatter::withLocale(locale).unit(icu::NoUnit::percent()).scale(icu::number::Scale::powerOfTen(2));
  }
  if (argument.starts_with("::")) {
    auto made = NumberFormatter::forSkeleton(unicode(argument.substr(2)), status).locale(locale);
    if (U_FAILURE(status) != 0) return {};
    return made;
  }
  const icu::DecimalFormatSymbols symbols{locale, status};
  const icu::DecimalFormat patterned{unicode(argument), symbols, status};
  if (U_FAILURE(status) != 0) return {};
  const LocalizedNumberFormatter* made = patterned.toNumberFormatter(status);
  if (U_FAILURE(status) != 0) return {};
  return *made;
}

Made make_plural(const icu::Locale& locale) {
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::PluralRules> made{icu::PluralRules::forLocale(locale, status)};
  if (U_FAILURE(status) != 0) return {};
  return made;
}

// ICU's formatters of dates must not be shared by threads, so each thread keeps its own and nobody waits.
class Kept {
 public:
  template <class Make>
  const Made& get(FormatKind kind, std::string_view locale_tag, std::string_view zone, std::string_view argument,
                  const Make& make) {
    key_.assign(1, static_cast<char>('0' + static_cast<int>(kind)));
    for (const std::string_view part : {locale_tag, zone, argument}) {
      key_ += '\n';
      key_ += part;
    }
    const auto found = made_.find(key_);
    if (found != made_.end()) return found->second;
    if (made_.size() >= kKeptMax) made_.clear();
    const auto locale = locale_of(locale_tag);
    return made_.emplace(key_, locale ? make(*locale) : Made{}).first->second;
  }

 private:
  std::map<std::string, Made, std::less<>> made_;
  std::string key_;
};

Kept& kept() {
  thread_local Kept mine;
  return mine;
}

void append_utf8(icu::UnicodeString text, Spaces spaces, std::string& out) {
  if (spaces == Spaces::Plain) {
    for (std::int32_t i = 0; i < text.length(); ++i) {
      const char16_t c = text.charAt(i);
      if (c == 0x00A0 || c == 0x2009 || c == 0x202F) text.setCharAt(i, u' ');
    }
  }
  text.toUTF8String(out);
}

class IcuFormatter final : public Formatter {
 public:
  IcuFormatter() {
    // Where ICU does not know a locale it takes the process's own, and what is sent must not hang on an environment.
    UErrorCode status = U_ZERO_ERROR;
    icu::Locale::setDefault(icu::Locale::getUS(), status);
  }

  [[nodiscard]] bool append(const FormatRequest& request, std::string& out) const override {
    switch (request.kind) {
      case FormatKind::Date:
      case FormatKind::Time:
      case FormatKind::DateTime: return append_time(request, out);
      case FormatKind::Number:
      case FormatKind::Currency: return append_number(request, out);
      case FormatKind::Plural: return false;  // The forms are the template's: see plural_form.
    }
    POSTRIDER_DIE("a FormatKind outside its enum");
  }

  [[nodiscard]] std::string_view plural_form(std::string_view locale, std::string_view number) const override {
    static const LocalizedNumberFormatter reader = NumberFormatter::withLocale(icu::Locale::getUS());
    const Made& made = kept().get(FormatKind::Plural, locale, "", "", make_plural);
    const auto* rules = std::get_if<std::unique_ptr<icu::PluralRules>>(&made);
    if (rules == nullptr) return "other";
    UErrorCode status = U_ZERO_ERROR;
    const auto seen = reader.formatDecimal(piece(number), status);
    if (U_FAILURE(status) != 0) return "other";
    const icu::UnicodeString form = (*rules)->select(seen, status);
    if (U_FAILURE(status) != 0) return "other";
    std::string name;
    form.toUTF8String(name);
    const auto known = std::find(kForms.begin(), kForms.end(), name);
    return known == kForms.end() ? "other" : *known;
  }

 private:
  static bool append_time(const FormatRequest& request, std::string& out) {
    // A date, and a time of no zone, are shown as they were written.
    const std::string_view zone = request.time.form == WrittenTime::Form::Moment ? request.zone : "UTC";
    const Made& made = kept().get(request.kind, request.locale, zone, request.argument,
                                  [&](const icu::Locale& locale) { return make_date(request, zone, locale); });
    const auto* format = std::get_if<std::unique_ptr<icu::DateFormat>>(&made);
    if (format == nullptr) return false;
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeString text;
    (*format)->format(static_cast<UDate>(request.time.us) / 1000, text, nullptr, status);
    if (U_FAILURE(status) != 0) return false;
    append_utf8(std::move(text), request.spaces, out);
    return true;
  }

  static bool append_number(const FormatRequest& request, std::string& out) {
    const Made& made = kept().get(request.kind, request.locale, "", request.argument,
                                  [&](const icu::Locale& locale) { return make_number(request, locale); });
    const auto* format = std::get_if<LocalizedNumberFormatter>(&made);
    if (format == nullptr) return false;
    UErrorCode status = U_ZERO_ERROR;
    const auto number = format->formatDecimal(piece(request.number), status);
    if (U_FAILURE(status) != 0) return false;
    icu::UnicodeString text = number.toString(status);
    if (U_FAILURE(status) != 0) return false;
    append_utf8(std::move(text), request.spaces, out);
    return true;
  }
};

}  // namespace

bool is_known_locale(std::string_view tag) { return locale_of(tag).has_value(); }

bool is_known_zone(std::string_view name) { return zone_of(name) != nullptr; }

const Formatter& icu_formatter() {
  static const IcuFormatter formatter;
  return formatter;
}

}  // namespace postrider
