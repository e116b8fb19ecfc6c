// SPDX-License-Identifier: Apache-2.0
// Tests of traces that are damaged or inconsistent: they are refused in one line with file and record, or used up to
// the damage.
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "sim/trace/writer.h"
#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;

class BadTrace : public CommandTest {
 protected:
  void expect_error(const std::vector<std::string>& lines, const std::vector<std::string>& words) {
    SCOPED_TRACE(::testing::PrintToString(lines));
    std::vector<std::string> all{"trace.jsonl"};
    all.insert(all.end(), words.begin(), words.end());
    const auto result = run_trace(trace_of(lines), {"--json", "r.json"});
    expect_one_line_error(result, all);
    EXPECT_FALSE(std::filesystem::exists(folder.path("r.json")));
  }

  // Returns several frames of kernels, as .uvmt.
  std::string long_trace() {
    std::string bytes;
    trace::TraceWriter writer(bytes, trace::TraceFormat::kUvmt, trace::Header{});
    trace::ObjectAlloc object;
    object.id = 1;
    object.bytes = 64 << 20;
    writer.write(object);
    for (std::uint64_t k = 0; k < 4000; ++k) {
      trace::Kernel kernel;
      kernel.name = std::string(1000, 'k') + std::to_string(k);  // different names fill the frames
      kernel.grid = {1, 1, 1};
      kernel.block = {32, 1, 1};
      kernel.duration_ns = 1000;
      kernel.accesses = {{1, {{k * 8, 8, trace::AccessMode::kReadWrite}}}};
      writer.write(kernel);
    }
    writer.finish();
    return bytes;
  }

  CommandResult run_file(const std::string& content, const std::vector<std::string>& options = {}) {
    folder.write("cut.uvmt", content);
    std::vector<std::string> arguments{"run", "cut.uvmt", "--system", "h200-sxm-pcie5"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run(arguments);
  }
};

TEST_F(BadTrace, NoSuchFile) {
  expect_one_line_error(run({"run", "gone.uvmt", "--system", "h200-sxm-pcie5"}), {"gone.uvmt", "No such file"});
  expect_one_line_error(run({"run", ".", "--system", "h200-sxm-pcie5"}), {"directory"});
}

TEST_F(BadTrace, NotATrace) {
  expect_one_line_error(run_file(""), {"cut.uvmt", "empty"});
  expect_one_line_error(run_file("hello\n"), {"cut.uvmt", "not a trace"});
  expect_one_line_error(run_file(std::string(1000, '\0')), {"cut.uvmt", "not a trace"});
  expect_one_line_error(run_file("{\"t\":\"kernel\"}\n"), {"cut.uvmt", "header"});
}

TEST_F(BadTrace, CutOffIsRefusedUnlessPartial) {
  const std::string whole = long_trace();
  const std::string cut = whole.substr(0, whole.size() * 3 / 4);
  expect_one_line_error(run_file(cut), {"cut.uvmt", "--partial"});

  const auto partial = run_file(cut, {"--partial", "--json", "-"});
  ASSERT_EQ(partial.exit_code, 0) << partial.err;
  EXPECT_THAT(partial.err, HasSubstr("cut.uvmt"));
  const auto r = nlohmann::json::parse(partial.out);
  EXPECT_EQ(r["trace"]["partial"], true);
  EXPECT_GT(r["trace"]["records"], 100);
  EXPECT_LT(r["trace"]["records"], 4001);

  const auto intact = run_file(whole, {"--partial", "--json", "-"});
  ASSERT_EQ(intact.exit_code, 0) << intact.err;
  EXPECT_EQ(nlohmann::json::parse(intact.out)["trace"]["partial"], false);
  EXPECT_EQ(nlohmann::json::parse(intact.out)["trace"]["records"], 4001);
}

TEST_F(BadTrace, DamagedBytesAreNoticed) {
  std::string bytes = long_trace();
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  expect_one_line_error(run_file(bytes), {"cut.uvmt", "frame", "--partial"});
  EXPECT_EQ(run_file(bytes, {"--partial"}).exit_code, 0);
}

TEST_F(BadTrace, CutOffJsonLines) {
  std::string text = two_iterations(4);
  text.resize(text.size() - 10);
  expect_one_line_error(run_trace(text), {"trace.jsonl", "--partial"});
  EXPECT_EQ(run_trace(text, {"--partial"}).exit_code, 0);
}

TEST_F(BadTrace, UnknownRecordOrKey) {
  expect_error({R"({"t":"object_aloc","id":1,"bytes":4096})"}, {"record 1", "line 2", "object_aloc"});
  expect_error({R"({"t":"object_alloc","id":1,"byte":4096})"}, {"record 1", "line 2", "byte"});
  expect_error({R"({"id":1})"}, {"record 1"});
  expect_error({"[]"}, {"record 1"});
  expect_error({"nonsense"}, {"record 1", "line 2"});
}

TEST_F(BadTrace, WrongTypeOrRange) {
  expect_error({R"({"t":"object_alloc","id":1,"bytes":"4096"})"}, {"record 1", "bytes"});
  expect_error({R"({"t":"object_alloc","id":1,"bytes":-1})"}, {"record 1", "bytes"});
  expect_error({R"({"t":"object_alloc","id":1,"bytes":1.5})"}, {"record 1", "bytes"});
  expect_error({R"({"t":"object_alloc","id":1,"bytes":0})"}, {"record 1"});
  expect_error({R"({"t":"object_alloc","id":1,"bytes":18446744073709551615})"}, {"record 1"});
  expect_error({alloc(1, 4096), R"({"t":"kernel","name":"k","grid":[1,1,1],"block":[32,1,1],"duration_ns":-5})"},
               {"record 2", "duration_ns"});
}

TEST_F(BadTrace, TouchOfMemoryNeverAllocated) { expect_error({kernel(7, 0, 1)}, {"record 1", "object 7", "never"}); }

// A huge grid in a file takes no time: only blocks that touch memory do.
TEST_F(BadTrace, BlocksThatTouchNothingTakeNoTime) {
  for (const char* distribution : {"grid_stride", "thread_chunk"}) {
    const auto start = std::chrono::steady_clock::now();
    const std::string huge =
        fmt::format(R"({{"t":"kernel","name":"k","grid":[2147483647,1,1],"block":[256,1,1],"duration_ns":100000,)"
                    R"("distribution":"{}","accesses":[[1,[[0,2048,"rw"]]]]}})",
                    distribution);
    EXPECT_EQ(run_trace(trace_of({alloc(1, 8 << 20), huge}), {"--osf", "2"}).exit_code, 0);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << distribution;
  }
}

TEST_F(BadTrace, TouchOfFreedMemory) {
  expect_error({alloc(1, 4096), release(1), kernel(1, 0, 1)}, {"record 3", "object 1", "freed"});
}

TEST_F(BadTrace, TouchBeyondTheEnd) {
  expect_error({alloc(1, 8192), kernel(1, 2, 1)}, {"record 2", "object 1"});
  expect_error({alloc(1, 8192), kernel(1, 1152921504606846975, 1)}, {"record 2"});
}

TEST_F(BadTrace, DoubleFree) {
  expect_error({alloc(1, 4096), release(1), release(1)}, {"record 3", "object 1", "freed"});
  expect_error({release(9)}, {"record 1", "object 9"});
}

TEST_F(BadTrace, DoubleAllocation) { expect_error({alloc(1, 4096), alloc(1, 4096)}, {"record 2", "1"}); }

TEST_F(BadTrace, OverlappingAllocations) {
  expect_error({alloc(1, 4 << 20, 0x7f0000000000), alloc(2, 4096, 0x7f0000200000)}, {"record 2", "overlap"});
}

TEST_F(BadTrace, IterationsThatDoNotMatch) {
  expect_error({iteration("begin", 0), iteration("begin", 1)}, {"record 2", "iteration"});
  expect_error({iteration("end", 0)}, {"record 1", "iteration"});
}

// A mistake at the end of a long trace is found before anything is simulated or written.
TEST_F(BadTrace, MistakesAreFoundBeforeTheSimulation) {
  std::vector<std::string> lines{alloc(1, 4 << 20)};
  for (int i = 0; i < 100; ++i) lines.push_back(kernel(1, 0, 1024));
  lines.push_back(release(2));
  expect_error(lines, {"record 102", "object 2"});
}

}  // namespace
}  // namespace uvmsim
