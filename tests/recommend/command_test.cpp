// SPDX-License-Identifier: Apache-2.0
// `uvmsim recommend` as a user calls it.
#include "tests/cli/command.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;
using RecommendCommand = CommandTest;

constexpr const char* kSmall = R"({
  "description": "small",
  "tables": {"rows": [20000, 7], "lookups": 2, "dimension": 128},
  "batch": 64,
  "ids": {"zipf_training": 1.15, "zipf_inference": 1.09},
  "dense": {"bottom_mlp": [13, 128], "top_mlp": [8, 1], "precision": "fp32"}
})";

TEST_F(RecommendCommand, PrintsATableAndWritesFiles) {
  folder.write("small.json", kSmall);
  const CommandResult result =
      run({"recommend", "small.json", "--system", "h200-sxm-pcie5", "--placement", "device,managed,caching_lru,vanilla",
           "--steps", "2", "--gpu-bytes", "4MiB", "--json", "out.json", "--csv", "out.csv"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("caching_lru"));
  EXPECT_THAT(folder.read("out.json"), HasSubstr("\"uvmsim.recommend/1\""));
  EXPECT_THAT(folder.read("out.csv"), HasSubstr("small,h200-sxm-pcie5,vanilla"));
}

TEST_F(RecommendCommand, WritesTracesThatRunReplays) {
  folder.write("small.json", kSmall);
  EXPECT_EQ(run({"recommend", "small.json", "--system", "h200-sxm-pcie5", "--placement", "vanilla", "--steps", "1",
                 "--gpu-bytes", "4MiB", "--write-trace", "small.uvmt"})
                .exit_code,
            0);
  EXPECT_EQ(run({"trace", "validate", "small.uvmt"}).exit_code, 0);
  EXPECT_EQ(run({"run", "small.uvmt", "--system", "h200-sxm-pcie5", "--osf", "2"}).exit_code, 0);
}

TEST_F(RecommendCommand, APlacementWithoutRoomIsOne) {
  folder.write("small.json", kSmall);
  const CommandResult result =
      run({"recommend", "small.json", "--system", "h200-sxm-pcie5", "--placement", "device,ssd", "--steps", "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("allowed: a system with an SSD tier"));
}

TEST_F(RecommendCommand, AllPlacementsAreThoseThatTheSystemCanHave) {
  folder.write("small.json", kSmall);
  const std::vector<std::string> call = {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--steps",
                                         "1",         "--warm-up",  "0",        "--gpu-bytes",    "4MiB"};
  const CommandResult without = run(call);
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr("\nvanilla "));
  EXPECT_THAT(without.out, testing::Not(HasSubstr("ssd")));
  std::vector<std::string> with_ssd = call;
  with_ssd.at(3) = "a100-pcie-80g-nvme";
  const CommandResult with = run(with_ssd);
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_THAT(with.out, HasSubstr("\nssd_prefetch "));
}

TEST_F(RecommendCommand, SaysWhatEachGpuHas) {
  folder.write("small.json", kSmall);
  const CommandResult result =
      run({"recommend", "small.json", "--system", "hgx-a100", "--gpus", "2", "--sharding", "row", "--optimizer",
           "adagrad", "--placement", "device,vanilla", "--steps", "1", "--gpu-bytes", "8MiB", "--json", "out.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("on each of 2 GPUs, sharding row, optimizer adagrad"));
  EXPECT_THAT(result.out, HasSubstr("\n1         2  10,003"));
  EXPECT_THAT(result.out, HasSubstr("between GPUs, MiB a step: pooled rows 0.125, their gradients 0.125"));
  const std::string json = folder.read("out.json");
  EXPECT_THAT(json, HasSubstr("\"state_bytes\": 5122048"));  // 10004 rows of 512 bytes
  EXPECT_THAT(json, HasSubstr("\"pooled_rows_sent_bytes\": 131072"));
}

TEST_F(RecommendCommand, MistakesAreOneLine) {
  folder.write("small.json", kSmall);
  folder.write("bad.json", "{\"description\": 1}");
  std::string wide = kSmall;  // elements of 8 bytes
  wide.replace(wide.find("\"dimension\""), 0, "\"element_bytes\": 8, ");
  folder.write("wide.json", wide);
  const std::vector<std::vector<std::string>> calls = {
      {"recommend"},
      {"recommend", "small.json"},
      {"recommend", "no_such", "--system", "h200-sxm-pcie5"},
      {"recommend", "bad.json", "--system", "h200-sxm-pcie5"},
      {"recommend", "missing.json", "--system", "h200-sxm-pcie5"},
      {"recommend", "small.json", "--system", "no_such"},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--placement", "nowhere"},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--placement", ""},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--placement", "ssd,ssd"},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--steps", "0"},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--batch", "99999999"},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--osf", "2", "--gpu-bytes", "1GiB"},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--gpu-bytes", "1MiB", "--placement", "vanilla"},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--load-factor", "1.5"},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--gpus", "2"},
      {"recommend", "small.json", "--system", "hgx-a100", "--gpus", "0"},
      {"recommend", "small.json", "--system", "hgx-a100", "--gpus", "two"},
      {"recommend", "small.json", "--system", "hgx-a100", "--gpus", "4"},  // two tables
      {"recommend", "small.json", "--system", "dgx-v100", "--gpus", "8", "--sharding", "row"},
      {"recommend", "small.json", "--system", "hgx-a100", "--gpus", "2", "--sharding", "column"},
      {"recommend", "small.json", "--system", "hgx-a100", "--optimizer", "adam"},
      {"recommend", "small.json", "--system", "hgx-a100", "--optimizer", "adagrad", "--inference"},
      {"recommend", "wide.json", "--system", "hgx-a100", "--optimizer", "adagrad"},
      {"recommend", "dcnv2_multi_hot", "--system", "hgx-a100", "--gpus", "8", "--batch", "9801"},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--write-trace", "x.uvmt"},
      {"recommend", "small.json", "--system", "h200-sxm-pcie5", "--json", "no/such/folder.json", "--steps", "1",
       "--placement", "device"},
  };
  for (const auto& call : calls) {
    const CommandResult result = run(call);
    EXPECT_EQ(result.exit_code, 2) << testing::PrintToString(call);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr("error: ")) << testing::PrintToString(call);
  }
}

}  // namespace
}  // namespace uvmsim
