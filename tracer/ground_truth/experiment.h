// SPDX-License-Identifier: Apache-2.0
// The accesses of one experiment to managed memory. These are plain data without CUDA, so that the list can be created
// and tested anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace uvmtrace::ground_truth {

inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20;  // the driver's unit, a VA block

enum class Mode : std::uint8_t {
  kOrdered,          // one GPU thread makes `touches` one after the other
  kParallel,         // one thread per touch, `threads` per block
  kStreamRead,       // grid-stride loops over the whole allocation
  kStreamWrite,      // as kStreamRead, but writing
  kVectorAdd,        // c = a + b over three equal parts
  kCpuRead,          // the GPU writes everything (as kStreamWrite), then the CPU reads page after page
  kCpuTouch,         // as kCpuRead, but the CPU reads `touches` in their order
  kPingPong,         // `rounds` times: the GPU writes everything, the CPU writes page after page
  kPrefetch,         // cudaMemPrefetchAsync of everything to the GPU
  kPrefetchAndBack,  // as kPrefetch, and then back to the host
};

struct ByteRange {
  std::uint64_t offset = 0, bytes = 0;
};

struct Touch {
  std::uint64_t page = 0;  // of 4 KB, from the start of the allocation
  bool write = false;
};

struct Experiment {
  std::string name;
  Mode mode = Mode::kOrdered;
  std::uint64_t bytes = 0;
  std::string advise = "none";  // preferred_host, accessed_by_gpu, ... as in sim/validate/README.md, joined by +
  std::vector<ByteRange> host_populated;  // written by the CPU first, ascending
  std::vector<ByteRange> gpu_resident;    // then prefetched to the GPU, ascending
  std::vector<ByteRange> peer_resident;   // or to the other GPU, ascending
  std::vector<Touch> touches;
  std::uint32_t threads = 1;         // per block, kParallel
  std::uint32_t grid = 0;            // blocks, of the modes with loops
  std::uint32_t loop_threads = 256;  // per block, of the modes with loops; kStreamRead and kStreamWrite may have others
  std::uint32_t access_bytes = 16;   // per thread: 4, 8 or 16; only kStreamRead and kStreamWrite may differ from 16
  std::uint32_t rounds = 1;          // kPingPong: kernel launches, each followed by writes of the host
};

// Returns the `mode` of the file format (sim/validate/README.md): "ordered", "parallel32", "stream_rd", "cpu",
// "prefetch", ...
std::string mode_text(const Experiment& experiment);

struct ListOptions {
  std::uint64_t seed = 1;  // of the random lists; names contain it
  bool quick = false;      // a tenth of the experiments, none above 16 MB, as a quick check
  std::uint32_t sm_count = 132;
};

// The default set, about a hundred experiments. The same options give the same list.
std::vector<Experiment> default_experiments(const ListOptions& options);
// Returns about forty experiments with two GPUs: one runs the kernels, the other has the memory at first.
std::vector<Experiment> peer_experiments(const ListOptions& options);

}  // namespace uvmtrace::ground_truth
