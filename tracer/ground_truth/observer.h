// SPDX-License-Identifier: Apache-2.0
// The listener to the driver while an experiment runs. Listening takes time, so each listener is a separate process,
// whose settings cannot slow the measurements of another one. Processes are created before CUDA is initialised.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace uvmtrace::ground_truth {

enum class Observer : std::uint8_t {
  kNobody,       // no listener; times come from CUDA events
  kCupti,        // CUPTI's unified-memory counters and kernel records, as a profiler sets them
  kQueueFaults,  // the driver's queue: faults and replays
  kQueue,        // the driver's queue: faults, replays and migrations
};
inline constexpr std::array kObserverNames = {"nobody", "cupti", "queue_faults", "queue"};
inline constexpr std::size_t kObservers = kObserverNames.size();

// The times of one run of an experiment, with or without CUPTI. Sent between processes as raw bytes.
struct Timing {
  std::uint64_t kernel_ns = 0;  // sum of its kernels, by CUDA events around each
  std::uint64_t host_ns = 0;    // the host's operations: accesses of the CPU, or prefetches until they are done
  // The listener's counts; 0 without a listener.
  std::uint64_t raw_faults = 0, replays = 0, migrations = 0, dropped = 0;
};

// A process that runs the experiments of a list on request, under one observer.
class Worker {
 public:
  using RunOne = std::function<Timing(std::size_t)>;
  // Forks. In the child, `open` opens the GPU and the observer and returns the function that runs the i-th experiment;
  // it may throw. Does not return in the child.
  Worker(Observer observer, const std::function<RunOne(Observer)>& open);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits until the child has opened everything. Throws std::runtime_error with the child's reason if it failed.
  void wait_until_open();
  // Runs the i-th experiment in the child. Throws Refusal or std::runtime_error as the child does.
  Timing run(std::size_t i);
  Observer observer() const { return observer_; }

 private:
  Timing answer();

  Observer observer_;
  int process_ = -1, socket_ = -1;
};

}  // namespace uvmtrace::ground_truth
