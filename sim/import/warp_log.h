// SPDX-License-Identifier: Apache-2.0
// Addresses of every warp's memory instructions, in the formats of two tools, one launch at a time:
//      NVBit's mem_trace  a log: a line for a launch ("... - LAUNCH - Kernel pc ... - Kernel name ... - grid size ...")
//                         and for an instruction ("... - grid_launch_id 3 - CTA 0,0,0 - warp 1 - LDG.E - 0x... 0x...")
//                         with an address per thread, 0 if the thread took no part; other lines come from the program
//                         and are ignored
//      Accel-Sim          kernel-N.traceg, grouped by thread block, or kernel-N.trace, as its tracer wrote it (versions
//                         up to 5); kernelslist and kernelslist.g: these files and the copies to the GPU, in order
// Instructions on shared, local and constant memory are ignored. The opcode tells the width of an access (LDG.E.128).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "sim/import/access_set.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

// The unit of addresses, as if all memory were one object.
inline constexpr std::uint32_t kAddressQuantum = 512;

struct WarpLaunch {
  std::string name;
  Dim3 grid, block;
  std::uint32_t registers = 0, shared_bytes = 0;
  std::uint64_t stream = 0;                   // as the tool names it
  std::map<std::uint64_t, AccessSet> blocks;  // the touched units of each thread block
  std::uint64_t instructions = 0;             // on memory
};
// A copy from the host, or a launch.
struct WarpEvent {
  std::uint64_t copy_address = 0, copy_bytes = 0;  // a copy if it has bytes
  WarpLaunch launch;
};

class WarpLog {
 public:
  virtual ~WarpLog() = default;
  virtual bool next(WarpEvent& event) = 0;  // false at the end; throws InputError naming file and line
};
// Throws InputError for other files, with what they are.
std::unique_ptr<WarpLog> open_nvbit_log(const std::string& path);
std::unique_ptr<WarpLog> open_accelsim_kernels(const std::string& path);  // a file, a list or a folder with a list

}  // namespace uvmsim::trace
