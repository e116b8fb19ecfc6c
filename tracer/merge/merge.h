// SPDX-License-Identifier: Apache-2.0
// Joins the logs of the two passes into a trace. README.md says by which rules.
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
  bool as_managed = true;                 // device memory becomes managed; false: kinds as recorded
  std::uint32_t match_thousandths = 990;  // least share of launches found in both passes
  bool drop_prologue = true;              // leave out a beginning in which the passes differ; false: refuse such passes
  std::string provenance;                 // written to the header
  std::vector<std::pair<std::string, std::string>> attributes;  // likewise
};

struct MergeSummary {
  std::int64_t begin_ns = 0;           // time of the first call that is not left out, by the clock of all processes
  std::uint64_t launches = 0;          // launches of the timing pass
  std::uint64_t matched = 0;           // launches that were found in the access pass
  std::uint64_t untimed = 0;           // launches without a record of the GPU's side: duration 0
  std::uint64_t tensor_copies = 0;     // kernels that were instrumented, but missed operands: taken from elsewhere
  std::uint64_t by_tensor_maps = 0;    // launches whose accesses its tensor maps complete
  std::uint64_t undirected_maps = 0;   // launches with maps of which it is not known whether they are read or written
  std::uint64_t lost_quanta = 0;       // touched in the access pass, of memory that the timing pass does not have then
  std::uint64_t coarsened = 0;         // too scattered for a record: fewer phases, or gaps closed
  std::uint64_t unplaced_calls = 0;    // copies, sets and hints of memory that is not known: left out
  std::uint64_t repairs = 0;           // allocations and frees that contradict those before (both passes)
  std::uint64_t unmatched_memory = 0;  // allocations of the access pass without a partner
  std::string divergence;              // first difference of the launches; empty when there is none
  std::string dropped;                 // the part left out at the beginning, with the reason; empty when nothing was
};

class Merger {
 public:
  // `access` may be null: then every launch takes what its operator or its parameters say. Both logs must outlive the
  // merger. Throws uvmsim::InputError naming the first divergence when too few launches match.
  Merger(const PassLog& timing, const PassLog* access, const MergeOptions& options);
  ~Merger();
  Merger(Merger&&) noexcept;

  const trace::Header& header() const;
  // All records, in program order; they satisfy validate.h of sim/trace. Throws uvmsim::InputError naming file and line
  // for times that add up to more than a trace holds.
  void run(const std::function<void(const trace::Record&)>& take);
  const MergeSummary& summary() const;  // whole after run()

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace uvmtrace
