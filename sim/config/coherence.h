// SPDX-License-Identifier: Apache-2.0
// The consequences of a system's address mode, host pages and driver version: which processors reach which memory, and
// what access counters move.
//
// Follows NVIDIA UVM 595 uvm_ats.c, uvm_hmm.c, uvm_gpu_access_counters.c, and the versions of the open driver in which
// the default of access counter migration changed.
#pragma once

#include "sim/config/system.h"

namespace uvmsim::config {

// Returns whether GPUs can use memory of malloc.
bool reaches_system_memory(const SystemConfig& system);
// Returns whether GPUs use it in place, by the host's page tables: no fault moves it.
bool uses_system_memory_in_place(const SystemConfig& system);
// Returns whether memory of malloc that a GPU touches first is allocated on that GPU, whose memory is a node of the
// host; not so under cdmm.
bool populates_on_gpu(const SystemConfig& system);

// Return whether access counters move system memory, and managed memory on the host. Each needs ats, host pages of 64
// KB (the driver drops all notifications with 4 KB pages) and a driver that migrates by default:
//   over NVLink-C2C (Grace): 535.171 and later, 550.40.53 and later
//   over NVLink 2 (POWER9): managed memory always, system memory from the same versions on
bool counters_move_system(const SystemConfig& system);
bool counters_move_managed(const SystemConfig& system);

// Returns whether a GPU keeps evicted pages mapped, so that no fault fetches them again (uvm_va_block.c). It does so
// under driver 595; a POWER9 with 418 fetched them again by faults (tests/ground_truth/data/coherent_power9.jsonl). For
// the versions between the two we assume the versions from which counters move system memory.
bool keeps_evicted_mapped(const SystemConfig& system);

}  // namespace uvmsim::config
