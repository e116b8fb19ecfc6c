// SPDX-License-Identifier: Apache-2.0
// The file of a baseline: read strictly, written so that it reads the same again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/baseline/baseline.h"
#include "sim/common/error.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::baseline {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

Json example() {
  return Json::parse(R"({
    "schema": "uvmsim.baseline/1",
    "description": "two points",
    "tolerances": {"*_ns": "0.5 %"},
    "points": [
      {
        "name": "gpt2 at 1.5",
        "trace_sha256": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "inputs": {"trace": "traces/gpt2.uvmt", "system": "h200-sxm-pcie5", "osf_thousandths": 1500},
        "expected": {"total_ns": 1000, "evictions": 5}
      },
      {
        "name": "mine",
        "trace_sha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        "inputs": {"trace": "./gpt2.uvmt", "system": "./mine.json", "seed": 7, "plugins": ["build/mine.so"],
                   "evict": {"name": "mine", "parameters": {"window": "4"}}},
        "tolerances": {"evictions": 2, "total_ns": "10 us"},
        "expected": {"total_ns": 2000, "evictions": 9}
      }
    ]
  })");
}

class BaselineFile : public ::testing::Test {
 protected:
  Baseline read(const Json& json) const { return read_baseline(folder_.write("b.json", json.dump())); }

  std::string message_of(const Json& json) const {
    try {
      read(json);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  const ScratchFolder folder_;
};

TEST_F(BaselineFile, HoldsPointsAndWhatIsExpectedOfThem) {
  const Baseline baseline = read(example());
  EXPECT_EQ(baseline.description, "two points");
  ASSERT_EQ(baseline.points.size(), 2u);
  const BaselinePoint& first = baseline.points[0];
  EXPECT_EQ(first.name, "gpt2 at 1.5");
  EXPECT_EQ(first.point.osf_thousandths, 1500u);
  EXPECT_EQ(first.point.prefetch.name, "tree");  // the default
  EXPECT_EQ(first.expected, (compare::Metrics{{"total_ns", 1000}, {"evictions", 5}}));
  EXPECT_EQ(baseline.points[1].point.evict.parameters[0].second, "4");
}

TEST_F(BaselineFile, ThePointsOwnTolerancesGoBeforeThoseOfAll) {
  const Baseline baseline = read(example());
  EXPECT_EQ(baseline.tolerance(baseline.points[0], "total_ns").text(), "0.5 %");
  EXPECT_EQ(baseline.tolerance(baseline.points[0], "evictions").text(), "exact");
  EXPECT_EQ(baseline.tolerance(baseline.points[1], "total_ns").text(), "10 us");
  EXPECT_EQ(baseline.tolerance(baseline.points[1], "evictions").text(), "2");
}

TEST_F(BaselineFile, WrittenItReadsTheSameAgain) {
  const std::string text = baseline_text(read(example()));
  EXPECT_EQ(baseline_text(read(Json::parse(text))), text);
  const Json written = Json::parse(text);
  EXPECT_EQ(written["points"][1]["tolerances"]["evictions"], 2);
  EXPECT_EQ(written["points"][1]["tolerances"]["total_ns"], "10 us");
  for (const std::size_t i : {0u, 1u}) {  // numbers without defaults, in any order
    EXPECT_EQ(nlohmann::json(written["points"][i]["inputs"]), nlohmann::json(example()["points"][i]["inputs"]));
  }
  EXPECT_THAT(text, EndsWith("}\n"));
}

TEST_F(BaselineFile, PathsAreRelativeToItsFolder) {
  const BaselinePoint mine = read(example()).points[1];
  const sweep::Point here = from_folder_of("some/where/b.json", mine.point);
  EXPECT_EQ(std::filesystem::path(here.trace).lexically_normal(), "some/where/gpt2.uvmt");
  EXPECT_EQ(std::filesystem::path(here.system).lexically_normal(), "some/where/mine.json");
  EXPECT_EQ(here.plugins[0], "some/where/build/mine.so");
  // A system's name is looked up, wherever the baseline file is.
  EXPECT_EQ(from_folder_of("some/where/b.json", read(example()).points[0].point).system, "h200-sxm-pcie5");
  // For a baseline in the current folder it is still a path, never a name.
  EXPECT_THAT(from_folder_of("b.json", mine.point).system, HasSubstr("/"));
}

TEST_F(BaselineFile, PathsFindTheirWayBack) {
  sweep::Point point;
  point.trace = folder_.path("traces/gpt2.uvmt");
  point.system = folder_.path("mine.json");
  point.plugins = {folder_.path("../build/mine.so")};
  const std::string baseline = folder_.path("checks/b.json");
  const sweep::Point stored = to_folder_of(baseline, point);
  EXPECT_EQ(stored.trace, "../traces/gpt2.uvmt");
  EXPECT_EQ(stored.system, "../mine.json");
  EXPECT_THAT(stored.plugins[0], AllOf(HasSubstr("../build/mine.so"), Not(HasSubstr(folder_.path()))));
  EXPECT_EQ(std::filesystem::path(from_folder_of(baseline, stored).trace).lexically_normal(), point.trace);
  point.system = "h200-sxm-pcie5";
  EXPECT_EQ(to_folder_of(baseline, point).system, "h200-sxm-pcie5");
}

TEST_F(BaselineFile, EveryMistakeNamesFileKeyAndWhatIsAllowed) {
  const auto says = [&](const std::string& words) {
    return AllOf(HasSubstr(folder_.path("b.json") + ": "), HasSubstr(words));
  };
  const auto changed = [](const std::string& pointer, const Json& value) {
    Json json = example();
    json[Json::json_pointer(pointer)] = value;
    return json;
  };
  const auto without = [](const std::string& parent, const std::string& key) {
    Json json = example();
    (parent.empty() ? json : json[Json::json_pointer(parent)]).erase(key);
    return json;
  };
  EXPECT_THAT(message_of(Json::array()), says("/: [] is not allowed; allowed: an object"));
  EXPECT_THAT(message_of(changed("/schema", "uvmsim.baseline/9")),
              says("/schema: \"uvmsim.baseline/9\" is not allowed; allowed: one of uvmsim.baseline/"));
  EXPECT_THAT(message_of(changed("/shema", 1)), says("/: unknown key 'shema' (did you mean 'schema'?)"));
  EXPECT_THAT(message_of(changed("/description", "a\nb")),
              says("/description: \"a\\nb\" is not allowed; allowed: one line of text"));
  EXPECT_THAT(message_of(without("", "points")), says("/: the key 'points' is missing"));
  EXPECT_THAT(message_of(changed("/points", Json::array())),
              says("/points: [] is not allowed; allowed: a list of at least one point"));
  for (const char* key : {"name", "trace_sha256", "inputs", "expected"}) {
    EXPECT_THAT(message_of(without("/points/1", key)),
                says(std::string("/points/1: the key '") + key + "' is missing"));
  }
  EXPECT_THAT(message_of(changed("/points/1/expect", 1)), says("/points/1: unknown key 'expect'"));
  EXPECT_THAT(message_of(changed("/points/1/name", "gpt2 at 1.5")), says("/points/1/name: 'gpt2 at 1.5' is the name"));
  EXPECT_THAT(message_of(changed("/points/1/name", "")), says("/points/1/name: has 0 characters"));
  EXPECT_THAT(message_of(changed("/points/1/name", std::string(201, 'x'))), says("has 201 characters"));
  EXPECT_THAT(message_of(changed("/points/0/trace_sha256", "abc")), says("/points/0/trace_sha256: is no SHA-256"));
  EXPECT_THAT(message_of(changed("/points/0/trace_sha256", 5)),
              says("/points/0/trace_sha256: 5 is not allowed; allowed: a text"));
  EXPECT_THAT(message_of(changed("/points/0/inputs/osff", 1)), says("/points/0/inputs: unknown key 'osff'"));
  EXPECT_THAT(message_of(changed("/points/0/inputs/seed", "one")),
              says("/points/0/inputs/seed: \"one\" is not allowed"));
  EXPECT_THAT(message_of(changed("/points/0/inputs/capacity_bytes", 4096)), says("both set the capacity"));
  EXPECT_THAT(message_of(changed("/points/0/inputs/trace", "-")), says("/inputs/trace: is standard input"));
  EXPECT_THAT(message_of(without("/points/0/inputs", "system")), says("/points/0/inputs/system: is missing"));
  EXPECT_THAT(message_of(changed("/points/0/expected", Json::object())),
              says("/points/0/expected: {} is not allowed; allowed: an object of at least one metric"));
  EXPECT_THAT(message_of(changed("/points/0/expected/evictions", -1)),
              says("/points/0/expected/evictions: -1 is not allowed"));
  EXPECT_THAT(message_of(changed("/points/0/expected/evictions", 1.5)), says("allowed: a whole number of at least 0"));
  EXPECT_THAT(message_of(changed("/tolerances/evictions", "lots")),
              says("/tolerances/evictions: 'lots' is no tolerance"));
  EXPECT_THAT(message_of(changed("/tolerances/evictions", true)), says("/tolerances/evictions: true is not allowed"));
  EXPECT_THAT(message_of(changed("/tolerances/evictons", 1)), says("/tolerances: 'evictons' matches no metric"));
  EXPECT_THAT(message_of(changed("/points/1/tolerances/total", 1)),
              says("/points/1/tolerances: 'total' matches no metric"));
  EXPECT_THAT(message_of(changed("/tolerances", 5)), says("/tolerances: 5 is not allowed; allowed: an object"));
  EXPECT_THAT(message_of(changed("/points/0/inputs", 5)), says("/points/0/inputs"));
}

TEST_F(BaselineFile, IsNoOtherFile) {
  const auto message = [&](const std::string& path) -> std::string {
    try {
      read_baseline(path);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message(folder_.path("none.json")), HasSubstr("none.json: cannot be opened"));
  EXPECT_THAT(message(folder_.path()), HasSubstr("is a directory"));
  EXPECT_THAT(message(folder_.write("b.json", "{\"schema\":")), HasSubstr("b.json: is not JSON"));
  EXPECT_THAT(message(folder_.write("b.json", R"({"schema":"x","schema":"y"})")), HasSubstr("the key is there twice"));
  EXPECT_THAT(message(folder_.write("b.json", std::string(100000, '['))), HasSubstr("nested deeper than 64 levels"));
}

}  // namespace
}  // namespace uvmsim::baseline
