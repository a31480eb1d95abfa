// Which language a message is written in: who may wish, in which order, and what happens when a template lacks it.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace postrider {

inline constexpr std::string_view kSystemLocale = "en-US";

/// The ranges of an Accept-Language header that are acceptable (q above 0), best first; equal ones in their order.
/// What is malformed is left out. The views point into `header`.
std::vector<std::string_view> acceptable_ranges(std::string_view header);

struct LanguageMatch {
  std::string_view locale;  // as `available` spells it
  std::string_view range;   // that led to it
};
/// Look-up of RFC 4647: each range is cut from its end until it is one of the available tags, before the next is tried.
std::optional<LanguageMatch> look_up_language(std::span<const std::string_view> ranges,
                                              std::span<const std::string> available);

enum class LocaleSource : std::uint8_t { Contact, AcceptLanguage, TenantDefault, SystemDefault };
enum class LocaleMatching : std::uint8_t { LookUp, Exact };  // Exact: the literal first range, whoever has it

struct LocaleWishes {
  std::string_view contact = {};          // the person's own preference
  std::string_view accept_language = {};  // of the request
  std::string_view tenant_default = {};
  std::span<const std::string> tenant_locales = {};
  LocaleMatching matching = LocaleMatching::LookUp;
};
struct ChosenLocale {
  std::string locale = {};
  LocaleSource source = LocaleSource::SystemDefault;
  std::string range = {};  // of the header, when that decided
};
/// Contact, then header, then tenant, then en-US. Never asks which locales a template happens to have.
ChosenLocale choose_locale(const LocaleWishes& wishes);

struct TemplateLocales {
  std::string_view key = {};                    // the template's, for the error
  std::span<const std::string> has = {};        // its locales
  std::span<const std::string> fallbacks = {};  // the tenant's chain; empty: a missing locale is an error
};
/// The template's own spelling of `locale`, or of the first fallback that it has. NotFound: "Template {key} not found
/// for locale {locale}".
Result<std::string> locale_of_template(const TemplateLocales& locales, std::string_view locale);

}  // namespace postrider
