// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/run_calls.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tracer/ground_truth/experiment.h"
#include "tracer/ground_truth/kernels.h"

namespace uvmtrace::ground_truth {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLargestCopy = std::uint64_t{32} << 20;
constexpr int kHostDevice = -1;

template <class F>
double microseconds(F&& f) {
  const auto begin = Clock::now();
  f();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Calls f(data, bytes) for each stretch of the part.
template <class F>
void for_each_stretch(const Part& part, std::uint64_t total, char* data, F&& f) {
  if (part.each == 0) return f(data + part.offset, part.bytes);
  for (std::uint64_t at = 0; at + part.offset + part.bytes <= total; at += part.each) {
    f(data + at + part.offset, part.bytes);
  }
}

Stretches stretches_of(const Part& part, std::uint64_t total) {
  if (part.each == 0) return {part.offset, part.bytes, part.bytes, 1};
  return {part.offset, part.bytes, part.each, total / part.each};
}

cudaMemoryAdvise advice_of(const std::string& how) {
  if (how == "set_read_mostly") return cudaMemAdviseSetReadMostly;
  if (how == "unset_read_mostly") return cudaMemAdviseUnsetReadMostly;
  if (how == "set_preferred_location") return cudaMemAdviseSetPreferredLocation;
  if (how == "unset_preferred_location") return cudaMemAdviseUnsetPreferredLocation;
  if (how == "set_accessed_by") return cudaMemAdviseSetAccessedBy;
  if (how == "unset_accessed_by") return cudaMemAdviseUnsetAccessedBy;
  throw DeviceError("no such advice: " + how);
}

// The CPU touches the first byte of each page.
void touch_pages(char* data, std::uint64_t bytes, bool write) {
  volatile char sum = 0;
  for (std::uint64_t at = 0; at < bytes; at += kPageBytes) {
    volatile char* byte = data + at;
    if (write) {
      *byte = 1;
    } else {
      sum = static_cast<char>(sum + *byte);
    }
  }
}

template <class T>
T* ordinary_memory(std::uint64_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  return static_cast<T*>(memory);
}

char* managed_memory(std::uint64_t bytes) {
  void* memory = nullptr;
  check(cudaMallocManaged(&memory, bytes), "cudaMallocManaged");
  return static_cast<char*>(memory);
}

bool is_kernel(Act act) { return act == Act::kWrite || act == Act::kRead || act == Act::kTouch; }

// Two events around a kernel.
class EventPair {
 public:
  EventPair() {
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~EventPair() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;
  void begin() { check(cudaEventRecord(begin_), "cudaEventRecord"); }
  void end() { check(cudaEventRecord(end_), "cudaEventRecord"); }
  double microseconds() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1000;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

CallRunner::CallRunner(int device, ManagedBudget& budget) : device_(device), budget_(budget) {
  check(cudaStreamCreateWithFlags(&other_stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, kLargestCopy), "cudaMallocHost");
  pinned_ = static_cast<char*>(pinned);
  pageable_ = static_cast<char*>(std::malloc(kLargestCopy));
  if (pageable_ == nullptr) throw DeviceError("no memory for copies");
  std::memset(pageable_, 1, kLargestCopy);
  std::memset(pinned_, 1, kLargestCopy);
  ordinary_ = ordinary_memory<char>(kLargestCopy);
  sink_ = ordinary_memory<std::uint32_t>(sizeof *sink_);
  touches_ = ordinary_memory<std::uint32_t>(kBlockBytes / kPageBytes * sizeof *touches_);
  for (const std::uint32_t access_bytes : {4u, 16u}) {
    for (const bool write : {false, true}) {
      check(launch_stretches(ordinary_, {0, kPageBytes, kPageBytes, 1}, write, {1, 256, access_bytes}, sink_),
            "a kernel");
    }
  }
  check(launch_pause(1, other_stream_), "a kernel");
  check(launch_nothing(), "a kernel");
  check(cudaMemset(touches_, 0, sizeof *touches_), "cudaMemset");
  check(launch_ordered(ordinary_, touches_, 1, sink_), "a kernel");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

CallRunner::~CallRunner() {
  cudaDeviceSynchronize();
  cudaStreamDestroy(other_stream_);
  cudaFreeHost(pinned_);
  std::free(pageable_);
  for (void* memory : {static_cast<void*>(ordinary_), static_cast<void*>(touches_), static_cast<void*>(sink_)}) {
    cudaFree(memory);
  }
}

void CallRunner::copy(const Step& step, char* data) {
  const std::size_t arrow = step.how.find('>');
  const std::string from = step.how.substr(0, arrow), to = step.how.substr(arrow + 1);
  const bool within = from == "managed" && to == "managed";
  const std::uint64_t bytes = within ? step.part.bytes / 2 : step.part.bytes;
  const auto end_of = [&](const std::string& name) {
    if (name == "pinned") return pinned_;
    if (name == "pageable") return pageable_;
    if (name == "device") return ordinary_;
    return data + step.part.offset;
  };
  char* target = within ? data + step.part.offset + bytes : end_of(to);
  const cudaStream_t stream = step.stream == 0 ? nullptr : other_stream_;
  if (step.asynchronous) {
    check(cudaMemcpyAsync(target, end_of(from), bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
  } else {
    check(cudaMemcpy(target, end_of(from), bytes, cudaMemcpyDefault), "cudaMemcpy");
  }
}

void CallRunner::make(const Step& step, std::uint64_t total, char* data) {
  const cudaStream_t stream = step.stream == 0 ? nullptr : other_stream_;
  const int target = step.target == Target::kGpu ? device_ : kHostDevice;
  switch (step.act) {
    case Act::kHostWrite:
    case Act::kHostRead:
      for_each_stretch(step.part, total, data,
                       [&](char* part, std::uint64_t bytes) { touch_pages(part, bytes, step.act == Act::kHostWrite); });
      return;
    case Act::kPrefetch:
      for_each_stretch(step.part, total, data,
                       [&](char* part, std::uint64_t bytes) { start_prefetch(part, bytes, target, stream); });
      return;
    case Act::kAdvise:
      for_each_stretch(step.part, total, data,
                       [&](char* part, std::uint64_t bytes) { advise(part, bytes, advice_of(step.how), target); });
      return;
    case Act::kWrite:
    case Act::kRead:
      check(launch_stretches(data, stretches_of(step.part, total), step.act == Act::kWrite,
                             {step.grid, step.threads, step.access_bytes}, sink_),
            "a kernel");
      return;
    case Act::kTouch:
      check(launch_ordered(data, touches_, step.count, sink_), "a kernel");
      return;
    case Act::kSet:
      if (step.asynchronous) {
        check(cudaMemsetAsync(data + step.part.offset, 0, step.part.bytes, stream), "cudaMemsetAsync");
      } else {
        check(cudaMemset(data + step.part.offset, 0, step.part.bytes), "cudaMemset");
      }
      return;
    case Act::kCopy:
      copy(step, data);
      return;
    case Act::kBusy:
      check(launch_pause(step.ns, stream), "a kernel");
      return;
    case Act::kLaunch:
      for (std::uint32_t i = 0; i < step.count; ++i) check(launch_nothing(), "a kernel");
      return;
    case Act::kSync:
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      return;
    case Act::kFree:
      check(cudaFree(data), "cudaFree");
      return;
  }
}

CallTimes CallRunner::run(const CallProgram& program) {
  const FreeMemory room = free_memory();
  const std::string refusal = budget_.refusal(program.bytes, room.device_bytes, room.host_bytes);
  if (!refusal.empty()) throw Refusal(refusal);
  const bool frees = !program.steps.empty() && program.steps.back().act == Act::kFree;
  // CUDA places allocations below 2 MB in memory that others use too. The program therefore gets a block of its own,
  // unless the free is measured.
  const std::uint64_t allocated = frees ? program.bytes : std::max(program.bytes, kBlockBytes);
  std::vector<EventPair> events(program.steps.size());
  for (const Step& step : program.steps) {
    if (step.act != Act::kTouch) continue;
    std::vector<PackedTouch> list;
    for (std::uint32_t i = 0; i < step.count; ++i) list.push_back(i * step.multiplier % step.count * 2 + 1);
    check(cudaMemcpy(touches_, list.data(), list.size() * sizeof list[0], cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  CallTimes times;
  times.steps.resize(program.steps.size());
  char* data = nullptr;
  times.allocate_us = microseconds([&] { data = managed_memory(allocated); });
  budget_.allocated(allocated);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (is_kernel(step.act)) events[i].begin();
    times.steps[i].us = microseconds([&] { make(step, program.bytes, data); });
    if (is_kernel(step.act)) events[i].end();
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (is_kernel(program.steps[i].act)) times.steps[i].gpu_us = events[i].microseconds();
  }
  if (!frees) check(cudaFree(data), "cudaFree");
  budget_.freed(allocated);
  return times;
}

FirstCalls time_first_calls(int device) {
  FirstCalls times;
  check(cudaSetDevice(device), "cudaSetDevice");
  times.context_us = microseconds([] { check(cudaFree(nullptr), "creating a context"); });
  times.first_launch_us = microseconds([] { check(launch_nothing(), "a kernel"); });
  times.first_sync_us = microseconds([] { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); });
  times.second_launch_us = microseconds([] { check(launch_nothing(), "a kernel"); });
  times.other_kernel_us = microseconds([] { check(launch_pause(1), "a kernel"); });
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  char* data = nullptr;
  times.first_managed_us = microseconds([&] { data = managed_memory(kBlockBytes); });
  touch_pages(data, kBlockBytes, true);
  times.first_prefetch_us = microseconds([&] { start_prefetch(data, kBlockBytes, device, nullptr); });
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  check(cudaFree(data), "cudaFree");
  return times;
}

std::string to_line(const FirstCalls& times) {
  char text[400];
  std::snprintf(text, sizeof text,
                "{\"first_calls\":{\"context_us\":%.1f,\"first_launch_us\":%.1f,\"first_sync_us\":%.1f,"
                "\"second_launch_us\":%.1f,\"other_kernel_us\":%.1f,\"first_managed_us\":%.1f,"
                "\"first_prefetch_us\":%.1f}}\n",
                times.context_us, times.first_launch_us, times.first_sync_us, times.second_launch_us,
                times.other_kernel_us, times.first_managed_us, times.first_prefetch_us);
  return text;
}

}  // namespace uvmtrace::ground_truth
