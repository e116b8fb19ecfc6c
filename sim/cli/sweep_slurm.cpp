// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/slurm.h"

namespace uvmsim::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSlurmUsage = R"(uvmsim sweep slurm DIR [options]

Writes a batch script that computes a planned sweep as a job array of Slurm. All nodes must see the sweep's folder, its
traces and this uvmsim under the same paths.

Example:
  uvmsim sweep plan sweep.json -o DIR
  uvmsim sweep slurm DIR --points-per-task 50 --time 1:00:00 --sbatch=--partition=short --output job.sbatch
  sbatch job.sbatch
  uvmsim sweep status DIR
      submit job.sbatch again to compute what is missing, or only some shares of it with `sbatch --array=2,5 job.sbatch`
  uvmsim sweep collect DIR

Options:
  --points-per-task K    points that one task of the array computes, default 50; more where that took more than 1000
                         tasks (Slurm's MaxArraySize). Starting a task takes about a second, so give it some work
  -o [ --output ] FILE   the script, default standard output
  --cpus-per-task N      processes that compute within a task, default 1
  --memory-per-cpu SIZE  as for sbatch: 2G, 500M; default the cluster's
  --time TIME            limit of a task, as for sbatch: 30, 1:00:00, 2-00; default the cluster's
  --at-once N            tasks that run at the same time, default no limit
  --sbatch OPTION        a further option of sbatch, such as --sbatch=--partition=short; may be repeated
  --command PATH         uvmsim on the nodes, default this one
  -h [ --help ]          print this text
What tasks print is in DIR/slurm/.
)";

// Returns the path of the running command.
std::string own_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) throw_input_error("sweep slurm: this command does not find its own file; give it with --command");
  return path.string();
}

int write_script(const Values& values) {
  const std::string& folder =
      values.first("sweep slurm: no folder given; `uvmsim sweep slurm --help` shows an example");
  const sweep::Plan plan = sweep::read_plan(folder);
  sweep::check_versions(plan, folder);

  const auto count = [&](std::string_view option, std::uint64_t otherwise) {
    return values.number(option, otherwise, {.least = 1, .most = 1'000'000, .as_typed = true});
  };
  sweep::SlurmJob job;
  job.folder = fs::canonical(folder).string();
  job.command = values.text("command").value_or(own_path());
  job.points = plan.points.size();
  job.points_per_task = count("points-per-task", job.points_per_task);
  job.cpus_per_task = count("cpus-per-task", 1);
  job.most_at_once = count("at-once", 0);
  job.memory_per_cpu = values.text("memory-per-cpu").value_or("");
  job.time = values.text("time").value_or("");
  job.options = values.texts("sbatch");
  const std::string script = sweep::slurm_script(job);

  const std::string output = values.text("output").value_or("-");
  std::error_code error;
  fs::create_directory(sweep::slurm_log_folder(job.folder), error);
  if (error) throw_input_error("cannot write {}: {}", sweep::slurm_log_folder(folder), error.message());
  if (output == "-") {
    fmt::print("{}", script);
    return 0;
  }
  write_file(output, script);
  fmt::print("{}: {} points in {} tasks; submit it with `sbatch {}`\n", output, job.points, sweep::slurm_tasks(job),
             output);
  return 0;
}

}  // namespace

CommandLine sweep_slurm() {
  return {
      .usage = kSlurmUsage,
      .options = {{"points-per-task", "K",
                   "points that one task of the array computes, default 50; more where that took more than 1000 tasks"},
                  {"output,o", "FILE", "the script, default standard output"},
                  {"cpus-per-task", "N", "processes that compute within a task, default 1"},
                  {"memory-per-cpu", "SIZE", "as for sbatch: 2G, 500M; default the cluster's"},
                  {"time", "TIME", "limit of a task, as for sbatch: 30, 1:00:00, 2-00; default the cluster's"},
                  {"at-once", "N", "tasks that run at the same time, default no limit"},
                  {"sbatch", "OPTION",
                   "a further option of sbatch, such as --sbatch=--partition=short; may be repeated", kRepeatable},
                  {"command", "PATH", "uvmsim on the nodes, default this one"},
                  kHelp},
      .most_arguments = 1,
      .run = write_script,
      .lists_options = false};
}

}  // namespace uvmsim::cli
