#include "seal/seal_folder.h"

#include <sys/stat.h>

#include "base/secret_text.h"
#include "base/text.h"

namespace postrider {

Result<std::unique_ptr<SealFolder>> SealFolder::open_folder(std::string folder) {
  std::unique_ptr<SealFolder> out(new SealFolder(std::move(folder)));
  if (auto read = out->keys(); !read) return read.error();
  return out;
}

// A folder changes whenever a file in it appears, goes or gets another name, which is all that happens to keys.
Result<std::shared_ptr<const SealKeys>> SealFolder::keys() {
  struct stat about {};
  if (::stat(folder_.c_str(), &about) != 0) about.st_mtim = {};
  const std::lock_guard lock(mutex_);
  const bool same = about.st_mtim.tv_sec == changed_.tv_sec && about.st_mtim.tv_nsec == changed_.tv_nsec;
  if (keys_ && same) return keys_;
  auto loaded = SealKeys::load(folder_);
  // Keys that were good stay in use while somebody is at the folder.
  if (!loaded && keys_) return keys_;
  if (!loaded) return loaded.error();
  keys_ = std::make_shared<const SealKeys>(std::move(*loaded));
  changed_ = about.st_mtim;
  if (!keys_->all().empty()) freed_memory_is_wiped.store(true);
  return keys_;
}

Result<std::string> SealFolder::open(std::string_view sealed) {
  POSTRIDER_TRY(current, keys());
  POSTRIDER_TRY(inside, current->open(sealed));
  return std::string{inside.reveal()};
}

Result<SealingKey> SealFolder::sealing_key() {
  POSTRIDER_TRY(current, keys());
  const SealKey* key = current->sealing();
  if (key == nullptr) return Error{ErrorCode::NotFound, "there is no seal key"};
  return SealingKey{key->name, to_base64(key->public_key)};
}

Result<std::string> SealFolder::seal(std::string_view plaintext) {
  POSTRIDER_TRY(current, keys());
  return current->seal(plaintext);
}

}  // namespace postrider
