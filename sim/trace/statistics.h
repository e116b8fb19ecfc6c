// SPDX-License-Identifier: Apache-2.0
// The statistics of a trace, which `uvmsim trace info` prints.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "sim/trace/names.h"
#include "sim/trace/reader.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

struct KernelTotals {
  std::uint64_t kernels = 0;
  std::int64_t duration_ns = 0;           // sum over kernels
  std::uint64_t touched_bytes = 0;        // sum over kernels of the bytes that each touches
  std::uint64_t written_bytes = 0;        // the part of it that is written
  std::uint64_t phase_touched_bytes = 0;  // a page counts in every phase that touches it; without phases as above
};

struct IterationStatistics {
  std::uint64_t index = 0;
  KernelTotals totals;
  std::int64_t host_gap_ns = 0;  // sum over its records
  std::uint64_t launches = 0;    // equal for the same sequence of kernel names and grids
};

// Returns groups of iterations (by index) that launch the same kernels in the same order and whose kernel time is equal
// within 2 %.
std::vector<std::vector<std::size_t>> alike_iterations(const std::vector<IterationStatistics>& iterations);

// The peak of live managed bytes under a layout of sim/layout; filled in by callers that know layouts.
struct LayoutFootprint {
  std::string layout;
  std::uint64_t bytes = 0;
  std::string problem;  // reason why there is none; empty when there is
};

struct TraceStatistics {
  Header header;
  std::uint64_t records = 0;
  std::array<std::uint64_t, std::variant_size_v<Record>> records_by_type{};  // in the order of kRecordTypeNames
  KernelTotals totals;
  std::uint64_t kernel_names = 0;  // different ones
  std::uint64_t kernels_with_phases = 0, kernels_with_order = 0;
  std::array<std::uint64_t, kCoverageNames.size()> kernels_by_coverage{};  // by Coverage
  std::array<std::uint64_t, kCoverageNames.size()> bytes_by_coverage{};    // touched_bytes of these kernels
  std::uint64_t unknown_accesses = 0;                                      // sum over kernels
  std::uint64_t kernels_with_unknown = 0;
  std::int64_t host_gap_ns = 0;  // sum over all records
  std::uint64_t objects = 0, tensors = 0;
  std::uint64_t touched_objects = 0;     // objects and tensors that some kernel names
  std::uint64_t peak_live_bytes = 0;     // of objects of every kind
  std::uint64_t peak_managed_bytes = 0;  // of managed objects
  std::uint64_t peak_device_bytes = 0;   // of device objects: they take GPU memory in addition to managed memory
  std::array<std::uint64_t, kObjectKindNames.size()> objects_by_kind{};  // by ObjectKind
  std::uint64_t peak_tensor_bytes = 0;
  std::uint64_t largest_kernel_bytes = 0;       // most that one kernel touches
  std::uint64_t streams = 0;                    // different ones that kernels use
  std::array<std::uint64_t, 5> copied_bytes{};  // by CopyKind
  std::uint64_t set_bytes = 0;
  std::vector<IterationStatistics> iterations;
  std::vector<LayoutFootprint> footprints;
  std::uint64_t touched_footprint_bytes = 0;  // under the layout `recorded`; filled in with the footprints
  // The iteration that `--iterations` repeats (edit/repeat_iterations.h), or the reason why none can be repeated;
  // filled in with the footprints.
  std::string repeated;
  std::string truncation;  // of the reader; empty for a whole file
};

// Reads the rest of the trace. Bytes of a touched quantum beyond the end of its object are not counted. Does not check
// the trace (validate.h does); objects it does not know count with whole quanta.
TraceStatistics summarize(TraceReader& reader);
// Summarises records from any source; `next` returns false at the end.
TraceStatistics summarize(const Header& header, const std::function<bool(Record&)>& next);

// Format several lines of text, and one JSON object (schema "uvmsim-trace-info-1").
std::string statistics_text(const TraceStatistics& statistics);
std::string statistics_json(const TraceStatistics& statistics);

}  // namespace uvmsim::trace
