// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/run_experiment.h"

#include <algorithm>
#include <cstring>

#include "tracer/ground_truth/cupti_recorder.h"
#include "tracer/ground_truth/kernels.h"

namespace uvmtrace::ground_truth {

namespace {

constexpr std::uint64_t kMostTouches = std::uint64_t{1} << 20;

template <class T>
T* device_memory(std::uint64_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  return static_cast<T*>(memory);
}

void synchronize() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

void give_advice(const std::string& text, const char* data, std::uint64_t bytes, int device, int peer) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (word == "preferred_host") {
      advise(data, bytes, cudaMemAdviseSetPreferredLocation, -1);
    } else if (word == "preferred_gpu") {
      advise(data, bytes, cudaMemAdviseSetPreferredLocation, device);
    } else if (word == "preferred_peer") {
      advise(data, bytes, cudaMemAdviseSetPreferredLocation, peer);
    } else if (word == "accessed_by_gpu") {
      advise(data, bytes, cudaMemAdviseSetAccessedBy, device);
    } else if (word == "read_mostly") {
      advise(data, bytes, cudaMemAdviseSetReadMostly, device);
    } else if (word != "none") {
      throw DeviceError("unknown advice " + word);
    }
    begin = end + 1;
  }
}

void read_pages(const volatile char* data, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += kPageBytes) static_cast<void>(data[at]);
}

void write_pages(volatile char* data, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += kPageBytes) data[at] = 0;
}

}  // namespace

Runner::Runner(int device, int peer, ManagedBudget& budget) : device_(device), peer_(peer), budget_(budget) {
  touches_ = device_memory<PackedTouch>(kMostTouches * sizeof(PackedTouch));
  sink_ = device_memory<std::uint32_t>(sizeof(std::uint32_t));
  load_kernels();
}

Runner::~Runner() {
  cudaFree(touches_);
  cudaFree(sink_);
}

// On zeroed ordinary device memory, which all of them may read and write.
void Runner::load_kernels() {
  constexpr std::uint64_t kBytes = 3 * kPageBytes;
  char* scratch = device_memory<char>(kBytes);
  check(cudaMemset(scratch, 0, kBytes), "cudaMemset");
  check(cudaMemset(touches_, 0, sizeof(PackedTouch)), "cudaMemset");
  check(launch_ordered(scratch, touches_, 1, sink_), "a kernel");
  check(launch_parallel(scratch, touches_, 1, 1, sink_), "a kernel");
  for (const std::uint32_t access_bytes : {4u, 8u, 16u}) {
    check(launch_stream_read(scratch, kBytes, {1, 256, access_bytes}, sink_), "a kernel");
    check(launch_stream_write(scratch, kBytes, {1, 256, access_bytes}), "a kernel");
  }
  check(launch_vector_add(scratch, kBytes, 1), "a kernel");
  synchronize();
  check(cudaFree(scratch), "cudaFree");
}

void Runner::prepare(const Experiment& experiment, char* data) {
  give_advice(experiment.advise, data, experiment.bytes, device_, peer_);
  for (const ByteRange& range : experiment.host_populated) std::memset(data + range.offset, 0, range.bytes);
  for (const ByteRange& range : experiment.gpu_resident) prefetch(data + range.offset, range.bytes, device_);
  for (const ByteRange& range : experiment.peer_resident) prefetch(data + range.offset, range.bytes, peer_);
  const bool by_kernel = experiment.mode == Mode::kOrdered || experiment.mode == Mode::kParallel;
  if (by_kernel) {
    if (experiment.touches.size() > kMostTouches) throw DeviceError("too many touches");
    std::vector<PackedTouch> packed;
    for (const Touch& touch : experiment.touches) {
      packed.push_back(static_cast<PackedTouch>(touch.page * 2 + (touch.write ? 1 : 0)));
    }
    check(cudaMemcpy(touches_, packed.data(), packed.size() * sizeof(PackedTouch), cudaMemcpyHostToDevice),
          "cudaMemcpy");
  }
  synchronize();
}

void Runner::launch(const Experiment& experiment, char* data) {
  const auto count = static_cast<std::uint32_t>(experiment.touches.size());
  const Loop loop{experiment.grid, experiment.loop_threads, experiment.access_bytes};
  switch (experiment.mode) {
    case Mode::kOrdered:
      check(launch_ordered(data, touches_, count, sink_), "a kernel");
      break;
    case Mode::kParallel:
      check(launch_parallel(data, touches_, count, experiment.threads, sink_), "a kernel");
      break;
    case Mode::kStreamRead:
      check(launch_stream_read(data, experiment.bytes, loop, sink_), "a kernel");
      break;
    case Mode::kStreamWrite:
    case Mode::kCpuRead:
    case Mode::kCpuTouch:
    case Mode::kPingPong:
      check(launch_stream_write(data, experiment.bytes, loop), "a kernel");
      break;
    case Mode::kVectorAdd:
      check(launch_vector_add(data, experiment.bytes, experiment.grid), "a kernel");
      break;
    case Mode::kPrefetch:
    case Mode::kPrefetchAndBack:
      break;
  }
  synchronize();
}

void Runner::execute(const Experiment& experiment, char* data) {
  switch (experiment.mode) {
    case Mode::kPrefetch:
      prefetch(data, experiment.bytes, device_);
      synchronize();
      break;
    case Mode::kPrefetchAndBack:
      prefetch(data, experiment.bytes, device_);
      synchronize();
      prefetch(data, experiment.bytes, -1);
      synchronize();
      break;
    case Mode::kCpuRead:
      launch(experiment, data);
      read_pages(data, experiment.bytes);
      break;
    case Mode::kCpuTouch:
      launch(experiment, data);
      for (const Touch& touch : experiment.touches) read_pages(data + touch.page * kPageBytes, 1);
      break;
    case Mode::kPingPong:
      for (std::uint32_t round = 0; round < experiment.rounds; ++round) {
        launch(experiment, data);
        write_pages(data, experiment.bytes);
      }
      break;
    default:
      launch(experiment, data);
  }
}

// The kernel again, everything resident and no advice left: the median of three.
std::uint64_t Runner::native_ns(const Experiment& experiment, char* data) {
  if (experiment.mode == Mode::kPrefetch || experiment.mode == Mode::kPrefetchAndBack) return 0;
  if (experiment.advise != "none") {
    advise(data, experiment.bytes, cudaMemAdviseUnsetReadMostly, device_);
    advise(data, experiment.bytes, cudaMemAdviseUnsetPreferredLocation, device_);
    advise(data, experiment.bytes, cudaMemAdviseUnsetAccessedBy, device_);
  }
  prefetch(data, experiment.bytes, device_);
  synchronize();
  constexpr int kRuns = 3;
  const std::uint64_t begin = recording_clock_ns();
  for (int i = 0; i < kRuns; ++i) launch(experiment, data);
  const Recording recording = take_recording();
  std::vector<std::uint64_t> times;
  for (const KernelRecord& kernel : recording.kernels) {
    if (kernel.start_ns >= begin) times.push_back(kernel.end_ns - kernel.start_ns);
  }
  if (times.size() != kRuns) return 0;  // not measured rather than measured wrong
  std::sort(times.begin(), times.end());
  return times[kRuns / 2];
}

Measurement Runner::run(const Experiment& experiment) {
  ManagedMemory memory(experiment.bytes, budget_);
  prepare(experiment, memory.data());
  Measurement measurement;
  take_recording();
  measurement.base = reinterpret_cast<std::uint64_t>(memory.data());
  measurement.begin_ns = recording_clock_ns();
  execute(experiment, memory.data());
  measurement.recording = take_recording();
  measurement.native_ns = native_ns(experiment, memory.data());
  return measurement;
}

}  // namespace uvmtrace::ground_truth
