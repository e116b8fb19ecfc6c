// SPDX-License-Identifier: Apache-2.0
// The kernels of the experiments. Launches return at once; errors are CUDA's.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace uvmtrace::ground_truth {

// A touch in the form that the kernels read from ordinary device memory: page * 2 + (1 if it writes).
using PackedTouch = std::uint32_t;

// Touches are 4 bytes at the start of their 4 KB page. The data must be zero. The single thread of launch_ordered has
// one touch in flight: its next address depends on the loaded value, and a fence follows each store. `sink` receives
// the read values (any device memory of 4 bytes).
cudaError_t launch_ordered(char* data, const PackedTouch* touches, std::uint32_t count, std::uint32_t* sink);
cudaError_t launch_parallel(char* data, const PackedTouch* touches, std::uint32_t count, std::uint32_t threads,
                            std::uint32_t* sink);

// A grid-stride loop: each thread accesses `access_bytes` (4, 8 or 16) at once.
struct Loop {
  std::uint32_t grid = 1, threads = 256, access_bytes = 16;
};

// Write zeros. launch_vector_add: 16-byte accesses, 256 threads per block.
cudaError_t launch_stream_read(const void* data, std::uint64_t bytes, const Loop& loop, std::uint32_t* sink);
cudaError_t launch_stream_write(void* data, std::uint64_t bytes, const Loop& loop);
cudaError_t launch_vector_add(void* data, std::uint64_t bytes, std::uint32_t grid);

// For memory that may exceed the GPU's. All have 256 threads per block; the last three have 256 blocks. In this one,
// one thread per listed word loads it and stores another value.
cudaError_t launch_sparse_pass(std::uint32_t* array, const std::uint64_t* words, std::uint64_t count);
// Grid-stride loops over 4-byte words: one adds all words to *sum, one writes kWordValue.
inline constexpr std::uint32_t kWordValue = 0x01010101;
cudaError_t launch_sum_words(const std::uint32_t* words, std::uint64_t count, unsigned long long* sum);
cudaError_t launch_write_words(std::uint32_t* words, std::uint64_t count);
// Every thread reads a float of each page of its own part of `input` and writes a float of the same page of `output`:
// in the order of the list (of `listed` pages), or in ascending order without a list.
cudaError_t launch_page_walk(const char* input, char* output, std::uint64_t pages, const std::uint32_t* list,
                             std::uint64_t listed);
inline constexpr std::uint64_t kWalkThreads = 65536;

// A grid-stride loop over a part of each stretch: bytes [offset, offset + bytes) of every `each` bytes, `count` times.
// It reads, or writes zeros. All sizes are multiples of access_bytes.
struct Stretches {
  std::uint64_t offset = 0, bytes = 0, each = 0, count = 1;
};
cudaError_t launch_stretches(char* data, const Stretches& parts, bool write, const Loop& loop, std::uint32_t* sink);

// Does nothing.
cudaError_t launch_nothing();
// Launches one thread that waits this long. Kernels that are launched meanwhile follow it directly, so that the time of
// their launch is not part of theirs.
cudaError_t launch_pause(std::uint64_t nanoseconds, cudaStream_t stream = nullptr);

}  // namespace uvmtrace::ground_truth
