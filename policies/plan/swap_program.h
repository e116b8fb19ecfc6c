// SPDX-License-Identifier: Apache-2.0
// A program as planners of swaps see it: memory in regions that are used together, and their idle times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/policy/kernel_future.h"
#include "sim/policy/planner.h"

namespace uvmsim::policy {

// The same numbers as KernelLaunch::number.
using KernelNumber = std::uint64_t;

// Kernels `from` and `to` use the region; the kernels between them do not.
struct Idle {
  std::size_t region = 0;
  KernelNumber from = 0, to = 0;
  bool live = true;  // false: its content at `from` is freed before `to`

  std::uint64_t kernels() const { return to - from - 1; }
};

// Blocks with the same uses: one tensor or several.
struct Region {
  std::vector<BlockIndex> blocks;
  KernelNumber first = 0, last = 0;  // first and last use
  std::uint64_t bytes() const { return blocks.size() * kBlockBytes; }
};

struct SwapProgram {
  std::vector<Region> regions;
  std::vector<Idle> idle;  // by region, then in order
  // Begin of each kernel with everything resident, one after another; with one more entry at the end.
  std::vector<Nanoseconds> begins;
  std::vector<std::uint64_t> resident;  // bytes by kernel, if everything live stays

  Nanoseconds time(const Idle& idle) const { return begins[idle.to] - begins[idle.from + 1]; }
  std::uint64_t peak() const { return resident.empty() ? 0 : *std::max_element(resident.begin(), resident.end()); }
};

inline SwapProgram swap_program(const KernelFuture& future) {
  struct Use {
    KernelNumber kernel;
    bool carries;  // whether a part of it is used again later
    auto operator<=>(const Use&) const = default;
  };
  // The kernels that use a block, and the lives of the objects in it.
  struct Block {
    std::vector<KernelNumber> kernels;
    std::vector<std::pair<KernelNumber, KernelNumber>> lives;  // first and last use of each object
    std::unordered_map<std::uint64_t, std::size_t> life_of;    // by object
  };
  std::map<std::uint64_t, Block> blocks;
  SwapProgram program;
  program.begins.push_back({});
  for (KernelNumber k = 0; k < future.kernels.size(); ++k) {
    program.begins.push_back(program.begins.back() + future.kernels[k].duration);
    for (const FutureUse& use : future.kernels[k].uses) {
      Block& block = blocks[use.block.value];
      if (block.kernels.empty() || block.kernels.back() != k) block.kernels.push_back(k);
      const auto [life, fresh] = block.life_of.try_emplace(use.object, block.lives.size());
      if (fresh) block.lives.emplace_back(k, k);
      block.lives[life->second].second = k;
    }
  }
  std::map<std::vector<Use>, std::size_t> regions;
  for (const auto& [index, block] : blocks) {
    std::vector<Use> uses;
    for (std::size_t i = 0; i < block.kernels.size(); ++i) uses.push_back({block.kernels[i], false});
    for (const auto& [first, last] : block.lives) {
      auto use = std::lower_bound(block.kernels.begin(), block.kernels.end(), first) - block.kernels.begin();
      for (; uses[static_cast<std::size_t>(use)].kernel < last; ++use) {
        uses[static_cast<std::size_t>(use)].carries = true;
      }
    }
    const auto [region, fresh] = regions.try_emplace(std::move(uses), program.regions.size());
    if (fresh) program.regions.push_back({{}, block.kernels.front(), block.kernels.back()});
    program.regions[region->second].blocks.push_back(BlockIndex(index));
  }
  program.resident.resize(future.kernels.size());
  std::vector<const std::vector<Use>*> uses_of(program.regions.size());
  for (const auto& [uses, region] : regions) uses_of[region] = &uses;
  for (std::size_t region = 0; region < program.regions.size(); ++region) {
    const std::vector<Use>& uses = *uses_of[region];
    const std::uint64_t bytes = program.regions[region].bytes();
    for (std::size_t i = 0; i < uses.size(); ++i) {
      program.resident[uses[i].kernel] += bytes;
      if (i + 1 == uses.size() || uses[i + 1].kernel == uses[i].kernel + 1) continue;
      program.idle.push_back({region, uses[i].kernel, uses[i + 1].kernel, uses[i].carries});
      if (!uses[i].carries) continue;
      for (KernelNumber k = uses[i].kernel + 1; k < uses[i + 1].kernel; ++k) program.resident[k] += bytes;
    }
  }
  return program;
}

}  // namespace uvmsim::policy
