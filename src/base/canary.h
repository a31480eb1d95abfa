// Bugs that are planted on purpose, each behind its name, to prove that the simulator would find them. Only the test
// program postrider-sim-canaries is compiled with them; everywhere else the question is answered at compile time. Not
// for headers: one program must not hold both answers.
#pragma once
#include <string_view>

namespace postrider {

#ifdef POSTRIDER_CANARIES
bool canary(std::string_view name);
#else
consteval bool canary(std::string_view) { return false; }
#endif

}  // namespace postrider
