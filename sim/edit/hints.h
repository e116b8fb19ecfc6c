// SPDX-License-Identifier: Apache-2.0
// Hints for a recorded program: rules that say where it would have called prefetch, don't-need, pin or advice, and the
// program with these calls in it.
//
// A hint file has a rule per line; '#' begins a comment:
//   WHEN          NAME      DO
//   tensor_alloc  *weight*  pin               set_pinned: while it lies on the GPU it is not evicted
//   tensor_alloc  *         read_mostly       set_read_mostly
//   tensor_free   *         dont_need         discard, in the tensor's stream: the contents are not needed any more
//   kernel        *gemm*    prefetch 8        the memory of the 8th kernel after this one, to the GPU, in stream 31
//   object_alloc  3         prefetch          an allocation by its number in the trace
//   object_alloc  *         as_system         memory of malloc instead; as_managed, as_pinned, as_device
//   iteration     0         device_memory 115343360    the program takes that many bytes beside managed memory
//   object_alloc  3         prefer_host 0-50%    the first half of the allocation
//   tensor_alloc  @8        accessed_by       a tensor by its number
// NAME is a shell pattern for the tensor's or kernel's name, or @ and the tensor's number. `pin`, `unpin`,
// `read_mostly`, `prefer_gpu` and `prefer_host` (preferred location), `accessed_by` (the GPU), `prefetch` and
// `dont_need` may follow tensor_alloc, object_alloc and tensor_free, and act on that tensor or object. `prefetch N`
// (default 0: the kernel itself) follows kernel; `as_...` follows object_alloc. After advice and `prefetch` of an
// allocation a part may stand, from 0 to 100 percent; its ends are rounded down to 2 MiB. `device_memory BYTES` follows
// iteration, which is named by its number. It adds the memory of kernels' code, libraries' handles and plain
// allocations that a recording does not show: it is taken on device 0 when the iteration begins, and never freed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

struct HintRule {
  enum class When : std::uint8_t { kTensorAlloc, kTensorFree, kObjectAlloc, kKernel, kIteration } when;
  enum class Do : std::uint8_t {
    kPin,
    kUnpin,
    kReadMostly,
    kPreferGpu,
    kPreferHost,
    kAccessedBy,
    kPrefetch,
    kDontNeed,
    kAsManaged,
    kAsDevice,
    kAsPinned,
    kAsSystem,
    kDeviceMemory,
  } action;
  std::string name;                                    // pattern, or @ and a number
  std::uint32_t ahead = 0;                             // kernels between a kernel and its prefetch target
  std::uint64_t bytes = 0;                             // of device memory
  std::uint32_t first_percent = 0, end_percent = 100;  // part of the tensor or object
};

// Returns the rule as a line of a hint file.
std::string hint_text(const HintRule& rule);

inline constexpr std::uint32_t kMostAhead = 4096;

// Returns whether a rule adds allocations (`device_memory`), whose ids must not occur in the program.
bool makes_objects(const std::vector<HintRule>& rules);

// Throws InputError that names file, line and what is allowed.
std::vector<HintRule> parse_hints(std::string_view text, const std::string& file);

class HintedProgram {
 public:
  using Source = std::function<bool(Record&)>;  // false at the end of the trace

  // Buffers records up to the kernel that the farthest prefetch looks at. New objects have ids from `free_id` on.
  HintedProgram(Source source, const Header& header, std::vector<HintRule> rules, ObjectId free_id);

  bool next(Record& record);
  std::uint64_t hints() const { return hints_; }  // added so far, plus changed kinds of objects

 private:
  struct Live {
    std::uint64_t bytes = 0;
    std::uint32_t stream = 0;
    std::string name;
  };
  void fill();
  void expand(Record record);
  void change_kind(ObjectAlloc& object);
  void apply(HintRule::When when, std::string_view name, ObjectId id, const Live& live);
  void prefetch_of(const Kernel& launched);
  void take_device_memory(std::uint64_t iteration);
  void add(Record hint);

  Source source_;
  std::uint64_t quantum_bytes_;
  std::vector<HintRule> rules_;
  ObjectId free_id_;
  std::uint32_t farthest_ = 0;
  std::deque<Record> ahead_;  // read, not yet returned
  std::uint64_t kernels_ahead_ = 0;
  std::deque<Record> ready_;
  std::unordered_map<ObjectId, Live> live_;  // allocations in the returned records
  std::uint64_t hints_ = 0;
};

}  // namespace uvmsim::trace
