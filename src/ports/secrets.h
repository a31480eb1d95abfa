// Sealed secrets, opened for as long as it takes to write a text with them.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace postrider {

class SecretOpener {
 public:
  virtual ~SecretOpener() = default;
  /// The JSON object inside a sealed box (base64). The caller wipes the text, and everything that it wrote with it, as
  /// soon as it is sent; neither may be stored, logged or put into an error. NotFound: no key here opens it. Invalid:
  /// it is no box, or what is inside is no JSON object. No error ever holds a part of what is inside. May be called by
  /// many threads at once.
  virtual Result<std::string> open(std::string_view sealed) = 0;
};

}  // namespace postrider
