// The program's own new and delete: malloc and free, and what is freed is overwritten where secrets are about. The
// sanitizers bring theirs.
#ifndef POSTRIDER_SANITIZED
#include <malloc.h>
#include <string.h>

#include <cstdlib>
#include <new>

#include "base/secret_text.h"

namespace {

void* allocated(void* memory) {
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

void release(void* memory) noexcept {
  if (memory == nullptr) return;
  if (postrider::freed_memory_is_wiped.load(std::memory_order_relaxed)) {
    explicit_bzero(memory, malloc_usable_size(memory));
  }
  std::free(memory);
}

std::size_t rounded_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

}  // namespace

void* operator new(std::size_t size) { return allocated(std::malloc(size == 0 ? 1 : size)); }
void* operator new(std::size_t size, std::align_val_t align) {
  const auto to = static_cast<std::size_t>(align);
  return allocated(std::aligned_alloc(to, rounded_up(size == 0 ? 1 : size, to)));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
#endif
