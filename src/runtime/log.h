// One line per happening, to stderr. No line per notification: those are in the store.
#pragma once
#include <fmt/format.h>

#include <string_view>

namespace postrider {

enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error };
void set_log_level(LogLevel level);
void write_log(LogLevel level, std::string_view line);

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  write_log(LogLevel::Info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  write_log(LogLevel::Warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  write_log(LogLevel::Error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace postrider
