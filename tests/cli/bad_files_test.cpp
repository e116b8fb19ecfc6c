// SPDX-License-Identifier: Apache-2.0
// Tests of attacks with files: outputs onto inputs, links, closed streams, folders, pipes, names, numbers at limits.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/common/sha256.h"
#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

class BadFiles : public CommandTest {
 protected:
  BadFiles() { folder.write("trace.jsonl", kTrace); }

  // Runs a line of the shell, in which $u is the command; returns its exit code.
  int shell(const std::string& line) const {
    const std::string all = "u='" UVMSIM_COMMAND "'; cd '" + folder.path() + "' && " + line;
    const int status = std::system(all.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void expect_trace_stays(const std::vector<std::string>& arguments) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    expect_one_line_error(run(arguments), {"is an input", "of this command"});
    EXPECT_EQ(folder.read("trace.jsonl"), kTrace);
  }
  std::string sweep_file(const std::string& more = "") const {
    return folder.write("s.json", R"({"traces": "trace.jsonl", "systems": "h200-sxm-pcie5")" + more + "}");
  }
  void collect_sweep(const std::string& out) {
    sweep_file();
    const CommandResult result = run({"sweep", "s.json", "-o", out});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  const std::string kTrace = two_iterations(4);
};

TEST_F(BadFiles, NoOutputReplacesAnInput) {
  for (const char* option : {"--json", "--csv", "--timeline", "--profile"}) {
    expect_trace_stays({"run", "trace.jsonl", "--system", "h200-sxm-pcie5", option, "trace.jsonl"});
  }
  expect_trace_stays({"bounds", "trace.jsonl", "--system", "h200-sxm-pcie5", "--json", "trace.jsonl"});
  expect_trace_stays({"trace", "export", "oracle-general", "trace.jsonl", "-o", "trace.jsonl"});
  expect_trace_stays({"trace", "dump", "trace.jsonl", "-o", "trace.jsonl"});
  const std::string scenario =
      R"({"system": "h200-sxm-pcie5", "programs": [{"name": "a", "trace": "trace.jsonl", "gpus": [0]}]})";
  folder.write("scenario.json", scenario);
  for (const char* output : {"trace.jsonl", "scenario.json"}) {
    expect_trace_stays({"scenario", "scenario.json", "--json", output});
    expect_trace_stays({"scenario", "scenario.json", "--timeline", output});
    EXPECT_EQ(folder.read("scenario.json"), scenario);
  }
}

TEST_F(BadFiles, NorOneOfAnotherName) {
  std::filesystem::create_symlink("trace.jsonl", folder.path("soft.json"));
  std::filesystem::create_hard_link(folder.path("trace.jsonl"), folder.path("hard.json"));
  for (const char* name : {"soft.json", "hard.json", "./trace.jsonl"}) {
    expect_trace_stays({"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--json", name});
  }
  EXPECT_EQ(shell("$u run - --system h200-sxm-pcie5 --json trace.jsonl <trace.jsonl 2>err"), 2);
  EXPECT_EQ(folder.read("trace.jsonl"), kTrace);
}

TEST_F(BadFiles, NoOutputReplacesAnotherOne) {
  std::filesystem::create_directory_symlink(".", folder.path("here"));
  folder.write("old.json", "old");
  std::filesystem::create_symlink("old.json", folder.path("soft.json"));
  for (const auto& [json, csv] : std::vector<std::pair<std::string, std::string>>{
           {"x", "here/x"}, {"here/x", "./x"}, {"old.json", "soft.json"}, {"soft.json", "here/old.json"}}) {
    expect_one_line_error(run({"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--json", json, "--csv", csv}),
                          {"cannot write " + csv, "another output of this command is the same file"});
    EXPECT_EQ(folder.read("old.json"), "old");
    EXPECT_FALSE(std::filesystem::exists(folder.path("x")));
  }
}

TEST_F(BadFiles, ASweepDoesNotReplaceItsSpecification) {
  const std::string spec = R"({"traces": "trace.jsonl", "systems": "h200-sxm-pcie5"})";
  folder.write("sweep.json", spec);
  expect_one_line_error(run({"sweep", "sweep.json", "-o", "."}), {"sweep.json", "no plan of a sweep"});
  EXPECT_EQ(folder.read("sweep.json"), spec);
  EXPECT_EQ(run({"sweep", "sweep.json", "-o", "out"}).exit_code, 0);
}

TEST_F(BadFiles, ClosedStandardStreams) {
  const std::string run_line = "$u run trace.jsonl --system h200-sxm-pcie5 --json r.json ";
  ASSERT_EQ(shell(run_line + ">out"), 0);
  const std::string result = folder.read("r.json");
  for (const auto& [closed, code] : std::vector<std::pair<std::string, int>>{
           {">out <&-", 0}, {">out 2>&-", 0}, {"2>err >&-", 2}, {">&- 2>&-", 2}, {"<&- >&- 2>&-", 2}}) {
    SCOPED_TRACE(closed);
    EXPECT_EQ(shell(run_line + "--verbose " + closed), code);
    EXPECT_EQ(folder.read("r.json"), result) << "nothing else lands in the file";
  }
  sweep_file();
  EXPECT_EQ(shell("$u sweep s.json -o swept -j 2 2>err >&-"), 2);
  EXPECT_EQ(shell("$u sweep s.json -o swept -j 2 >/dev/null 2>&- <&-"), 0);
  EXPECT_EQ(shell("$u no-such-command >&- 2>&-"), 2);
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_EQ(shell("$u no-such-command 2>/dev/full"), 2);
  }
}

TEST_F(BadFiles, ResultsOfASweepFollowNoLink) {
  collect_sweep("out");
  const std::string precious = folder.write("precious", "precious");
  std::vector<std::string> written = {"results.csv", "results.sqlite", "sweep.json", "points.jsonl"};
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("out/points"))) {
    written.push_back("points/" + entry.path().filename().string());
  }
  for (const std::string& name : written) {
    std::filesystem::remove(folder.path("out/" + name));
    std::filesystem::create_symlink(precious, folder.path("out/" + name));
  }
  run({"sweep", "s.json", "-o", "out"});
  EXPECT_EQ(folder.read("precious"), "precious");

  std::filesystem::create_directories(folder.path("elsewhere"));
  std::filesystem::create_directories(folder.path("other"));
  std::filesystem::create_directory_symlink(folder.path("elsewhere"), folder.path("other/points"));
  expect_one_line_error(run({"sweep", "s.json", "-o", "other"}), {"other/points", "symbolic link"});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("elsewhere")));
}

TEST_F(BadFiles, DeepJsonIsOneLine) {
  const std::string deep = R"({"a": )" + std::string(200'000, '[');
  collect_sweep("out");
  folder.write("deep.json", deep);
  expect_one_line_error(run({"run", "trace.jsonl", "--system", "./deep.json"}), {"deep.json", "64 levels"});
  expect_one_line_error(run({"sweep", "deep.json", "-o", "x"}), {"deep.json", "64 levels"});
  expect_one_line_error(run({"scenario", "deep.json"}), {"deep.json", "64 levels"});
  expect_one_line_error(run({"check", "deep.json"}), {"deep.json", "64 levels"});
  expect_one_line_error(run({"compare", "deep.json", "deep.json"}), {"deep.json"});
  const std::string closed = std::string(60'000, '[') + std::string(60'000, ']');
  folder.write("closed.json", R"({"schema":"uvmsim.result/3","system":)" + closed + "}\n");
  expect_one_line_error(run({"compare", "closed.json", "closed.json"}), {"closed.json"});
  folder.write("out/sweep.json", R"({"schema":"uvmsim.sweep/2","spec":)" + closed + "}\n");
  expect_one_line_error(run({"sweep", "status", "out"}), {"sweep.json"});
}

TEST_F(BadFiles, AChangedPluginIsNotLoaded) {
  const std::string plugin = folder.path("mine.so");
  std::filesystem::copy_file(UVMSIM_CRASH_PLUGIN, plugin);
  sweep_file(R"(, "plugins": "./mine.so", "prefetch": "crash")");
  ASSERT_EQ(run({"sweep", "plan", "s.json", "-o", "out"}).exit_code, 0);
  std::filesystem::remove(plugin);
  std::filesystem::copy_file(UVMSIM_MARK_PLUGIN, plugin);
  const CommandResult result = run({"sweep", "run", "out"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out + result.err, HasSubstr("plug-in changed since the sweep was planned"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("loaded")));
}

// A plug-in is not loaded if its SHA-256 differs from the one in its name, wherever the name comes from.
TEST_F(BadFiles, APluginThatIsNotTheRecordedOneIsNotLoaded) {
  std::filesystem::copy_file(UVMSIM_MARK_PLUGIN, folder.path("mine.so"));
  const std::string wanted = "./mine.so@sha256:" + sha256_of_file(UVMSIM_CRASH_PLUGIN);
  sweep_file(R"(, "plugins": ")" + wanted + R"(", "prefetch": "crash")");
  folder.write("scenario.json", R"({"system": "h200-sxm-pcie5", "prefetch": "crash", "plugins": ")" + wanted + R"(",
      "programs": [{"name": "a", "trace": "trace.jsonl", "gpus": [0]}]})");
  const std::vector<std::vector<std::string>> commands{
      {"sweep", "s.json", "-o", "out"},
      {"scenario", "scenario.json"},
      {"policies", "--plugin", wanted},
      {"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--plugin", wanted, "--prefetch", "crash"}};
  for (const std::vector<std::string>& command : commands) {
    SCOPED_TRACE(command[0]);
    expect_one_line_error(run(command), {"mine.so", "another file than the one that was recorded", "is not loaded"});
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("loaded")));
  std::filesystem::remove(folder.path("mine.so"));
  std::filesystem::copy_file(UVMSIM_CRASH_PLUGIN, folder.path("mine.so"));
  for (const std::vector<std::string>& command : commands) EXPECT_EQ(run(command).exit_code, 0) << command[0];
  for (const std::string& hash : std::vector<std::string>{"12", "", std::string(64, 'X')}) {
    expect_one_line_error(run({"policies", "--plugin", "./mine.so@sha256:" + hash}), {"mine.so", "64 hexadecimal"});
  }
}

TEST_F(BadFiles, ABaselineRecordsItsPluginsAndLoadsNoOthers) {
  std::filesystem::copy_file(UVMSIM_CRASH_PLUGIN, folder.path("mine.so"));
  ASSERT_EQ(run({"check", "b.json", "--new", "trace.jsonl", "--system", "h200-sxm-pcie5", "--plugin", "./mine.so",
                 "--prefetch", "crash"})
                .exit_code,
            0);
  EXPECT_THAT(folder.read("b.json"), HasSubstr("./mine.so@sha256:" + sha256_of_file(UVMSIM_CRASH_PLUGIN)));
  EXPECT_EQ(run({"check", "b.json"}).exit_code, 0);

  std::filesystem::remove(folder.path("mine.so"));
  std::filesystem::copy_file(UVMSIM_MARK_PLUGIN, folder.path("mine.so"));
  const CommandResult changed = run({"check", "b.json"});
  EXPECT_EQ(changed.exit_code, 1);
  EXPECT_THAT(changed.out, HasSubstr("another file than the one that was recorded"));
  EXPECT_EQ(run({"check", "b.json", "--update"}).exit_code, 1) << "a new plug-in is named on the command line";
  EXPECT_FALSE(std::filesystem::exists(folder.path("loaded")));

  // The plug-in on the command line is another build; it is used, and --update records it.
  std::filesystem::create_directories(folder.path("built"));
  std::filesystem::copy_file(UVMSIM_CRASH_PLUGIN, folder.path("built/mine.so"));
  std::ofstream(folder.path("built/mine.so"), std::ios::app) << "another build";
  EXPECT_EQ(run({"check", "b.json", "--plugin", "built/mine.so"}).exit_code, 0);
  EXPECT_EQ(run({"check", "b.json", "--plugin", "built/mine.so", "--update"}).exit_code, 0);
  EXPECT_THAT(folder.read("b.json"), HasSubstr("./mine.so@sha256:" + sha256_of_file(folder.path("built/mine.so"))));
  expect_one_line_error(run({"--no-plugins", "check", "b.json", "--new", "trace.jsonl", "--system", "h200-sxm-pcie5",
                             "--plugin", "./mine.so"}),
                        {"mine.so", "--no-plugins"});
}

TEST_F(BadFiles, NoPluginsLoadsNone) {
  std::filesystem::copy_file(UVMSIM_MARK_PLUGIN, folder.path("mine.so"));
  sweep_file(R"(, "plugins": "./mine.so")");
  folder.write("scenario.json", R"({"system": "h200-sxm-pcie5", "plugins": "./mine.so",
      "programs": [{"name": "a", "trace": "trace.jsonl", "gpus": [0]}]})");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"--no-plugins", "sweep", "s.json", "-o", "out"},
           {"--no-plugins", "scenario", "scenario.json"},
           {"--no-plugins", "policies", "--plugin", "./mine.so"},
           {"--no-plugins", "run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--plugin", "./mine.so"}}) {
    SCOPED_TRACE(command[1]);
    expect_one_line_error(run(command), {"mine.so", "--no-plugins"});
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("loaded")));
  run({"policies", "--plugin", "./mine.so"});
  EXPECT_TRUE(std::filesystem::exists(folder.path("loaded"))) << "the library that tells";
  EXPECT_EQ(run({"--no-plugins", "run", "trace.jsonl", "--system", "h200-sxm-pcie5"}).exit_code, 0);
}

TEST_F(BadFiles, StreamsHaveALimitEverywhere) {
  for (const char* stream : {"4097", "800000000", "4294967295"}) {
    for (const std::string& record :
         {std::string(R"({"t":"sync","kind":"stream","stream":)") + stream + "}",
          std::string(R"({"t":"memset","object":1,"offset":0,"bytes":4096,"stream":)") + stream + "}"}) {
      folder.write("bad.jsonl", trace_of({alloc(1, 4 << 20), record}));
      for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
               {"run", "bad.jsonl", "--system", "h200-sxm-pcie5"},
               {"bounds", "bad.jsonl", "--system", "h200-sxm-pcie5", "--capacity-bytes", "2MiB"},
               {"trace", "validate", "bad.jsonl"}}) {
        SCOPED_TRACE(command.front() + " " + record);
        expect_one_line_error(run(command), {"bad.jsonl", std::string("stream ") + stream, "0 to 4096"});
      }
    }
  }
}

TEST_F(BadFiles, SystemErrorsAreNoBugs) {
  expect_one_line_error(run({"trace", "hint", "trace.jsonl", "--hints", "/", "-o", "x.jsonl"}), {"/", "folder"});
  std::filesystem::create_directories(folder.path("dir"));
  expect_one_line_error(run({"validate", "x.json", "--system", "h200-sxm-pcie5", "--markdown", "dir"}),
                        {"dir", "folder"});
  for (const char* name : {"", "\xff\xfe.jsonl", "no\nsuch"}) {
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"run", name, "--system", "h200-sxm-pcie5"},
                                               {"bounds", name, "--system", "h200-sxm-pcie5"},
                                               {"trace", "info", name},
                                               {"compare", name, name},
                                               {"check", name},
                                               {"scenario", name},
                                               {"sweep", name, "-o", "x"},
                                               {"run", "trace.jsonl", "--system", name},
                                               {"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--plugin", name},
                                               {"trace", "hint", "trace.jsonl", "--hints", name, "-o", "x.jsonl"}}) {
      SCOPED_TRACE(command[0] + " " + command[1]);
      expect_one_line_error(run(command), {});
    }
  }
}

TEST_F(BadFiles, NamesThatAreNotUtf8) {
  folder.write("\xff.jsonl", kTrace);
  EXPECT_EQ(run({"run", "\xff.jsonl", "--system", "h200-sxm-pcie5", "--json", "r.json"}).exit_code, 0);
  folder.write("s.json", R"({"traces": "*.jsonl", "systems": "h200-sxm-pcie5"})");
  expect_one_line_error(run({"sweep", "s.json", "-o", "out"}), {"not UTF-8"});
}

TEST_F(BadFiles, TablesShowNoControlCharacters) {
  folder.write("evil.jsonl", R"({"t":"header","major":1,"minor":0,"quantum_bytes":4096,"tool":"\u001b[2J\u0007"})"
                             "\n" +
                                 alloc(1, 4 << 20) + "\n");
  const CommandResult info = run({"trace", "info", "evil.jsonl"});
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_THAT(info.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(info.out, HasSubstr("?[2J?"));
}

TEST_F(BadFiles, ATraceFromAPipe) {
  ASSERT_EQ(
      shell("mkfifo pipe; cat trace.jsonl >pipe & $u run pipe --system h200-sxm-pcie5 --json r.json >out; code=$?; "
            "wait; exit $code"),
      0);
  EXPECT_THAT(folder.read("r.json"), HasSubstr(R"("bytes":)" + std::to_string(kTrace.size())));
  expect_one_line_error(run({"run", "/dev/zero", "--system", "h200-sxm-pcie5"}), {"/dev/zero", "device"});
}

// 40,000 iterations take some 40 MB of memory, and several hundred as JSON.
TEST_F(BadFiles, ManyIterationsTakeMemoryOnlyForWhatIsAskedFor) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer takes terabytes of addresses";
  const std::string line = "ulimit -v 350000; $u run trace.jsonl --system h200-sxm-pcie5 --iterations 40000 ";
  EXPECT_EQ(shell(line + ">out 2>err"), 0) << folder.read("err");
  EXPECT_EQ(shell(line + "--json r.json >out 2>err"), 3);
  EXPECT_THAT(folder.read("err"), EndsWith("uvmsim: error: out of memory\n"));  // after lines of progress
  EXPECT_FALSE(std::filesystem::exists(folder.path("r.json")));
}

TEST_F(BadFiles, TimesAndSizesAtTheEndsOfTheirFields) {
  const auto run_of = [&](const std::string& record) {
    folder.write("ends.jsonl", trace_of({alloc(1, 4 << 20), record}));
    return run({"run", "ends.jsonl", "--system", "h200-sxm-pcie5", "--csv", "-"});
  };
  const auto kernel_of = [](const std::string& duration, const std::string& more = "") {
    return R"({"t":"kernel","name":"k","grid":[64,1,1],"block":[256,1,1],"duration_ns":)" + duration + more +
           R"(,"accesses":[[1,[[0,1024,"rw"]]]]})";
  };
  const std::string most = "2305843009213693952", beyond = "2305843009213693953";  // 2^61
  expect_one_line_error(run_of(kernel_of(beyond)), {"2305843009213693952"});
  for (const auto& [duration, least_ms] :
       std::vector<std::pair<std::string, double>>{{"288230376151711744", 2.88e11}, {most, 2.3e12}}) {
    SCOPED_TRACE(duration);
    const CommandResult result = run({"run", "trace.jsonl", "--system", "h200-sxm-pcie5", "--json", "r.json"});
    ASSERT_EQ(result.exit_code, 0);
    folder.write("ends.jsonl", trace_of({alloc(1, 4 << 20), kernel_of(duration)}));
    ASSERT_EQ(run({"run", "ends.jsonl", "--system", "h200-sxm-pcie5", "--json", "r.json"}).exit_code, 0);
    const std::string json = folder.read("r.json");
    const std::size_t at = json.find(R"("total_ns":)");
    ASSERT_NE(at, std::string::npos);
    EXPECT_GE(std::atof(json.c_str() + at + 11) / 1e6, least_ms);
  }
  // A time beyond the largest one is an error and does not wrap.
  expect_one_line_error(run_of(kernel_of(most, R"(,"host_gap_ns":)" + most)), {"2^61"});
  expect_one_line_error(run_of(R"({"t":"memcpy","kind":"host_to_device","bytes":18000000000000000})"), {"2^47"});
  expect_one_line_error(
      run_of(
          R"({"t":"kernel","name":"k","grid":[2147483647,65535,65535],"block":[1024,1,1],"duration_ns":1,"accesses":[]})"),
      {"2^40"});
}

}  // namespace
}  // namespace uvmsim
