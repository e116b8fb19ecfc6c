// SPDX-License-Identifier: Apache-2.0
// NVIDIA's tree with a threshold per process: a favoured process gets more pages with a fault.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/common/error.h"
#include "sim/policy/density_tree.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class TreeByProcess final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "the density tree, with a threshold of its own for each process on the GPU",
            .source = "prefetch by process of gpu_ext (github.com/eunomia-bpf/gpu_ext, prefetch_pid_tree)",
            .for_processes = true};
  }
  static ParameterTable parameters() {
    ParameterTable table = {integer("threshold", 50, {0, 100},
                                    "percent of a node's pages that must be exceeded, of processes without their own")};
    for (std::uint32_t i = 0; i < kMostProcesses; ++i) {
      table.push_back(integer(std::to_string(i), kNoneOfItsOwn, {kNoneOfItsOwn, 100},
                              "threshold of process " + std::to_string(i) + "; -1: that of all"));
    }
    return table;
  }

  explicit TreeByProcess(const PolicyContext& context) {
    const std::int64_t all = context.parameters.integer("threshold");
    for (std::uint32_t i = 0; i < kMostProcesses; ++i) {
      const std::int64_t own = context.parameters.integer(std::to_string(i));
      thresholds_.push_back(static_cast<unsigned>(own == kNoneOfItsOwn ? all : own));
    }
  }

  PageMask prefetch(const FaultedBlock& block) override {
    if (block.process >= kMostProcesses) {
      throw_input_error("prefetch policy 'tree_by_process': program {} of the server; allowed: at most {} programs",
                        block.process, kMostProcesses);
    }
    const bool populate_all = block.resident_nowhere && block.destination_is_preferred;
    const PageMask pages = populate_all ? PageMask::range(block.first_page, block.end_page - block.first_page)
                                        : dense_surroundings(block, thresholds_[block.process], false);
    return pages - block.faulted - block.thrashing;
  }

  void add_state(StateDigest&) const override {}  // no state

 private:
  static constexpr std::uint32_t kMostProcesses = 16;
  static constexpr std::int64_t kNoneOfItsOwn = -1;
  std::vector<unsigned> thresholds_;  // by process
};

}  // namespace

UVMSIM_POLICY(tree_by_process, TreeByProcess);

}  // namespace uvmsim::policy
