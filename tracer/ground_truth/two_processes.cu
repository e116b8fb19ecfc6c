// SPDX-License-Identifier: Apache-2.0
// Measures how two processes affect each other on one GPU, within its memory: how long each computes at a time, the
// cost of the switch, and the cost of one's faults while the other computes or faults too.
//
//      uvm_two_processes FILE [MILLISECONDS_OF_WATCHING]
//
// FILE receives JSON lines, one per process and experiment. Every experiment starts its processes anew. Managed memory:
// two times 1.1 GB, refused if that is more than a quarter of the free memory.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tracer/ground_truth/cupti_recorder.h"
#include "tracer/ground_truth/device.h"

namespace uvmtrace::ground_truth {
namespace {

constexpr std::uint64_t kGapNs = 20000;  // if a watcher sees no time pass for this long, it did not run
constexpr std::uint32_t kMostGaps = 4096;
constexpr std::uint64_t kRows = 4096, kColumns = 11008, kLayers = 6;
constexpr std::uint32_t kThreads = 256;

struct Gap {
  unsigned long long begin, end;
};

__device__ unsigned long long now_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// One thread that reads the clock continuously.
__global__ void watch(unsigned long long duration_ns, Gap* gaps, std::uint32_t* count) {
  const unsigned long long begin = now_ns();
  unsigned long long last = begin;
  std::uint32_t seen = 0;
  while (last - begin < duration_ns) {
    const unsigned long long now = now_ns();
    if (now - last > kGapNs && seen < kMostGaps) gaps[seen++] = {last, now};
    last = now;
  }
  *count = seen;
}

__global__ void spin(std::uint64_t rounds, float* out) {
  float value = static_cast<float>(threadIdx.x);
  for (std::uint64_t i = 0; i < rounds; ++i) value = value * 0.999f + 1.0f;
  out[threadIdx.x] = value;
}

// Multiplies a vector by a matrix, a thread per column; `out` may alias, so rows are read one after the other.
__global__ void product(const float* x, const float* matrix, float* out) {
  const std::uint64_t j = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
  if (j >= kColumns) return;
  out[j] = 0;
  for (std::uint64_t k = 0; k < kRows; ++k) out[j] += x[k] * matrix[k * kColumns + j];
}

// Memory that the processes of an experiment share.
struct Shared {
  pthread_barrier_t barrier;
  std::uint64_t free_bytes[2];
};

struct Place {
  Shared& shared;
  unsigned process;
  FILE* file;
  void meet() const { pthread_barrier_wait(&shared.barrier); }
};

template <class T>
T* device_memory(std::uint64_t count) {
  T* data = nullptr;
  check(cudaMalloc(&data, count * sizeof(T)), "cudaMalloc");
  return data;
}
void synchronize() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

std::uint64_t wall_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

void print_gaps(const Place& place, const Gap* device_gaps, const std::uint32_t* device_count) {
  std::uint32_t count = 0;
  check(cudaMemcpy(&count, device_count, sizeof(count), cudaMemcpyDeviceToHost), "cudaMemcpy");
  std::vector<Gap> gaps(count);
  check(cudaMemcpy(gaps.data(), device_gaps, count * sizeof(Gap), cudaMemcpyDeviceToHost), "cudaMemcpy");
  std::fprintf(place.file, ",\"gaps_ns\":[");
  for (std::uint32_t i = 0; i < count; ++i) {
    std::fprintf(place.file, "%s[%llu,%llu]", i == 0 ? "" : ",", gaps[i].begin, gaps[i].end);
  }
  std::fprintf(place.file, "]");
}

void run_watch(const Place& place, std::uint64_t duration_ns) {
  Gap* const gaps = device_memory<Gap>(kMostGaps);
  auto* const count = device_memory<std::uint32_t>(1);
  watch<<<1, 1>>>(1000000, gaps, count);
  synchronize();
  place.meet();
  watch<<<1, 1>>>(duration_ns, gaps, count);
  check(cudaGetLastError(), "watch");
  synchronize();
  print_gaps(place, gaps, count);
}

// Runs kernels of a known length with pauses between them, which shows how long a newcomer waits.
void run_visits(const Place& place) {
  auto* const out = device_memory<float>(kThreads);
  constexpr std::uint64_t kRounds = 100000;
  spin<<<1, kThreads>>>(kRounds, out);
  synchronize();
  place.meet();
  std::fprintf(place.file, ",\"visits_ns\":[");
  for (int i = 0; i < 12; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(10000 + 370 * i));
    const std::uint64_t begin = wall_ns();
    spin<<<1, kThreads>>>(kRounds, out);
    synchronize();
    std::fprintf(place.file, "%s%llu", i == 0 ? "" : ",", static_cast<unsigned long long>(wall_ns() - begin));
  }
  std::fprintf(place.file, "]");
}

// Runs a kernel of fixed work that never faults.
void run_spin(const Place& place) {
  auto* const out = device_memory<float>(kThreads);
  constexpr std::uint64_t kRounds = 20000000;
  spin<<<1, kThreads>>>(1000, out);
  synchronize();
  place.meet();
  const std::uint64_t begin = wall_ns();
  spin<<<1, kThreads>>>(kRounds, out);
  synchronize();
  std::fprintf(place.file, ",\"spin_ns\":%llu", static_cast<unsigned long long>(wall_ns() - begin));
}

void print_recording(const Place& place, const char* name, const Recording& recording) {
  std::fprintf(place.file, ",\"%s\":{\"dropped\":%llu,\"kernels\":[", name,
               static_cast<unsigned long long>(recording.dropped));
  bool first = true;
  for (const KernelRecord& kernel : recording.kernels) {
    if (kernel.name.find("product") == std::string::npos) continue;
    std::fprintf(place.file, "%s[%llu,%llu]", first ? "" : ",", static_cast<unsigned long long>(kernel.start_ns),
                 static_cast<unsigned long long>(kernel.end_ns));
    first = false;
  }
  std::fprintf(place.file, "],\"batches\":[");
  first = true;
  for (const CounterRecord& counter : recording.counters) {
    if (counter.kind != CounterKind::kGpuFault) continue;
    std::fprintf(place.file, "%s[%llu,%llu,%llu]", first ? "" : ",", static_cast<unsigned long long>(counter.start_ns),
                 static_cast<unsigned long long>(counter.end_ns), static_cast<unsigned long long>(counter.value));
    first = false;
  }
  std::uint64_t bytes = 0, copies = 0;
  for (const CounterRecord& counter : recording.counters) {
    if (counter.kind != CounterKind::kHostToDevice) continue;
    bytes += counter.value;
    ++copies;
  }
  std::fprintf(place.file, "],\"htod_bytes\":%llu,\"htod_copies\":%llu}", static_cast<unsigned long long>(bytes),
               static_cast<unsigned long long>(copies));
}

void run_products(const Place& place) {
  if (const std::string error = start_recording(0, kNoPeer); !error.empty()) throw DeviceError(error);
  ManagedBudget budget(kDefaultSharePercent / 2);
  const ManagedMemory matrices(kLayers * kRows * kColumns * sizeof(float), budget);
  auto* const values = reinterpret_cast<float*>(matrices.data());
  std::fill(values, values + kLayers * kRows * kColumns, 1.0f);
  auto* const x = device_memory<float>(kRows);
  auto* const out = device_memory<float>(kColumns);
  check(cudaMemset(x, 0, kRows * sizeof(float)), "cudaMemset");
  const auto all = [&] {
    for (std::uint64_t i = 0; i < kLayers; ++i) {
      product<<<(kColumns + kThreads - 1) / kThreads, kThreads>>>(x, values + i * kRows * kColumns, out);
    }
    check(cudaGetLastError(), "product");
    synchronize();
  };
  synchronize();
  take_recording();
  for (const char* name : {"first", "resident"}) {
    place.meet();
    all();
    print_recording(place, name, take_recording());
  }
}

using Role = std::function<void(const Place&)>;

// Runs the roles at the same time, each in a process of its own.
bool experiment(const char* name, const char* output, const std::vector<Role>& roles) {
  std::fprintf(stderr, "%s\n", name);
  auto* const shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared->barrier, &attributes, static_cast<unsigned>(roles.size()));
  std::vector<pid_t> children;
  for (unsigned i = 0; i < roles.size(); ++i) {
    const pid_t child = fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    alarm(60);  // if a process fails, the others would wait for it forever
    char* text = nullptr;
    std::size_t size = 0;
    FILE* const memory = open_memstream(&text, &size);
    const Place place{*shared, i, memory};
    try {
      std::fprintf(memory, "{\"experiment\":\"%s\",\"process\":%u", name, i);
      roles[i](place);
      std::fprintf(memory, "}\n");
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", name, error.what());
      _exit(1);
    }
    std::fclose(memory);
    FILE* const file = std::fopen(output, "a");
    const bool written = file != nullptr && std::fwrite(text, 1, size, file) == size && std::fclose(file) == 0;
    _exit(written ? 0 : 1);
  }
  bool good = true;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  munmap(shared, sizeof(Shared));
  return good;
}

Role opened(const Role& role) {
  return [role](const Place& place) {
    const DeviceInfo info = open_device(0);
    std::fprintf(place.file, ",\"gpu\":\"%s\",\"driver\":%d", info.name.c_str(), info.driver);
    role(place);
  };
}

// Measures the memory of a context: the first process reads the free memory before and after the second creates its
// context.
void see_contexts(const Place& place) {
  if (place.process == 0) open_device(0);
  if (place.process == 0) place.shared.free_bytes[0] = free_memory().device_bytes;
  place.meet();
  if (place.process == 1) open_device(0);
  place.meet();
  if (place.process == 0) {
    std::fprintf(place.file, ",\"context_bytes\":%llu",
                 static_cast<unsigned long long>(place.shared.free_bytes[0] - free_memory().device_bytes));
  }
  place.meet();
}

int run(const char* output, std::uint64_t watch_ns) {
  const Role watching = opened([=](const Place& place) { run_watch(place, watch_ns); });
  const Role visiting = opened(run_visits), spinning = opened(run_spin), products = opened(run_products);
  // Runs beside products, which prepare their memory at the same time; it therefore takes part in both phases, and
  // watches for a long time.
  const Role beside = opened([=](const Place& place) {
    run_watch(place, 1500000000);
    place.meet();
  });
  bool good = true;
  good &= experiment("contexts", output, {see_contexts, see_contexts});
  good &= experiment("watchers", output, {watching, watching});
  good &= experiment("three_watchers", output, {watching, watching, watching});
  good &= experiment("visits", output, {watching, visiting});
  good &= experiment("spin_alone", output, {spinning});
  good &= experiment("two_spins", output, {spinning, spinning});
  for (int i = 0; i < 3; ++i) {
    good &= experiment("products_alone", output, {products});
    good &= experiment("products_and_watcher", output, {products, beside});
    good &= experiment("two_products", output, {products, products});
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace uvmtrace::ground_truth

int main(int count, char** arguments) {
  if (count != 2 && count != 3) {
    std::fprintf(stderr, "usage: uvm_two_processes FILE [MILLISECONDS]\n");
    return 2;
  }
  const std::uint64_t watch_ms = count == 3 ? std::strtoull(arguments[2], nullptr, 10) : 400;
  return uvmtrace::ground_truth::run(arguments[1], watch_ms * 1000000);
}
