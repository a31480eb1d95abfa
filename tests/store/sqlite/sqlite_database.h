// A SQLite file in a folder of its own, as a database under test.
#pragma once
#include "store/conformance/harness.h"

namespace postrider::conformance {
StoreFactory sqlite_factory();
/// The same with the file treated as the application's own.
StoreFactory shared_sqlite_factory();
}  // namespace postrider::conformance
