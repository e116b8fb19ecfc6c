// SPDX-License-Identifier: Apache-2.0
// The discrete-event engine: the programs of a server and its GPUs' fault loops on one clock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/engine/program.h"
#include "sim/engine/time_slices.h"

namespace uvmsim::engine {

class Engine {
 public:
  // Needs at least one program. The programs must outlive the engine. Throws InputError for programs that cannot run
  // here.
  Engine(const config::SystemConfig& system, std::span<const Hosted> programs,
         GpuSharing sharing = GpuSharing::kTimeSlices);
  ~Engine();

  // Runs the programs to their end; call it once. Returns one result per program, in their order.
  std::vector<RunResult> run();
  // Returns the number of audits (audit.h); 0 in builds without model checks.
  std::uint64_t audits() const { return audits_; }
  // Returns the number of iterations that were counted without a replay because they recur (recurrence.h).
  std::uint64_t left_out_iterations() const;

 private:
  Program& program_of(const Event& event) const;
  void share_gpus(GpuSharing sharing, std::span<const Hosted> programs);
  std::uint32_t contended_gpus(std::span<const Hosted> programs) const;
  void look_at_shared_gpus();
  void audit_sometimes();
  void audit();

  Machine machine_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<TimeSlices>> slices_;  // by GPU; null: no two programs take turns on it
  std::vector<Program*> sharers_;                    // programs that share a GPU
  std::uint64_t operations_since_audit_ = 0;
  std::uint64_t audits_ = 0;
};

}  // namespace uvmsim::engine
