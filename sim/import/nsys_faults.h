// SPDX-License-Identifier: Apache-2.0
// Conclusions about kernels and memory from the driver's events in an Nsight Systems report.
#pragma once

#include <boost/icl/interval_set.hpp>
#include <boost/icl/right_open_interval.hpp>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/import/nsys_report.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

struct TouchedPages {
  std::uint64_t address = 0, bytes = 0;
  AccessMode mode = AccessMode::kRead;
};

struct KernelFaults {
  std::vector<std::vector<TouchedPages>> touched;  // by kernel
  std::vector<std::int64_t> served_ns;             // by kernel: time in which faults were served
  std::uint64_t unattributed = 0;                  // faults and their migrations outside of every kernel
  std::uint64_t ambiguous = 0;      // the part of `unattributed` when kernels overlapped; counted for the first kernel
  std::uint64_t moved_bytes = 0;    // bytes of the migrations that became touches
  std::uint64_t implied_bytes = 0;  // bytes that a GPU held although no event says how they came there
};

// Faults were served during the recorded fault batches. If batches are not recorded, the times follow from migrations
// for faults: the driver works on a batch before its first copy and after its last one, and serves pending batches
// without a pause. On an H200 with driver 580, nine of ten batches with copies begin to copy within 64 us and end
// within 14 us after the last copy (median 17 and 10 us, 2658 batches of 77 programs).
inline constexpr std::int64_t kBeforeCopiesNs = 17000, kAfterCopiesNs = 10000;
inline constexpr std::int64_t kLongestPauseNs = 64000 + 14000;  // between copies of consecutive batches

// Attributes faults to kernels. A kernel touched the pages that faulted, and with `prefetched` those that the driver
// moved with them. If pages return from a GPU to which no migration brought them, the last kernel that had begun wrote
// them. Kernels, copies and faults must be sorted by their start.
KernelFaults attribute_faults(const NsysReport& report, bool prefetched);

// Disjoint ranges [lower, upper) of addresses; adjacent ones are joined.
using AddressRange = boost::icl::right_open_interval<std::uint64_t>;
using AddressSet = boost::icl::interval_set<std::uint64_t, std::less, AddressRange>;

// Returns the whole 2 MB blocks that contain unified-memory events but no allocation of the report.
AddressSet unnamed_memory(const NsysReport& report);

// Memory that the host must have written, because its first migration is from the host to a GPU, although the report
// has no write to it. `time` is that of the allocation; 0 if the report does not say.
struct HostData {
  std::int64_t time = 0;
  std::uint64_t address = 0, bytes = 0;
};

// Returns the pages whose first event in the life of their allocation is a migration from the host to a GPU, ascending
// by time and address. Copies, faults and memory events of the report must be sorted by time.
std::vector<HostData> implied_host_data(const NsysReport& report);

}  // namespace uvmsim::trace
