#include "base/fault.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

// A child passes the point three times; how it ended is how the test sees what the point did.
int pass_three_times(const char* fault) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("POSTRIDER_FAULT", fault, 1);
    for (int i = 0; i < 3; ++i) POSTRIDER_FAULT_POINT("here");
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

#ifdef POSTRIDER_FAULT_POINTS
TEST(FaultPoint, KillsTheProcessAtItsTurn) {
  const int status = pass_three_times("here:3:kill");
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}
TEST(FaultPoint, DoesNothingElsewhereOrAtAnotherTurn) {
  EXPECT_EQ(pass_three_times("elsewhere:1:kill"), 0);
  EXPECT_EQ(pass_three_times("here:4:kill"), 0);
  EXPECT_EQ(pass_three_times("nonsense"), 0);
}
TEST(FaultPoint, ASettingIsTheUsualOneUnlessTheTestHasAnother) {
  EXPECT_EQ(POSTRIDER_FAULT_SETTING("POSTRIDER_FAULT_NOT_SET", "FULL"), std::string{"FULL"});
  ::setenv("POSTRIDER_FAULT_SET_HERE", "NORMAL", 1);
  EXPECT_EQ(POSTRIDER_FAULT_SETTING("POSTRIDER_FAULT_SET_HERE", "FULL"), std::string{"NORMAL"});
}
#else
TEST(FaultPoint, IsNothingInARelease) {
  EXPECT_EQ(pass_three_times("here:1:kill"), 0);
  ::setenv("POSTRIDER_FAULT_SET_HERE", "NORMAL", 1);
  EXPECT_EQ(POSTRIDER_FAULT_SETTING("POSTRIDER_FAULT_SET_HERE", "FULL"), std::string{"FULL"});
  EXPECT_FALSE(POSTRIDER_FAULT_WANTED("here"));
}
#endif
