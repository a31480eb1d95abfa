#include "store/sqlite/sqlite_database.h"

namespace postrider::conformance {
std::vector<StoreFactory> store_factories() { return {sqlite_factory(), shared_sqlite_factory()}; }
}  // namespace postrider::conformance
