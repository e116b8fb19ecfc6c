// SPDX-License-Identifier: Apache-2.0
// Replays all shipped experiments: measured against simulated.
#include "sim/validate/validation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "sim/config/load_system.h"
#include "sim/validate/validation_report.h"
#include "tests/ground_truth/campaigns.h"
#include "tests/ground_truth/expect_as_listed.h"

namespace uvmsim::validate {
namespace {

using ground_truth::expect_as_listed;

constexpr std::array kFiles = {"uvm_h200_dev.jsonl.zst", "library_kernels_h200_dev.jsonl.zst"};

Validation validate_shipped(const std::string& name, const std::string& system = "h200-sxm-pcie5") {
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/data/" + name;
  const Validation validation = validate({read_experiments(path)}, config::load_system(system));
  fmt::print("{}\n", validation_text(validation));
  return validation;
}

TEST(GroundTruth, KnownAccesses) {
  const Validation validation = validate_shipped(kFiles[0]);
  EXPECT_EQ(validation.comparisons.size(), 77u);
  expect_as_listed(validation);
}

TEST(GroundTruth, LibraryKernels) {
  const Validation validation = validate_shipped(kFiles[1]);
  EXPECT_EQ(validation.comparisons.size(), 20u);
  expect_as_listed(validation);
}

// These were measured later, with another program on another machine of the same kind, 106 shapes twice each. The
// model's order of events within one thread was never fitted to them. The order in which faults arrive from many
// threads was, to the first of each pair.
TEST(GroundTruth, SecondMeasurementOfOneThreadIsExact) {
  const Validation validation = validate_shipped("uvm_h200_second.jsonl.zst");
  std::size_t ordered = 0;
  for (const Comparison& comparison : validation.comparisons) {
    const bool by_one_thread = comparison.experiment_class == ExperimentClass::kOrdered;
    ordered += by_one_thread ? 1 : 0;
    EXPECT_TRUE(!by_one_thread || comparison.exact()) << comparison.name;
    EXPECT_LE(comparison.htod_bytes.error(), 3) << comparison.name;
    EXPECT_LE(comparison.dtoh_bytes.error(), 3) << comparison.name;
  }
  EXPECT_EQ(ordered, 134u);
}

bool starts_with(const Comparison& comparison, const std::string& text) { return comparison.name.rfind(text, 0) == 0; }

// Memory of another GPU. Which pages fault, which bytes move in which transaction and which pages are mapped follow
// from the driver's rules; the order of events had been chosen by four such programs before these 52 were measured.
TEST(GroundTruth, MemoryOfAnotherGpu) {
  const Validation validation = validate_shipped("peers_h200_x2.jsonl.zst", "hgx-h200-x2");
  std::size_t ordered = 0, in_place = 0;
  for (const Comparison& comparison : validation.comparisons) {
    EXPECT_LE(comparison.dtod_bytes.error(), 3) << comparison.name;
    EXPECT_LE(comparison.htod_bytes.error(), 3) << comparison.name;
    if (comparison.experiment_class == ExperimentClass::kOrdered) {
      ++ordered;
      EXPECT_TRUE(comparison.same_pages) << comparison.name;
      EXPECT_TRUE(comparison.same_transactions) << comparison.name;
      EXPECT_TRUE(comparison.same_remote_maps) << comparison.name;
    }
    if (starts_with(comparison, "peer_in_place_")) {
      ++in_place;
      EXPECT_EQ(comparison.batches.simulated, 0u) << comparison.name;
      EXPECT_LE(comparison.time_ns.error(), 5) << comparison.name;
    }
  }
  EXPECT_EQ(ordered, 52u);
  EXPECT_EQ(in_place, 4u);
  for (const ClassSummary& summary : validation.classes) {
    if (summary.experiment_class != ExperimentClass::kParallel) continue;
    EXPECT_LE(summary.time.median, 15);
    EXPECT_LE(summary.batches.median, 15);
  }
}

// Expects that the right bytes move, and that the median errors of time and batches, which README.md has, do not grow.
void expect_right_bytes(const Validation& validation, std::size_t experiments, double time_percent,
                        double batches_percent) {
  EXPECT_EQ(validation.comparisons.size(), experiments);
  for (const Comparison& comparison : validation.comparisons) {
    EXPECT_LE(comparison.htod_bytes.error(), 3) << comparison.name;
    EXPECT_LE(comparison.dtoh_bytes.error(), 3) << comparison.name;
  }
  for (const ClassSummary& summary : validation.classes) {
    EXPECT_LE(summary.time.median, time_percent);
    EXPECT_LE(summary.batches.median, batches_percent);
  }
}

// Loops of 4 to 16 bytes per thread in blocks of 128 to 1024 threads.
TEST(GroundTruth, LoopsOfManyShapes) { expect_right_bytes(validate_shipped("loops_h200.jsonl.zst"), 122, 17, 23); }

// Checks 45 calls of PyTorch in the same way, each with its outputs nowhere and on the host.
TEST(GroundTruth, CallsWithTheirOutputsOnEitherSide) {
  expect_right_bytes(validate_shipped("library_calls_h200.jsonl.zst"), 90, 21, 31);
}

TEST(GroundTruth, TheReadmeShowsThisTable) {
  std::vector<ExperimentFile> files;
  for (const char* name : kFiles) {
    files.push_back(read_experiments(std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/data/" + name));
  }
  const Validation validation = validate(files, config::load_system("h200-sxm-pcie5"));
  ground_truth::expect_table_in_readme(validation_markdown(validation), "validate");
}

// The list may contain only names that a test checks.
TEST(GroundTruth, TheListNamesNothingElse) {
  std::set<std::string> names{"gpt2_h200", "resnet50_h200", "gpt2",      "resnet50", "alexnet",
                              "vit",       "inception_v3",  "resnet152", "senet154"};
  for (const char* model : {"alexnet", "resnet50", "resnet101", "gpt2", "bert", "whisper"}) {
    names.insert(std::string(model) + " on the third machine");
  }
  for (const char* name : {"ordered", "parallel", "library", "cpu", "prefetch"}) {
    names.insert(std::string("class ") + name);
  }
  for (const char* file : kFiles) {
    const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/data/" + file;
    for (const Experiment& experiment : read_experiments(path).experiments) names.insert(experiment.name);
  }
  for (const Experiment& experiment : ground_truth::campaigns()) names.insert(experiment.name);
  for (const auto& [name, checks] : ground_truth::load_known_differences()) EXPECT_TRUE(names.count(name) == 1) << name;
}

}  // namespace
}  // namespace uvmsim::validate
