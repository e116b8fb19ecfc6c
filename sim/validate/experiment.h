// SPDX-License-Identifier: Apache-2.0
// One ground-truth experiment: what a small program did to managed memory on a real GPU, and the events that the
// driver's event stream (CUPTI) reported. There are three formats of JSON lines, recognised per line; README.md
// describes their keys.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/common/error.h"
#include "sim/trace/record.h"
#include "sim/validate/campaign.h"
#include "sim/validate/raw_contents.h"

namespace uvmsim::validate {

// A contiguous part of an allocation, in bytes from its start.
struct ByteRange {
  std::uint64_t offset = 0, bytes = 0;
};

enum class Mode : std::uint8_t {
  kOrdered,      // one GPU thread, one touch after the other
  kParallel,     // one thread per touch
  kStreamRead,   // grid-stride loop over the whole allocation
  kStreamWrite,  // grid-stride loop over the whole allocation
  kVectorAdd,    // grid-stride loop c = a + b over three equal parts
  kCpu,          // GPU writes, CPU reads or writes
  kPrefetch,     // cudaMemPrefetchAsync
  kLibrary,      // a library call on several tensors
  kRemote,       // the same with inputs or outputs that stay on the host, read and written in place
  kCampaign,     // a generated program, with figures per step instead of events
};
inline constexpr std::size_t kModes = 10;

// The classes that have tolerances of their own.
enum class ExperimentClass : std::uint8_t { kOrdered, kParallel, kLibrary, kCpu, kPrefetch, kCampaign, kRemote };
inline constexpr std::array kClassNames = {"ordered", "parallel", "library", "cpu", "prefetch", "campaign", "remote"};

// In the order of Mode.
struct ModeInfo {
  std::string_view name;  // in files; empty: not named by one word
  ExperimentClass experiment_class;
};
extern const std::array<ModeInfo, kModes> kModeTable;

struct PageTouch {
  std::uint64_t page = 0;  // 4 KB page from the start of the allocation
  trace::AccessMode mode = trace::AccessMode::kRead;
};

// A tensor of a library call, or the one allocation of a known-access experiment.
struct Allocation {
  std::string name;
  bool output = false;  // written whole, never touched before; inputs are read whole
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;
  std::uint64_t offset_in_block = 0;  // its address modulo 2 MB
};

struct MeasuredKernel {
  std::string name;
  std::int64_t start_ns = 0, end_ns = 0;
  trace::Dim3 grid, block;
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes_per_block = 0;
  std::int64_t native_ns = 0;  // duration with everything resident; 0 = not measured
};

enum class EventKind : std::uint8_t {
  kFaultBatch,    // CUPTI GPU_PAGE_FAULT: one per fault batch, offset of its lowest page
  kHostToDevice,  // flags: 1 user, 2 demand fault, 3 driver prefetch, 4 eviction
  kDeviceToHost,
  kDeviceToDevice,  // from another GPU
  kCpuFault,
  kRemoteMap,
  kThrashing,
};

struct MeasuredEvent {
  EventKind kind = EventKind::kFaultBatch;
  std::int64_t start_ns = 0, end_ns = 0;
  std::size_t allocation = 0;  // index into Experiment::allocations
  std::int64_t offset = 0;     // from the start of that allocation; negative within a shared 2 MB block
  std::uint64_t value = 0;     // bytes, or as CUPTI defines it
  std::uint32_t flags = 0;
};

// The single-thread speed of the measuring host; the driver's work runs on one such thread.
struct HostSpeed {
  std::string cpu;                  // the processor's name
  std::uint64_t step_ps = 0;        // a step of a chain of multiply, shift and exclusive or
  std::uint64_t chase_ps = 0;       // a dependent load, random over 256 MiB
  std::uint64_t page_touch_ps = 0;  // the first write to an anonymous page
};

// The times of runs without a listener to the driver: CUPTI makes kernels up to 2.5 times slower.
struct UnobservedTimes {
  std::vector<std::int64_t> kernel_ns;  // per run: the sum of its kernels
  std::vector<std::int64_t> host_ns;    // per run: the host's operations (accesses of the CPU, prefetches)
  std::vector<std::int64_t> call_ns;    // per run of a library call: including its launch and its outputs' allocation
  std::optional<HostSpeed> host;
};

struct Experiment {
  std::string name;
  Mode mode = Mode::kOrdered;
  std::uint64_t line = 0;  // in its file, from 1
  std::vector<Allocation> allocations;
  bool has_contents = true;           // false: only times were measured, there are no events
  std::vector<MeasuredEvent> events;  // by start
  std::vector<MeasuredKernel> kernels;

  std::optional<UnobservedTimes> unobserved;  // none: its times are those of a run under CUPTI

  std::optional<RawContents> raw;  // none: no raw faults were recorded

  // Known accesses
  std::vector<std::string> advice;        // "preferred_host", "accessed_by_gpu", ... in the order given
  std::vector<ByteRange> host_populated;  // written by the CPU first
  std::vector<ByteRange> gpu_resident;    // then prefetched to the GPU
  std::vector<ByteRange> peer_resident;   // or to another GPU, the system's GPU 1
  std::vector<PageTouch> touches;         // kOrdered, kParallel
  std::uint32_t threads_per_block = 1;    // kParallel
  std::uint32_t grid_blocks = 0;          // from the name (..._g132); 0 = not stated
  std::uint32_t loop_threads = 256;       // per block, of the grid-stride loops
  std::uint32_t access_bytes = 16;        // per thread and step of those loops
  // Library calls
  bool inputs_on_host = false;
  bool outputs_on_host = false;  // written by the CPU first; else never touched before
  std::string note;
  // kRemote: either inputs or outputs stay on the host, the others are on the GPU
  bool outputs_remote = false;
  std::optional<std::uint64_t> remote_bytes;  // over the link, measured
  // Campaigns
  std::optional<Campaign> campaign;

  ExperimentClass experiment_class() const { return kModeTable[static_cast<std::size_t>(mode)].experiment_class; }
};

inline const char* class_name(ExperimentClass experiment_class) {
  return kClassNames[static_cast<std::size_t>(experiment_class)];
}

struct ExperimentFile {
  std::string path;
  std::vector<Experiment> experiments;
  // Keys and event kinds that no format knows, each once, as messages. They were skipped.
  std::vector<std::string> warnings;
};

// Returns replay(); its InputErrors get file, line and name of the experiment.
template <class Replay>
auto naming(const std::string& path, const Experiment& experiment, Replay&& replay) {
  try {
    return replay();
  } catch (const InputError& error) {
    throw_input_error("{}: line {}: experiment '{}': {}", path, experiment.line, experiment.name, error.what());
  }
}

// Reads a plain or zstd-compressed file ("-" = standard input). Throws InputError of one line with file and line
// number for anything that is not an experiment of any format, and for a file without any.
ExperimentFile read_experiments(const std::string& path);

// The same from memory; `path` names it in messages.
ExperimentFile parse_experiments(std::string_view text, const std::string& path);

}  // namespace uvmsim::validate
