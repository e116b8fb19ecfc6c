// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "policies/plan/swap_planner.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {

// The swapping half of Capuchin. Its recomputation is not modelled, because a trace's kernels are fixed: page faults
// take its place. In this project the whole program is known, whereas Capuchin watches the first iteration.
class CapuchinLike final : public SwapPlanner {
 public:
  static PolicyInfo info() {
    return {.description = "swaps what has the most time to spare between two uses; learns to come back earlier",
            .source = "after Capuchin, Peng et al., ASPLOS 2020; swapping only",
            .information = InformationClass::kD4};
  }
  static ParameterTable parameters() {
    return {real("feedback", 0.05, {0, 1}, "share of its transfer by which memory comes earlier after it was late"),
            boolean("hidden_only", true, "false: also swap what the time between two uses does not hide")};
  }
  CapuchinLike(const PolicyContext& context, const KernelFuture& future)
      : SwapPlanner(future),
        feedback_(context.parameters.real("feedback")),
        future_(future),
        memory_(program_.regions.size()),
        swaps_(program_.resident.size()) {
    choose(std::uint64_t{future.chunks} * kBlockBytes, context.parameters.boolean("hidden_only"));
    for (const std::vector<Idle>& of_kernel : swaps_) {
      for (const Idle& idle : of_kernel) runner_.leave(idle.region, idle.from, idle.to);
    }
  }

  void on_begin(const KernelLaunch& kernel) override {
    running_ = kernel.number;
    SwapPlanner::on_begin(kernel);
  }
  void on_end(std::uint64_t number) override {
    SwapPlanner::on_end(number);
    if (number >= swaps_.size()) return;
    for (const Idle& idle : swaps_[number]) {
      runner_.come(idle.region, trigger(idle), idle.to);
      memory_[idle.region].due = idle.to;
    }
  }
  // A fault means that a swap for this kernel was late.
  void on_faulted(BlockIndex block, const PageMask&) override {
    const auto region = region_of_.find(block.value);
    if (region == region_of_.end()) return;
    Memory& memory = memory_[region->second];
    if (memory.due != running_) return;
    memory.due = kNone;
    memory.lead += feedback_;
  }

 private:
  double in_ns(std::size_t region) const {
    return static_cast<double>(future_.link_latency.value) + static_cast<double>(program_.regions[region].bytes()) *
                                                                 1000 / static_cast<double>(future_.htod_bytes_per_us);
  }
  double out_ns(std::size_t region) const {
    return static_cast<double>(future_.link_latency.value) + static_cast<double>(program_.regions[region].bytes()) *
                                                                 1000 / static_cast<double>(future_.dtoh_bytes_per_us);
  }
  // Chooses idle times by their spare time, until everything fits.
  void choose(std::uint64_t capacity, bool hidden_only) {
    std::vector<std::pair<double, std::size_t>> free_time;  // of idle times
    for (std::size_t i = 0; i < program_.idle.size(); ++i) {
      const Idle& idle = program_.idle[i];
      const double ns = static_cast<double>(program_.time(idle).value) - in_ns(idle.region) - out_ns(idle.region);
      if (idle.live && (ns >= 0 || !hidden_only)) free_time.emplace_back(ns, i);
    }
    std::stable_sort(free_time.begin(), free_time.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::uint64_t> resident = program_.resident;
    for (const auto& [ns, i] : free_time) {
      const Idle& idle = program_.idle[i];
      const auto begin = resident.begin() + static_cast<std::ptrdiff_t>(idle.from + 1);
      const auto end = resident.begin() + static_cast<std::ptrdiff_t>(idle.to);
      if (std::none_of(begin, end, [&](std::uint64_t bytes) { return bytes > capacity; })) continue;
      for (auto bytes = begin; bytes != end; ++bytes) *bytes -= program_.regions[idle.region].bytes();
      swaps_[idle.from].push_back(idle);
      for (const BlockIndex b : program_.regions[idle.region].blocks) region_of_[b.value] = idle.region;
    }
  }
  // Returns the kernel at whose begin the transfer starts.
  KernelNumber trigger(const Idle& idle) const {
    const auto lead = Nanoseconds(static_cast<std::int64_t>(memory_[idle.region].lead * in_ns(idle.region)));
    const auto first = program_.begins.begin() + static_cast<std::ptrdiff_t>(idle.from + 1);
    const auto last = program_.begins.begin() + static_cast<std::ptrdiff_t>(idle.to);
    const auto after = std::upper_bound(first, last, program_.begins[idle.to] - lead);
    return static_cast<KernelNumber>((after == first ? first : after - 1) - program_.begins.begin());
  }

  double feedback_;
  const KernelFuture& future_;
  static constexpr KernelNumber kNone = ~KernelNumber{0};
  struct Memory {
    double lead = 1;           // head start of the transfer, in transfer times
    KernelNumber due = kNone;  // the kernel that needs it back
  };
  std::vector<Memory> memory_;                                // by region
  std::vector<std::vector<Idle>> swaps_;                      // by the kernel after which they begin
  std::unordered_map<std::uint64_t, std::size_t> region_of_;  // by block, for swapped blocks
  KernelNumber running_ = 0;
};

UVMSIM_POLICY(capuchin_like, CapuchinLike);

}  // namespace uvmsim::policy
