// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/driver_stack.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/config/coherence.h"
#include "sim/driver/mappings.h"
#include "sim/engine/capacity.h"

namespace uvmsim::engine {

DriverStack::DriverStack(Process& process, const layout::Layout& layout, EventSink* accounts)
    : process_(process),
      layout_(layout),
      accounts_(accounts),
      events_(process.machine.events),
      space_(process.machine.space),
      gpus_(process.machine.gpus),
      fault_loops_(process.machine.fault_loops),
      policies_(process) {}

DriverStack::~DriverStack() = default;

driver::GpuState DriverStack::make_gpu(unsigned gpu) {
  use_gpu(gpu);
  return policies_.make_gpu(gpu, process_.counters().gmmu);
}

void DriverStack::use_gpu(unsigned gpu) { process_.result.capacity_bytes = capacity_bytes(process_.options, gpu); }

void DriverStack::share(const std::vector<driver::DriverContext*>& processes, std::uint32_t contended_gpus) {
  contended_gpus_ = contended_gpus;
  context_->processes = processes;
  context_->process = process_.number;
  context_->evicted_from.assign(processes.size(), 0);
  for (const unsigned gpu : process_.gpus) {
    if (process_.machine.users[gpu].size() > 1) fault_loops_[gpu]->stop_at_events();
  }
}

void DriverStack::connect() {
  Machine& machine = process_.machine;
  const RunOptions& options = process_.options;
  const driver::GpuState& first = gpus_[process_.gpus.front()];
  if (machine.harvest && first.memory.small_chunks()) {
    throw_input_error("harvesting works with 2 MB chunks; evict policy '{}' evicts 64 KB", options.evict.name);
  }
  policy::Prefetcher& prefetcher = policies_.make_prefetcher(first);
  const policy::PolicyInfo& prefetch = policies_.entry(policy::Slot::kPrefetch).info;
  const policy::PolicyEntry& evict = policies_.entry(policy::Slot::kEvict);
  const policy::PolicyEntry& route = policies_.entry(policy::Slot::kRoute);
  context_ = std::make_unique<driver::DriverContext>(driver::DriverContext{
      machine.system, space_, gpus_, machine.topology, machine.host, prefetcher, prefetch.decision_cost,
      evict.info.decision_cost, process_.counters(), process_.observer.events, accounts_});
  context_->migrate_decision_cost = policies_.entry(policy::Slot::kMigrate).info.decision_cost;
  context_->route_decision_cost = route.info.decision_cost;
  context_->evict_label = evict.label_with_origin();
  context_->route_label = route.label_with_origin();
  context_->futures = policies_.futures();
  context_->access_bits.kept = prefetch.information >= policy::InformationClass::kD2;
  residency_ = std::make_unique<driver::Residency>(*context_);
  thrashing_ = std::make_unique<driver::Thrashing>(*context_);
  if (machine.harvest) join_harvest(*machine.harvest);
  fault_service_ = std::make_unique<driver::FaultService>(*context_, *residency_, *thrashing_);
  access_counters_ = std::make_unique<driver::AccessCounters>(*context_, *fault_service_);
  if (config::reaches_system_memory(machine.system)) {
    if (first.memory.small_chunks()) {
      throw_input_error(
          "memory of malloc (coherence.address_mode) works with 2 MB chunks; evict policy '{}' evicts 64 KB",
          options.evict.name);
    }
    system_memory_ = std::make_unique<driver::SystemMemory>(*context_);
    context_->system_memory = system_memory_.get();
  }
  if (config::uses_system_memory_in_place(machine.system)) {
    coherent_counters_ = std::make_unique<driver::CoherentCounters>(*context_, *fault_service_, *system_memory_);
  }
  host_faults_ = std::make_unique<driver::HostFaults>(*context_, *residency_, *thrashing_);
  user_calls_ = std::make_unique<driver::UserCalls>(*context_, *residency_, *thrashing_);
  device_memory_ = std::make_unique<driver::DeviceMemory>(*context_, residency_->chunks(),
                                                          machine.system.runtime.device_memory_beside);
  for (const unsigned gpu : process_.gpus) {
    if (!fault_loops_[gpu]) fault_loops_[gpu] = std::make_unique<FaultLoop>(gpu, machine.system, space_, events_);
    fault_loops_[gpu]->join(process_.number, *context_, *fault_service_);
    if (chunk_prefetch_) fault_loops_[gpu]->stop_at_events();
  }
  if (!policies_.entry(policy::Slot::kPlan).is_drivers_own) {
    plans_ = std::make_unique<Plans>(policies_.make_planners(), policies_.entry(policy::Slot::kPlan).info,
                                     policies_.kernel_future(), layout_, *context_, *residency_, *thrashing_,
                                     fault_loops_, events_);
    for (const auto& loop : fault_loops_) loop->stop_at_events();
    machine.ledger.copies_dropped = true;
  }
  policies_.listen(*context_, plans_.get());
}

void DriverStack::join_harvest(driver::Harvest& harvest) {
  harvest_moves_ = std::make_unique<driver::HarvestMoves>(harvest, *context_, *residency_);
  for (const unsigned gpu : process_.gpus) harvest.connect(gpu, *harvest_moves_);
  if (!harvest.choice().prefetch) return;
  chunk_prefetch_ = std::make_unique<driver::ChunkPrefetch>(*context_, *residency_, *thrashing_, *harvest_moves_);
  prefetch_at_.resize(gpus_.size(), kNever);
}

Nanoseconds DriverStack::fetch_at(const Event& event) {
  if (!plans_ || event.kind != EventKind::kFetch) return event.time;
  return std::max(plans_->thread(event.subject).idle_at(), event.time);
}

void DriverStack::on_event(const Event& event) {
  switch (event.kind) {
    case EventKind::kFetch:
      fault_loops_[event.subject]->on_fetch();
      if (chunk_prefetch_) schedule_prefetch(event.subject);
      break;
    case EventKind::kReplay:
      fault_loops_[event.subject]->on_replay();
      break;
    case EventKind::kPlan:
      plans_->thread(event.subject).on_done();
      break;
    case EventKind::kPrefetch:
      prefetch(event.subject);
      break;
    default:
      break;  // other events are not the driver's
  }
}

// Handles EventKind::kPrefetch. An event that was replaced by an earlier one still comes, and does nothing.
void DriverStack::prefetch(unsigned gpu) {
  if (prefetch_at_[gpu] != events_.now()) return;
  prefetch_at_[gpu] = kNever;
  process_.advance_kernels(events_.now());
  if (accounts_ != nullptr) accounts_->on(ActorEvent{Actor::kFaultService, static_cast<std::int32_t>(gpu), 0});
  chunk_prefetch_->step(gpu, events_.now());
  schedule_prefetch(gpu);
}

void DriverStack::schedule_prefetch(unsigned gpu) {
  const Nanoseconds next = chunk_prefetch_->next_step(gpu);
  if (next >= prefetch_at_[gpu]) return;
  prefetch_at_[gpu] = std::max(next, events_.now());
  events_.schedule(prefetch_at_[gpu], EventKind::kPrefetch, gpu);
}

void DriverStack::release(BlockIndex b) {
  process_.machine.ledger.released_pages += residency_->departures().release(b);
  thrashing_->forget(b);
  access_counters_->forget(b);
  if (coherent_counters_) coherent_counters_->forget(b);
}

void DriverStack::kernel_starts(const KernelOperation& operation, const KernelWork& work, std::uint64_t record,
                                Nanoseconds now) {
  const unsigned gpu = operation.gpu();
  if (thrashing_->pins_expired(now)) driver::expire_pins(*context_, *thrashing_, now);
  if (coherent_counters_) coherent_counters_->advance(gpu, now);
  if (plans_) plans_->kernel_begins(operation.kernel, operation.launch);
  policies_.enter(record);
  if (gpus_[gpu].evictor_sees_touches) note_touches(work, gpu);
  policies_.on_kernel(operation.kernel, gpu, now);
  note_access_bits(work, gpu);
}

Nanoseconds DriverStack::kernel_ends(const KernelOperation& operation, Nanoseconds now) {
  const unsigned gpu = operation.gpu();
  const Nanoseconds served = access_counters_->service(gpu, now);
  if (coherent_counters_) coherent_counters_->advance(gpu, now);
  if (plans_) plans_->kernel_ends(operation.kernel, operation.launch);
  policies_.on_running(gpu, gpus_[gpu].running_kernels - 1);
  return served;
}

void DriverStack::note_touches(const KernelWork& work, unsigned gpu) {
  driver::GpuState& state = gpus_[gpu];
  ChunkId last{};
  const auto touch = [&](ChunkId chunk) {
    if (!chunk.valid() || chunk == last) return;
    last = chunk;
    state.evictor->on_touched(chunk);
  };
  work.for_each_touched([&](BlockIndex b, const PageMask& pages) {
    if (!state.memory.small_chunks()) return touch(state.memory.whole(b));
    state.memory.for_each_small_chunk(b, space_.pages(b, gpu_processor(gpu)).resident & pages,
                                      [&](ChunkId chunk, unsigned) { touch(chunk); });
  });
}

void DriverStack::note_access_bits(const KernelWork& work, unsigned gpu) {
  if (!context_->access_bits.kept && !context_->prefetch_history.kept) return;
  work.for_each_touched([&](BlockIndex b, const PageMask& pages) {
    const PageMask there = pages & space_.pages(b, gpu_processor(gpu)).resident;
    context_->access_bits.mark(b, there);
    context_->prefetch_history.used(b, there);
  });
}

void DriverStack::add_state(StateDigest& digest) const {
  thrashing_->add_state(digest);
  access_counters_->add_state(digest);
  if (coherent_counters_) coherent_counters_->add_state(digest);
  context_->host_memory.add_state(digest);
  context_->prefetcher.add_state(digest);
  if (context_->access_bits.kept) context_->access_bits.add_state(digest);
  if (context_->prefetch_history.kept) context_->prefetch_history.add_state(digest);
  policies_.add_state(digest);
  for (const unsigned gpu : process_.gpus) {
    const driver::GpuState& state = gpus_[gpu];
    const std::vector<std::uint64_t> names = state.memory.names();
    state.memory.add_state(digest, names);
    if (state.memory.small_chunks()) digest.refuse();  // `names` are those of root chunks, not of small ones
    state.evictor->add_state(digest, names);
    if (state.migrator != nullptr) state.migrator->add_state(digest);
    if (state.router != nullptr) state.router->add_state(digest);
    if (state.batcher != nullptr) state.batcher->add_state(digest);
    if (state.migrator != nullptr || state.batcher != nullptr) digest.add(std::uint64_t{state.oversubscribed});
    state.mmu.add_state(digest);
    state.page_tables.add_state(digest);
    process_.machine.remote_lanes[gpu].add_state(digest);
    fault_loops_[gpu]->add_state(digest);
  }
}

}  // namespace uvmsim::engine
