// SPDX-License-Identifier: Apache-2.0
// What follows from a system's address mode, its host pages and its driver's version: who reaches which memory, and
// what access counters move.
//
// After NVIDIA UVM 595 uvm_ats.c, uvm_hmm.c, uvm_gpu_access_counters.c, and the versions of the open driver in which
// the default of access counter migration changed.
#pragma once

#include "sim/config/system.h"

namespace uvmsim::config {

// GPUs use memory of malloc.
bool reaches_system_memory(const SystemConfig& system);
// They do so where it is, by the host's page tables: no fault moves it.
bool uses_system_memory_in_place(const SystemConfig& system);
// What of it GPUs touch first comes to them: their memory is a node of the host. Not under cdmm.
bool populates_on_gpu(const SystemConfig& system);

// Access counters move system memory; managed memory that lies on the host. Each needs ats, host pages of 64 KB (the
// driver drops all notifications with 4 KB pages) and a driver that migrates by default:
//   over NVLink-C2C (Grace): 535.171 and later, 550.40.53 and later
//   over NVLink 2 (POWER9): managed memory always, system memory from the same versions on
bool counters_move_system(const SystemConfig& system);
bool counters_move_managed(const SystemConfig& system);

// What a GPU evicts it keeps mapped, so that no fault brings it back (uvm_va_block.c). So in 595; a POWER9 with 418
// faulted it back (tests/ground_truth/data/coherent_power9.jsonl), and between the two we take the versions from which
// counters move system memory.
bool keeps_evicted_mapped(const SystemConfig& system);

}  // namespace uvmsim::config
