// The fuzzer's own test: a planted bug behind the real URL parser. Nobody guesses such a URL by chance; who follows the
// coverage of the library finds it in moments. When this target survives its time, no other result means anything.
#include <algorithm>
#include <memory>

#include "fuzz/input.h"
#include "transport/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto url = postrider::net::parse_url({reinterpret_cast<const char*>(data), size});
  if (!url || url->target.size() < 4) return 0;
  const auto copy = std::make_unique<char[]>(4);
  std::copy(url->target.begin(), url->target.begin() + (url->port == 80 ? 4 : 5), copy.get());
  return 0;
}
