// SPDX-License-Identifier: Apache-2.0
// Hints for a recorded program: rules that say where it would have called prefetch, don't-need, pin or advice, and the
// program with these calls in it.
//
// A hint file has a rule per line, '#' begins a comment:
//   WHEN          NAME      DO
//   tensor_alloc  *weight*  pin               set_pinned: while it lies on the GPU it is not evicted
//   tensor_alloc  *         read_mostly       set_read_mostly
//   tensor_free   *         dont_need         discard, in the tensor's stream: the contents are not needed any more
//   kernel        *gemm*    prefetch 8        what the 8th kernel after this one touches, to the GPU, in stream 31
//   object_alloc  3         prefetch          an allocation by its number in the trace
// NAME is a pattern as in a shell, of the tensor's or kernel's name. `pin`, `unpin`, `read_mostly`, `prefetch` and
// `dont_need` may follow tensor_alloc, object_alloc and tensor_free (what they concern is the tensor or object), and
// `prefetch N` (default 0: the kernel itself) follows kernel.
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
  enum class When : std::uint8_t { kTensorAlloc, kTensorFree, kObjectAlloc, kKernel } when;
  enum class Do : std::uint8_t { kPin, kUnpin, kReadMostly, kPrefetch, kDontNeed } action;
  std::string name;         // pattern
  std::uint32_t ahead = 0;  // of kernel prefetches
};

inline constexpr std::uint32_t kMostAhead = 4096;

// Throws InputError naming file, line and what is allowed.
std::vector<HintRule> parse_hints(std::string_view text, const std::string& file);

class HintedProgram {
 public:
  using Source = std::function<bool(Record&)>;  // false at the end of the trace

  // Holds the records up to the kernel that the farthest prefetch looks at.
  HintedProgram(Source source, const Header& header, std::vector<HintRule> rules);

  bool next(Record& record);
  std::uint64_t hints() const { return hints_; }  // put in so far

 private:
  struct Live {
    std::uint64_t bytes = 0;
    std::uint32_t stream = 0;
    std::string name;
  };
  void fill();
  void expand(Record record);
  void apply(HintRule::When when, std::string_view name, ObjectId id, const Live& live);
  void prefetch_of(const Kernel& launched);
  void add(Record hint);

  Source source_;
  std::uint64_t quantum_bytes_;
  std::vector<HintRule> rules_;
  std::uint32_t farthest_ = 0;
  std::deque<Record> ahead_;  // read, not given out
  std::uint64_t kernels_ahead_ = 0;
  std::deque<Record> ready_;
  std::unordered_map<ObjectId, Live> live_;  // of what was given out
  std::uint64_t hints_ = 0;
};

}  // namespace uvmsim::trace
