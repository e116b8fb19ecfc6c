// SPDX-License-Identifier: Apache-2.0
#include "sim/report/profile.h"

#include <algorithm>

namespace uvmsim::report {
namespace {

std::uint64_t first_page(std::uint64_t address) { return address / kBasePageBytes; }
std::uint64_t end_page(std::uint64_t address, std::uint64_t bytes) {
  return (address + bytes + kBasePageBytes - 1) / kBasePageBytes;
}

// Sorts, merges overlapping and adjacent ranges, and returns the sum of the lengths.
std::uint64_t merge(std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges) {
  std::ranges::sort(ranges);
  std::size_t kept = 0;
  std::uint64_t sum = 0;
  for (const auto& [first, end] : ranges) {
    if (kept != 0 && first <= ranges[kept - 1].second) {
      ranges[kept - 1].second = std::max(ranges[kept - 1].second, end);
    } else {
      ranges[kept++] = {first, end};
    }
  }
  ranges.resize(kept);
  for (const auto& [first, end] : ranges) sum += end - first;
  return sum;
}

// Calls f(key, share) for parts of `whole` in proportion to `weights`; the parts add up to the whole.
template <class Key, class F>
void share_out(std::int64_t whole, const std::map<Key, std::uint64_t>& weights, F&& f) {
  std::int64_t sum = 0;
  for (const auto& [key, weight] : weights) sum += static_cast<std::int64_t>(weight);
  std::int64_t before = 0, given = 0;
  for (const auto& [key, weight] : weights) {
    before += static_cast<std::int64_t>(weight);
    const std::int64_t until = whole / sum * before + whole % sum * before / sum;
    f(key, until - given);
    given = until;
  }
}

// Returns the member that counts a transfer.
std::uint64_t Traffic::*transfer_member(TransferDirection direction, TransferCause cause) {
  using Members = std::pair<std::uint64_t Traffic::*, std::uint64_t Traffic::*>;  // to the GPU; else
  constexpr Members kFault{&Traffic::htod_fault_bytes, &Traffic::dtoh_fault_bytes};
  constexpr Members kByCause[] = {kFault,
                                  {&Traffic::htod_user_bytes, &Traffic::dtoh_user_bytes},
                                  kFault,
                                  {&Traffic::htod_prefetch_bytes, &Traffic::dtoh_prefetch_bytes},
                                  {&Traffic::htod_fault_bytes, &Traffic::dtoh_evict_bytes},
                                  {&Traffic::htod_counter_bytes, &Traffic::dtoh_fault_bytes}};
  const auto& [in, out] = kByCause[static_cast<std::size_t>(cause)];
  return direction == TransferDirection::kHostToDevice ? in : out;
}

}  // namespace

Profile::Profile(const std::string& path, ProfileGrid grid) : file_(path), grid_(grid), allocations_(1) {
  actor_ = host_operation();
}

// Host operations overlap with others in time, so they have no time of their own.
std::size_t Profile::host_operation() {
  const auto [it, fresh] = host_operations_.try_emplace(iteration_, operations_.size());
  if (fresh) {
    Operation& host = operations_.emplace_back();
    host.name = name_index("host");
    host.iteration = iteration_;
  }
  return it->second;
}

std::uint32_t Profile::name_index(std::string_view name) {
  const auto [it, fresh] = name_indices_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.emplace_back(name);
  return it->second;
}

HeatGrid& Profile::heat(std::int32_t device) {
  return heats_.try_emplace(device, grid_.times, grid_.addresses).first->second;
}

template <class F>
void Profile::for_each_use(std::uint64_t address, std::uint64_t bytes, F&& f) {
  owners_.for_each(first_page(address), end_page(address, bytes),
                   [&](std::uint32_t owner, std::uint64_t, std::uint64_t count) {
                     f(allocations_[owner].use_in(iteration_), owner, count);
                   });
}

void Profile::on(const AllocationEvent& event) {
  const auto [it, fresh] = allocation_of_.try_emplace(event.id, static_cast<std::uint32_t>(allocations_.size()));
  if (fresh) {
    Allocation& allocation = allocations_.emplace_back();
    allocation.id = event.id;
    allocation.name = event.name;
    allocation.tensor = event.tensor;
    allocation.bytes = event.bytes;
    allocation.layer = layers_.now().layer;
    allocation.allocated_in = layers_.now().iteration;
    allocation.allocated_ns = event.at.value;
  }
  Allocation& allocation = allocations_[it->second];
  allocation.owns = event.owns;
  allocation.runs.assign(event.runs.begin(), event.runs.end());
  if (!event.owns) return;
  for (const AddressRun& run : event.runs) {
    owners_.set(first_page(run.address), end_page(run.address, run.bytes), it->second);
  }
}

void Profile::on(const FreeEvent& event) {
  const auto it = allocation_of_.find(event.id);
  if (it == allocation_of_.end()) return;  // not managed
  Allocation& allocation = allocations_[it->second];
  allocation.freed_ns = event.at.value;
  allocation.freed_in = layers_.now().iteration;
  if (!allocation.owns) return;
  // The driver takes the memory back. Pages that the allocation shares with others stay with their last user.
  for (const AddressRun& run : allocation.runs) {
    std::vector<Pages> mine;
    owners_.for_each(first_page(run.address), end_page(run.address, run.bytes),
                     [&](std::uint32_t owner, std::uint64_t first, std::uint64_t count) {
                       if (owner == it->second) mine.emplace_back(first, first + count);
                     });
    for (const auto& [first, end] : mine) owners_.set(first, end, 0);
  }
}

void Profile::on(const HostRangeEvent& event) { layers_.mark(event); }

void Profile::on(const IterationEvent& event) {
  iteration_ = event.begin ? static_cast<std::int64_t>(event.index) : kNoIteration;
}

void Profile::on(const WorkStartEvent& event) {
  const std::size_t index = operations_.size();
  Operation& operation = operations_.emplace_back();
  operation.kind = event.kind;
  operation.name = name_index(event.name);
  operation.record = event.record;
  const LayerTree::Place& place = layers_.at(event.record);
  operation.layer = place.layer;
  operation.iteration = place.iteration;
  operation.stream = event.stream;
  operation.device = event.device;
  operation.misfit = event.misfit;
  operation.start_ns = operation.end_ns = event.start.value;
  Running& running = running_[event.stream];
  running = {};
  running.operation = index;
  note_touches(running, operation, event);
  last_operation_[event.device] = index;
  actor_ = index;
}

void Profile::note_touches(Running& running, Operation& operation, const WorkStartEvent& event) {
  std::vector<Pages> read, written;                                                          // bytes
  std::map<std::uint32_t, std::pair<std::vector<Pages>, std::vector<Pages>>> by_allocation;  // touched, written
  for (const WorkTouch& touch : event.touches) {
    const Pages bytes{touch.address, touch.address + touch.bytes};
    if (touch.read) read.push_back(bytes);
    if (touch.write) written.push_back(bytes);
    running.touched.emplace_back(first_page(touch.address), end_page(touch.address, touch.bytes));
    const auto it = allocation_of_.find(touch.id);
    const std::uint32_t owner = it == allocation_of_.end() ? 0 : it->second;
    by_allocation[owner].first.push_back(bytes);
    if (touch.write) by_allocation[owner].second.push_back(bytes);
    owners_.set(running.touched.back().first, running.touched.back().second, owner);
  }
  for (auto& [owner, ranges] : by_allocation) {
    Allocation::Use& use = allocations_[owner].use_in(iteration_);
    ++use.operations;
    use.touched_bytes += merge(ranges.first);
    use.written_bytes += merge(ranges.second);
    // Tensors and objects may contain one another, so the grid also counts per allocation.
    for (const auto& [first, end] : ranges.first) {
      heat(event.device).add(&HeatGrid::Cell::touched_bytes, event.start, first, end - first);
    }
  }
  operation.read_bytes = merge(read);
  operation.written_bytes = merge(written);
  operation.working_set_bytes = merge(running.touched) * kBasePageBytes;
}

void Profile::on(const WorkEndEvent& event) {
  const auto it = running_.find(event.stream);
  if (it == running_.end()) return;
  Operation& operation = operations_[it->second.operation];
  operation.end_ns = event.end.value;
  operation.compute_ns = event.compute.value;
  if (!it->second.faulting.empty()) {
    share_out(operation.stall_ns(), it->second.faulting, [&](std::uint32_t owner, std::int64_t share) {
      allocations_[owner].use_in(iteration_).stall_ns += share;
    });
  }
  running_.erase(it);
}

void Profile::on(const ActorEvent& event) {
  switch (event.actor) {
    case Actor::kHost:
      actor_ = host_operation();
      break;
    case Actor::kStream:
      if (const auto it = running_.find(event.stream); it != running_.end()) actor_ = it->second.operation;
      break;
    case Actor::kFaultService: {
      batches_[event.device] = {};
      const auto last = last_operation_.find(event.device);
      actor_ = last != last_operation_.end() ? last->second : host_operation();
      break;
    }
  }
}

// Returns the operation on the GPU that touches the page; if there is none, any operation that runs there; if there is
// none, null.
Profile::Running* Profile::running_at(std::int32_t device, std::uint64_t page) {
  Running* found = nullptr;
  for (auto& [stream, running] : running_) {
    const Operation& operation = operations_[running.operation];
    if (operation.device != device || operation.kind > WorkKind::kCopy) continue;
    if (found == nullptr) found = &running;
    const auto after = std::upper_bound(running.touched.begin(), running.touched.end(), Pages(page, ~std::uint64_t{0}));
    if (after != running.touched.begin() && page < std::prev(after)->second) return &running;
  }
  return found;
}

void Profile::on(const FaultedPagesEvent& event) {
  heat(event.device).add(&HeatGrid::Cell::faulted_bytes, event.at, event.address, event.bytes);
  const auto member = event.write ? &Traffic::write_faulting_pages : &Traffic::read_faulting_pages;
  Running* running = running_at(event.device, first_page(event.address));
  if (running != nullptr) actor_ = running->operation;
  Batch& batch = batches_[event.device];
  if (!batch.known) batch.operation = actor_;
  batch.known = true;
  for_each_use(event.address, event.bytes, [&](Allocation::Use& use, std::uint32_t owner, std::uint64_t pages) {
    use.traffic.*member += pages;
    actor().traffic.*member += pages;
    batch.pages[owner] += pages;
    if (running != nullptr) running->faulting[owner] += pages;
  });
}

void Profile::on(const FaultBatchEvent& event) {
  Batch& batch = batches_[event.device];
  Operation& operation = operations_[batch.known ? batch.operation : actor_];
  const std::int64_t service_ns = (event.end - event.service_start).value;
  ++operation.fault_batches;
  operation.raw_faults += event.raw_faults;
  operation.traffic.fault_service_ns += static_cast<std::uint64_t>(service_ns);
  // A fault batch without faults to serve has no kernel.
  if (batch.pages.empty()) batch.pages[0] = 1;
  share_out(service_ns, batch.pages, [&](std::uint32_t owner, std::int64_t share) {
    Allocation::Use& use = allocations_[owner].use_in(iteration_);
    ++use.fault_batches;
    use.traffic.fault_service_ns += static_cast<std::uint64_t>(share);
  });
  batch = {};
}

void Profile::on(const TransferEvent& event) {
  const auto member = transfer_member(event.direction, event.cause);
  actor().traffic.*member += event.bytes;
  for_each_use(event.address, event.bytes, [&](Allocation::Use& use, std::uint32_t, std::uint64_t pages) {
    use.traffic.*member += pages * kBasePageBytes;
  });
  if (event.direction == TransferDirection::kDeviceToHost) return;
  heat(event.device).add(&HeatGrid::Cell::loaded_bytes, event.start, event.address, event.bytes);
}

void Profile::on(const EvictionEvent&) { ++actor().evictions; }

void Profile::on(const ResidentPagesEvent& event) {
  const bool came = event.change <= ResidencyChange::kReloaded;
  heat(event.device).change_residency(event.at, first_page(event.address), event.bytes / kBasePageBytes, came);
  if (event.change == ResidencyChange::kEvicted) {
    heat(event.device).add(&HeatGrid::Cell::evicted_bytes, event.at, event.address, event.bytes);
  }
  const auto count = [&](std::uint64_t Traffic::*member, std::uint64_t unit) {
    actor().traffic.*member += event.bytes / kBasePageBytes * unit;
    for_each_use(event.address, event.bytes, [&](Allocation::Use& use, std::uint32_t, std::uint64_t pages) {
      use.traffic.*member += pages * unit;
    });
  };
  if (event.change == ResidencyChange::kPopulated) count(&Traffic::populated_pages, 1);
  if (event.change == ResidencyChange::kReloaded) count(&Traffic::reloaded_pages, 1);
  if (event.change == ResidencyChange::kEvicted) count(&Traffic::evicted_bytes, kBasePageBytes);
}

}  // namespace uvmsim::report
