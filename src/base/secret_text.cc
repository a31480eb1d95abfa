#include "base/secret_text.h"

#include <openssl/crypto.h>

#include <utility>

#include "base/check.h"

namespace postrider {

std::atomic<bool> freed_memory_is_wiped{false};

void wipe(void* bytes, std::size_t count) { OPENSSL_cleanse(bytes, count); }
void wipe(std::string& text) {
  text.resize(text.capacity());  // what it once held may reach further than what it holds now
  wipe(text.data(), text.size());
  text.clear();
}

SecretText::SecretText(SecretText&& other) noexcept
    : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
SecretText& SecretText::operator=(SecretText&& other) noexcept {
  shorten(0);
  bytes_ = std::move(other.bytes_);
  size_ = std::exchange(other.size_, 0);
  return *this;
}
SecretText::~SecretText() { shorten(0); }

void SecretText::shorten(std::size_t size) {
  POSTRIDER_CHECK(size <= size_);
  if (size_ > size) wipe(bytes_.get() + size, size_ - size);
  size_ = size;
}

}  // namespace postrider
