// SPDX-License-Identifier: Apache-2.0
#include "tests/ground_truth/expect_as_listed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "sim/validate/validation_report.h"
#include "tests/ground_truth/known_differences.h"

namespace uvmsim::ground_truth {

void expect_as_listed(const validate::Validation& validation) {
  Differences found;
  std::set<std::string> checked;
  for (const validate::Comparison& comparison : validation.comparisons) {
    checked.insert(comparison.name);
    for (const validate::Failure& failure : comparison.failures) found[comparison.name].insert(failure.check);
  }
  for (const validate::ClassSummary& summary : validation.classes) {
    const std::string name = std::string("class ") + class_name(summary.experiment_class);
    checked.insert(name);
    for (const validate::Failure& failure : summary.failures) found[name].insert(failure.check);
  }
  EXPECT_THAT(compare_with_known(found, checked), ::testing::IsEmpty());
}

void expect_table_in_readme(const std::string& table, const std::string& mark) {
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/README.md";
  std::ifstream file(path, std::ios::binary);
  const std::string before{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string after = validate::with_table(before, table, mark);
  if (std::getenv("UVMSIM_UPDATE_GROUND_TRUTH") != nullptr) {
    std::ofstream(path, std::ios::binary) << after;
  } else {
    EXPECT_TRUE(before == after) << "tests/ground_truth/README.md shows another table; it says how to write it";
  }
}

}  // namespace uvmsim::ground_truth
