// Named places where a test may stop, stall or end the process. Compiled into test builds only; a release has neither
// the code nor the names (tests/e2e/release_test.py looks).
//
//   POSTRIDER_FAULT=point:nth:kill | point:nth:stop | point:nth:delay=ms      the nth time that the point is passed
#pragma once

#ifdef POSTRIDER_FAULT_POINTS
namespace postrider {
void pass_fault_point(const char* name);
}
#define POSTRIDER_FAULT_POINT(name) ::postrider::pass_fault_point(name)
#else
#define POSTRIDER_FAULT_POINT(name) static_cast<void>(0)
#endif
