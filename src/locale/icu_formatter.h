// Dates, numbers, money and plural forms as ICU knows them.
#pragma once
#include "core/format.h"

namespace postrider {

/// One for the whole process: it holds nothing but what ICU has already worked out, per thread.
const Formatter& icu_formatter();

bool is_known_locale(std::string_view tag);  // a well-formed language tag; ICU has the nearest for any
bool is_known_zone(std::string_view name);

}  // namespace postrider
