#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "base/wiped_json.h"
#include "commands.h"
#include "ports/secrets.h"
#include "runtime/clock.h"
#include "seal/seal_keys.h"

namespace postrider::app {
namespace {

std::string_view use_of(const SealKey& key) { return key.use == SealUse::SealsToo ? "seals" : "opens"; }

void print_key(const SealKey& key, const Common& common) {
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}
                           .begin_object()
                           .member("name", key.name)
                           .member("public_key", to_base64(key.public_key))
                           .end_object()
                           .take());
  } else {
    fmt::print("{}\n", to_base64(key.public_key));
  }
}

int list(const Common& common, const SealKeys& keys) {
  JsonWriter json;
  json.begin_array();
  for (const SealKey& key : keys.all()) {
    const bool in_use = &key == keys.sealing();
    json.begin_object().member("name", key.name).member("use", in_use ? "sealing" : use_of(key));
    json.member("made_at", format_instant(key.made_at)).member("public_key", to_base64(key.public_key)).end_object();
    if (!common.json)
      fmt::print("{}  {:<7}  {}  {}\n", key.name, in_use ? "sealing" : use_of(key), format_instant(key.made_at),
                 to_base64(key.public_key));
  }
  if (common.json) fmt::print("{}\n", json.end_array().take());
  return 0;
}

// Into memory that is wiped: neither a stream nor a string holds it on the way.
Result<SecretText> read_secret(const std::string& file) {
  const bool is_input = file == "-";
  const int from = is_input ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return Error{ErrorCode::NotFound, fmt::format("cannot read {}", file)};
  SecretText text{kSecretBytesMax + 1};
  std::size_t size = 0;
  ssize_t got = 1;
  while (got > 0 && size < text.size()) {
    got = ::read(from, text.data() + size, text.size() - size);
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  if (!is_input) ::close(from);
  if (got < 0) return Error{ErrorCode::NotFound, fmt::format("cannot read {}", file)};
  if (size > kSecretBytesMax) return Error{ErrorCode::Invalid, fmt::format("larger than {} bytes", kSecretBytesMax)};
  text.shorten(size);
  return text;
}

}  // namespace

int run_seal_keys(const Common& common, const SealOptions& options) {
  const std::string folder = seal_folder_of(common);
  if (options.action == "new") {
    const auto made = SealKeys::make(folder, system_now());
    if (!made) return fail(made.error());
    print_key(*made, common);
    fmt::print(stderr, "seal key {} made in {}; keep a copy of its file: without it, what it sealed cannot be read\n",
               made->name, folder);
    return 0;
  }
  if (options.action == "retire") {
    if (auto retired = SealKeys::retire(folder, options.name); !retired) return fail(retired.error());
    fmt::print("seal key {} seals no more; what it sealed can still be opened\n", options.name);
    return 0;
  }
  const auto keys = SealKeys::load(folder);
  if (!keys) return fail(keys.error());
  if (options.action == "list") return list(common, *keys);
  if (keys->sealing() == nullptr) return fail("there is no seal key; make one with `postrider keys seal new`");
  print_key(*keys->sealing(), common);
  return 0;
}

int run_seal(const Common& common, const std::string& file) {
  const auto keys = SealKeys::load(seal_folder_of(common));
  if (!keys) return fail(keys.error());
  const auto secret = read_secret(file);
  if (!secret) return fail(secret.error());
  {
    const WipedJson wiped;
    const auto parsed = JsonDocument::parse(secret->reveal());
    if (!parsed || !parsed->root().is_object()) return fail("the secret is not a JSON object");
  }
  const auto box = keys->seal(secret->reveal());
  if (!box) return fail(box.error());
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}.begin_object().member("sealed", *box).end_object().take());
  } else {
    fmt::print("{}\n", *box);
  }
  return 0;
}

}  // namespace postrider::app
