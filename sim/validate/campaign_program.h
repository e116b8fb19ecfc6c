// SPDX-License-Identifier: Apache-2.0
// The programs of campaigns as trace records, generated one by one on demand, because lists of touches are long.
//
// Every program allocates its arrays, lets the host write those that it initialises, and marks each published step as
// an iteration, with a device synchronisation before and after it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/config/system.h"
#include "sim/trace/record.h"
#include "sim/validate/campaign.h"

namespace uvmsim::validate {

class CampaignProgram {
 public:
  // `gpu` is used only to estimate durations on resident data that the campaign does not give.
  CampaignProgram(const std::string& name, const Campaign& campaign, const config::GpuConfig& gpu);

  const trace::Header& header() const { return header_; }
  bool next(trace::Record& record);  // returns false at the end
  const std::vector<std::string>& step_names() const { return step_names_; }

 private:
  void add_sparse_blocks();
  void add_slice_scans();
  void add_accumulate();
  void add_page_walk();
  void add_layer_products();
  void add_memory_passes();
  void add_phase_scan();
  void add_vector_add();
  void add_matrix_vector();
  void add_convolution();
  void add_gram_schmidt();

  void add(trace::Record record);
  void allocate(trace::ObjectId id, std::uint64_t bytes, trace::ObjectKind kind = trace::ObjectKind::kManaged);
  void host_writes(trace::ObjectId id, std::uint64_t bytes, trace::AccessMode mode = trace::AccessMode::kWrite);
  void begin_step(std::string name);
  void end_step();
  // Adds a grid-stride loop of `blocks` blocks of 256 threads.
  void grid_stride(const std::string& name, std::uint64_t blocks, std::uint32_t bytes_per_access,
                   std::int64_t duration_ns, std::vector<trace::ObjectAccess> accesses);
  std::int64_t duration_ns(std::uint64_t bytes, std::uint64_t bytes_per_us) const;

  const Campaign campaign_;
  const config::GpuConfig gpu_;
  trace::Header header_;
  std::vector<std::string> step_names_;
  std::vector<std::function<trace::Record()>> records_;
  std::size_t next_ = 0;
};

}  // namespace uvmsim::validate
