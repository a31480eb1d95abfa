#include "store/conformance/model_database.h"

namespace postrider::conformance {
std::vector<StoreFactory> store_factories() { return {model_factory()}; }
}  // namespace postrider::conformance
