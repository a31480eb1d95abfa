// Which planted bug this run of postrider-sim-canaries has.
#pragma once
#include <string>
#include <vector>

namespace postrider::sim {

bool has_canaries();
std::vector<std::string> canary_names();
/// Empty: none.
void plant(const std::string& name);

}  // namespace postrider::sim
