#include "runtime/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/check.h"
#include "base/text.h"

namespace postrider {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::Debug: return spdlog::level::debug;
    case LogLevel::Info: return spdlog::level::info;
    case LogLevel::Warning: return spdlog::level::warn;
    case LogLevel::Error: return spdlog::level::err;
  }
  POSTRIDER_DIE("a LogLevel outside its enum");
}

spdlog::logger& logger() {
  static const auto kLogger = [] {
    auto made = spdlog::stderr_logger_mt("postrider");
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    return made;
  }();
  return *kLogger;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(level_of(level)); }
void write_log(LogLevel level, std::string_view line) { logger().log(level_of(level), printable(line)); }

}  // namespace postrider
