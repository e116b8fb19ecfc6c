// The shipped experiments, replayed: measured against simulated, all of them.
#include "sim/validate/validation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/load_system.h"
#include "sim/validate/validation_report.h"
#include "tests/ground_truth/known_differences.h"

namespace uvmsim::validate {
namespace {

using ground_truth::Differences;

Validation validate_shipped(const std::string& name) {
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/data/" + name;
  const Validation validation = validate(read_experiments(path), config::load_system("h200-sxm-pcie5"));
  fmt::print("{}\n", validation_text(validation));
  return validation;
}

// Names are "<experiment>" and "class <class>".
void expect_as_listed(const Validation& validation) {
  Differences found;
  std::set<std::string> checked;
  for (const Comparison& comparison : validation.comparisons) {
    checked.insert(comparison.name);
    for (const Failure& failure : comparison.failures) found[comparison.name].insert(failure.check);
  }
  for (const ClassSummary& summary : validation.classes) {
    const std::string name = std::string("class ") + class_name(summary.experiment_class);
    checked.insert(name);
    for (const Failure& failure : summary.failures) found[name].insert(failure.check);
  }
  EXPECT_THAT(ground_truth::compare_with_known(found, checked), ::testing::IsEmpty());
}

TEST(GroundTruth, KnownAccesses) {
  const Validation validation = validate_shipped("uvm_h200_dev.jsonl.zst");
  EXPECT_EQ(validation.comparisons.size(), 77u);
  expect_as_listed(validation);
}

TEST(GroundTruth, LibraryKernels) {
  const Validation validation = validate_shipped("library_kernels_h200_dev.jsonl.zst");
  EXPECT_EQ(validation.comparisons.size(), 20u);
  expect_as_listed(validation);
}

// The list names only what a test checks.
TEST(GroundTruth, TheListNamesNothingElse) {
  std::set<std::string> names{"gpt2", "resnet50"};
  for (const char* name : {"ordered", "parallel", "library", "cpu", "prefetch"}) {
    names.insert(std::string("class ") + name);
  }
  for (const char* file : {"uvm_h200_dev.jsonl.zst", "library_kernels_h200_dev.jsonl.zst"}) {
    const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/data/" + file;
    for (const Experiment& experiment : read_experiments(path).experiments) names.insert(experiment.name);
  }
  for (const char* factor : {"0.5", "0.75", "1", "1.25", "1.5"}) names.insert(std::string("seq_stream ") + factor);
  for (const auto& [name, checks] : ground_truth::load_known_differences()) {
    EXPECT_TRUE(names.count(name) == 1) << name;
  }
}

}  // namespace
}  // namespace uvmsim::validate
