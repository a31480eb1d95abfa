#include "base/fault.h"

#ifdef POSTRIDER_FAULT_POINTS
#include <signal.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "base/text.h"

namespace postrider {
namespace {

struct Fault {
  std::string point = {};
  int nth = 0;
  std::string action = {};
};

const Fault& wanted() {
  static const Fault kFault = [] {
    Fault fault;
    const char* text = std::getenv("POSTRIDER_FAULT");
    if (text == nullptr) return fault;
    const auto parts = split(text, ':');
    if (parts.size() != 3) return fault;
    fault.point = parts[0];
    std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), fault.nth);
    fault.action = parts[2];
    return fault;
  }();
  return kFault;
}

}  // namespace

bool is_fault_wanted(std::string_view name) { return wanted().point == name; }

std::string fault_setting(const char* name, std::string_view usual) {
  const char* const text = std::getenv(name);
  return std::string{text != nullptr ? text : usual};
}

void pass_fault_point(std::string_view name) {
  static std::atomic<int> passed{0};
  const Fault& fault = wanted();
  if (fault.point != name || passed.fetch_add(1) + 1 != fault.nth) return;
  // To this thread: a signal to the process may let this thread run on for a while.
  if (fault.action == "kill") ::raise(SIGKILL);
  if (fault.action == "stop") ::raise(SIGSTOP);
  if (fault.action.starts_with("delay="))
    std::this_thread::sleep_for(std::chrono::milliseconds{std::atoi(fault.action.c_str() + 6)});
}

}  // namespace postrider
#endif
