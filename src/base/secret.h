// A secret has no way into a stream, a log or a format string; whoever needs it must say so.
#pragma once
#include <string>
#include <string_view>
#include <utility>

namespace postrider {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  [[nodiscard]] std::string_view reveal() const { return value_; }
  [[nodiscard]] bool empty() const { return value_.empty(); }

 private:
  std::string value_;
};

}  // namespace postrider
