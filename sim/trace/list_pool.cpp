// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/list_pool.h"

namespace uvmsim::trace {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

}  // namespace

std::uint64_t hash_of(const std::vector<Extent>& extents) {
  std::uint64_t hash = extents.size();
  for (const Extent& extent : extents) {
    hash = mixed(hash, extent.first * 4 + static_cast<std::uint64_t>(extent.mode) + (extent.count << 40));
  }
  return hash;
}

std::uint64_t hash_of(const std::vector<Phase>& phases) {
  std::uint64_t hash = phases.size();
  for (const Phase& phase : phases) {
    hash = mixed(mixed(hash, phase.first_block), phase.block_count);
    for (const PhaseAccess& access : phase.accesses) hash = mixed(mixed(hash, access.slot), hash_of(access.extents));
  }
  return hash;
}

}  // namespace uvmsim::trace
