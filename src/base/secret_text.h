// Text that must not stay in memory: its buffer is wiped when it goes, and never grows, so that no copy is left behind.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace postrider {

/// Overwrites all that the text's buffer holds, in a way that no compiler leaves out, and empties it.
void wipe(std::string& text);
void wipe(void* bytes, std::size_t count);

/// Set once this process holds a key that opens secrets, and never taken back: whatever is freed from then on is
/// overwritten first (apps/postrider/heap.cc). Texts that are made of a secret on their way to a provider pass through
/// buffers of libraries, which nobody else would wipe.
extern std::atomic<bool> freed_memory_is_wiped;

class SecretText {
 public:
  SecretText() = default;
  /// Room for so many bytes, zero at first.
  explicit SecretText(std::size_t size) : bytes_(std::make_unique<char[]>(size)), size_(size) {}
  SecretText(SecretText&& other) noexcept;
  SecretText& operator=(SecretText&& other) noexcept;
  ~SecretText();

  [[nodiscard]] char* data() { return bytes_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string_view reveal() const { return {bytes_.get(), size_}; }
  /// Only its first bytes stay; the others are wiped.
  void shorten(std::size_t size);

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace postrider
