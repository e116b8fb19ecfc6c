// The kernels of the experiments. Launches return at once; errors are CUDA's.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace uvmtrace::ground_truth {

// A touch as the kernels read it, from ordinary device memory: page * 2 + (1 when it writes).
using PackedTouch = std::uint32_t;

// Touches are 4 bytes at the start of their 4 KB page. The data must be zero. The one thread of launch_ordered has one
// touch in flight: its next address depends on what it loaded, and it fences what it stored. `sink` takes what was read
// (any device memory of 4 bytes).
cudaError_t launch_ordered(char* data, const PackedTouch* touches, std::uint32_t count, std::uint32_t* sink);
cudaError_t launch_parallel(char* data, const PackedTouch* touches, std::uint32_t count, std::uint32_t threads,
                            std::uint32_t* sink);

// A grid-stride loop: `access_bytes` of a thread at once are 4, 8 or 16.
struct Loop {
  std::uint32_t grid = 1, threads = 256, access_bytes = 16;
};

// Write zeros. launch_vector_add: 16-byte accesses, 256 threads per block.
cudaError_t launch_stream_read(const void* data, std::uint64_t bytes, const Loop& loop, std::uint32_t* sink);
cudaError_t launch_stream_write(void* data, std::uint64_t bytes, const Loop& loop);
cudaError_t launch_vector_add(void* data, std::uint64_t bytes, std::uint32_t grid);

// Does nothing.
cudaError_t launch_nothing();

}  // namespace uvmtrace::ground_truth
