// What a viewer may not see is taken out before anything is written: whole addresses, wherever they stand.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace postrider {

enum class Addresses : bool { Masked, Plain };

/// How many a mask knows at most.
inline constexpr std::size_t kAddressesLearned = 1000;

class Mask {
 public:
  explicit Mask(Addresses shown) : shown_(shown) {}

  /// From now on this address is also hidden inside texts (a delivery's key, a provider's answer, a body).
  void learn(std::string_view address);
  /// A field that is an address.
  [[nodiscard]] std::string address(std::string_view text) const;
  /// Any other text: learned addresses in it, and words that look like an e-mail address or a phone number.
  [[nodiscard]] std::string text(std::string_view text) const;
  /// JSON, its texts treated as above and keys left alone. Text that is not JSON becomes null.
  [[nodiscard]] std::string json(std::string_view json) const;

 private:
  void write(JsonView view, JsonWriter& out) const;
  [[nodiscard]] std::string without_learned(std::string_view text) const;
  Addresses shown_;
  std::vector<std::string> learned_;
};

}  // namespace postrider
