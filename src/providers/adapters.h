// What each adapter's file offers to the registry.
#pragma once
#include "providers/registry.h"

namespace postrider {

Result<std::unique_ptr<Provider>> make_sandbox(const ProviderSettings& settings);
Result<std::unique_ptr<Provider>> make_shim(const ProviderSettings& settings);
Result<std::unique_ptr<Provider>> make_webhook(const ProviderSettings& settings);
Result<std::unique_ptr<Provider>> make_smtp(const ProviderSettings& settings);
Result<Endpoint> plain_endpoint(const ProviderSettings& settings);
Result<Endpoint> smtp_endpoint(const ProviderSettings& settings);

}  // namespace postrider
