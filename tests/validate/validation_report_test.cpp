// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/validation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/common/error.h"

namespace uvmsim::validate {
namespace {

using ::testing::HasSubstr;

Validation one_of_each() {
  Validation validation;
  validation.files = {"file.jsonl"};
  validation.system = "test";
  Comparison within;
  within.name = "good";
  within.experiment_class = ExperimentClass::kOrdered;
  within.basis = TimeBasis::kUnobserved;
  within.batches = {4, 4};
  within.kernel_ns = within.time_ns = within.quiet_ns = {1000000, 1100000};
  Comparison outside = within;
  outside.name = "bad";
  outside.time_ns.simulated = 1500000;
  outside.failures = {{"pages", 0}, {"time", 50}};
  validation.comparisons = {within, outside};
  ClassSummary summary;
  summary.experiments = 2;
  summary.judged = 2;
  summary.within = 1;
  summary.time.worst_name = "bad";
  validation.classes = {summary};
  return validation;
}

TEST(ValidationReport, TextNamesWhatIsOutside) {
  const std::string text = validation_text(one_of_each());
  EXPECT_THAT(text, HasSubstr("4 / 4"));
  EXPECT_THAT(text, HasSubstr("1.000 / 1.100 +10.0 %"));
  EXPECT_THAT(text, HasSubstr("1 of 2 experiments are outside the tolerances"));
  EXPECT_THAT(text, HasSubstr("  bad: pages, time 50.0 %; quiet: within"));
}

TEST(ValidationReport, ShowsWhatBatchesHeldWhereThatWasMeasured) {
  Validation validation = one_of_each();
  EXPECT_THAT(validation_text(validation), ::testing::Not(HasSubstr("SMs per batch")));
  Comparison& good = validation.comparisons[0];
  good.raw_faults = {1000, 1100};
  good.raw_faults_per_batch = {100, 90};
  good.pages_per_batch = {40, 50};
  good.sms_per_batch = {30, 30};
  const std::string text = validation_text(validation);
  EXPECT_THAT(text, HasSubstr("100 / 90"));
  EXPECT_THAT(text,
              HasSubstr("median error of 1 experiments: raw faults 10.0 %, raw faults per batch 10.0 %, pages per "
                        "batch 25.0 %, SMs per batch 0.0 % (shown, not judged)"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("correlation")));
}

TEST(ValidationReport, ShowsTheOrderOfRawFaultsWhereThatWasMeasured) {
  Validation validation = one_of_each();
  EXPECT_FALSE(nlohmann::json::parse(validation_json(validation))["experiments"][0].contains("page_order"));
  Comparison& good = validation.comparisons[0];
  good.raw_faults = {1000, 1100};
  good.raising_ns_per_batch = {2000, 2500};
  good.page_order = PageOrder{640, 0.9876, -0.25};
  const std::string text = validation_text(validation);
  EXPECT_THAT(text, HasSubstr("2000 / 2500"));
  EXPECT_THAT(text, HasSubstr("time of raising per batch 25.0 % (shown, not judged)"));
  EXPECT_THAT(text, HasSubstr("median correlation of ranks: 0.988 of 1 experiments, within batches -0.250 of 1"));
  const auto experiment = nlohmann::json::parse(validation_json(validation))["experiments"][0];
  EXPECT_EQ(experiment["raising_ns_per_batch"]["simulated"], 2500);
  EXPECT_EQ(experiment["page_order"]["pages"], 640);
  EXPECT_EQ(experiment["page_order"]["correlation_permille"], 988);
  EXPECT_EQ(experiment["page_order"]["within_batches_permille"], -250);
}

TEST(ValidationReport, SaysByWhichTimesItJudges) {
  Validation validation = one_of_each();
  EXPECT_THAT(validation_text(validation), ::testing::Not(HasSubstr("CUPTI")));
  validation.comparisons[1].basis = TimeBasis::kObserved;
  validation.classes[0].by_basis = {1, 1, 0};
  const std::string text = validation_text(validation);
  EXPECT_THAT(text, HasSubstr("1.000 / 1.500 +50.0 %*"));
  EXPECT_THAT(text, HasSubstr("* measured under CUPTI"));
  EXPECT_THAT(text, HasSubstr("times: 1 unobserved, 1 observed"));
  EXPECT_THAT(validation_markdown(validation), HasSubstr("+50.0 % (observed)"));
  const auto json = nlohmann::json::parse(validation_json(validation));
  EXPECT_EQ(json["experiments"][0]["times"], "unobserved");
  EXPECT_EQ(json["experiments"][1]["times"], "observed");
  EXPECT_EQ(json["classes"][0]["times"]["observed"], 1);
}

// All fields have the lengths that measured files have, and longer.
TEST(ValidationReport, NoLineIsWiderThanATerminal) {
  Validation validation = one_of_each();
  validation.files.assign(5, "a_file_of_experiments_with_a_long_name.jsonl.zst");
  Comparison& outside = validation.comparisons[1];
  outside.name = "embedding_16384_of_200000x128/on_host/outputs_host_rep2";
  outside.experiment_class = ExperimentClass::kLibrary;
  outside.batches = outside.transactions = {123456, 234567};
  outside.htod_bytes = outside.dtoh_bytes = {98765432109, 87654321098};
  outside.kernel_ns = outside.time_ns = outside.quiet_ns = {12345678901, 98765432109};
  for (const char* check : {"batches", "transactions", "bytes in", "bytes out", "remote maps", "time", "pages"}) {
    outside.failures.push_back({check, 12.3});
    outside.quiet_failures.push_back({check, 12.3});
  }
  validation.comparisons[0].quiet_failures = {{"time", 33}};
  ClassSummary& summary = validation.classes[0];
  summary.time.worst_name = summary.quiet.worst_name = outside.name;
  summary.failures = outside.failures;
  const std::string text = validation_text(validation);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
  EXPECT_THAT(text, HasSubstr("outside by the quiet time only:\n  good: within; quiet: time 33.0 %\n"));
  EXPECT_THAT(text, HasSubstr("12345.679 / 98765.432 +700.0 %  outside\n"));
}

// An experiment whose time is not judged does not count as within the limits.
TEST(ValidationReport, WhatIsNotJudgedIsNotWithin) {
  Validation validation = one_of_each();
  Comparison cpu = validation.comparisons[0];
  cpu.name = "turns";
  cpu.experiment_class = ExperimentClass::kCpu;
  cpu.time_ns.simulated *= 3;
  validation.comparisons = {cpu};
  validation.classes[0].judged = validation.classes[0].within = 0;
  const std::string text = validation_text(validation);
  EXPECT_THAT(text, HasSubstr("+230.0 %  not judged\n"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("within tolerances")));
  EXPECT_THAT(validation_markdown(validation), HasSubstr("| not judged | - |"));
  const auto json = nlohmann::json::parse(validation_json(validation));
  EXPECT_EQ(json["experiments"][0]["judged"], false);
  EXPECT_EQ(json["classes"][0]["judged"], 0);
  validation.comparisons[0].failures = {{"bytes in", 0}};
  EXPECT_THAT(validation_text(validation), HasSubstr("turns: bytes in"));
}

TEST(ValidationReport, JsonIsOneLineOfIntegers) {
  const std::string text = validation_json(one_of_each());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["schema"], kValidationSchema);
  EXPECT_EQ(json["within"], false);
  EXPECT_EQ(json["experiments"][1]["outside"][1]["check"], "time");
  EXPECT_EQ(json["experiments"][0]["judged_ns"]["error_permille"], 100);
}

TEST(ValidationReport, MarkdownReplacesTheTableOfADocument) {
  const std::string table = validation_markdown(one_of_each());
  EXPECT_THAT(table, HasSubstr("| good | ordered | 4 / 4 |"));
  const std::string document = "# T\n<!-- validate:begin -->\nold\n<!-- validate:end -->\ntail\n";
  const std::string updated = with_table(document, table);
  EXPECT_THAT(updated, HasSubstr("# T\n<!-- validate:begin -->\nMeasured / simulated"));
  EXPECT_THAT(updated, HasSubstr("<!-- validate:end -->\ntail\n"));
  EXPECT_EQ(updated.find("old"), std::string::npos);
  EXPECT_EQ(with_table(updated, table), updated);
  EXPECT_EQ(with_table("", table), table);
  EXPECT_THROW(with_table("<!-- validate:end -->\n", table), InputError);
}

}  // namespace
}  // namespace uvmsim::validate
