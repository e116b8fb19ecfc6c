// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/run_beyond.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/validate/page_lists.h"
#include "tracer/ground_truth/cupti_recorder.h"
#include "tracer/ground_truth/device.h"
#include "tracer/ground_truth/experiment.h"
#include "tracer/ground_truth/kernels.h"

namespace uvmtrace::ground_truth {

namespace {

// Memory of either kind, freed at the end of the scope. There is no budget, because it is meant to exceed the GPU's
// memory.
class Memory {
 public:
  enum class Kind : std::uint8_t { kManaged, kDevice };
  Memory(std::uint64_t bytes, Kind kind) {
    if (kind == Kind::kManaged) {
      check(cudaMallocManaged(&data_, bytes), "cudaMallocManaged");
    } else {
      check(cudaMalloc(&data_, bytes), "cudaMalloc");
    }
  }
  ~Memory() {
    cudaDeviceSynchronize();
    cudaFree(data_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

void synchronize() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

template <class Step>
void run_steps(std::uint32_t count, BeyondMeasurement& measurement, Step&& step) {
  synchronize();
  measurement.preparation = take_recording();
  for (std::uint32_t i = 0; i < count; ++i) {
    step(i);
    synchronize();
    measurement.steps.push_back(take_recording());
  }
}

void run_sparse_blocks(const BeyondRun& run, BeyondMeasurement& measurement) {
  std::vector<std::uint64_t> words;
  for (const auto& word :
       uvmsim::validate::sparse_words(run.array_bytes / kBlockBytes, run.pages_per_block, run.seed)) {
    words.push_back(word.page * (kPageBytes / sizeof(std::uint32_t)) + word.word);
  }
  const Memory list(words.size() * sizeof(std::uint64_t), Memory::Kind::kDevice);
  check(cudaMemcpy(list.as<void>(), words.data(), words.size() * sizeof(std::uint64_t), cudaMemcpyHostToDevice),
        "cudaMemcpy");
  const Memory array(run.array_bytes, Memory::Kind::kManaged);
  std::memset(array.as<void>(), 1, run.array_bytes);
  run_steps(run.steps, measurement, [&](std::uint32_t) {
    check(launch_sparse_pass(array.as<std::uint32_t>(), list.as<std::uint64_t>(), words.size()), "a kernel");
  });
}

void run_slice_scans(const BeyondRun& run, BeyondMeasurement& measurement) {
  const Memory array(run.array_bytes, Memory::Kind::kManaged);
  const Memory sum(sizeof(unsigned long long), Memory::Kind::kManaged);
  std::memset(array.as<void>(), 1, run.array_bytes);
  volatile auto* total = sum.as<unsigned long long>();
  const std::uint64_t words = run.array_bytes / sizeof(std::uint32_t);
  auto* data = array.as<std::uint32_t>();
  run_steps(run.steps * run.rounds, measurement, [&](std::uint32_t i) {
    const std::uint64_t step = i % run.steps;
    std::uint64_t end = words;
    *total = 0;
    if (run.growing) {
      const std::uint64_t begin = words * step / run.steps;
      end = words * (step + 1) / run.steps;
      check(launch_write_words(data + begin, end - begin), "a kernel");
    }
    check(launch_sum_words(data, end, sum.as<unsigned long long>()), "a kernel");
    synchronize();
    if (*total != end * kWordValue) throw DeviceError(run.name + ": the sum is wrong");
  });
}

void run_page_walk(const BeyondRun& run, BeyondMeasurement& measurement) {
  const std::uint64_t pages = run.array_bytes / kPageBytes;
  std::vector<std::uint32_t> order;
  if (run.random_order) {
    order = uvmsim::validate::random_walk(pages, (pages + kWalkThreads - 1) / kWalkThreads, run.seed);
  }
  const std::uint64_t list_bytes = order.size() * sizeof(std::uint32_t);
  const Memory list(std::max<std::uint64_t>(list_bytes, 1), Memory::Kind::kDevice);
  check(cudaMemcpy(list.as<void>(), order.data(), list_bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  const Memory input(run.array_bytes, Memory::Kind::kManaged);
  const Memory output(run.array_bytes, Memory::Kind::kManaged);
  std::memset(input.as<void>(), 0, run.array_bytes);
  run_steps(run.steps, measurement, [&](std::uint32_t) {
    check(launch_page_walk(input.as<char>(), output.as<char>(), pages,
                           run.random_order ? list.as<std::uint32_t>() : nullptr, order.size()),
          "a kernel");
  });
}

}  // namespace

BeyondMeasurement run_beyond(const BeyondRun& run) {
  const std::string refusal = host_refusal(run, free_memory().host_bytes);
  if (!refusal.empty()) throw Refusal(refusal);
  take_recording();
  BeyondMeasurement measurement;
  switch (run.program) {
    case BeyondProgram::kSparseBlocks:
      run_sparse_blocks(run, measurement);
      break;
    case BeyondProgram::kSliceScans:
      run_slice_scans(run, measurement);
      break;
    case BeyondProgram::kPageWalk:
      run_page_walk(run, measurement);
      break;
  }
  return measurement;
}

}  // namespace uvmtrace::ground_truth
