// Sealed boxes from outside: whatever comes, opening it ends with an object or with an error that tells nothing of it.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "ports/secrets.h"
#include "seal/seal_keys.h"

using namespace postrider;  // NOLINT(google-build-using-namespace)

namespace {

const SealKeys& keys() {
  static const SealKeys loaded = [] {
    std::string folder = (std::filesystem::temp_directory_path() / "postrider-fuzz-XXXXXX").string();
    POSTRIDER_CHECK(mkdtemp(folder.data()) != nullptr);
    POSTRIDER_CHECK(SealKeys::make(folder, Instant{}).has_value());
    auto read = SealKeys::load(folder);
    std::filesystem::remove_all(folder);
    return std::move(*read);
  }();
  return loaded;
}

// What was sealed is opened exactly when it is an object of the right size, and is then the same.
void check_inside(std::string_view inside) {
  const auto box = keys().seal(inside);
  POSTRIDER_CHECK(box.has_value() == (inside.size() <= kSecretBytesMax));
  if (!box) return;
  const auto opened = keys().open(*box);
  const auto parsed = JsonDocument::parse(inside);
  POSTRIDER_CHECK(opened.has_value() == (parsed && parsed->root().is_object()));
  if (opened) POSTRIDER_CHECK(opened->reveal() == inside);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  POSTRIDER_CHECK(!keys().open(text));  // nobody guesses a box
  POSTRIDER_CHECK(!keys().open(to_base64(text)));
  check_inside(text);
  return 0;
}
