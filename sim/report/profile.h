// SPDX-License-Identifier: Apache-2.0
// Accounts for a run page by page: faults, waiting, moves and evictions by kernel, tensor and layer, and residency over
// time. PROFILE.md beside this file describes the resulting SQLite file.
//
// Everything is summed during the run; memory grows with the number of kernels and allocations, not of events. The cost
// of a page is charged to the allocation that was last used there, because frameworks reuse memory: a dead tensor's
// pages remain its own until the next tensor in the same place is touched.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/events/event_sink.h"
#include "sim/formats/sqlite_file.h"
#include "sim/report/heat_grid.h"
#include "sim/report/layer_tree.h"
#include "sim/report/page_owners.h"
#include "sim/report/profile_account.h"
#include "sim/report/run_record.h"

namespace uvmsim::report {

class Profile final : public EventSink {
 public:
  // Opens the file; throws InputError when it cannot be written. Nothing appears at `path` before finish().
  explicit Profile(const std::string& path, ProfileGrid grid = {});

  bool wants_accounts() const override { return true; }
  void on(const AllocationEvent& event) override;
  void on(const FreeEvent& event) override;
  void on(const HostRangeEvent& event) override;
  void on(const IterationEvent& event) override;
  void on(const WorkStartEvent& event) override;
  void on(const WorkEndEvent& event) override;
  void on(const ActorEvent& event) override;
  void on(const FaultedPagesEvent& event) override;
  void on(const FaultBatchEvent& event) override;
  void on(const TransferEvent& event) override;
  void on(const EvictionEvent& event) override;
  void on(const ResidentPagesEvent& event) override;

  // Writes everything; `record` is the run that produced the events, `start` the begin of the program. No event may
  // follow.
  void finish(const RunRecord& record, Nanoseconds start = {});

 private:
  using Pages = std::pair<std::uint64_t, std::uint64_t>;  // [first, end)
  // An operation that has begun and not ended.
  struct Running {
    std::size_t operation = 0;
    std::vector<Pages> touched;
    std::map<std::uint32_t, std::uint64_t> faulting;  // pages by allocation
  };
  // The pages that the current fault batch has served so far.
  struct Batch {
    std::size_t operation = 0;  // of the batch's first page
    bool known = false;
    std::map<std::uint32_t, std::uint64_t> pages;  // by allocation
  };

  Operation& actor() { return operations_[actor_]; }
  std::size_t host_operation();
  Running* running_at(std::int32_t device, std::uint64_t page);
  std::uint32_t name_index(std::string_view name);
  HeatGrid& heat(std::int32_t device);
  void note_touches(Running& running, Operation& operation, const WorkStartEvent& event);
  // Calls f(use, first_page, page_count) for the uses of the pages' owners in this iteration.
  template <class F>
  void for_each_use(std::uint64_t address, std::uint64_t bytes, F&& f);

  void write_names_and_layers();
  void write_operations();
  void write_layer_sums();
  void write_allocations();
  void write_heat(Nanoseconds end);

  SqliteFile file_;
  ProfileGrid grid_;
  std::vector<Operation> operations_;
  std::vector<Allocation> allocations_;  // the first one is for pages without an owner
  std::unordered_map<std::uint64_t, std::uint32_t> allocation_of_;
  PageOwners owners_;
  LayerTree layers_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> name_indices_;
  std::map<std::uint32_t, Running> running_;  // by stream
  std::map<std::int32_t, Batch> batches_;     // by device
  std::map<std::int32_t, std::size_t> last_operation_;
  std::map<std::int64_t, std::size_t> host_operations_;  // by iteration
  std::map<std::int32_t, HeatGrid> heats_;               // by device
  std::size_t actor_ = 0;
  std::int64_t iteration_ = kNoIteration;  // the GPU's current iteration
};

}  // namespace uvmsim::report
