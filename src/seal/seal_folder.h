// The keys of a folder for a process that goes on: a key that is made, retired or removed meanwhile is noticed.
#pragma once
#include <sys/stat.h>

#include <memory>
#include <mutex>

#include "ports/secrets.h"
#include "seal/seal_keys.h"

namespace postrider {

class SealFolder final : public SecretOpener, public SecretSealer {
 public:
  static Result<std::unique_ptr<SealFolder>> open_folder(std::string folder);

  Result<std::string> open(std::string_view sealed) override;
  Result<SealingKey> sealing_key() override;
  Result<std::string> seal(std::string_view plaintext) override;

 private:
  explicit SealFolder(std::string folder) : folder_(std::move(folder)) {}
  Result<std::shared_ptr<const SealKeys>> keys();

  const std::string folder_;
  std::mutex mutex_;
  std::shared_ptr<const SealKeys> keys_;
  timespec changed_ = {};  // the folder, when they were read
};

}  // namespace postrider
