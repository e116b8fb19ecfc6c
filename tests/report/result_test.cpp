// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/report/result_csv.h"
#include "sim/report/result_json.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::report {
namespace {

RunRecord example() {
  RunRecord record;
  record.trace = {"gpt2.uvmt", 1234, std::string(64, 'a')};
  record.header.program = "GPT-2, \"small\"";
  record.header.gpu = "H200";
  record.system_json = R"({"name":"h200","b":1,"a":2})";
  record.options.system.name = "h200";
  record.options.osf_thousandths = 1500;
  record.policies = {{"prefetch", "tree", "D0", {{"threshold", "51"}, {"min_faults", "1"}}},
                     {"evict", "lrm", "D0", {}}};
  record.result.total = Nanoseconds(3000000000);
  record.result.ideal = Nanoseconds(2000000000);
  record.result.footprint_bytes = 6u << 20;
  record.result.capacity_bytes = 4u << 20;
  record.result.records = 42;
  record.result.counters.fault_batches = 7;
  record.result.counters.gmmu.lookups = 9;
  IterationResult iteration;
  iteration.index = 0;
  iteration.begin = Nanoseconds(100);
  iteration.end = Nanoseconds(1100);
  iteration.ideal = Nanoseconds(700);
  record.result.iterations.push_back(iteration);
  iteration.index = 1;
  iteration.begin = Nanoseconds(1100);
  iteration.end = Nanoseconds(1900);
  iteration.ideal = Nanoseconds(600);
  iteration.counters.fault_batches = 3;
  record.result.iterations.push_back(iteration);
  record.unlimited = UnlimitedRun{Nanoseconds(2500000000), Nanoseconds(640), true, 8u << 20, false};
  return record;
}

TEST(ResultJson, HoldsTheRun) {
  const std::string text = result_json(example());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["schema"], "uvmsim.result/3");
  EXPECT_EQ(json["trace"]["sha256"], std::string(64, 'a'));
  EXPECT_EQ(json["trace"]["records"], 42);
  EXPECT_EQ(json["limit"]["by"], "osf");
  EXPECT_EQ(json["limit"]["osf_thousandths"], 1500);
  EXPECT_EQ(json["osf_thousandths"], 1500);
  EXPECT_EQ(json["policies"]["prefetch"]["parameters"]["threshold"], "51");
  EXPECT_EQ(json["policies"]["evict"]["information_class"], "D0");
  EXPECT_EQ(json["total_ns"], 3000000000);
  EXPECT_EQ(json["slowdown_thousandths"], 1250) << "of the settled iteration, against the run with room for all";
  EXPECT_EQ(json["slowdown_ideal_thousandths"], 1333) << "of the same, against everything resident";
  EXPECT_EQ(json["unlimited"]["capacity_bytes"], 8u << 20);
  EXPECT_EQ(json["unlimited"]["hypothetical"], false);
  EXPECT_EQ(json["counters"]["fault_batches"], 7);
  EXPECT_EQ(json["counters"]["gmmu_lookups"], 9);
  EXPECT_EQ(json["iterations"].size(), 2u);
  EXPECT_EQ(json["iterations"][0]["quoted"], false);
  EXPECT_EQ(json["iterations"][1]["quoted"], true);
  EXPECT_EQ(json["iterations"][1]["settled"], false) << "two iterations show nothing";
  EXPECT_EQ(json["iterations"][0]["ideal_ns"], 700);
  EXPECT_EQ(json["settled"]["first_index"], 1);
  EXPECT_EQ(json["settled"]["count"], 1);
  EXPECT_EQ(json["settled"]["duration_ns"], 800);
  EXPECT_EQ(json["settled"]["ideal_ns"], 600);
  EXPECT_EQ(json["settled"]["counters"], json["iterations"][1]["counters"]);
  EXPECT_EQ(json["system"]["a"], 2);
}

// Returns a run with a learning policy: one iteration of warm-up, then passes of which the first three are slow.
RunRecord learner(std::uint64_t passes) {
  RunRecord record = example();
  record.result.iterations.clear();
  for (std::uint64_t i = 0; i <= passes; ++i) {
    IterationResult iteration;
    iteration.index = i;
    iteration.end = Nanoseconds(i <= 3 ? 4000 : 1000);
    record.result.iterations.push_back(iteration);
  }
  record.result.first_repeated = 1;
  record.result.repeated = passes;
  record.options.iterations = passes + 1;
  return record;
}

TEST(ResultJson, SaysWhetherAndWhenTheRunHasSettled) {
  const auto settled = nlohmann::json::parse(result_json(learner(12)));
  EXPECT_EQ(settled["settled"]["is_settled"], true);
  EXPECT_EQ(settled["settled"]["learning_iterations"], 4);
  EXPECT_EQ(settled["settled"]["period"], 1);
  EXPECT_EQ(settled["settled"]["exact"], false);
  EXPECT_EQ(settled["settled"]["first_index"], 4);
  EXPECT_EQ(settled["settled"]["count"], 9);
  EXPECT_EQ(settled["settled"]["duration_ns"], 1000);
  EXPECT_EQ(settled["iterations"][3]["settled"], false);
  EXPECT_EQ(settled["iterations"][4]["settled"], true);
  EXPECT_FALSE(settled.contains("until_settled"));
  RunRecord record = learner(6);
  record.options.until_settled = true;
  const auto not_yet = nlohmann::json::parse(result_json(record));
  EXPECT_EQ(not_yet["settled"]["is_settled"], false);
  EXPECT_TRUE(not_yet["settled"]["learning_iterations"].is_null());
  EXPECT_TRUE(not_yet["settled"]["period"].is_null());
  EXPECT_EQ(not_yet["settled"]["count"], 3) << "the mean of the later half of the passes";
  EXPECT_EQ(not_yet["settled"]["first_index"], 4);
  EXPECT_EQ(not_yet["settled"]["duration_ns"], 1000);
  EXPECT_EQ(not_yet["iterations"][4]["quoted"], true);
  EXPECT_EQ(not_yet["iterations"][4]["settled"], false);
  EXPECT_EQ(not_yet["until_settled"], true);
  record.result.recurring = {4, 1};
  EXPECT_EQ(nlohmann::json::parse(result_json(record))["settled"]["exact"], true);
}

TEST(ResultJson, EveryCounterIsThere) {
  const auto json = nlohmann::json::parse(result_json(example()));
  std::size_t counters = 0;
  const Counters zero;
  for_each_counter(zero, [&](const char* name, std::uint64_t) {
    EXPECT_TRUE(json["counters"].contains(name)) << name;
    ++counters;
  });
  EXPECT_EQ(json["counters"].size(), counters);
}

TEST(ResultJson, SameRunSameBytes) {
  EXPECT_EQ(result_json(example()), result_json(example()));
  // The keys of the system keep their order.
  EXPECT_NE(result_json(example()).find(R"("system":{"name":"h200","b":1,"a":2})"), std::string::npos);
}

TEST(ResultJson, NumbersAreIntegers) {
  const auto flat = nlohmann::json::parse(result_json(example())).flatten();
  for (const auto& [key, value] : flat.items()) EXPECT_FALSE(value.is_number_float()) << key;
}

TEST(ResultJson, LimitSaysHowTheCapacityWasChosen) {
  RunRecord record = example();
  record.options.capacity_bytes = 4u << 20;
  record.options.footprint_bytes = 5u << 20;
  auto json = nlohmann::json::parse(result_json(record));
  EXPECT_EQ(json["limit"]["by"], "capacity");
  EXPECT_TRUE(json["limit"]["osf_thousandths"].is_null());
  EXPECT_EQ(json["limit"]["footprint_bytes"], 5u << 20);
  record = example();
  record.options.limited = false;
  record.unlimited.reset();
  json = nlohmann::json::parse(result_json(record));
  EXPECT_TRUE(json["slowdown_thousandths"].is_null());
  EXPECT_EQ(json["limit"]["by"], "none");
  EXPECT_TRUE(json["unlimited"].is_null());
}

TEST(ResultJson, NoIterationsNoSettledOne) {
  RunRecord record = example();
  record.result.iterations.clear();
  const auto json = nlohmann::json::parse(result_json(record));
  EXPECT_TRUE(json["settled"].is_null());
  EXPECT_EQ(json["slowdown_thousandths"], 1200) << "of the whole run";
  EXPECT_EQ(json["slowdown_ideal_thousandths"], 1500);
}

TEST(ResultJson, BrokenTextInTheTraceStaysJson) {
  RunRecord record = example();
  record.header.program = "a\xff\x01\"\n";
  EXPECT_TRUE(nlohmann::json::accept(result_json(record)));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(ResultCsv, RowsPerIterationAndOneForTheRun) {
  const auto header = lines_of(result_csv_header());
  const auto rows = lines_of(result_csv_rows(example()));
  ASSERT_EQ(header.size(), 1u);
  ASSERT_EQ(rows.size(), 3u);
  const auto all = result_rows(example());
  const auto value = [&](std::size_t row, const std::string& column) {
    for (const auto& [name, text] : all[row]) {
      if (name == column) return text;
    }
    return std::string("no such column");
  };
  EXPECT_EQ(value(0, "scope"), "iteration");
  EXPECT_EQ(value(1, "iteration"), "1");
  EXPECT_EQ(value(1, "duration_ns"), "800");
  EXPECT_EQ(value(1, "ideal_ns"), "600");
  EXPECT_EQ(value(2, "ideal_ns"), "2000000000");
  EXPECT_EQ(value(1, "fault_batches"), "3");
  EXPECT_EQ(value(2, "scope"), "total");
  EXPECT_EQ(value(2, "iteration"), "");
  EXPECT_EQ(value(2, "fault_batches"), "7");
  EXPECT_EQ(value(2, "osf"), "1.500");
}

TEST(ResultCsv, EveryRowSaysWhetherTheRunHasSettled) {
  const auto values = [](const RunRecord& record) {
    std::vector<std::string> texts;
    for (const ResultRow& row : result_rows(record)) {
      std::string text;
      for (const auto& [name, value] : row) {
        if (name == "is_settled" || name == "learning_iterations" || name == "settled_period") text += value + "|";
      }
      texts.push_back(text);
    }
    EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), 1u);
    return texts.front();
  };
  EXPECT_EQ(values(learner(12)), "1|4|1|");
  EXPECT_EQ(values(learner(6)), "0|||");
  RunRecord unmarked = example();
  unmarked.result.iterations.clear();
  EXPECT_EQ(values(unmarked), "|||");
}

TEST(ResultCsv, QuotesWhatHoldsACommaOrAQuote) {
  const auto rows = lines_of(result_csv_rows(example()));
  EXPECT_NE(rows[0].find("\"tree:threshold=51,min_faults=1\""), std::string::npos);
  RunRecord record = example();
  record.trace.name = "a\"b,c";
  EXPECT_NE(result_csv_rows(record).find("\"a\"\"b,c\""), std::string::npos);
}

TEST(RunRecord, InputsAreNamedByContentNotByFolder) {
  const ScratchFolder folder;
  const InputFile file = describe_input(folder.write("x.uvmt", "abc"));
  EXPECT_EQ(file.name, "x.uvmt");
  EXPECT_EQ(file.bytes, 3u);
  EXPECT_EQ(file.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace uvmsim::report
