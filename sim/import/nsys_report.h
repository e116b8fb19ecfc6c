// SPDX-License-Identifier: Apache-2.0
// The rows of one process in an Nsight Systems export (`nsys export --type sqlite`). Tables exist only if they are not
// empty, and columns differ between versions, so everything is found by name. Enumerations are Nsight's: copyKind 1
// HtoD, 2 DtoH, 8 DtoD, 11 to 13 unified memory HtoD, DtoH, DtoD; migrationCause 1 user, 2 fault, 3 prefetch of the
// driver, 4 eviction; memKind, srcKind and dstKind 1 pinned, 2 device, 4 managed, 5 and 6 the static forms of both;
// memoryOperationType 0 allocation, 1 free; faultAccessType 1 read, 2 write, 3 atomic, 4 prefetch; eventType of NVTX 59
// push to pop, 60 start to end. The meaning of syncType differs between versions: the name of a call tells the kind of
// wait, and the stream and event of its row tell the object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

struct NsysReport {
  // Times are nanoseconds from the begin of the session.
  struct Kernel {
    std::int64_t start = 0, end = 0;
    std::int64_t correlation = 0, name = 0;
    std::uint32_t stream = 0, registers = 0, shared_bytes = 0;
    std::int32_t device = 0;
    Dim3 grid, block;
  };
  struct Copy {  // an explicit copy, or a migration of unified memory
    std::int64_t start = 0, end = 0;
    std::int64_t correlation = 0;
    std::uint64_t bytes = 0, address = 0;  // of migrations
    std::uint32_t stream = 0, kind = 0, cause = 0;
    std::uint32_t source_kind = 0, destination_kind = 0;
    std::int32_t device = 0;  // of a migration: the GPU at its end, or its source if it goes to the host
    bool migration() const { return kind >= 11 && kind <= 13; }
    bool migration_to_gpu() const { return kind == 11; }
    bool migration_to_host() const { return kind == 12; }
    // Return whether an access by a kernel or the host caused the move, and not a call or an eviction.
    bool for_fault() const { return cause == kCauseFault; }
    bool for_touch() const { return for_fault() || cause == kCausePrefetch; }
  };
  static constexpr std::uint32_t kCauseUser = 1, kCauseFault = 2, kCausePrefetch = 3, kCauseEviction = 4;
  static constexpr bool is_managed(std::uint32_t kind) { return kind == 4 || kind == 6; }
  struct Fault {  // by a GPU (one record is one batch), or by the CPU
    std::int64_t start = 0, end = 0;
    std::uint64_t address = 0, count = 0;
    std::uint32_t access = 0;
    std::int32_t device = 0;
  };
  struct Memory {
    std::int64_t time = 0;
    std::uint64_t address = 0, bytes = 0;
    ObjectKind kind = ObjectKind::kDevice;
    std::int32_t device = 0;
    bool free = false;
  };
  struct Memset {
    std::int64_t start = 0, end = 0;
    std::int64_t correlation = 0;
    std::uint64_t bytes = 0;
    std::uint32_t stream = 0, kind = 0;
    std::int32_t device = 0;
  };
  struct Call {  // of CUDA's API
    std::int64_t start = 0, end = 0;
    std::int64_t correlation = 0, thread = 0;
    std::string name;
  };
  // The stream and event of a call that records an event or waits.
  struct Reference {
    std::optional<std::uint32_t> stream;
    std::optional<std::uint64_t> event;  // unique in the report
  };
  struct Range {  // of NVTX, on one thread
    std::int64_t start = 0, end = 0;
    std::int64_t thread = 0;
    std::string name;
    bool nested = true;  // pushed and popped
  };
  struct Graphs {  // graph launches recorded as wholes
    std::uint64_t launches = 0;
    std::int64_t gpu_ns = 0;
  };

  std::vector<Kernel> kernels;
  std::vector<Copy> copies;
  std::vector<Fault> gpu_faults, cpu_faults;
  std::vector<Memory> memory;
  std::vector<Memset> memsets;
  std::vector<Call> calls;
  std::vector<Range> ranges;
  Graphs graphs;
  std::unordered_map<std::int64_t, Reference> references;  // by correlation; never iterated
  std::unordered_map<std::int64_t, std::string> strings;   // never iterated
  std::string gpu;

  std::string text(std::int64_t id) const;
};

// `process` chooses among processes that launched kernels. Throws InputError that names file, table and row for
// impossible values. If there are no kernels, the message says what the file is or how it was recorded. Throws also if
// several processes launched kernels and none was chosen.
NsysReport read_nsys_report(const std::string& path, std::optional<std::uint32_t> process);

}  // namespace uvmsim::trace
