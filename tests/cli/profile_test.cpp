// SPDX-License-Identifier: Apache-2.0
// Tests of `uvmsim run --profile`: its numbers for a program for which every page is known.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"
#include "tests/report/database.h"

namespace uvmsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunProfile : public CommandTest {};

std::string named_kernel(const std::string& name, std::uint64_t tensor, const char* mode) {
  return fmt::format(R"({{"t":"kernel","name":"{}","grid":[64,1,1],"block":[256,1,1],"duration_ns":100000,)"
                     R"("accesses":[[{},[[0,512,"{}"]]]]}})",
                     name, tensor, mode);
}

// Two tensors of 2 MiB and GPU memory for one of them. Writing the second evicts the first, reading the first again
// evicts the second and copies 2 MiB back.
std::string ping_pong() {
  return trace_of({R"({"t":"object_alloc","id":1,"bytes":4194304})",
                   R"({"t":"tensor_alloc","id":2,"bytes":2097152,"object":1,"name":"weights"})",
                   R"({"t":"tensor_alloc","id":3,"bytes":2097152,"object":1,"offset":2097152,"name":"grad"})",
                   iteration("begin", 0), R"({"t":"range","kind":"push","name":"model"})", named_kernel("init", 2, "w"),
                   R"({"t":"range","kind":"push","name":"conv"})", named_kernel("gradient", 3, "w"),
                   R"({"t":"range","kind":"pop"})", R"({"t":"range","kind":"pop"})", named_kernel("use", 2, "r"),
                   iteration("end", 0)});
}

const std::vector<std::string> kLittleMemory{"--capacity-bytes",   "2MiB",      "--prefetch", "none",
                                             "--no-unlimited-run", "--profile", "p.sqlite"};

TEST_F(RunProfile, EveryPageIsAccountedFor) {
  const auto result = run_trace(ping_pong(), kLittleMemory);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const TestDatabase db(folder.path("p.sqlite"));
  EXPECT_THAT(
      db.rows("SELECT name, layer_path, iteration, read_faulting_pages, write_faulting_pages, populated_pages, "
              "reloaded_pages, htod_fault_bytes, dtoh_evict_bytes, evicted_bytes, evictions FROM kernels "
              "ORDER BY operation"),
      ElementsAre(ElementsAre("init", "model", "0", "0", "512", "512", "0", "0", "0", "0", "0"),
                  ElementsAre("gradient", "model / conv", "0", "0", "512", "512", "0", "0", "2097152", "2097152", "1"),
                  ElementsAre("use", "", "0", "512", "0", "0", "512", "2097152", "2097152", "2097152", "1")));
  EXPECT_THAT(
      db.rows("SELECT read_bytes, written_bytes, working_set_bytes, compute_ns FROM kernels ORDER BY operation"),
      ElementsAre(ElementsAre("0", "2097152", "2097152", "100000"), ElementsAre("0", "2097152", "2097152", "100000"),
                  ElementsAre("2097152", "0", "2097152", "100000")));
  EXPECT_THAT(
      db.rows("SELECT name, kind, bytes, lifetime, operations, touched_bytes, populated_pages, "
              "read_faulting_pages, htod_fault_bytes, evicted_bytes FROM allocations "
              "JOIN allocation_uses USING (allocation) ORDER BY id"),
      ElementsAre(
          ElementsAre("weights", "tensor", "2097152", "program", "2", "4194304", "512", "512", "2097152", "2097152"),
          ElementsAre("grad", "tensor", "2097152", "program", "1", "2097152", "512", "0", "0", "2097152")));
  EXPECT_THAT(db.rows("SELECT path, nested, kernels, populated_pages FROM layer_sums JOIN layers USING (layer) "
                      "WHERE iteration = 0 ORDER BY layer, nested"),
              ElementsAre(ElementsAre("", "0", "1", "0"), ElementsAre("", "1", "3", "1024"),
                          ElementsAre("model", "0", "1", "512"), ElementsAre("model", "1", "2", "1024"),
                          ElementsAre("model / conv", "0", "1", "512"), ElementsAre("model / conv", "1", "1", "512")));
  EXPECT_EQ(db.number("SELECT SUM(stall_ns) FROM allocation_uses"), db.number("SELECT SUM(stall_ns) FROM kernels"));
}

TEST_F(RunProfile, HoldsTheResultOfTheRun) {
  std::vector<std::string> options = kLittleMemory;
  options.insert(options.end(), {"--json", "r.json"});
  ASSERT_EQ(run_trace(ping_pong(), options).exit_code, 0);
  const TestDatabase db(folder.path("p.sqlite"));
  EXPECT_EQ(db.text("SELECT schema FROM run"), "uvmsim.profile/1");
  EXPECT_EQ(db.text("SELECT result FROM run") + "\n", folder.read("r.json"));
}

TEST_F(RunProfile, DoesNotChangeTheResultAndIsTheSameEveryTime) {
  ASSERT_EQ(run_trace(two_iterations(16), {"--osf", "2", "--json", "a.json"}).exit_code, 0);
  ASSERT_EQ(
      run_trace(two_iterations(16), {"--osf", "2", "--json", "b.json", "--profile", "p", "--timeline", "t"}).exit_code,
      0);
  ASSERT_EQ(run_trace(two_iterations(16), {"--osf", "2", "--profile", "q"}).exit_code, 0);
  EXPECT_EQ(folder.read("a.json"), folder.read("b.json"));
  EXPECT_EQ(folder.read("p"), folder.read("q"));
  EXPECT_THAT(folder.names(), ElementsAre("a.json", "b.json", "p", "q", "t", "trace.jsonl"));
}

// The run is also compared with one without a limit: the profile shows the limited one.
TEST_F(RunProfile, ShowsTheRunThatWasAskedFor) {
  ASSERT_EQ(run_trace(two_iterations(16), {"--osf", "4", "--profile", "p"}).exit_code, 0);
  const TestDatabase db(folder.path("p"));
  EXPECT_EQ(nlohmann::json::parse(db.text("SELECT result FROM run"))["osf_thousandths"], 4000);
  EXPECT_EQ(db.number("SELECT COUNT(*) FROM kernels"), 2);
  EXPECT_GT(db.number("SELECT SUM(evictions) FROM kernels"), 0);
}

TEST_F(RunProfile, TheGridIsAsFineAsAskedFor) {
  ASSERT_EQ(run_trace(two_iterations(64), {"--osf", "2", "--profile", "p", "--profile-grid", "20x3"}).exit_code, 0);
  const TestDatabase db(folder.path("p"));
  EXPECT_LE(db.number("SELECT time_buckets FROM heat_grid"), 20);
  EXPECT_GT(db.number("SELECT time_buckets FROM heat_grid"), 10);
  EXPECT_EQ(db.number("SELECT bucket_bytes * address_buckets FROM heat_grid"), 64 << 20);
}

TEST_F(RunProfile, NamesFromATraceCannotBreakIt) {
  const std::string trace =
      trace_of({alloc(1, 4096), R"({"t":"range","kind":"push","name":"a' / \"b\u0000"})",
                R"({"t":"kernel","name":"'; DROP TABLE run; --","grid":[1,1,1],"block":[32,1,1],"duration_ns":10,)"
                R"("accesses":[[1,[[0,1,"w"]]]]})",
                R"({"t":"range","kind":"pop"})"});
  ASSERT_EQ(run_trace(trace, {"--profile", "p"}).exit_code, 0);
  const TestDatabase db(folder.path("p"));
  EXPECT_EQ(db.text("SELECT name FROM kernels"), "'; DROP TABLE run; --");
  EXPECT_EQ(db.text("SELECT name FROM layers WHERE layer = 1"), std::string("a' / \"b\0", 8));
}

TEST_F(RunProfile, IsRefusedWhereItMakesNoSense) {
  const std::string trace = two_iterations(4);
  expect_one_line_error(run_trace(trace, {"--osf", "1,2", "--profile", "p"}), {"--profile", "one run"});
  expect_one_line_error(run_trace(trace, {"--json", "p", "--profile", "p"}), {"--json and --profile", "two files"});
  expect_one_line_error(run_trace(trace, {"--profile-grid", "8x8"}), {"--profile-grid", "--profile"});
  for (const char* grid : {"8", "8x", "x8", "0x8", "8x0", "8x5000", "8x8x8", "-1x4", "99999999999999999999x1"}) {
    expect_one_line_error(run_trace(trace, {"--profile", "p", "--profile-grid", grid}), {"--profile-grid"});
  }
  expect_one_line_error(run_trace(trace, {"--profile", "no/p"}), {"no/p"});
  EXPECT_THAT(folder.names(), ElementsAre("trace.jsonl"));
}

TEST_F(RunProfile, AFailedRunLeavesNone) {
  const auto result = run_trace(trace_of({alloc(1, 4096), kernel(1, 0, 100)}), {"--profile", "p"});
  expect_one_line_error(result, {"trace.jsonl"});
  EXPECT_THAT(folder.names(), ElementsAre("trace.jsonl"));
}

}  // namespace
}  // namespace uvmsim
