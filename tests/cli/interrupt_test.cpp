// SPDX-License-Identifier: Apache-2.0
// Tests of signals: every command ends within a second, at once at a second signal, and leaves no temporary file.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <optional>

#include "tests/cli/sweep_command_test.h"

namespace uvmsim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using Arguments = std::vector<std::string>;

constexpr int kInterrupted = 130;
constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
constexpr auto kSoon = std::chrono::milliseconds(1200);  // a second, and allowance for a busy machine

// A process that a test starts, in its folder, with standard streams of its choice.
struct Started {
  pid_t process = -1;
  int output = -1;  // the reading end of its standard output and error, never read
};

class Interrupt : public SweepCommandTest {
 protected:
  Interrupt() { EXPECT_EQ(::mkfifo(folder.path("nobody_writes.uvmt").c_str(), 0600), 0); }

  // Starts it with standard output and error in a full pipe.
  Started start_into_full_pipe(Arguments arguments) const {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (::write(ends[1], "x", 1) == 1) {
    }
    EXPECT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);
    Started started{start_with(std::move(arguments),
                               [&] {
                                 ::dup2(ends[1], STDOUT_FILENO);
                                 ::dup2(ends[1], STDERR_FILENO);
                               }),
                    ends[0]};
    ::close(ends[1]);
    return started;
  }

  template <class Prepare>
  pid_t start_with(Arguments arguments, Prepare&& prepare) const {
    arguments.insert(arguments.begin(), UVMSIM_COMMAND);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const pid_t process = ::fork();
    if (process == 0) {
      if (::chdir(folder.path().c_str()) != 0) ::_exit(99);
      prepare();
      ::execv(UVMSIM_COMMAND, pointers.data());
      ::_exit(99);
    }
    return process;
  }

  void expect_ends_soon(pid_t process, int signal, std::chrono::milliseconds limit = kSoon) {
    const auto asked = Clock::now();
    ::kill(process, signal);
    EXPECT_EQ(exit_code_of(process), kInterrupted) << folder.read("background");
    EXPECT_LT(Clock::now() - asked, limit);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  void expect_nothing_temporary() const {
    for (const std::string& name : files()) EXPECT_THAT(name, ::testing::Not(HasSubstr(".tmp-")));
  }
};

// Returns arguments of a run that takes hours: `markov` does not report its state, so that every iteration is replayed.
Arguments long_run(const Arguments& more = {}) {
  Arguments all{"run",   "a.jsonl", "--system",     "h200-sxm-pcie5", "--prefetch",        "markov",
                "--osf", "2",       "--iterations", "1000000",        "--no-unlimited-run"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_F(Interrupt, WorkOfHoursEndsWithinASecond) {
  for (const int signal : kSignals) {
    const pid_t process = start_command(long_run({"--json", "out.jsonl"}));
    ::usleep(300'000);
    expect_ends_soon(process, signal);
    EXPECT_EQ(folder.read("background"), "uvmsim: interrupted, no output is half written\n");
    EXPECT_FALSE(exists("out.jsonl"));
    expect_nothing_temporary();
  }
}

TEST_F(Interrupt, EveryCommandThatWaitsForItsInputEndsWithinASecond) {
  folder.write("s.json", R"({"traces": "nobody_writes.uvmt", "systems": "h200-sxm-pcie5", "osf": 2})");
  folder.write("scenario.json", R"({"system": "h200-sxm-pcie5",
      "programs": [{"name": "a", "trace": "nobody_writes.uvmt", "gpus": [0]}]})");
  const std::string trace = "nobody_writes.uvmt";
  std::vector<pid_t> processes;
  std::vector<Arguments> commands{{"run", trace, "--system", "h200-sxm-pcie5", "--json", "r.jsonl"},
                                  {"bounds", trace, "--system", "h200-sxm-pcie5", "--json", "b.jsonl"},
                                  {"sweep", "s.json", "-o", "sweep"},
                                  {"league", trace, "--system", "h200-sxm-pcie5", "--osf", "2", "-o", "league"},
                                  {"scenario", "scenario.json", "--json", "scenario.jsonl"},
                                  {"check", trace},
                                  {"compare", trace, trace},
                                  {"validate", trace, "--system", "h200-sxm-pcie5"},
                                  {"trace", "info", trace},
                                  {"trace", "validate", trace},
                                  {"trace", "pack", trace, "-o", "out.uvmt"},
                                  {"trace", "export", "oracle-general", trace, "-o", "out.bin"}};
  for (const Arguments& command : commands) processes.push_back(start_command(command));
  ::usleep(500'000);
  const auto asked = Clock::now();
  for (std::size_t i = 0; i < commands.size(); ++i) ::kill(processes[i], kSignals[i % kSignals.size()]);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    EXPECT_EQ(exit_code_of(processes[i]), kInterrupted) << commands[i][0] << ' ' << commands[i][1];
  }
  EXPECT_LT(Clock::now() - asked, kSoon);
  expect_nothing_temporary();
}

TEST_F(Interrupt, AnOutputThatNobodyReadsHoldsNothingUp) {
  const std::string s = spec("s", R"("osf": 2, "prefetch": ["none", "tree"])");
  const std::vector<Started> all{start_into_full_pipe({"trace", "info", "a.jsonl"}),
                                 start_into_full_pipe({"run", "a.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2"}),
                                 start_into_full_pipe({"sweep", s, "-o", "out", "--jobs", "2"})};
  ::usleep(500'000);
  const auto asked = Clock::now();
  for (std::size_t i = 0; i < all.size(); ++i) ::kill(all[i].process, kSignals[i % kSignals.size()]);
  for (const Started& started : all) {
    EXPECT_EQ(exit_code_of(started.process), kInterrupted);
    ::close(started.output);
  }
  EXPECT_LT(Clock::now() - asked, kSoon);
  expect_nothing_temporary();
}

TEST_F(Interrupt, ASecondSignalEndsItAtOnce) {
  const Started started = start_into_full_pipe({"trace", "info", "a.jsonl"});
  ::usleep(300'000);
  ::kill(started.process, SIGHUP);
  ::usleep(50'000);
  expect_ends_soon(started.process, SIGTERM, std::chrono::milliseconds(400));
  ::close(started.output);
}

TEST_F(Interrupt, ALeagueEndsWithinASecondAndGoesOnLater) {
  const pid_t process =
      start_command({"league", "a.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2,3,4", "-o", "league"});
  ::usleep(400'000);
  expect_ends_soon(process, SIGTERM);
  expect_nothing_temporary();
}

// `timeout` and the end of a session signal the whole group: the workers get the signal too, busy or idle.
TEST_F(Interrupt, TerminationOfTheWholeGroupIsAnInterruption) {
  for (int i = 0; i < 5; ++i) {
    const pid_t process = start_with(
        {"league", "a.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2,3,4", "-o", "league", "--jobs", "3"}, [] {
          ::setpgid(0, 0);
          static_cast<void>(std::freopen("background", "w", stdout));
          static_cast<void>(std::freopen("background", "w", stderr));
        });
    ::usleep(200'000 + 50'000 * static_cast<unsigned>(i));
    ::kill(-process, SIGTERM);
    EXPECT_EQ(exit_code_of(process), kInterrupted) << folder.read("background");
    EXPECT_THAT(folder.read("background"), ::testing::Not(HasSubstr("bug")));
    for (const std::string& name : files()) EXPECT_THAT(name, ::testing::Not(HasSubstr(".error.json")));
    expect_nothing_temporary();
  }
}

TEST_F(Interrupt, NohupStaysNohup) {
  const pid_t process = start_with(long_run(), [] { std::signal(SIGHUP, SIG_IGN); });
  ::usleep(300'000);
  ::kill(process, SIGHUP);
  ::usleep(1'200'000);
  EXPECT_EQ(::waitpid(process, nullptr, WNOHANG), 0) << "it goes on";
  expect_ends_soon(process, SIGTERM);
}

TEST_F(Interrupt, AFileThatMayNotGrowIsAnError) {
  const pid_t process = start_with({"trace", "generate", "zipf", "--bytes", "64MiB", "-o", "large.uvmt"}, [&] {
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const int file = ::open("background", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, STDERR_FILENO);
  });
  EXPECT_EQ(exit_code_of(process), 2);
  EXPECT_THAT(folder.read("background"),
              AllOf(HasSubstr("uvmsim: error: cannot write large.uvmt"), HasSubstr("File too large")));
  EXPECT_FALSE(exists("large.uvmt"));
  expect_nothing_temporary();
}

TEST_F(Interrupt, AReaderThatLeavesLeavesNothingTemporary) {
  folder.write("c.jsonl", trace_of({alloc(1, 64 << 20)}));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t process = start_with({"run", "a.jsonl", "--system", "h200-sxm-pcie5", "--json", "-", "--csv", "out.csv"},
                                   [&] { ::dup2(ends[1], STDOUT_FILENO); });
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(exit_code_of(process), 128 + SIGPIPE);
  expect_nothing_temporary();
}

}  // namespace
}  // namespace uvmsim
