// Lists of phases that are in use, to be shared by kernels with equal ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/trace/phase_list.h"

namespace uvmsim::trace {

class PhasePool {
 public:
  // A list equal to `phases`: one that a kernel still has, else a new one.
  PhaseList find(const std::vector<Phase>& phases);

 private:
  using Lists = std::unordered_multimap<std::uint64_t, std::weak_ptr<std::vector<Phase>>>;
  static constexpr std::size_t kFewest = 1024;

  void forget_unused();

  Lists lists_;  // by hash
  std::size_t clean_at_ = kFewest;
};

}  // namespace uvmsim::trace
