#include "seal/seal_keys.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/crypto.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/wiped_json.h"
#include "ports/secrets.h"

namespace postrider {
namespace {

namespace fs = std::filesystem;

static_assert(kSealBytes == crypto_box_SEALBYTES);
constexpr std::size_t kFileBytesMax = 4096;
constexpr std::string_view kHead = "# Opens sealed secrets of Postrider. Whoever has this file can read them.\n";
constexpr std::string_view kEnd = ".key";
constexpr std::string_view kRetiredEnd = ".retired.key";

unsigned char* raw(char* text) { return reinterpret_cast<unsigned char*>(text); }
const unsigned char* raw(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

void prepare() {
  static const bool ready = sodium_init() >= 0;  // Safe to be called again; fails only without a source of entropy.
  POSTRIDER_CHECK(ready);
}

std::string name_of(std::string_view public_key) { return to_hex(sha256(public_key)).substr(0, 8); }

Error damaged(const fs::path& file, std::string_view what) {
  return {ErrorCode::Corrupt, fmt::format("the seal key {} {}", file.string(), what)};
}

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

Result<SecretText> read_private(const fs::path& file) {
  const Descriptor in{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (in.number < 0) return Error{ErrorCode::Unavailable, fmt::format("cannot read the seal key {}", file.string())};
  struct stat about {};
  if (::fstat(in.number, &about) != 0 || !S_ISREG(about.st_mode)) return damaged(file, "is no file");
  if ((about.st_mode & 077) != 0) return damaged(file, "may be read by others than its owner; chmod 600 it");
  SecretText text{kFileBytesMax};
  const ssize_t size = ::read(in.number, text.data(), kFileBytesMax);
  if (size < 0) return damaged(file, "cannot be read");
  text.shorten(static_cast<std::size_t>(size));
  return text;
}

bool decode_key(std::string_view base64, char* into) {
  std::size_t size = 0;
  const char* end = nullptr;
  const int done = sodium_base642bin(raw(into), crypto_box_SECRETKEYBYTES, base64.data(), base64.size(), nullptr, &size,
                                     &end, sodium_base64_VARIANT_ORIGINAL);
  return done == 0 && size == crypto_box_SECRETKEYBYTES && end == base64.data() + base64.size();
}

Result<SealKey> read_key(const fs::path& file) {
  POSTRIDER_TRY(text, read_private(file));
  SealKey key;
  key.private_key = SecretText{crypto_box_SECRETKEYBYTES};
  bool opens = false;
  bool dated = false;
  for (const std::string_view line : split(text.reveal(), '\n')) {
    if (line.starts_with("made ")) {
      const auto at = parse_instant(line.substr(5));
      dated = at.has_value();
      key.made_at = at.value_or(Instant{});
    }
    if (line.starts_with("private ")) opens = decode_key(line.substr(8), key.private_key.data());
  }
  if (!opens || !dated) return damaged(file, "is damaged");
  key.public_key.resize(crypto_box_PUBLICKEYBYTES);
  crypto_scalarmult_base(raw(key.public_key.data()), raw(key.private_key.reveal()));
  key.name = name_of(key.public_key);
  const std::string name = file.filename().string();
  key.use = name.ends_with(kRetiredEnd) ? SealUse::OpensOnly : SealUse::SealsToo;
  if (!name.starts_with(key.name))
    return damaged(file, fmt::format("has the name of another; its own is {}", key.name));
  return key;
}

// In a draft that is renamed when it is on the disk: nobody ever sees half of it.
Result<Done> write_private(const fs::path& file, std::string_view text) {
  const Error cannot{ErrorCode::Unavailable, fmt::format("cannot write {}", file.string())};
  const std::string draft = file.string() + ".new";
  {
    const Descriptor out{::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (out.number < 0) return cannot;
    const bool written =
        ::write(out.number, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(out.number) == 0;
    if (!written || ::rename(draft.c_str(), file.c_str()) != 0) {
      ::unlink(draft.c_str());
      return cannot;
    }
  }
  const Descriptor folder{::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.number < 0 || ::fsync(folder.number) != 0) return cannot;
  return Done{};
}

bool is_object(std::string_view text) {
  const WipedJson wiped;
  const auto parsed = JsonDocument::parse(text, {.bytes_max = kSecretBytesMax, .depth_max = kJsonDepthMax});
  return parsed && parsed->root().is_object();
}

}  // namespace

Result<SealKeys> SealKeys::load(const std::string& folder) {
  prepare();
  SealKeys out;
  std::error_code error;
  fs::directory_iterator files{folder, error};
  if (error == std::errc::no_such_file_or_directory) return out;
  if (error) return Error{ErrorCode::Unavailable, fmt::format("cannot read the folder {}", folder)};
  for (const fs::directory_entry& file : files) {
    if (!file.path().filename().string().ends_with(kEnd)) continue;
    POSTRIDER_TRY(key, read_key(file.path()));
    out.keys_.push_back(std::move(key));
  }
  std::sort(out.keys_.begin(), out.keys_.end(), [](const SealKey& a, const SealKey& b) {
    return a.made_at != b.made_at ? a.made_at > b.made_at : a.name < b.name;
  });
  return out;
}

Result<SealKey> SealKeys::make(const std::string& folder, Instant now) {
  prepare();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{ErrorCode::Unavailable, fmt::format("cannot make the folder {}", folder)};
  fs::permissions(folder, fs::perms::owner_all, error);
  SealKey key;
  key.public_key.resize(crypto_box_PUBLICKEYBYTES);
  key.private_key = SecretText{crypto_box_SECRETKEYBYTES};
  crypto_box_keypair(raw(key.public_key.data()), raw(key.private_key.data()));
  key.name = name_of(key.public_key);
  key.made_at = now;
  constexpr std::size_t kDigits = sodium_base64_ENCODED_LEN(crypto_box_SECRETKEYBYTES, sodium_base64_VARIANT_ORIGINAL);
  SecretText digits{kDigits};
  sodium_bin2base64(digits.data(), digits.size(), raw(key.private_key.reveal()), key.private_key.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  digits.shorten(kDigits - 1);  // without its NUL
  const std::string before =
      fmt::format("{}made {}\npublic {}\nprivate ", kHead, format_instant(now), to_base64(key.public_key));
  SecretText text{before.size() + digits.size() + 1};
  char* const at = std::copy(before.begin(), before.end(), text.data());
  *std::copy(digits.data(), digits.data() + digits.size(), at) = '\n';
  POSTRIDER_TRY_DONE(write_private(fs::path{folder} / (key.name + std::string{kEnd}), text.reveal()));
  return key;
}

Result<Done> SealKeys::retire(const std::string& folder, std::string_view name) {
  const bool is_name =
      name.size() == 8 && std::all_of(name.begin(), name.end(), [](char c) { return hex_value(c) >= 0; });
  const fs::path file = fs::path{folder} / (std::string{name} + std::string{kEnd});
  const fs::path retired = fs::path{folder} / (std::string{name} + std::string{kRetiredEnd});
  if (!is_name || ::rename(file.c_str(), retired.c_str()) != 0)
    return Error{ErrorCode::NotFound, fmt::format("there is no seal key \"{}\" that seals", printable(name))};
  return Done{};
}

const SealKey* SealKeys::sealing() const {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [](const SealKey& key) { return key.use == SealUse::SealsToo; });
  return found != keys_.end() ? &*found : nullptr;
}

Result<std::string> SealKeys::seal(std::string_view plaintext) const {
  const SealKey* key = sealing();
  if (key == nullptr)
    return Error{ErrorCode::NotFound, "there is no seal key; make one with `postrider keys seal new`"};
  if (plaintext.size() > kSecretBytesMax)
    return Error{ErrorCode::Invalid, fmt::format("a secret has at most {} bytes", kSecretBytesMax)};
  std::string box(plaintext.size() + kSealBytes, '\0');
  crypto_box_seal(raw(box.data()), raw(plaintext), plaintext.size(), raw(key->public_key));
  return to_base64(box);
}

Result<SecretText> SealKeys::open(std::string_view sealed) const {
  // Base64 has four digits for three bytes: nothing larger than a box is even decoded.
  const auto box = sealed.size() <= 4 * (kSecretBytesMax + kSealBytes) / 3 + 4 ? from_base64(sealed) : std::nullopt;
  if (!box || box->size() < kSealBytes || box->size() > kSecretBytesMax + kSealBytes)
    return Error{ErrorCode::Invalid, "this is no sealed box"};
  SecretText inside{box->size() - kSealBytes};
  for (const SealKey& key : keys_) {
    const int opened = crypto_box_seal_open(raw(inside.data()), raw(*box), box->size(), raw(key.public_key),
                                            raw(key.private_key.reveal()));
    if (opened != 0) continue;
    if (!is_object(inside.reveal())) return Error{ErrorCode::Invalid, "what is in the sealed box is no JSON object"};
    return inside;
  }
  return Error{ErrorCode::NotFound, "no key here opens the sealed box"};
}

}  // namespace postrider
