// SPDX-License-Identifier: Apache-2.0
// Tests of kernels whose name says an access pattern that their grid or sizes do not fit: every output says that a
// coarser pattern was played, and none says so of a kernel that fits.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"
#include "tests/report/database.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kMisfitMark = "do not fit the access pattern of their name";
constexpr std::uint64_t kEachMib = 1 << 20;
constexpr const char* kProduct = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_stage3";
constexpr const char* kConvolution = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize128x64x8";

class Misfit : public CommandTest {
 protected:
  // Returns a kernel that reads so many bytes of object 1 and writes so many of object 2.
  static std::string named(const std::string& name, const std::string& grid, std::uint64_t read, std::uint64_t written,
                           const std::string& distribution = "block_linear") {
    return fmt::format(R"({{"t":"kernel","name":"{}","grid":{},"block":[256,1,1],"duration_ns":100000,)"
                       R"("distribution":"{}","accesses":[[1,[[0,{},"r"]]],[2,[[0,{},"w"]]]]}})",
                       name, grid, distribution, read / 4096, written / 4096);
  }
  static std::string product(const std::string& grid) {  // of two 256 x 256 matrices of 4-byte numbers
    return named(kProduct, grid, 256 << 10, 256 << 10, "tiled");
  }
  static std::vector<std::string> with_objects(std::vector<std::string> lines) {
    lines.insert(lines.begin(), {alloc(1, 8 * kEachMib), alloc(2, 8 * kEachMib)});
    return lines;
  }
  // Runs one kernel, whose output must say that it does not fit or say nothing.
  void expect_mark(bool marked, const std::string& kernel, std::uint64_t images = 0) {
    SCOPED_TRACE(kernel);
    std::string trace = trace_of(with_objects({kernel}));
    const std::string attributes = fmt::format(R"("attributes":[["images","{}"]],"tool")", images);
    if (images != 0) trace.replace(trace.find(R"("tool")"), 6, attributes);
    const CommandResult result = run_trace(trace, {"--json", "r.json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out.find(kMisfitMark) != std::string::npos, marked) << result.out;
    const Json json = Json::parse(folder.read("r.json"));
    ASSERT_EQ(json.contains("pattern_misfits"), marked);
    if (marked) {
      EXPECT_EQ(json["pattern_misfits"]["kernels"], 1);
      EXPECT_EQ(json["pattern_misfits"]["launches"], 1);
    }
  }
};

TEST_F(Misfit, IsMarkedForEveryPatternThatANameSays) {
  // A matrix of 256 x 256 has 2 x 2 tiles.
  expect_mark(false, product("[2,2,1]"));
  expect_mark(true, product("[66,2,1]"));
  // A block stores 544 frequencies of 8 bytes.
  expect_mark(false, named("fft2d_r2c_32x32", "[64,1,1]", 8 * kEachMib, 8 * kEachMib));
  expect_mark(true, named("fft2d_r2c_32x32", "[4096,1,1]", 8 * kEachMib, 8 * kEachMib));
  // 4 images of 64 channels and 8192 pixels have 256 tiles of 32 pixels.
  expect_mark(false, named("nchwToNhwcKernel", "[256,2,4]", 8 * kEachMib, 8 * kEachMib));
  expect_mark(true, named("nchwToNhwcKernel", "[255,2,4]", 8 * kEachMib, 8 * kEachMib));
  // A channel's planes are known only with the number of images.
  expect_mark(false, named("bn_fw_tr_1C11_kernel_NCHW", "[64,1,1]", 8 * kEachMib, 8 * kEachMib), 4);
  expect_mark(true, named("bn_fw_tr_1C11_kernel_NCHW", "[64,1,1]", 8 * kEachMib, 8 * kEachMib));
  // 64 channels of 4 images of 1024 pixels have 32 tiles of 128 pixels.
  expect_mark(false, named(kConvolution, "[1,32,1]", kEachMib, kEachMib, "tiled"), 4);
  expect_mark(true, named(kConvolution, "[1,32,1]", kEachMib, kEachMib, "tiled"));
  expect_mark(true, named(kConvolution, "[1,31,1]", kEachMib, kEachMib, "tiled"), 4);
}

TEST_F(Misfit, IsNotMarkedWithoutAPatternOrWithoutPages) {
  expect_mark(false, named("k", "[255,2,4]", 8 * kEachMib, 8 * kEachMib));
  expect_mark(false, named("gemm", "[66,2,1]", kEachMib, kEachMib, "tiled"));
  expect_mark(false, fmt::format(R"({{"t":"kernel","name":"{}","grid":[66,2,1],"block":[256,1,1],"duration_ns":1000,)"
                                 R"("distribution":"tiled","coverage":"none","accesses":[]}})",
                                 kProduct));
}

TEST_F(Misfit, LaunchesAreCountedByNameAndByKernelOfTheProfile) {
  const std::vector<std::string> lines =
      with_objects({product("[66,2,1]"), product("[2,2,1]"), product("[66,2,1]"),
                    named("nchwToNhwcKernel", "[255,2,4]", 8 * kEachMib, 8 * kEachMib), kernel(1, 0, 16)});
  const CommandResult result = run_trace(trace_of(lines), {"--json", "r.json", "--profile", "p.sqlite"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("name: 2, 3 of 5 launches ("));
  const Json expected = {
      {"kernels", 2}, {"launches", 3}, {"launches_by_name", {{kProduct, 2}, {"nchwToNhwcKernel", 1}}}};
  EXPECT_EQ(Json::parse(folder.read("r.json"))["pattern_misfits"], expected);
  const TestDatabase db(folder.path("p.sqlite"));
  const std::vector<std::vector<std::string>> kernels = {{"1"}, {"0"}, {"1"}, {"1"}, {"0"}};
  EXPECT_EQ(db.rows("SELECT misfit FROM kernels ORDER BY operation"), kernels);
}

// Iterations that recur are counted without a replay, a profile replays them all.
TEST_F(Misfit, LaunchesOfIterationsThatAreLeftOutCount) {
  std::vector<std::string> lines = with_objects({});
  for (unsigned i = 0; i < 2; ++i) {
    for (const std::string& line : {iteration("begin", i), product("[66,2,1]"), product("[2,2,1]"),
                                    std::string(R"({"t":"sync","kind":"device"})"), iteration("end", i)}) {
      lines.push_back(line);
    }
  }
  for (const std::vector<std::string>& profile : {std::vector<std::string>{}, {"--profile", "p.sqlite"}}) {
    std::vector<std::string> options{"--iterations", "40", "--json", "r.json"};
    options.insert(options.end(), profile.begin(), profile.end());
    const CommandResult result = run_trace(trace_of(lines), options);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json json = Json::parse(folder.read("r.json"));
    EXPECT_EQ(json["counters"]["kernels"], 80);
    EXPECT_EQ(json["pattern_misfits"]["launches"], 40);
  }
}

TEST_F(Misfit, ReportsSayItAndComparisonsAreAboutNumbers) {
  for (const bool misfit : {false, true}) {
    const std::string grid = misfit ? "[66,2,1]" : "[2,2,1]";
    const CommandResult result = run_trace(trace_of(with_objects({product(grid)})), {"--json", "r.json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const CommandResult report = run({"report", "r.json", "-o", "page.html"});
    ASSERT_EQ(report.exit_code, 0) << report.err;
    const std::string said = "1 points have kernels that " + std::string(kMisfitMark);
    EXPECT_EQ(folder.read("page.html").find(said) != std::string::npos, misfit);
    const CommandResult same = run({"compare", "r.json", "r.json"});
    EXPECT_EQ(same.exit_code, 0) << same.err;
    EXPECT_THAT(same.out, Not(HasSubstr("misfit")));
  }
}

}  // namespace
}  // namespace uvmsim
