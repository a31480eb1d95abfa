#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace postrider {
void die(std::string_view what, const char* file, int line) {
  std::fprintf(stderr, "postrider: bug at %s:%d: %.*s\n", file, line, static_cast<int>(what.size()), what.data());
  std::abort();
}
}  // namespace postrider
