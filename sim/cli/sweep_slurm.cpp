// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "sim/cli/options.h"
#include "sim/cli/values.h"
#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/slurm.h"

namespace uvmsim::cli {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

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

std::uint64_t count_of(const po::variables_map& values, const char* name, std::uint64_t otherwise,
                       std::uint64_t least) {
  const auto given = text_of(values, name);
  if (!given) return otherwise;
  constexpr std::uint64_t kMost = 1'000'000;
  const std::string option = std::string("--") + name;
  const std::uint64_t count = parse_unsigned(option, *given);
  if (count < least || count > kMost) {
    throw_input_error("{}: {} is not allowed; allowed: {} to {}", option, *given, least, kMost);
  }
  return count;
}

// The compiler's or installer's place of the command that runs now.
std::string own_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) throw_input_error("sweep slurm: this command does not find its own file; give it with --command");
  return path.string();
}

}  // namespace

int sweep_slurm(const std::vector<std::string>& arguments) {
  po::options_description options;
  auto add = options.add_options();
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  add("points-per-task", text("K"),
      "points that one task of the array computes, default 50; more where that took more than 1000 tasks");
  add("output,o", text("FILE"), "the script, default standard output");
  add("cpus-per-task", text("N"), "processes that compute within a task, default 1");
  add("memory-per-cpu", text("SIZE"), "as for sbatch: 2G, 500M; default the cluster's");
  add("time", text("TIME"), "limit of a task, as for sbatch: 30, 1:00:00, 2-00; default the cluster's");
  add("at-once", text("N"), "tasks that run at the same time, default no limit");
  add("sbatch", po::value<std::vector<std::string>>()->composing()->value_name("OPTION"),
      "a further option of sbatch, such as --sbatch=--partition=short; may be repeated");
  add("command", text("PATH"), "uvmsim on the nodes, default this one");
  add("help,h", po::bool_switch(), "print this text");
  const auto values = parse_options("uvmsim sweep slurm", arguments, options, 1);
  if (values["help"].as<bool>()) {
    fmt::print("{}", kSlurmUsage);
    return 0;
  }
  const auto positional = positional_arguments(values);
  if (positional.empty()) {
    throw_input_error("sweep slurm: no folder given; `uvmsim sweep slurm --help` shows an example");
  }
  const std::string& folder = positional.front();
  const sweep::Plan plan = sweep::read_plan(folder);
  sweep::check_versions(plan, folder);

  sweep::SlurmJob job;
  job.folder = fs::canonical(folder).string();
  job.command = text_of(values, "command").value_or(own_path());
  job.points = plan.points.size();
  job.points_per_task = count_of(values, "points-per-task", job.points_per_task, 1);
  job.cpus_per_task = count_of(values, "cpus-per-task", 1, 1);
  job.most_at_once = count_of(values, "at-once", 0, 1);
  job.memory_per_cpu = text_of(values, "memory-per-cpu").value_or("");
  job.time = text_of(values, "time").value_or("");
  if (values.count("sbatch") != 0) job.options = values["sbatch"].as<std::vector<std::string>>();
  const std::string script = sweep::slurm_script(job);

  const std::string output = text_of(values, "output").value_or("-");
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

}  // namespace uvmsim::cli
