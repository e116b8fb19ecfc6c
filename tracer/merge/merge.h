// SPDX-License-Identifier: Apache-2.0
// Joins the logs of the two passes into a trace; README.md has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/trace/record.h"
#include "tracer/merge/event.h"

namespace uvmtrace {

struct MergeOptions {
  bool as_managed = true;  // smallest share of launches that must be found in both passes
  // leaves out a beginning in which the passes differ; false: refuses such passes
  std::uint32_t match_thousandths = 990;
  bool drop_prologue = true;  // leave out a beginning in which the passes differ; false: refuse such passes
  std::string provenance;     // written to the header
  std::vector<std::pair<std::string, std::string>> attributes;  // also written to the header
};

struct MergeSummary {
  std::int64_t begin_ns = 0;          // time of the first call that is kept, by the clock of all processes
  std::uint64_t launches = 0;         // launches of the timing pass
  std::uint64_t matched = 0;          // launches that were found in the access pass
  std::uint64_t untimed = 0;          // launches without a record of their execution: duration 0
  std::uint64_t tensor_copies = 0;    // kernels that were instrumented, but missed operands, which come from elsewhere
  std::uint64_t by_tensor_maps = 0;   // launches whose accesses its tensor maps complete
  std::uint64_t undirected_maps = 0;  // launches with maps for which it is not known whether they are read or written
  // quanta touched in the access pass, in memory that the timing pass does not have at that time
  std::uint64_t lost_quanta = 0;
  std::uint64_t coarsened = 0;         // kernels too scattered for a record: fewer phases, or gaps closed
  std::uint64_t unplaced_calls = 0;    // copies, sets and hints of unknown memory, which are left out
  std::uint64_t repairs = 0;           // allocations and frees that contradict earlier ones (both passes)
  std::uint64_t unmatched_memory = 0;  // allocations of the access pass without a partner
  std::string divergence;              // first difference of the launches; empty if there is none
  std::string dropped;  // the part left out at the beginning, with the reason; empty if nothing was left out
};

class Merger {
 public:
  // `access` may be null: then the accesses of every launch follow from its operator or its parameters. Both logs must
  // outlive the merger. Throws uvmsim::InputError naming the first divergence if too few launches match.
  Merger(const PassLog& timing, const PassLog* access, const MergeOptions& options);
  ~Merger();
  Merger(Merger&&) noexcept;

  const trace::Header& header() const;
  // Calls `take` with all records, in program order; they satisfy validate.h of sim/trace. Throws uvmsim::InputError
  // naming file and line if the sum of times exceeds the limit of a trace.
  void run(const std::function<void(const trace::Record&)>& take);
  const MergeSummary& summary() const;  // complete after run()

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace uvmtrace
