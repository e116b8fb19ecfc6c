// SPDX-License-Identifier: Apache-2.0
// The policies of a process: creates them, keeps the future for those of class D4, and notifies them of kernels.
//
// Programs that share a GPU share its evictor, migrator, router and batcher, which the first program creates.
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

  // Returns the state of a GPU with its policies; a policy that fills several slots is made once. Throws InputError for
  // policies.
  driver::GpuState make_gpu(unsigned gpu, GmmuCounters& counters);
  // Makes the one prefetcher of all GPUs of the process, of which `first` is one.
  policy::Prefetcher& make_prefetcher(const driver::GpuState& first);
  // Makes a planner per GPU of the machine.
  std::vector<std::shared_ptr<policy::Planner>> make_planners();
  // Subscribes policies that are also FeatureListeners to faults, each once. `plans` may be null.
  void listen(driver::DriverContext& context, Plans* plans);

  const policy::PolicyEntry& entry(policy::Slot slot) const;
  const std::vector<driver::KnownFuture>& futures() const { return known_futures_; }
  const policy::KernelFuture* kernel_future() const { return kernel_future_.get(); }
  bool knows_future() const { return kernel_future_ != nullptr || !futures_.empty(); }

  // pass(): the record has freed memory. enter(): the GPU begins the record's work.
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
