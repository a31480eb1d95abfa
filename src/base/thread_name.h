// Threads have names, so that top -H, gdb and profiles tell them apart.
#pragma once
#include <pthread.h>

namespace postrider {

/// Names the calling thread; at most 15 characters.
inline void name_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace postrider
