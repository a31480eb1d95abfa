// A bug stops the process, in release too. Never used on input: bad input is an Error or an outcome.
#pragma once
#include <string_view>

namespace postrider {
[[noreturn]] void die(std::string_view what, const char* file = "", int line = 0);
}  // namespace postrider

#define POSTRIDER_CHECK(condition)                                       \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::postrider::die("check failed: " #condition, __FILE__, __LINE__); \
  } while (false)
#define POSTRIDER_DIE(what) ::postrider::die(what, __FILE__, __LINE__)
