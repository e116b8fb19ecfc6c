// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/run_experiment.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "tracer/ground_truth/cupti_recorder.h"
#include "tracer/ground_truth/kernels.h"

namespace uvmtrace::ground_truth {

namespace {

constexpr std::uint64_t kMostTouches = std::uint64_t{1} << 20;
constexpr std::uint64_t kPauseNs = 40'000;  // longer than launching a kernel and two events

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
  check(cudaEventCreate(&before_), "cudaEventCreate");
  check(cudaEventCreate(&after_), "cudaEventCreate");
  load_kernels();
}

Runner::~Runner() {
  cudaEventDestroy(before_);
  cudaEventDestroy(after_);
  cudaFree(touches_);
  cudaFree(sink_);
}

// Loads the kernels by running them on zeroed ordinary device memory, which all of them may read and write.
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
  check(launch_pause(1), "a kernel");
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
  if (timing_ != nullptr) {
    check(launch_pause(kPauseNs), "a kernel");
    check(cudaEventRecord(before_), "cudaEventRecord");
  }
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
  if (timing_ != nullptr) check(cudaEventRecord(after_), "cudaEventRecord");
  synchronize();
  if (timing_ == nullptr) return;
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, before_, after_), "cudaEventElapsedTime");
  timing_->kernel_ns += static_cast<std::uint64_t>(std::llround(static_cast<double>(milliseconds) * 1e6));
}

template <class F>
void Runner::by_host(F&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const auto taken = std::chrono::steady_clock::now() - begin;
  if (timing_ == nullptr) return;
  timing_->host_ns += static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count());
}

void Runner::execute(const Experiment& experiment, char* data) {
  const auto move_to = [&](int device) {
    check_prefetch_room(experiment.bytes, device);
    by_host([&] {
      start_prefetch(data, experiment.bytes, device);
      synchronize();
    });
  };
  switch (experiment.mode) {
    case Mode::kPrefetch:
      move_to(device_);
      break;
    case Mode::kPrefetchAndBack:
      move_to(device_);
      move_to(-1);
      break;
    case Mode::kCpuRead:
      launch(experiment, data);
      by_host([&] { read_pages(data, experiment.bytes); });
      break;
    case Mode::kCpuTouch:
      launch(experiment, data);
      by_host([&] {
        for (const Touch& touch : experiment.touches) read_pages(data + touch.page * kPageBytes, 1);
      });
      break;
    case Mode::kPingPong:
      for (std::uint32_t round = 0; round < experiment.rounds; ++round) {
        launch(experiment, data);
        by_host([&] { write_pages(data, experiment.bytes); });
      }
      break;
    default:
      launch(experiment, data);
  }
}

// Runs the kernel again with everything resident and without advice. Returns the median of three times.
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
  if (times.size() != kRuns) return 0;  // a missing time is better than a wrong one
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

Timing Runner::time(const Experiment& experiment, const std::function<void()>& prepared) {
  ManagedMemory memory(experiment.bytes, budget_);
  prepare(experiment, memory.data());
  prepared();
  Timing timing;
  struct Wanted {
    Timing*& slot;
    ~Wanted() { slot = nullptr; }
  } wanted{timing_};
  timing_ = &timing;
  execute(experiment, memory.data());
  return timing;
}

}  // namespace uvmtrace::ground_truth
