// SPDX-License-Identifier: Apache-2.0
// What one run of an experiment's program looked like from outside: the same facts, whether a GPU or the model made
// them, so that comparing is symmetric.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/events/event_sink.h"
#include "sim/validate/experiment.h"
#include "sim/validate/experiment_program.h"

namespace uvmsim::validate {

struct ObservedBatch {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t offset = 0;  // lowest faulting page, from the start of the first allocation
  std::size_t allocation = 0;
  bool operator==(const ObservedBatch&) const = default;
};

struct ObservedTransfer {
  TransferDirection direction = TransferDirection::kHostToDevice;
  TransferCause cause = TransferCause::kFault;
  std::int64_t start_ns = 0, end_ns = 0;
  std::size_t allocation = 0;
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct Observation {
  std::vector<ObservedBatch> batches;       // in the order in which they began
  std::vector<ObservedTransfer> transfers;  // likewise
  std::vector<std::int64_t> remote_maps;    // offsets
  std::uint64_t cpu_faults = 0;
  std::uint64_t thrashing = 0;
  std::int64_t kernel_ns = 0;      // sum over the kernels
  std::int64_t elapsed_ns = 0;     // of the whole measured part, host included; 0: not known
  std::uint64_t remote_bytes = 0;  // over the link, of memory used in place
  std::optional<RawContents> raw;  // none: not measured

  std::uint64_t bytes(TransferDirection direction, std::optional<TransferCause> cause = {}) const;  // of any cause
  std::uint64_t transactions(TransferDirection direction) const;
  std::uint64_t transactions() const { return transfers.size(); }
  // Duration of the first fault batch, which carries the driver's one-off start-up; 0 without faults.
  std::int64_t first_batch_ns() const;
};

// What the file says happened.
Observation observe_measured(const Experiment& experiment);

// Replays the program and records what the model did between the marks of iteration 0. Throws as simulate().
// `page_order`: whether RawContents::page_order is wanted, which takes memory for each raw fault.
Observation observe_simulated(const Program& program, const config::SystemConfig& system, bool page_order = false);

}  // namespace uvmsim::validate
