// SPDX-License-Identifier: Apache-2.0
// Tests of wrong command lines: each error is one line that names the option and what is allowed.
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

class BadOptions : public CommandTest {
 protected:
  void expect_error(const std::vector<std::string>& options, const std::vector<std::string>& words) {
    SCOPED_TRACE(::testing::PrintToString(options));
    expect_one_line_error(run_trace(two_iterations(16), options), words);
  }
};

TEST_F(BadOptions, Commands) {
  expect_one_line_error(run({}), {"no command", "--help"});
  expect_one_line_error(
      run({"rnu"}), {"unknown command 'rnu'", "did you mean 'run'", "allowed: run, fit, why, cliff, advise, bounds"});
  expect_one_line_error(run({"help", "nothing"}), {"unknown command 'nothing'", "allowed:"});
  expect_one_line_error(run({"--osf", "2"}), {"unknown command '--osf'"});
}

TEST_F(BadOptions, MissingArguments) {
  expect_one_line_error(run({"run"}), {"no trace given", "--help"});
  expect_one_line_error(run({"run", "x.uvmt"}), {"--system", "uvmsim systems"});
}

TEST_F(BadOptions, UnknownOptions) {
  expect_error({"--ofs", "2"}, {"unknown option --ofs", "did you mean '--osf'", "uvmsim run --help"});
  expect_error({"--sys=2"}, {"unknown option --sys"});
  expect_error({"-x"}, {"unknown option -x"});
  expect_error({"another"}, {"unexpected argument 'another'"});
}

TEST_F(BadOptions, MissingOrUnwantedValues) {
  expect_error({"--osf"}, {"--osf", "needs a value"});
  expect_error({"--osf", "--partial"}, {"--osf", "needs a value"});
  expect_error({"--osf", ""}, {"--osf", "needs a value"});
  expect_error({"--json="}, {"--json"});
  expect_error({"--partial=1"}, {"--partial", "takes no value"});
  expect_error({"--seed", "1", "--seed", "2"}, {"--seed", "twice"});
}

TEST_F(BadOptions, OversubscriptionFactors) {
  for (const char* osf : {"0", "0.0", "-1", "-0.5", "abc", "1e3", "nan", "1.2345"}) {
    expect_error({"--osf", osf}, {"--osf", "'" + std::string(osf) + "'", "allowed: a decimal number above 0"});
  }
  expect_error({"--osf", "1,0"}, {"'0'", "above 0"});
  expect_error({"--osf", "2,2"}, {"twice"});
}

TEST_F(BadOptions, IterationsAndTimeScales) {
  for (const char* n : {"0", "-1", "1.5", "many", "1000001"}) {
    expect_error({"--iterations", n}, {"--iterations", "'" + std::string(n) + "'", "allowed: 1 to 1000000"});
  }
  for (const char* x : {"0", "-2", "fast", "1e3", "1001", "1.1234567"}) {
    expect_error({"--time-scale", x}, {"--time-scale", "'" + std::string(x) + "'", "allowed: auto"});
  }
  expect_error({"--recorded-on", "h200-sxm-pcie6"}, {"h200-sxm-pcie6", "did you mean 'h200-sxm-pcie5'?"});
  expect_error({"--recorded-on", "h200-sxm-pcie5", "--time-scale", "2"}, {"--recorded-on", "--time-scale"});
}

TEST_F(BadOptions, IterationsThatCannotBeRepeated) {
  const std::string unmarked = trace_of({alloc(1, 16 << 20), kernel(1, 0, 64), release(1)});
  expect_one_line_error(run_trace(unmarked, {"--iterations", "3"}), {"the trace marks no iterations"});
  const std::string leak = trace_of({alloc(1, 16 << 20), iteration("begin", 0), kernel(1, 0, 64), iteration("end", 0),
                                     iteration("begin", 1), alloc(2, 1 << 20), kernel(2, 0, 64), iteration("end", 1)});
  expect_one_line_error(run_trace(leak, {"--iterations", "3"}),
                        {"iteration 1 cannot be repeated", "object 2 (1048576 bytes)", "never frees it"});
}

TEST_F(BadOptions, CapacityBelowOneChunk) {
  expect_error({"--capacity-bytes", "2097151"}, {"--capacity-bytes", "2097151", "at least 2097152", "2 MiB chunk"});
  expect_error({"--capacity-bytes", "0"}, {"--capacity-bytes", "at least"});
  // 16 MiB hold eight chunks.
  expect_error({"--osf", "8.5"}, {"--osf", "8.5", "one 2 MiB chunk", "at most 8"});
  expect_error({"--osf", "1000000"}, {"--osf", "at most 8"});
}

TEST_F(BadOptions, LimitOfAProgramWithoutManagedMemory) {
  expect_one_line_error(run_trace(trace_of({R"({"t":"sync","kind":"device"})"}), {"--osf", "2"}),
                        {"trace.jsonl", "footprint is 0 bytes", "--capacity-bytes"});
}

TEST_F(BadOptions, Sizes) {
  expect_error({"--capacity-bytes", "12Gb"}, {"--capacity-bytes", "12Gb", "GiB"});
  expect_error({"--capacity-bytes", "-4GiB"}, {"--capacity-bytes", "-4GiB"});
  expect_error({"--footprint-bytes", "0"}, {"--footprint-bytes", "at least 1"});
  expect_error({"--footprint-bytes", "99999999TiB"}, {"--footprint-bytes"});
}

TEST_F(BadOptions, Combinations) {
  expect_error({"--osf", "2", "--capacity-bytes", "4MiB"}, {"--osf", "--capacity-bytes", "one of them"});
  expect_error({"--footprint-bytes", "1GiB", "--capacity-bytes", "4MiB"}, {"--footprint-bytes", "--capacity-bytes"});
  expect_error({"--osf", "1,2", "--timeline", "t.json"}, {"--timeline", "one run"});
  expect_error({"--json", "-", "--csv", "-"}, {"--json", "--csv", "standard output"});
  expect_error({"--json", "x", "--csv", "x"}, {"--json and --csv", "x"});
}

TEST_F(BadOptions, LayoutSeedAndPolicies) {
  expect_error({"--layout", "recoded"},
               {"--layout", "unknown layout 'recoded'", "did you mean 'recorded'", "allowed: "});
  expect_error({"--seed", "-1"}, {"--seed", "'-1'", "allowed: 0 to"});
  expect_error({"--prefetch", "tre"}, {"prefetch", "tre", "did you mean 'tree'", "none"});
  expect_error({"--prefetch", "tree:treshold=5"}, {"tree", "treshold", "threshold"});
  expect_error({"--prefetch", "tree:threshold=500"}, {"tree", "threshold", "500", "100"});
  expect_error({"--prefetch", "tree:threshold"}, {"--prefetch", "NAME:key=value"});
  expect_error({"--evict", "tree"}, {"evict", "tree", "lrm"});
  expect_error({"--plugin", "missing.so"}, {"missing.so"});
}

TEST_F(BadOptions, NothingIsWrittenAfterAnError) {
  expect_error({"--osf", "100", "--json", "r.json", "--csv", "r.csv", "--timeline", "t.json"}, {"--osf"});
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("trace.jsonl"));
}

}  // namespace
}  // namespace uvmsim
