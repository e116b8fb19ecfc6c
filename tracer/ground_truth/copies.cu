// SPDX-License-Identifier: Apache-2.0
// Copies and fills of managed memory, for the log of raw faults: which unit of the GPU faults, on which pages, how many
// at once.
//
//   CUDA_INJECTION64_PATH=.../libuvmtrace_faults.so UVMTRACE_LOG_DIR=FOLDER copies
//
// One section of the log and one line for each: what, where the memory lies, bytes, the time between two events.
// Built with `nvcc -O2 -std=c++17 -arch=native copies.cu -ldl`.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define CHECK(call)                                                                    \
  if (cudaError_t error = (call); error != cudaSuccess) {                              \
    std::fprintf(stderr, "copies: %s: %s\n", #call, cudaGetErrorString(error));        \
    std::exit(1);                                                                      \
  }

namespace {

enum class Place { kNew, kHost, kGpu };
const char* text_of(Place place) {
  return place == Place::kNew ? "new" : place == Place::kHost ? "host" : "gpu";
}

void begin_section(const std::string& name) {
  using Section = void (*)(const char*);
  static const auto section = [] {
    const char* path = std::getenv("CUDA_INJECTION64_PATH");
    void* recorder = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
    return recorder != nullptr ? reinterpret_cast<Section>(dlsym(recorder, "uvmtrace_faults_section")) : nullptr;
  }();
  if (section != nullptr) section(name.c_str());
}

char* managed(std::size_t bytes, Place place) {
  char* memory = nullptr;
  CHECK(cudaMallocManaged(&memory, bytes));
  if (place != Place::kNew) std::memset(memory, 1, bytes);
  if (place == Place::kGpu) {
    CHECK(cudaMemPrefetchAsync(memory, bytes, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, nullptr));
  }
  CHECK(cudaDeviceSynchronize());
  return memory;
}

template <class Call>
void timed(const std::string& name, std::size_t bytes, const Call& call) {
  cudaEvent_t before, after;
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreate(&after));
  begin_section(name + "/" + std::to_string(bytes));
  CHECK(cudaEventRecord(before));
  call();
  CHECK(cudaEventRecord(after));
  CHECK(cudaDeviceSynchronize());
  begin_section("between");
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, before, after));
  std::printf("%s %zu bytes %.3f ms\n", name.c_str(), bytes, static_cast<double>(ms));
  CHECK(cudaEventDestroy(before));
  CHECK(cudaEventDestroy(after));
}

void copies_of(std::size_t bytes) {
  for (const Place to : {Place::kNew, Place::kHost, Place::kGpu}) {
    for (const Place from : {Place::kGpu, Place::kHost}) {
      char *source = managed(bytes, from), *target = managed(bytes, to);
      timed(std::string("copy_managed_") + text_of(from) + "_to_managed_" + text_of(to), bytes,
            [&] { CHECK(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice)); });
      CHECK(cudaFree(source));
      CHECK(cudaFree(target));
    }
    char* target = managed(bytes, to);
    timed(std::string("fill_managed_") + text_of(to), bytes, [&] { CHECK(cudaMemsetAsync(target, 0, bytes)); });
    CHECK(cudaFree(target));
    target = managed(bytes, to);
    char* pinned = nullptr;
    CHECK(cudaMallocHost(&pinned, bytes));
    std::memset(pinned, 1, bytes);
    timed(std::string("copy_pinned_to_managed_") + text_of(to), bytes,
          [&] { CHECK(cudaMemcpyAsync(target, pinned, bytes, cudaMemcpyHostToDevice)); });
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(target));
    target = managed(bytes, to);
    char* pageable = static_cast<char*>(std::malloc(bytes));
    std::memset(pageable, 1, bytes);
    timed(std::string("copy_pageable_to_managed_") + text_of(to), bytes,
          [&] { CHECK(cudaMemcpyAsync(target, pageable, bytes, cudaMemcpyHostToDevice)); });
    timed(std::string("copy_managed_to_pageable_after_") + text_of(to), bytes,
          [&] { CHECK(cudaMemcpyAsync(pageable, target, bytes, cudaMemcpyDeviceToHost)); });
    std::free(pageable);
    CHECK(cudaFree(target));
  }
}

}  // namespace

int main() {
  CHECK(cudaSetDevice(0));
  for (const std::size_t mib : {1, 4, 17, 64}) copies_of(mib << 20);
  return 0;
}
