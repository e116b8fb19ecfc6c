// SPDX-License-Identifier: Apache-2.0
#include "sim/config/system.h"

namespace uvmsim::config {

namespace {

// The costs of a host thread's computation. Excluded are the GPU's part of a push and of a replay (push_to_engine_ns,
// push_gap_ns, copies_done_ns, after_copies_ns, replay_lead_ns, unmap_gpu_ns), and the delays until a sleeping thread
// wakes (wakeup_ns, late_interrupt_ns, first_fault_ns, sleep_after_ns, sleep_doubling_ns, prefetch_deferred_ns).
constexpr std::uint64_t DriverCosts::*kOfTheThread[] = {
    &DriverCosts::poll_read_ns,
    &DriverCosts::batch_ns,
    &DriverCosts::raw_fault_ns,
    &DriverCosts::fault_entry_ns,
    &DriverCosts::stale_block_ns,
    &DriverCosts::block_ns,
    &DriverCosts::new_chunk_ns,
    &DriverCosts::unmap_host_run_ns,
    &DriverCosts::unmap_host_page_ns,
    &DriverCosts::unmap_peer_ns,
    &DriverCosts::push_ns,
    &DriverCosts::push_run_ns,
    &DriverCosts::after_push_ns,
    &DriverCosts::map_block_ns,
    &DriverCosts::map_page_ns,
    &DriverCosts::populate_page_ns,
    &DriverCosts::dma_map_chunk_ns,
    &DriverCosts::replay_ns,
    &DriverCosts::protect_block_ns,
    &DriverCosts::remote_map_ns,
    &DriverCosts::evict_chunk_ns,
    &DriverCosts::evict_page_ns,
    &DriverCosts::host_zero_page_ns,
    &DriverCosts::host_allocate_chunk_ns,
    &DriverCosts::cpu_fault_ns,
    &DriverCosts::cpu_fault_page_ns,
    &DriverCosts::cpu_remap_ns,
    &DriverCosts::plan_block_ns,
    &DriverCosts::prefetch_call_ns,
    &DriverCosts::prefetch_move_ns,
    &DriverCosts::prefetch_block_ns,
    &DriverCosts::prefetch_copy_block_ns,
    &DriverCosts::prefetch_copy_page_ns,
    &DriverCosts::prefetch_populate_block_ns,
    &DriverCosts::prefetch_host_block_ns,
    &DriverCosts::prefetch_host_page_ns,
    &DriverCosts::prefetch_deferred_call_ns,
    &DriverCosts::advise_host_block_ns,
    &DriverCosts::advise_protect_page_ns,
    &DriverCosts::advise_map_block_ns,
};

}  // namespace

SystemConfig at_host_speed(SystemConfig system) {
  const std::uint64_t here = system.host.step_ps, there = system.host.costs_step_ps;
  if (here == 0 || there == 0) return system;
  for (std::uint64_t DriverCosts::*cost : kOfTheThread) {
    system.costs.*cost = (system.costs.*cost * here + there / 2) / there;
  }
  // Prevents a second scaling.
  system.host.costs_step_ps = here;
  return system;
}

}  // namespace uvmsim::config
