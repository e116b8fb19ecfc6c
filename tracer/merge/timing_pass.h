// SPDX-License-Identifier: Apache-2.0
// The timing pass, replayed into records: everything except the accesses of launches.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "tracer/merge/access_pass.h"
#include "tracer/merge/host_gaps.h"
#include "tracer/merge/merge.h"
#include "tracer/merge/range_nesting.h"
#include "tracer/merge/world.h"

namespace uvmtrace {

class TimingPass {
 public:
  using Take = std::function<void(trace::Record&&)>;
  // Fills in accesses and coverage of a kernel whose other fields are complete.
  using FillAccesses = std::function<void(const Event& event, std::size_t launch, trace::Kernel& kernel)>;

  // Of the events before `begin`, only those that later ones need remain: things that are `kept` (by thing; empty: all)
  // and the effects of copies, sets and hints on them, as records without a gap.
  TimingPass(const PassLog& log, const MergeOptions& options, MergeSummary& summary, std::size_t begin,
             const std::vector<bool>& kept);

  void run(const FillAccesses& fill, const Take& take);

  // Returns the memory at the time of the launch, for `fill`.
  const World& world() const { return world_; }
  const OpenOperators& operators() const { return operators_; }
  trace::ObjectId id_of(ThingIndex thing) const { return ids_[thing]; }
  // Adds another object, allocated directly before the launch.
  trace::ObjectId add_object(const Thing& thing, const Take& take);

 private:
  struct Place {
    ThingIndex thing = kNothing;
    trace::ObjectId id = trace::kNoObject;
    std::uint64_t offset = 0;
  };

  std::size_t end_of_last_iteration() const;
  void step(std::size_t position, const FillAccesses& fill, const Take& take);
  void step_before_begin(std::size_t position, const Take& take);
  void write_of_prologue(const CopyEvent& event, const Take& take);
  void change_memory(std::size_t position, const Take& take);
  void emit_uvm_until(std::int64_t time_ns, const Take& take);
  void kernel(const Event& event, std::size_t launch, const FillAccesses& fill, const Take& take);
  void copy(const CopyEvent& event, const Take& take);
  void set(const SetEvent& event, const Take& take);
  void hints_and_sets(const Event& event, const Take& take);
  void sync(const SyncEvent& event, const Take& take);
  template <class Hint, class Fill>
  void hint(const Hint& event, Fill&& fill);

  Place place(std::uint64_t va, std::uint64_t bytes) const;
  trace::ObjectKind kind_of(const Thing& thing) const;
  trace::CopyKind copy_kind(const CopyEvent& event, const Place& dst, const Place& src) const;

  const PassLog& log_;
  const MergeOptions& options_;
  MergeSummary& summary_;
  World world_;
  OpenOperators operators_;
  HostGaps gaps_;
  RangeNesting ranges_;
  std::vector<trace::ObjectId> ids_;  // by thing
  trace::ObjectId last_id_ = trace::kNoObject;
  std::map<std::uint64_t, std::uint64_t> events_;  // recorded CUDA events, with their numbers in the trace
  std::size_t next_uvm_ = 0;
  std::size_t begin_;
  const std::vector<bool>& kept_;
};

}  // namespace uvmtrace
