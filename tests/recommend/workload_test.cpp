// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/common/error.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::recommend {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGood = R"({
  "description": "two tables",
  "tables": {"rows": [100, 7], "lookups": [3, 1], "dimension": 16},
  "batch": 8,
  "ids": {"zipf_training": 1.15, "zipf_inference": 1.09, "range": "bounded"},
  "dense": {"bottom_mlp": [13, 16], "top_mlp": [8, 1], "precision": "fp32"},
  "sources": {"/tables/rows": "ours"}
})";

class WorkloadFile : public ::testing::Test {
 protected:
  // Returns the error of reading the good file with `from` replaced by `to`; empty if it is read.
  std::string problem(const std::string& from, const std::string& to) {
    std::string text = kGood;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    folder.write("mine.json", text);
    try {
      read_workload(folder.path("mine.json"));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  const ScratchFolder folder;
};

TEST_F(WorkloadFile, IsRead) {
  folder.write("mine.json", kGood);
  const Workload workload = read_workload(folder.path("mine.json"));
  EXPECT_EQ(workload.name, "mine");
  EXPECT_EQ(workload.total_rows(), 107u);
  EXPECT_EQ(workload.row_bytes(), 64u);
  EXPECT_EQ(workload.lookups_per_sample(), 4u);
  EXPECT_EQ(workload.training_zipf_thousandths, 1150u);
  EXPECT_EQ(workload.inference_zipf_thousandths, 1090u);
  EXPECT_TRUE(workload.bounded);
}

TEST_F(WorkloadFile, MistakesAreNamed) {
  EXPECT_THAT(problem("\"batch\": 8", "\"batch\": 0"),
              HasSubstr("/batch: 0 is not allowed; allowed: a whole number from 1 to"));
  EXPECT_THAT(problem("\"batch\": 8", "\"batch\": 16777216"), HasSubstr("lookups in a step"));
  EXPECT_THAT(problem("\"batch\": 8", "\"batch\": -1"), HasSubstr("/batch"));
  EXPECT_THAT(problem("\"batch\": 8", "\"batch\": 8.5"), HasSubstr("/batch"));
  EXPECT_THAT(problem("\"batch\": 8,", ""), HasSubstr("the key 'batch' is missing"));
  EXPECT_THAT(problem("\"batch\"", "\"bacth\""), HasSubstr("unknown key 'bacth'"));
  EXPECT_THAT(problem("\"lookups\": [3, 1]", "\"lookups\": [3]"), HasSubstr("1 numbers for 2 tables"));
  EXPECT_THAT(problem("[100, 7]", "[]"), HasSubstr("/tables/rows"));
  EXPECT_THAT(problem("[100, 7]", "[100, 0]"), HasSubstr("/tables/rows/1: 0"));
  EXPECT_THAT(problem("[100, 7]", "[1099511627776, 1099511627776]"), HasSubstr("bytes of tables"));
  EXPECT_THAT(problem("[100, 7]", "7"), HasSubstr("a list"));
  EXPECT_THAT(problem("\"dimension\": 16", "\"dimension\": 15"), HasSubstr("power of two"));
  EXPECT_THAT(problem("\"dimension\": 16", "\"dimension\": 32"), HasSubstr("allowed: the tables' dimension, 32"));
  EXPECT_THAT(problem("1.15", "1.1234"), HasSubstr("three decimals"));
  EXPECT_THAT(problem("1.15", "-1"), HasSubstr("/ids/zipf_training"));
  EXPECT_THAT(problem("1.15", "1e300"), HasSubstr("/ids/zipf_training"));
  EXPECT_THAT(problem("bounded", "endless"), HasSubstr("one of wrapped, bounded"));
  EXPECT_THAT(problem("fp32", "fp31"), HasSubstr("one of fp32, tf32, half"));
  EXPECT_THAT(problem("\"/tables/rows\": \"ours\"", "\"/tables/columns\": \"ours\""), HasSubstr("names nothing"));
  EXPECT_THAT(problem("\"/tables/rows\": \"ours\"", "\"tables\": \"ours\""), HasSubstr("names nothing"));
  EXPECT_THAT(problem("\"/tables/rows\": \"ours\"", "\"/tables/rows\": 1"), HasSubstr("a text"));
  EXPECT_THAT(problem("two tables", "\\u0007\" \"x"), HasSubstr("mine.json"));
  EXPECT_EQ(problem("two tables", "three"), "");
}

TEST(Workloads, UnknownNamesGiveTheKnownOnes) {
  try {
    read_workload("no_such_workload");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("criteo_1tb"));
  }
}

// seed-systems.md, section D4.
TEST(Workloads, ShippedOnesHaveThePublishedShapes) {
  const Workload criteo = read_workload("criteo_1tb");
  EXPECT_EQ(criteo.rows.size(), 26u);
  EXPECT_EQ(criteo.total_rows(), 177944275u);
  EXPECT_EQ(criteo.lookups_per_sample(), 26u);
  EXPECT_NEAR(static_cast<double>(criteo.bytes()) / (1 << 30), 84.9, 0.05);
  const Workload dcn = read_workload("dcnv2_multi_hot");
  EXPECT_EQ(dcn.total_rows(), 204184588u);
  EXPECT_EQ(dcn.lookups_per_sample(), 214u);
  EXPECT_NEAR(static_cast<double>(dcn.bytes()) / (1 << 30), 97.4, 0.05);
  const Workload kaggle = read_workload("kaggle");
  EXPECT_EQ(kaggle.total_rows(), 33762577u);
  EXPECT_NEAR(static_cast<double>(kaggle.bytes()) / (1 << 30), 2.0, 0.05);
  EXPECT_NEAR(static_cast<double>(read_workload("kaggle_dim128").bytes()) / (1 << 30), 16.1, 0.05);
  EXPECT_GT(read_workload("tables_4tb").bytes(), 4000000000000u);
}

}  // namespace
}  // namespace uvmsim::recommend
