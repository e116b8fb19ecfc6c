// SPDX-License-Identifier: Apache-2.0
// A planned sweep as a Slurm job: an array of tasks, each of which computes a share of the points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace uvmsim::sweep {

struct SlurmJob {
  std::string command;  // absolute path of uvmsim on the nodes
  std::string folder;   // absolute path of the planned sweep, which all nodes see
  std::uint64_t points = 0;
  std::uint64_t points_per_task = 50;
  std::uint64_t cpus_per_task = 1;
  std::uint64_t most_at_once = 0;    // maximum number of tasks at the same time; 0: the cluster's limit
  std::string memory_per_cpu;        // "2G"; empty: the cluster's default
  std::string time;                  // "30", "1:00:00", "2-00"; empty: the cluster's default
  std::vector<std::string> options;  // further options of sbatch, such as "--partition=short"
};

// Slurm allows array indices up to MaxArraySize - 1, by default 1000.
inline constexpr std::uint64_t kMostTasks = 1000;

// The number of tasks: one per points_per_task points, but at most kMostTasks.
std::uint64_t slurm_tasks(const SlurmJob& job);

// The folder of the tasks' logs; it must exist before the job is submitted.
std::string slurm_log_folder(const std::string& folder);

// Returns the batch script. Throws InputError for values that sbatch cannot take: paths with a backslash or a control
// character, and malformed memory, time or option values.
std::string slurm_script(const SlurmJob& job);

}  // namespace uvmsim::sweep
