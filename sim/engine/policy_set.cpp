// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/policy_set.h"

#include "sim/common/error.h"
#include "sim/engine/plans.h"
#include "sim/engine/program_future.h"
#include "sim/policy/guarded.h"

namespace uvmsim::engine {

namespace {

using policy::InformationClass;
using policy::PolicyEntry;
using policy::Slot;

// If the policy fills several slots, returns the object that fills one of the others already; else null.
template <class Part>
std::shared_ptr<Part> joint_part(const PolicyEntry& entry, const driver::GpuState& gpu,
                                 const std::shared_ptr<policy::Prefetcher>& prefetcher = nullptr) {
  if (!entry.joint()) return nullptr;
  for (const Slot slot : entry.slots) {
    if (slot == Slot::kEvict) return policy::part_of<Part>(gpu.evictor);
    if (slot == Slot::kMigrate && gpu.migrator != nullptr) return policy::part_of<Part>(gpu.migrator);
    if (slot == Slot::kRoute && gpu.router != nullptr) return policy::part_of<Part>(gpu.router);
  }
  return policy::part_of<Part>(prefetcher);
}

}  // namespace

const PolicyEntry& PolicySet::entry(Slot slot) const { return process_.options.entry(slot); }

// Returns null if the choice is the driver's own policy.
template <class Interface>
std::shared_ptr<Interface> PolicySet::make(const driver::GpuState& state, unsigned gpu) {
  constexpr Slot slot = policy::kSlotOf<Interface>;
  const PolicyEntry& policy = entry(slot);
  if (policy.is_drivers_own) return nullptr;
  if (auto part = joint_part<Interface>(policy, state)) return part;
  return policy.create<Interface>((process_.options.*choice_of(slot)).parameters, process_.options.seed + gpu,
                                  state.memory.chunk_count(), know_future(policy, kBlockBytes));
}

driver::GpuState PolicySet::make_gpu(unsigned gpu, GmmuCounters& counters) {
  const RunOptions& options = process_.options;
  const config::SystemConfig& system = process_.machine.system;
  const auto chunks = static_cast<std::uint32_t>(process_.result.capacity_bytes / kBlockBytes);
  const PolicyEntry& evict = entry(Slot::kEvict);
  const std::uint64_t chunk_bytes = evict.chunk_bytes(options.evict.parameters);
  driver::GpuState state{
      GpuMemory(chunks, chunk_bytes != kBlockBytes),
      options.registry->create<policy::Evictor>(options.evict.name, options.evict.parameters, options.seed + gpu,
                                                chunks, know_future(evict, chunk_bytes)),
      gmmu::Gmmu(system.gmmu, system.gpus[gpu].sm_count, counters, process_.machine.space.begin_of(process_.number))};
  state.evictor_sees_touches = evict.info.information >= InformationClass::kD2;
  state.migrator = make<policy::Migrator>(state, gpu);
  state.migrator_hears_kernels =
      state.migrator != nullptr && entry(Slot::kMigrate).info.information >= InformationClass::kD3;
  state.router = make<policy::Router>(state, gpu);
  state.router_hears_kernels = state.router != nullptr && entry(Slot::kRoute).info.information >= InformationClass::kD3;
  state.batcher = make<policy::Batcher>(state, gpu);
  if (state.batcher != nullptr) {
    state.batch_decision_cost = entry(Slot::kBatch).info.decision_cost;
    state.batch_label = entry(Slot::kBatch).label_with_origin();
  }
  return state;
}

policy::Prefetcher& PolicySet::make_prefetcher(const driver::GpuState& first) {
  const RunOptions& options = process_.options;
  const PolicyEntry& prefetch = entry(Slot::kPrefetch);
  if (prefetch.joint() && process_.gpus.size() != 1) {
    throw_input_error("{} fills other slots too, and one prefetcher serves all GPUs of a program: {}; allowed: 1",
                      prefetch.label(), process_.gpus.size());
  }
  prefetcher_ = joint_part<policy::Prefetcher>(prefetch, first);
  if (prefetcher_ == nullptr) {
    prefetcher_ = prefetch.create<policy::Prefetcher>(options.prefetch.parameters, options.seed,
                                                      first.memory.chunk_count(), know_future(prefetch, kBigPageBytes));
  }
  return *prefetcher_;
}

std::vector<std::shared_ptr<policy::Planner>> PolicySet::make_planners() {
  const RunOptions& options = process_.options;
  const std::vector<driver::GpuState>& gpus = process_.machine.gpus;
  const PolicyEntry& plan = entry(Slot::kPlan);
  if (!process_.has_all_gpus()) {
    throw_input_error("plan policy '{}' works for one program alone, with all GPUs of its server", options.plan.name);
  }
  if (gpus.front().memory.small_chunks()) {
    throw_input_error("plan policy '{}' works with 2 MB chunks; evict policy '{}' evicts 64 KB", options.plan.name,
                      options.evict.name);
  }
  if (plan.wants_future) {
    if (gpus.size() != 1) {
      throw_input_error("{} knows the kernels to come (class D4) of one GPU; system '{}' has {}", plan.label(),
                        process_.machine.system.name, gpus.size());
    }
    if (!process_.observer.reopen) {
      throw_input_error("{} knows the future (class D4), and the trace cannot be read ahead here", plan.label());
    }
    kernel_future_ = std::make_unique<policy::KernelFuture>(
        read_kernel_future(process_.header, process_.observer.reopen(), options, process_.result.capacity_bytes));
  }
  std::vector<std::shared_ptr<policy::Planner>> planners;
  for (unsigned gpu = 0; gpu < gpus.size(); ++gpu) {
    planners.push_back(joint_part<policy::Planner>(plan, gpus[gpu], prefetcher_));
    if (planners.back() != nullptr) continue;
    planners.back() = plan.create<policy::Planner>(options.plan.parameters, options.seed + gpu,
                                                   gpus[gpu].memory.chunk_count(), kernel_future_.get());
  }
  return planners;
}

void PolicySet::listen(driver::DriverContext& context, Plans* plans) {
  const auto listen = [&]<class Interface>(const std::shared_ptr<Interface>& policy) {
    if (policy == nullptr) return;
    std::shared_ptr<policy::FeatureListener> listener = policy::part_of<policy::FeatureListener>(policy);
    if (listener == nullptr) return;
    const PolicyEntry& chosen = entry(policy::kSlotOf<Interface>);
    if (chosen.joint() && chosen.slot != chosen.slots.front()) return;
    if (chosen.info.information >= InformationClass::kD2) {
      context.prefetch_history.kept = true;
      context.prefetch_history.listeners.push_back(listener.get());
    }
    if (chosen.info.information >= InformationClass::kD3) kernel_listeners_.push_back(listener.get());
    context.listeners.push_back(listener.get());
    listeners_.push_back(std::move(listener));
  };
  listen(prefetcher_);
  for (const unsigned gpu : process_.gpus) {
    if (process_.machine.users[gpu].front() != process_.number) continue;  // another program's policies
    const driver::GpuState& state = process_.machine.gpus[gpu];
    listen(state.evictor);
    listen(state.migrator);
    listen(state.router);
    listen(state.batcher);
    if (plans != nullptr) listen(plans->thread(gpu).planner());
  }
}

// Reads the trace ahead for a policy that wants the future; returns null for all others. Policies with contents of one
// size share it. It holds the uses of all GPUs.
const policy::Future* PolicySet::know_future(const PolicyEntry& policy, std::uint64_t content_bytes) {
  if (!policy.wants_future) return nullptr;
  for (const driver::KnownFuture& known : known_futures_) {
    if (known.content_bytes == content_bytes) return known.future;
  }
  if (!process_.has_all_gpus()) {
    throw_input_error("{} knows the future (class D4) of one program alone, with all GPUs of its server",
                      policy.label());
  }
  if (!process_.observer.reopen) {
    throw_input_error("{} knows the future (class D4), and the trace cannot be read ahead here", policy.label());
  }
  futures_.push_back(std::make_unique<policy::Future>(read_future(
      process_.header, process_.observer.reopen(), process_.options, process_.result.capacity_bytes, content_bytes)));
  known_futures_.push_back({futures_.back().get(), content_bytes});
  return futures_.back().get();
}

void PolicySet::pass(std::uint64_t record) const {
  for (const driver::KnownFuture& known : known_futures_) known.future->pass(record);
}

void PolicySet::enter(std::uint64_t record) const {
  for (const driver::KnownFuture& known : known_futures_) known.future->enter(record);
}

void PolicySet::on_kernel(const trace::Kernel& kernel, unsigned gpu, Nanoseconds now) {
  driver::GpuState& state = process_.machine.gpus[gpu];
  if (state.migrator_hears_kernels) state.migrator->on_kernel(process_.number);
  on_running(gpu, state.running_kernels + 1);
  if (kernel_listeners_.empty()) return;
  const policy::KernelStart start{kernel.name, layer_++, kernel.grid.count(), kernel.block.count(), now};
  for (policy::FeatureListener* listener : kernel_listeners_) listener->on_kernel(start);
}

void PolicySet::on_running(unsigned gpu, std::uint32_t running) const {
  process_.machine.gpus[gpu].running_kernels = running;
  for (driver::GpuState& state : process_.machine.gpus) {
    if (state.router_hears_kernels) state.router->on_kernels(gpu, running);
  }
}

void PolicySet::add_state(StateDigest& digest) const {
  if (!kernel_listeners_.empty()) digest.add(layer_);
}

}  // namespace uvmsim::engine
