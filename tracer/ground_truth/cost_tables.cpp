// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/cost_tables.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tracer/ground_truth/device.h"
#include "tracer/ground_truth/kernels.h"

namespace uvmtrace::ground_truth {

namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kAccessBytes = 16;

using Clock = std::chrono::steady_clock;

template <class F>
double microseconds(F&& f) {
  const auto begin = Clock::now();
  f();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

void synchronize() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

// Returns the grid with one thread for every 16 bytes, so that the kernel writes each byte once.
std::uint32_t grid_for(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, bytes / (kThreads * kAccessBytes)));
}

struct CallTimes {
  std::vector<double> malloc, free, managed, free_untouched, free_touched, first_touch;
};

void measure_calls(std::uint64_t bytes, ManagedBudget& budget, CallTimes& times) {
  const std::string refusal = budget.refusal(bytes, free_memory().device_bytes, free_memory().host_bytes);
  if (!refusal.empty()) throw Refusal(refusal);
  void* device_memory = nullptr;
  times.malloc.push_back(microseconds([&] { check(cudaMalloc(&device_memory, bytes), "cudaMalloc"); }));
  times.free.push_back(microseconds([&] { check(cudaFree(device_memory), "cudaFree"); }));
  {
    ManagedMemory untouched(bytes, budget);
    times.free_untouched.push_back(microseconds([&] { untouched.free(); }));
  }
  void* managed = nullptr;  // allocated without querying the budget in the timed part; it was queried above
  times.managed.push_back(microseconds([&] { check(cudaMallocManaged(&managed, bytes), "cudaMallocManaged"); }));
  budget.allocated(bytes);
  times.first_touch.push_back(microseconds([&] {
    check(launch_stream_write(managed, bytes, {grid_for(bytes)}), "a kernel");
    synchronize();
  }));
  times.free_touched.push_back(microseconds([&] { check(cudaFree(managed), "cudaFree"); }));
  budget.freed(bytes);
}

void print_calls(std::FILE* out, ManagedBudget& budget) {
  std::fprintf(out, "size_kb cudaMalloc cudaFree mallocManaged free_untouched free_touched first_touch_kernel (us)\n");
  for (const std::uint64_t kib : {4u, 64u, 512u, 2048u, 8192u, 65536u, 524288u}) {
    CallTimes times;
    const int repeats = kib <= 8192 ? 15 : 5;
    try {
      measure_calls(kib * kKiB, budget, times);
      times = {};  // the first run of a size only initialises
      for (int i = 0; i < repeats; ++i) measure_calls(kib * kKiB, budget, times);
    } catch (const Refusal& refusal) {
      std::fprintf(stderr, "uvm_experiments: costs of %llu KB left out: %s\n", static_cast<unsigned long long>(kib),
                   refusal.what());
      continue;
    }
    std::fprintf(out, "%8llu %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f\n", static_cast<unsigned long long>(kib),
                 median(times.malloc), median(times.free), median(times.managed), median(times.free_untouched),
                 median(times.free_touched), median(times.first_touch));
  }
}

void print_launch(std::FILE* out) {
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    times.push_back(microseconds([] {
      check(launch_nothing(), "a kernel");
      synchronize();
    }));
  }
  std::fprintf(out, "launch: launch+sync %.2f us\n", median(times));
}

// Two ordinary buffers on either side; the host's are pinned when the copy engine is measured alone.
struct CopyBuffers {
  explicit CopyBuffers(std::uint64_t bytes) {
    check(cudaMalloc(&device[0], bytes), "cudaMalloc");
    check(cudaMalloc(&device[1], bytes), "cudaMalloc");
    check(cudaMallocHost(&pinned[0], bytes), "cudaMallocHost");
    check(cudaMallocHost(&pinned[1], bytes), "cudaMallocHost");
    check(cudaStreamCreateWithFlags(&streams[0], cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking), "cudaStreamCreate");
    std::memset(pinned[0], 0, bytes);
    std::memset(pinned[1], 0, bytes);
  }
  ~CopyBuffers() {
    for (int i = 0; i < 2; ++i) {
      cudaFree(device[i]);
      cudaFreeHost(pinned[i]);
      if (streams[i] != nullptr) cudaStreamDestroy(streams[i]);
    }
  }
  CopyBuffers(const CopyBuffers&) = delete;
  CopyBuffers& operator=(const CopyBuffers&) = delete;

  void* device[2] = {};
  void* pinned[2] = {};
  cudaStream_t streams[2] = {};
};

// Returns GB/s of `count` copies in a row, so that launching them is hidden.
double bandwidth(CopyBuffers& buffers, std::uint64_t bytes, bool to_device, bool to_host) {
  const int count = static_cast<int>(std::clamp<std::uint64_t>((std::uint64_t{256} << 20) / bytes, 4, 256));
  std::vector<double> rates;
  for (int repeat = 0; repeat < 5; ++repeat) {
    synchronize();
    const double time = microseconds([&] {
      for (int i = 0; i < count; ++i) {
        if (to_device) {
          check(
              cudaMemcpyAsync(buffers.device[0], buffers.pinned[0], bytes, cudaMemcpyHostToDevice, buffers.streams[0]),
              "cudaMemcpyAsync");
        }
        if (to_host) {
          check(
              cudaMemcpyAsync(buffers.pinned[1], buffers.device[1], bytes, cudaMemcpyDeviceToHost, buffers.streams[1]),
              "cudaMemcpyAsync");
        }
      }
      synchronize();
    });
    const double moved = static_cast<double>(bytes) * count * ((to_device ? 1 : 0) + (to_host ? 1 : 0));
    rates.push_back(moved / time / 1000);
  }
  return median(rates);
}

void print_copies(std::FILE* out) {
  constexpr std::uint64_t kLargest = std::uint64_t{256} << 20;
  if (free_memory().device_bytes / 4 < 2 * kLargest || free_memory().host_bytes / 4 < 3 * kLargest) {
    std::fprintf(stderr, "uvm_experiments: copy bandwidths left out: too little memory is free\n");
    return;
  }
  CopyBuffers buffers(kLargest);
  std::fprintf(out, "size_kb h2d_GBps d2h_GBps bidir_GBps(sum)\n");
  for (const std::uint64_t kib : {4u, 16u, 60u, 64u, 128u, 252u, 512u, 1020u, 2048u, 8192u, 65536u, 262144u}) {
    const std::uint64_t bytes = kib * kKiB;
    std::fprintf(out, "%8llu %8.2f %8.2f %8.2f\n", static_cast<unsigned long long>(kib),
                 bandwidth(buffers, bytes, true, false), bandwidth(buffers, bytes, false, true),
                 bandwidth(buffers, bytes, true, true));
  }
  std::vector<char> pageable(kLargest, 0);
  std::vector<double> rates;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const double time = microseconds(
        [&] { check(cudaMemcpy(buffers.device[0], pageable.data(), kLargest, cudaMemcpyHostToDevice), "cudaMemcpy"); });
    rates.push_back(static_cast<double>(kLargest) / time / 1000);
  }
  std::fprintf(out, "pageable h2d %.2f GB/s\n", median(rates));
}

}  // namespace

void print_cost_tables(std::FILE* out, ManagedBudget& budget) {
  check(launch_nothing(), "a kernel");
  synchronize();
  print_calls(out, budget);
  print_launch(out);
  print_copies(out);
}

}  // namespace uvmtrace::ground_truth
