// SPDX-License-Identifier: Apache-2.0
// A section of a kernel in progress: the times of its steps, and the operands whose pages must be checked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/kernel_work.h"

namespace uvmsim::engine {

inline constexpr std::uint32_t kLoadBytes = 256, kStoreBytes = 128;  // of a request

// The accesses of a warp to an operand in one step.
struct AccessSize {
  std::uint32_t warp_bytes = 512;         // of all of them
  std::uint32_t instruction_bytes = 512;  // of one of them
  // Slices: the requests of one instruction, and those of all warps of a unit to one page.
  std::uint16_t instruction_requests = 1, page_requests = 1;
};

struct SectionRun : SectionShape {
  explicit SectionRun(const Section& section)
      : SectionShape(section), operands(section.operands), unmapped(section.operands.size()) {}

  // Watches the operands for which f(index) is true.
  template <class F>
  void watch(F&& f) {
    watched_inputs.clear();
    watched_outputs.clear();
    early_stores = false;
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      const Operand& operand = operands[i];
      if (!f(i)) continue;
      (operand.write ? watched_outputs : watched_inputs).push_back(i);
      if (operand.write && stores_in_every_step(*this, operand)) early_stores = true;
    }
    watches = !watched_inputs.empty() || !watched_outputs.empty();
  }
  Nanoseconds compute() const { return watches ? compute_time : Nanoseconds{}; }
  Nanoseconds turn() const { return watches ? turn_time : idle_turn_time; }
  // Returns the time of a step from the end of its loads on.
  Nanoseconds after_loads() const { return compute() + turn(); }
  const std::vector<std::uint32_t>& watched(bool stores) const { return stores ? watched_outputs : watched_inputs; }

  std::span<const Operand> operands;
  std::vector<AccessSize> sizes;            // of each operand
  Nanoseconds load_time{}, compute_time{};  // of a step's loads, and from their end to its stores
  Nanoseconds turn_time{};                  // from the stores to the end of the step
  Nanoseconds idle_turn_time{};             // from the end of the loads to that of the step, if no operand is watched
  Nanoseconds step_time{};                  // the least duration of a step that finds everything mapped
  // The indices of inputs and outputs that are not known to be fully mapped.
  std::vector<std::uint32_t> watched_inputs, watched_outputs;
  bool watches = false;                 // any operand
  bool early_stores = false;            // slices: some watched output is written in every step, not only in the last
  std::vector<std::uint64_t> unmapped;  // of each operand, a page that was not mapped at the last look
};

}  // namespace uvmsim::engine
