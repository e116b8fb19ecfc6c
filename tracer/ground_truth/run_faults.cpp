// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/run_faults.h"

#include <cstring>
#include <utility>

#include "tracer/faults/fault_log.h"

namespace uvmtrace::ground_truth {

FaultRunner::FaultRunner(ManagedBudget& budget, std::uint32_t most_blocks) : budget_(budget) {
  check(cudaMalloc(reinterpret_cast<void**>(&notes_), most_blocks * sizeof(BlockNote)), "cudaMalloc");
  check(cudaMalloc(reinterpret_cast<void**>(&sink_), sizeof(float)), "cudaMalloc");
  FaultExperiment first;
  const ManagedMemory memory(first.bytes, budget_);  // the first fault starts the driver's thread
  time_kernel(first, memory.data());
  const std::string problem = queue_.start(faults::DriverQueue::Events::kFaultsAndMigrations);
  if (!problem.empty()) throw DeviceError(problem);
}

FaultRunner::~FaultRunner() {
  cudaFree(notes_);
  cudaFree(sink_);
}

std::uint64_t FaultRunner::time_kernel(const FaultExperiment& experiment, char* data) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  check(cudaEventRecord(begin), "cudaEventRecord");
  check(launch_fault_experiment(experiment, data, notes_, sink_), experiment.name.c_str());
  check(cudaEventRecord(end), "cudaEventRecord");
  check(cudaDeviceSynchronize(), experiment.name.c_str());
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return static_cast<std::uint64_t>(1e6 * static_cast<double>(milliseconds));
}

std::string FaultRunner::run(const FaultExperiment& experiment) {
  const ManagedMemory memory(experiment.bytes, budget_);
  if (experiment.place == FirstPlace::kHost) std::memset(memory.data(), 0, experiment.bytes);
  check(cudaMemset(notes_, 0, experiment.grid * sizeof(BlockNote)), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  queue_.finish(events_);
  events_.clear();
  std::uint64_t dropped = queue_.take_dropped();
  const std::uint64_t kernel_ns = time_kernel(experiment, memory.data());
  queue_.finish(events_);
  dropped += queue_.take_dropped();
  dropped_ += dropped;
  std::vector<BlockNote> notes(experiment.grid);
  check(cudaMemcpy(notes.data(), notes_, notes.size() * sizeof(BlockNote), cudaMemcpyDeviceToHost), "cudaMemcpy");
  std::vector<faults::BlockTimes> blocks;
  blocks.reserve(notes.size());
  for (const BlockNote& note : notes) blocks.push_back({note.begin_ns, note.end_ns, note.sm});

  JsonLine line("events");
  line.text("name", experiment.name);
  line.text("pattern", kFaultPatternNames[static_cast<std::size_t>(experiment.pattern)]);
  line.text("place", kFirstPlaceNames[static_cast<std::size_t>(experiment.place)]);
  line.boolean("write", experiment.write).number("grid", experiment.grid).number("threads", experiment.threads);
  line.number("access_bytes", experiment.access_bytes).number("steps", experiment.steps);
  line.number("pitch", experiment.pitch).number("warp_pitch", experiment.warp_pitch);
  line.number("address", reinterpret_cast<std::uintptr_t>(memory.data())).number("bytes", experiment.bytes);
  line.number("kernel_ns", kernel_ns);
  std::string out;
  faults::add_section(std::move(line), events_, blocks, dropped, out);
  return out;
}

}  // namespace uvmtrace::ground_truth
