// SPDX-License-Identifier: Apache-2.0
// Memory at addresses whose low 30 bits are the same in every run, because policies use addresses of the driver's
// objects as keys, and some use them as numbers. Only touched pages take memory.
#pragma once

#include <cstddef>

namespace uvmsim::bpf {

class Reserve {
 public:
  Reserve() = default;
  explicit Reserve(std::size_t bytes);
  ~Reserve();
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  std::byte* begin() const { return begin_; }

 private:
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* begin_ = nullptr;
};

}  // namespace uvmsim::bpf
