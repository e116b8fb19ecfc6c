#include "sim/trace/phase_pool.h"

#include <algorithm>

namespace uvmsim::trace {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

std::uint64_t hash_of(const std::vector<Phase>& phases) {
  std::uint64_t hash = phases.size();
  for (const Phase& phase : phases) {
    hash = mixed(mixed(hash, phase.first_block), phase.block_count);
    for (const PhaseAccess& access : phase.accesses) {
      hash = mixed(mixed(hash, access.slot), access.extents.size());
      for (const Extent& extent : access.extents) {
        hash = mixed(hash, extent.first * 4 + static_cast<std::uint64_t>(extent.mode) + (extent.count << 40));
      }
    }
  }
  return hash;
}

}  // namespace

PhaseList PhasePool::find(const std::vector<Phase>& phases) {
  if (phases.empty()) return {};
  const std::uint64_t hash = hash_of(phases);
  const auto [first, end] = lists_.equal_range(hash);
  for (auto at = first; at != end; ++at) {
    PhaseList known;
    known.list_ = at->second.lock();
    if (known.list_ != nullptr && *known.list_ == phases) return known;
  }
  if (lists_.size() >= clean_at_) forget_unused();
  PhaseList fresh(phases);
  lists_.emplace(hash, fresh.list_);
  return fresh;
}

void PhasePool::forget_unused() {
  std::erase_if(lists_, [](const auto& entry) { return entry.second.expired(); });
  clean_at_ = std::max(kFewest, 2 * lists_.size());
}

}  // namespace uvmsim::trace
