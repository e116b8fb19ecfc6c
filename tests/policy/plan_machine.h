// SPDX-License-Identifier: Apache-2.0
// GPU memory for tests of planners: commands take effect at once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string_view>
#include <vector>

#include "sim/policy/planner.h"

namespace uvmsim::policy {

inline std::vector<BlockIndex> blocks(std::initializer_list<std::uint64_t> values) {
  std::vector<BlockIndex> out;
  for (const std::uint64_t value : values) out.push_back(BlockIndex(value));
  return out;
}

// GPU memory of a few blocks without a driver; commands take effect at once.
class Machine final : public PlanQueries {
 public:
  Machine(Planner& planner, std::uint32_t chunks) : planner_(planner), chunks_(chunks) {}

  PageMask missing(BlockIndex b) const override { return here_.count(b.value) != 0 ? PageMask{} : PageMask::all(); }
  bool evictable(BlockIndex b) const override { return here_.count(b.value) != 0; }
  bool inactive(BlockIndex b) const override { return nothing_in_.count(b.value) != 0; }
  std::uint32_t free_chunks() const override { return chunks_ - static_cast<std::uint32_t>(here_.size()); }
  Nanoseconds now() const override { return {}; }

  // Executes commands until the planner has none left; returns them: a prefetch as its block, an eviction as -1 -
  // block.
  std::vector<std::int64_t> idle() {
    std::vector<std::int64_t> done;
    for (;;) {
      const PlanCommand command = planner_.next(*this);
      if (command.kind == PlanCommand::Kind::kNone || done.size() > 1000) return done;
      const auto b = static_cast<std::int64_t>(command.block.value);
      done.push_back(command.kind == PlanCommand::Kind::kPrefetch ? b : -1 - b);
      if (command.kind == PlanCommand::Kind::kDrop) ++drops;
      if (command.kind == PlanCommand::Kind::kPrefetch) {
        bring(command.block);
      } else {
        here_.erase(command.block.value);
        planner_.on_released(command.block);
      }
    }
  }
  void fault(BlockIndex b) {
    if (free_chunks() == 0) {
      const PlanCommand victim = planner_.victim(*this);
      const std::uint64_t goes = victim.kind == PlanCommand::Kind::kNone ? here_.begin()->first : victim.block.value;
      here_.erase(goes);
      planner_.on_released(BlockIndex(goes));
    }
    bring(b);
    planner_.on_faulted(b, PageMask::all());
  }
  // Runs a kernel whose name is one letter; returns on how many of the blocks it faulted.
  unsigned run(std::string_view name, const std::vector<BlockIndex>& touched) {
    planner_.on_begin({.number = number_, .name = name});
    idle();
    unsigned faults = 0;
    for (const BlockIndex b : touched) {
      if (here_.count(b.value) != 0) continue;
      fault(b);
      ++faults;
      idle();
    }
    planner_.on_end(number_++);
    return faults;
  }
  void nothing_in(std::uint64_t b) { nothing_in_[b] = true; }

  unsigned drops = 0;

 private:
  void bring(BlockIndex b) {
    here_[b.value] = true;
    planner_.on_migrated(b);
  }
  Planner& planner_;
  std::uint32_t chunks_;
  std::uint64_t number_ = 0;
  std::map<std::uint64_t, bool> here_, nothing_in_;
};

}  // namespace uvmsim::policy
