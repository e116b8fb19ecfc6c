// SPDX-License-Identifier: Apache-2.0
// Small programs whose calls are timed on the host's clock without a listener: how long prefetches, advice, sets,
// copies and frees of managed memory block the caller, how long until they are done, and how long kernels take after a
// hint. The programs are plain data without CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace uvmtrace::ground_truth {

enum class Act : std::uint8_t {
  kHostWrite,  // the CPU writes the first byte of each 4 KB page
  kHostRead,   // the CPU reads this byte
  kPrefetch,   // cudaMemPrefetchAsync to `target`
  kAdvise,     // cudaMemAdvise: `how`, for `target`
  kWrite,      // a kernel: a grid-stride loop that writes zeros
  kRead,       // a kernel: the same loop reads
  kTouch,      // a kernel of one thread: it writes 4 bytes of one page after the other
  kSet,        // cudaMemset, cudaMemsetAsync
  kCopy,       // cudaMemcpy, cudaMemcpyAsync: `how` says from where to where
  kBusy,       // a kernel of one thread that runs for `ns`
  kLaunch,     // `count` empty kernels
  kSync,       // cudaDeviceSynchronize
  kFree,       // cudaFree of the allocation; nothing may follow
};

enum class Target : std::uint8_t { kHost, kGpu };

// Bytes [offset, offset + bytes) of the allocation. With `each`, these bytes of every stretch of `each` bytes within
// [0, program.bytes): one call per stretch, but one kernel for all.
struct Part {
  std::uint64_t offset = 0, bytes = 0, each = 0;
};

struct Step {
  Act act = Act::kSync;
  Part part = {};
  Target target = Target::kGpu;
  std::string how = {};      // kAdvise: set_read_mostly, unset_..., set_preferred_location, set_accessed_by;
                             // kCopy: from>to, of pinned, pageable, device and managed; managed>managed: the part's
                             // first half to its second
  bool asynchronous = true;  // kSet, kCopy: the call whose name ends in Async
  std::uint32_t stream = 0;  // kPrefetch, kBusy, kSet, kCopy (Async only): 0 the default stream, 1 a non-blocking one
  std::uint32_t grid = 64, threads = 256, access_bytes = 4;  // kWrite, kRead
  std::uint32_t count = 1;                                   // kLaunch: kernels; kTouch: pages, a power of two,
  std::uint32_t multiplier = 1;  // of which the i-th is number (i * multiplier) modulo count
  std::uint64_t ns = 0;          // kBusy
};

struct CallProgram {
  std::string name;  // measured call / location of the memory / state of the stream / size
  std::uint64_t bytes = 0;
  std::vector<Step> steps;
};

// Returns the programs, the most important first.
std::vector<CallProgram> call_programs();

// The time of a step in a run of a program.
struct StepTime {
  double us = 0;       // inside the call (or calls), on the host's clock
  double gpu_us = -1;  // kernels: between two events around it; else -1
};

struct CallTimes {
  double allocate_us = 0;
  std::vector<StepTime> steps;
};

// Formats the line with its newline. `pass` counts from 1.
std::string to_line(const CallProgram& program, const CallTimes& times, std::uint32_t pass);

}  // namespace uvmtrace::ground_truth
