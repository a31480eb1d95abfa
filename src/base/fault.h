// Named places where a test may stop, stall or end the process, and settings that only a test may have. Compiled into
// test builds only; a release has neither the code nor the names (tests/e2e/release_test.py looks).
//
//   POSTRIDER_FAULT=point:nth:kill | point:nth:stop | point:nth:delay=ms      the nth time that the point is passed
#pragma once

#ifdef POSTRIDER_FAULT_POINTS
#include <string>
#include <string_view>

namespace postrider {
void pass_fault_point(std::string_view name);
/// Whether this point is the one that the test asked for: for places that a test must first make possible.
bool is_fault_wanted(std::string_view name);
/// The environment's value where it has one.
std::string fault_setting(const char* name, std::string_view usual);
}  // namespace postrider
#define POSTRIDER_FAULT_POINT(name) ::postrider::pass_fault_point(name)
#define POSTRIDER_FAULT_WANTED(name) ::postrider::is_fault_wanted(name)
#define POSTRIDER_FAULT_SETTING(name, usual) ::postrider::fault_setting(name, usual)
#else
#define POSTRIDER_FAULT_POINT(name) static_cast<void>(0)
#define POSTRIDER_FAULT_WANTED(name) false
#define POSTRIDER_FAULT_SETTING(name, usual) (usual)
#endif
