// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/common/error.h"
#include "sim/formats/printable.h"
#include "sim/sweep/point.h"

namespace uvmsim::sweep {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Escapes the name of an output file in a line "#SBATCH --output=": quotes group, a backslash escapes the next
// character, and % begins a placeholder.
std::string sbatch_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"') escaped += '\\';
    if (c == '%') escaped += '%';
    escaped += c;
  }
  return escaped;
}

void check_path(const std::string& path) {
  // A backslash in the name of an output file makes Slurm ignore all % placeholders.
  if (std::any_of(path.begin(), path.end(), [](char c) { return is_control(c) || c == '\\'; })) {
    throw_input_error("'{}' holds a backslash or a control character, which sbatch cannot take", path);
  }
}

void check_memory(const std::string& memory) {
  std::string_view digits = memory;
  if (!digits.empty() && std::string_view("KMGT").find(digits.back()) != std::string_view::npos) {
    digits.remove_suffix(1);
  }
  if (!digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit)) return;
  throw_input_error("'{}' is no memory size of Slurm; allowed: digits and K, M, G or T, such as 2G", memory);
}

void check_time(const std::string& time) {
  const bool fine = is_digit(time.front()) && is_digit(time.back()) &&
                    std::all_of(time.begin(), time.end(), [](char c) { return is_digit(c) || c == ':' || c == '-'; });
  if (fine) return;
  throw_input_error("'{}' is no time of Slurm; allowed: minutes, hours:minutes:seconds or days-hours, such as 1:00:00",
                    time);
}

void check_option(const std::string& option) {
  if (option.starts_with('-') && std::none_of(option.begin(), option.end(), is_control)) return;
  throw_input_error("'{}' is no option of sbatch; allowed: one that begins with -, such as --partition=short", option);
}

}  // namespace

std::uint64_t slurm_tasks(const SlurmJob& job) {
  const std::uint64_t tasks = (job.points + job.points_per_task - 1) / job.points_per_task;
  return std::clamp<std::uint64_t>(tasks, 1, kMostTasks);
}

std::string slurm_log_folder(const std::string& folder) { return folder + "/slurm"; }

std::string slurm_script(const SlurmJob& job) {
  check_path(job.folder);
  check_path(job.command);
  const std::uint64_t tasks = slurm_tasks(job);
  std::string script = fmt::format(
      R"(#!/bin/bash
# One share of a sweep per task. Submit it again, whole or with --array=2,5, to compute what is missing: finished points
# stay as they are. `uvmsim sweep status` says how far the sweep is, `uvmsim sweep collect` gathers the results.
#SBATCH --job-name=uvmsim-sweep
#SBATCH --array=1-{}{}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={}
)",
      tasks, job.most_at_once == 0 ? "" : fmt::format("%{}", job.most_at_once), job.cpus_per_task);
  if (!job.memory_per_cpu.empty()) {
    check_memory(job.memory_per_cpu);
    script += fmt::format("#SBATCH --mem-per-cpu={}\n", job.memory_per_cpu);
  }
  if (!job.time.empty()) {
    check_time(job.time);
    script += fmt::format("#SBATCH --time={}\n", job.time);
  }
  // A task that Slurm requeues after a node failure continues, and appends to its log.
  script += fmt::format("#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --output=\"{}/%A_%a.log\"\n",
                        sbatch_escaped(slurm_log_folder(job.folder)));
  for (const std::string& option : job.options) {
    check_option(option);
    script += fmt::format("#SBATCH {}\n", option);
  }
  script += fmt::format(
      R"(
exec {} sweep run {} --jobs {} --shard "$SLURM_ARRAY_TASK_ID/{}"
)",
      shell_quoted(job.command), shell_quoted(job.folder), job.cpus_per_task, tasks);
  return script;
}

}  // namespace uvmsim::sweep
