// SPDX-License-Identifier: Apache-2.0
// What the driver's events in an Nsight Systems report say about kernels and memory.
#pragma once

#include <boost/icl/interval_set.hpp>
#include <boost/icl/right_open_interval.hpp>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/import/nsys_report.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

// Pages that a kernel is known to have touched.
struct TouchedPages {
  std::uint64_t address = 0, bytes = 0;
  AccessMode mode = AccessMode::kRead;
};

struct KernelFaults {
  std::vector<std::vector<TouchedPages>> touched;  // by kernel
  std::vector<std::int64_t> served_ns;             // of each kernel: time in which faults were being served
  std::uint64_t unattributed = 0;                  // faults and migrations for them outside of every kernel
  std::uint64_t ambiguous = 0;                     // where kernels overlapped; they went to the one that started first
  std::uint64_t moved_bytes = 0;                   // of the migrations that became touches
  std::uint64_t implied_bytes = 0;                 // that a GPU had, though nothing says how they came there
};

// With recorded fault batches, faults were served while a batch was. Without, the migrations for faults tell: the
// driver works on a batch before its first copy and after its last one, and serves pending batches without a pause. On
// an H200 with driver 580 nine of ten batches with copies begin to copy within 64 us and end within 14 us after (median
// 17 and 10 us, 2658 batches of 77 programs).
inline constexpr std::int64_t kBeforeCopiesNs = 17000, kAfterCopiesNs = 10000;
inline constexpr std::int64_t kLongestPauseNs = 64000 + 14000;  // between copies of batches one after the other

// A kernel touched the pages that faulted, and with `prefetched` those that the driver moved with them. It wrote what
// came back from a GPU to which nothing brought it: the last kernel that had begun did.
// Kernels, copies and faults must be sorted by their start.
KernelFaults attribute_faults(const NsysReport& report, bool prefetched);

// Disjoint ranges [lower, upper) of addresses; those that touch are one.
using AddressRange = boost::icl::right_open_interval<std::uint64_t>;
using AddressSet = boost::icl::interval_set<std::uint64_t, std::less, AddressRange>;

// Whole 2 MB blocks in which unified-memory events lie but no allocation of the report.
AddressSet unnamed_memory(const NsysReport& report);

// Memory that the host must have had, though the report has no write to it: what comes to the GPU first of all.
// The host had these bytes from `time` on: when their allocation was made; 0 where the report does not say.
struct HostData {
  std::int64_t time = 0;
  std::uint64_t address = 0, bytes = 0;
};

// Pages whose first event in the life of their allocation is a migration from the host to a GPU. Ascending by time and
// address. Copies, faults and memory events of the report are sorted by time.
std::vector<HostData> implied_host_data(const NsysReport& report);

}  // namespace uvmsim::trace
