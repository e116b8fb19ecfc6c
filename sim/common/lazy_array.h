// SPDX-License-Identifier: Apache-2.0
// An array of zeros that takes memory where something was written, in pages of 4 KB: however long it is, what nobody
// writes costs addresses alone.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace uvmsim {

template <class T>
class LazyArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  LazyArray() = default;
  ~LazyArray() {
    if (items_ != nullptr) ::munmap(items_, bytes_);
  }
  LazyArray(LazyArray&& other) noexcept
      : items_(std::exchange(other.items_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        size_(std::exchange(other.size_, 0)) {}
  LazyArray& operator=(LazyArray&& other) noexcept {
    std::swap(items_, other.items_);
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return items_[index]; }
  const T& operator[](std::size_t index) const { return items_[index]; }

  // Grows the array, which never shrinks; new items are zero. References to items become invalid. Throws
  // std::bad_alloc.
  void grow(std::size_t size) {
    if (size <= size_) return;
    if (size * sizeof(T) > bytes_) {
      const std::size_t bytes = std::max({size * sizeof(T), bytes_ * 2, kLeastBytes});
      void* const items = items_ == nullptr ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                            : ::mremap(items_, bytes_, bytes, MREMAP_MAYMOVE);
      if (items == MAP_FAILED) throw std::bad_alloc();
      items_ = static_cast<T*>(items);
      bytes_ = bytes;
    }
    size_ = size;
  }

 private:
  static constexpr std::size_t kLeastBytes = 4096;

  T* items_ = nullptr;
  std::size_t bytes_ = 0;  // mapped
  std::size_t size_ = 0;
};

}  // namespace uvmsim
