// Every adapter, by one visible line in registry.cc. Settings come as text; an adapter says which it knows, so that a
// wrong key in the configuration is found before anything starts.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ports/adapter.h"

namespace postrider {

const std::vector<Adapter>& adapters();
const Adapter* find_adapter(std::string_view type);

std::string setting(const ProviderSettings& settings, const std::string& key, std::string_view otherwise = "");
bool flag_setting(const ProviderSettings& settings, const std::string& key, bool otherwise);
int number_setting(const ProviderSettings& settings, const std::string& key, int otherwise);
std::string_view secret_setting(const ProviderSettings& settings, const std::string& key);

}  // namespace postrider
