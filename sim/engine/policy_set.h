// SPDX-License-Identifier: Apache-2.0
// The policies of a process: makes them, keeps what those of class D4 know of the future, and tells them of kernels.
//
// Programs that share a GPU share its evictor, migrator, router and batcher: those of the first one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/driver/context.h"
#include "sim/engine/process.h"
#include "sim/policy/registry.h"

namespace uvmsim::engine {

class Plans;

class PolicySet {
 public:
  explicit PolicySet(const Process& process) : process_(process) {}

  // The state of a GPU with its policies; joint ones are made once. Throws InputError for policies.
  driver::GpuState make_gpu(unsigned gpu, GmmuCounters& counters);
  // For all GPUs of the process, of which `first` is one.
  policy::Prefetcher& make_prefetcher(const driver::GpuState& first);
  // One per GPU of the machine.
  std::vector<std::shared_ptr<policy::Planner>> make_planners();
  // Those that are FeatureListeners too hear of faults from now on, each once. `plans` may be null.
  void listen(driver::DriverContext& context, Plans* plans);

  const policy::PolicyEntry& entry(policy::Slot slot) const;
  const std::vector<driver::KnownFuture>& futures() const { return known_futures_; }
  const policy::KernelFuture* kernel_future() const { return kernel_future_.get(); }
  bool knows_future() const { return kernel_future_ != nullptr || !futures_.empty(); }

  // The record has freed memory; the GPU comes to it.
  void pass(std::uint64_t record) const;
  void enter(std::uint64_t record) const;
  void begin_iteration() { layer_ = 0; }
  void on_kernel(const trace::Kernel& kernel, unsigned gpu, Nanoseconds now);
  // Notifies the subscribed routers of the server how many kernels run on the GPU.
  void on_running(unsigned gpu, std::uint32_t running) const;
  void add_state(StateDigest& digest) const;

 private:
  template <class Interface>
  std::shared_ptr<Interface> make(const driver::GpuState& state, unsigned gpu);
  const policy::Future* know_future(const policy::PolicyEntry& policy, std::uint64_t content_bytes);

  const Process& process_;
  std::vector<std::unique_ptr<policy::Future>> futures_;
  std::vector<driver::KnownFuture> known_futures_;       // the same, for the driver
  std::unique_ptr<policy::KernelFuture> kernel_future_;  // for a planner that knows it
  std::shared_ptr<policy::Prefetcher> prefetcher_;
  std::vector<std::shared_ptr<policy::FeatureListener>> listeners_;
  std::vector<policy::FeatureListener*> kernel_listeners_;  // those of class D3 and up
  std::uint64_t layer_ = 0;                                 // kernels since the last marked iteration began
};

}  // namespace uvmsim::engine
