// SPDX-License-Identifier: Apache-2.0
// Batch scripts for Slurm. Slurm itself runs them in tests/slurm.
#include "sim/sweep/slurm.h"

#include <string>
#include <vector>

#include "sim/common/error.h"
#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim::sweep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

SlurmJob job_of(std::uint64_t points, std::uint64_t points_per_task) {
  SlurmJob job;
  job.command = "/opt/bin/uvmsim";
  job.folder = "/data/sweep";
  job.points = points;
  job.points_per_task = points_per_task;
  return job;
}

TEST(SlurmScript, IsAnArrayWithATaskPerShare) {
  const std::string script = slurm_script(job_of(100, 8));
  EXPECT_THAT(script, ::testing::StartsWith("#!/bin/bash\n"));
  EXPECT_THAT(script, HasSubstr("\n#SBATCH --array=1-13\n"));
  EXPECT_THAT(script, HasSubstr("\n#SBATCH --requeue\n"));
  EXPECT_THAT(script, HasSubstr("\n#SBATCH --open-mode=append\n"));
  EXPECT_THAT(script, HasSubstr("\n#SBATCH --output=\"/data/sweep/slurm/%A_%a.log\"\n"));
  EXPECT_THAT(script, HasSubstr("\n#SBATCH --cpus-per-task=1\n"));
  EXPECT_THAT(script, ::testing::EndsWith("\nexec '/opt/bin/uvmsim' sweep run '/data/sweep' --jobs 1 --shard "
                                          "\"$SLURM_ARRAY_TASK_ID/13\"\n"));
  EXPECT_THAT(script, Not(HasSubstr("--mem")));
  EXPECT_THAT(script, Not(HasSubstr("--time")));
}

TEST(SlurmScript, NeverHasMoreTasksThanSlurmAllows) {
  EXPECT_EQ(slurm_tasks(job_of(1000, 1)), 1000u);
  EXPECT_EQ(slurm_tasks(job_of(1001, 1)), 1000u);
  EXPECT_EQ(slurm_tasks(job_of(1'000'000, 50)), 1000u);
  EXPECT_THAT(slurm_script(job_of(1'000'000, 50)), HasSubstr("--array=1-1000\n"));
  EXPECT_EQ(slurm_tasks(job_of(1, 50)), 1u);
}

TEST(SlurmScript, HoldsTheOptionsGiven) {
  SlurmJob job = job_of(100, 10);
  job.cpus_per_task = 4;
  job.most_at_once = 3;
  job.memory_per_cpu = "500M";
  job.time = "2-00:30";
  job.options = {"--partition=short", "--mail-type=END"};
  const std::string script = slurm_script(job);
  EXPECT_THAT(script, HasSubstr("\n#SBATCH --array=1-10%3\n"));
  EXPECT_THAT(script, HasSubstr("\n#SBATCH --cpus-per-task=4\n"));
  EXPECT_THAT(script, HasSubstr("\n#SBATCH --mem-per-cpu=500M\n"));
  EXPECT_THAT(script, HasSubstr("\n#SBATCH --time=2-00:30\n"));
  EXPECT_THAT(script, HasSubstr("\n#SBATCH --partition=short\n#SBATCH --mail-type=END\n"));
  EXPECT_THAT(script, HasSubstr(" --jobs 4 "));
}

TEST(SlurmScript, RefusesWhatSlurmWouldMisunderstand) {
  for (const char* memory : {"G", "2 G", "2GB", "-1", "2.5G", "1\n#SBATCH --x"}) {
    SlurmJob job = job_of(1, 1);
    job.memory_per_cpu = memory;
    EXPECT_THROW(slurm_script(job), InputError) << memory;
  }
  for (const char* time : {"soon", "1h", "-5", "1:", "1:00:00\n"}) {
    SlurmJob job = job_of(1, 1);
    job.time = time;
    EXPECT_THROW(slurm_script(job), InputError) << time;
  }
  for (const char* option : {"partition=short", "", "--x\nrm -r /", "--x\r"}) {
    SlurmJob job = job_of(1, 1);
    job.options = {option};
    EXPECT_THROW(slurm_script(job), InputError) << option;
  }
  for (const char* path : {"/data/a\nb", "/data/a\\b", "/data/\x01"}) {
    SlurmJob job = job_of(1, 1);
    job.folder = path;
    EXPECT_THROW(slurm_script(job), InputError) << path;
    job = job_of(1, 1);
    job.command = path;
    EXPECT_THROW(slurm_script(job), InputError) << path;
  }
}

class SlurmCommand : public CommandTest {
 protected:
  // Returns a folder with a plan of twelve points.
  std::string planned(const std::string& name) {
    folder.write("t.jsonl", two_iterations(4));
    folder.write("s.json",
                 R"({"traces": "t.jsonl", "systems": "h200-sxm-pcie5", "osf": ["none", 2], "seeds": [1, 2, 3],)"
                 R"( "evict": ["lrm", "lru"]})");
    const auto result = run({"sweep", "plan", "s.json", "-o", name});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return name;
  }
};

// The arguments must pass through the shell unchanged, whatever characters the paths contain.
TEST_F(SlurmCommand, TasksGetTheirArgumentsFromTheShellAsTheyAre) {
  const std::string odd = R"(it's a "folder" with $HOME, `id`, *, 100% & more)";
  planned(odd);
  const std::string command = folder.write(R"(uvm'sim "x" $y)", "#!/bin/bash\nprintf '%s\\n' \"$@\"\n");
  std::filesystem::permissions(command, std::filesystem::perms::owner_all);
  const auto written = run({"sweep", "slurm", odd, "--points-per-task", "5", "--command", command, "-o", "job.sbatch"});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("12 points in 3 tasks"));
  ASSERT_EQ(
      std::system(("SLURM_ARRAY_TASK_ID=2 bash '" + folder.path("job.sbatch") + "' >'" + folder.path("arguments") + "'")
                      .c_str()),
      0);
  const std::string canonical = std::filesystem::canonical(folder.path(odd)).string();
  EXPECT_EQ(folder.read("arguments"), "sweep\nrun\n" + canonical + "\n--jobs\n1\n--shard\n2/3\n");
  EXPECT_TRUE(std::filesystem::is_directory(folder.path(odd) + "/slurm"));
}

TEST_F(SlurmCommand, WritesToStandardOutputByDefault) {
  const auto result = run({"sweep", "slurm", planned("s"), "--time", "10", "--sbatch=--qos=low", "--sbatch=--nice"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::StartsWith("#!/bin/bash\n"));
  EXPECT_THAT(result.out, HasSubstr("#SBATCH --array=1-1\n"));
  EXPECT_THAT(result.out, HasSubstr("#SBATCH --time=10\n"));
  EXPECT_THAT(result.out, HasSubstr("#SBATCH --qos=low\n#SBATCH --nice\n"));
  EXPECT_THAT(result.out, HasSubstr(std::string("exec '") + std::filesystem::canonical(UVMSIM_COMMAND).string()));
}

TEST_F(SlurmCommand, EveryMistakeIsOneLine) {
  const std::string sweep = planned("s");
  expect_one_line_error(run({"sweep", "slurm"}), {"no folder"});
  expect_one_line_error(run({"sweep", "slurm", "nowhere"}), {"nowhere"});
  for (const char* count : {"0", "-1", "1.5", "many", "1000001"}) {
    expect_one_line_error(run({"sweep", "slurm", sweep, "--points-per-task", count}), {"--points-per-task"});
  }
  expect_one_line_error(run({"sweep", "slurm", sweep, "--time", "soon"}), {"soon"});
  expect_one_line_error(run({"sweep", "slurm", sweep, "--memory-per-cpu", "lots", "-o", "job"}), {"lots"});
  expect_one_line_error(run({"sweep", "slurm", sweep, "-o", "no/job"}), {"no/job"});
  expect_one_line_error(run({"sweep", "slurm", sweep, "--points-per-tsk", "3"}), {"--points-per-task"});
  EXPECT_THAT(folder.names(), ElementsAre("s", "s.json", "t.jsonl"));
}

}  // namespace
}  // namespace uvmsim::sweep
