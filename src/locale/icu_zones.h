// Time zones as ICU knows them.
#pragma once
#include "core/quiet_hours.h"

namespace postrider {

/// One for the whole process: it holds nothing but zones that were looked up, per thread.
const Zones& icu_zones();

}  // namespace postrider
