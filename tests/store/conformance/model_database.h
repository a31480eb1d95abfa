// The model store as a database under test: put through the suite itself, and the measure of the differential test.
#pragma once
#include "store/conformance/harness.h"

namespace postrider::conformance {
StoreFactory model_factory();
}  // namespace postrider::conformance
