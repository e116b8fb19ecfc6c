// SPDX-License-Identifier: Apache-2.0
#include "bpf/host/reserve.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace uvmsim::bpf {

Reserve::Reserve(std::size_t bytes) {
  constexpr std::size_t kAlignment = std::size_t{1} << 30;
  mapped_bytes_ = bytes + kAlignment;
  mapped_ = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped_ == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(mapped_);
  begin_ = static_cast<std::byte*>(mapped_) + (kAlignment - address % kAlignment) % kAlignment;
}

Reserve::~Reserve() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
}

}  // namespace uvmsim::bpf
