#include "store/postgres/postgres_database.h"

namespace postrider::conformance {
std::vector<StoreFactory> store_factories() { return {postgres_factory()}; }
}  // namespace postrider::conformance
