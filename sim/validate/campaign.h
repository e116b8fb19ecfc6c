// SPDX-License-Identifier: Apache-2.0
// A campaign: a program that others ran on a real GPU, mostly beyond its memory, and the results that they published.
// The program is generated (campaign_program.h) from one line of the file; README.md describes its keys.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/events/counters.h"
#include "sim/trace/record.h"

namespace uvmsim::validate {

enum class CampaignProgramKind : std::uint8_t {
  kSparseBlocks,   // every thread changes one word of its own; a few pages of every 2 MB block, blocks shuffled
  kSliceScans,     // grid-stride scans of one array, whole or of a part that grows by the slice written before
  kAccumulate,     // one array to which many others are added, one kernel each
  kPageWalk,       // every thread walks its own share of two arrays page by page, reading one and writing the other
  kLayerProducts,  // a vector times each of many matrices in turn, a thread per column, all of them again and again
  kMemoryPasses,   // one kernel reads one array, writes another, or copies, of memory of any kind, again and again
  kPhaseScan,      // grid-stride additions to the first half of one array, the second half, and both once more
  kVectorAdd,      // two arrays are added into a third one, twice
  kMatrixVector,   // a matrix times a vector with a row per thread, then with a column per thread
  kConvolution,    // each word of one matrix from its neighbours in another one, by blocks of 32 columns and 8 rows
  kGramSchmidt,    // orthogonalises the columns of a square matrix, one after the other, by three kernels each
};
inline constexpr std::uint64_t kNumberBytes = 4;  // of matrices and vectors
// In files, in that order.
inline constexpr std::array<std::string_view, 11> kProgramNames = {
    "sparse_blocks", "slice_scans", "accumulate",    "page_walk",   "layer_products", "memory_passes",
    "phase_scan",    "vector_add",  "matrix_vector", "convolution", "gram_schmidt"};

// An array of kMemoryPasses: what memory it is, and what the host did with it before the first pass.
struct PassArray {
  enum class Before : std::uint8_t { kUntouched, kRead, kWritten } before = Before::kUntouched;
  trace::ObjectKind kind = trace::ObjectKind::kManaged;
};
inline constexpr std::array<std::string_view, 3> kBeforeNames = {"untouched", "read", "written"};

// A number that a campaign may publish, of a step or of the whole run.
namespace figure {
enum Index : std::uint8_t {
  kTime,
  kBytesIn,
  kBytesOut,
  kBytesMoved,
  kFaultBytesIn,
  kPrefetchBytesIn,
  kEvictedBytes,
  kEvictions,
  kCopiesIn,
  kCopiesOut,
  kCopies,
  kCopyInTime,
  kCopyOutTime,
  kCopyTime,
  kFaultBatches,
  kFaultPages,
  kCpuFaults,
  kChunkAllocations,
  kRepeatedServices,
  kCount,
};
}
// The allowed deviations of the simulation; a figure without a limit is printed and not judged.
struct CampaignLimits {
  std::optional<std::uint64_t> time_permille, bytes_permille, bytes_blocks;  // blocks of 2 MB
  std::optional<std::uint64_t> copies_permille, fault_batches_permille, cpu_faults_permille;
  std::optional<std::uint64_t> fault_share_permille;  // share of the bytes in; the deviation is a difference of shares
  std::optional<std::uint64_t> ratio_permille;        // of steady to cold time
  std::optional<std::uint64_t> chunks_permille, services_permille, evictions_permille, fault_pages_permille;
};

// A limit's key in the file, and the name of its check.
struct LimitInfo {
  const char* key;
  std::optional<std::uint64_t> CampaignLimits::*limit;
  const char* check;
};
extern const std::array<LimitInfo, 12> kLimitTable;

struct FigureInfo {
  const char* key;                                      // in the file
  const char* label;                                    // in reports, with unit
  std::optional<std::uint64_t> CampaignLimits::*limit;  // the limit that judges it; null: none
  std::uint64_t unit;                                   // unit of the label, in the unit of the key
  std::uint64_t (*of)(const Counters&);
};
extern const std::array<FigureInfo, figure::kCount> kFigureTable;

using Figures = std::array<std::optional<std::uint64_t>, figure::kCount>;
Figures figures_of(const Counters& counters);

struct PublishedStep {
  Figures figures;
  bool lost_records = false;  // the profiler lost some: bytes and copies are too small and not judged
};

// Steps that repeat one another: all from `from` on.
struct SteadySteps {
  std::size_t from = 0;
  std::optional<std::uint64_t> time_ns;            // median; absent: of the published steps
  std::optional<std::uint64_t> least_ns, most_ns;  // published range; a simulated median inside it counts as equal
  std::string cold_run;  // experiment of the same file whose first step only migrates memory in; empty: this one
};

struct Campaign {
  CampaignProgramKind program = CampaignProgramKind::kSparseBlocks;
  std::string source;
  // Under a profiler, which delays the driver; counts often come from profiled runs, times less often.
  bool observed = false;
  std::uint64_t array_bytes = 0;  // of each array
  std::uint64_t steps = 1;        // passes, scans, iterations, launches
  // Processes that run the program at the same time, in time slices; figures are per process.
  std::uint64_t processes = 1;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> prefetch_threshold;  // the driver's setting
  std::string prefetch;                             // tree, always_2mb or none; empty: the driver's
  std::optional<std::uint64_t> capacity_bytes;      // free for managed memory; absent: all of the GPU

  std::uint64_t pages_per_block = 0;  // kSparseBlocks
  bool growing = false;               // kSliceScans: step s writes slice s, then reads slices 0 to s
  std::uint64_t rounds = 1;           // kSliceScans: repetitions of all steps
  std::uint64_t arrays = 0;           // kAccumulate
  bool random_order = false;          // kPageWalk
  std::uint64_t columns = 0;          // of each matrix of 4-byte numbers, in programs of matrices
  std::uint64_t passes = 1;           // kLayerProducts: passes over all matrices in a launch

  // Durations on resident data. 0: by the GPU's memory bandwidth
  std::uint64_t read_bytes_per_us = 0, write_bytes_per_us = 0;  // kSliceScans; kLayerProducts reads
  std::uint64_t add_ns = 0, clear_ns = 0;                       // kAccumulate: duration of one kernel
  std::uint64_t page_ns = 0;  // kPageWalk, kMatrixVector with a row per thread: time of one page of a thread
  std::uint64_t norm_ns = 0;  // kGramSchmidt: the kernel of one thread that reads a column
  std::uint64_t host_ns = 0;  // kLayerProducts: host computation before the first launch

  // kMemoryPasses: read, and written
  std::optional<PassArray> source_array, destination_array;
  std::uint64_t grid_blocks = 1, block_threads = 1, access_bytes = 8;
  // Where all memory is the GPU's. kMemoryPasses: of one array; kPhaseScan, kVectorAdd, kConvolution: of all bytes that
  // a kernel reads and writes; kMatrixVector: of the matrix, with a column per thread.
  std::uint64_t local_bytes_per_us = 0;
  std::string advice;  // preferred_host, accessed_by_gpu; empty: none

  std::vector<PublishedStep> published;  // by step; may be shorter
  Figures published_total;
  std::optional<SteadySteps> steady;
  std::optional<std::uint64_t> finish_ns;  // from start to end of all processes
  CampaignLimits limits;

  std::uint64_t footprint_bytes() const;  // all arrays, of all processes
};

}  // namespace uvmsim::validate
