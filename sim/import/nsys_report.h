// SPDX-License-Identifier: Apache-2.0
// What an Nsight Systems export (`nsys export --type sqlite`) holds of one process, as plain rows. Tables exist only
// when they are not empty, and columns come and go between versions, so everything is found by name. Enumerations are
// Nsight's: copyKind 1 HtoD, 2 DtoH, 8 DtoD, 11 to 13 unified memory HtoD, DtoH, DtoD; migrationCause 1 user, 2 fault,
// 3 prefetch of the driver, 4 eviction; memKind 1 pinned, 2 device, 4 managed, 5 and 6 their static forms;
// memoryOperationType 0 allocation, 1 free; faultAccessType 1 read, 2 write, 3 atomic, 4 prefetch.
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
  struct Copy {  // explicit, or a migration of unified memory
    std::int64_t start = 0, end = 0;
    std::int64_t correlation = 0;
    std::uint64_t bytes = 0, address = 0;  // of migrations
    std::uint32_t stream = 0, kind = 0, cause = 0;
    std::int32_t device = 0;
    bool migration() const { return kind >= 11 && kind <= 13; }
    bool migration_to_gpu() const { return kind == 11; }
  };
  struct Fault {  // by a GPU: one record is one batch; by the CPU
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
  struct Call {  // of CUDA's API
    std::int64_t start = 0, end = 0;
    std::int64_t correlation = 0;
    std::string name;
  };

  std::vector<Kernel> kernels;
  std::vector<Copy> copies;
  std::vector<Fault> gpu_faults, cpu_faults;
  std::vector<Memory> memory;
  std::vector<Call> calls;
  std::unordered_map<std::int64_t, std::uint32_t> synchronized_streams;  // by correlation; only looked up
  std::unordered_map<std::int64_t, std::string> strings;                 // only looked up
  std::string gpu;

  std::string text(std::int64_t id) const;
};

// `process`: whose records, when several processes launched kernels. Throws InputError naming file, table and row for
// values that cannot be, and when there are no kernels or several processes and none was chosen.
NsysReport read_nsys_report(const std::string& path, std::optional<std::uint32_t> process);

}  // namespace uvmsim::trace
