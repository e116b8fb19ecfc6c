// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "sim/formats/json.h"
#include "tests/compare/results.h"

namespace uvmsim::compare {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

std::string message_of(const Json& result) {
  try {
    view_of_result(result, "file.jsonl: line 3");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(RunView, KnowsWhatDeterminedTheRun) {
  const RunView view = view_of_result(example_result(), "here");
  EXPECT_EQ(*find_named(view.identity, "trace"), std::string(64, 'a'));
  EXPECT_EQ(shown_text(view, "trace"), "gpt2.uvmt");
  EXPECT_EQ(*find_named(view.identity, "system"), "h200");
  EXPECT_EQ(*find_named(view.identity, "system.costs.batch_ns"), "6000");
  EXPECT_EQ(*find_named(view.identity, "system.gpus.0.sm_count"), "132");
  EXPECT_EQ(*find_named(view.identity, "layout"), "recorded");
  EXPECT_EQ(*find_named(view.identity, "osf"), "1.5");
  EXPECT_EQ(*find_named(view.identity, "prefetch"), "tree");
  EXPECT_EQ(*find_named(view.identity, "prefetch.threshold"), "51");
  EXPECT_EQ(*find_named(view.identity, "evict"), "lrm");
  EXPECT_EQ(*find_named(view.identity, "seed"), "1");
  EXPECT_EQ(find_named(view.identity, "capacity_bytes"), nullptr);
  EXPECT_EQ(shown_text(view, "capacity_bytes"), "-");
}

TEST(RunView, KnowsEveryNumberAndSumsOverCauses) {
  const RunView view = view_of_result(example_result(), "here");
  EXPECT_EQ(*find_named(view.metrics, "total_ns"), 3000);
  EXPECT_EQ(*find_named(view.metrics, "ideal_ns"), 2000);
  EXPECT_EQ(*find_named(view.metrics, "settled_ns"), 800);
  EXPECT_EQ(*find_named(view.metrics, "settled_ideal_ns"), 700);
  EXPECT_EQ(*find_named(view.metrics, "footprint_bytes"), 6 << 20);
  EXPECT_EQ(*find_named(view.metrics, "fault_batches"), 7);
  EXPECT_EQ(*find_named(view.metrics, "settled_fault_batches"), 3);
  EXPECT_EQ(*find_named(view.metrics, "htod_bytes"), 123);
  EXPECT_EQ(*find_named(view.metrics, "settled_htod_bytes"), 0);
  EXPECT_EQ(*find_named(view.metrics, "gmmu_lookups"), 0);
  EXPECT_EQ(find_named(view.metrics, "batch_ns"), nullptr);
}

TEST(RunView, ARunWithoutIterationsHasNoSettledOne) {
  Json result = example_result();
  result["settled"] = nullptr;
  EXPECT_EQ(find_named(view_of_result(result, "here").metrics, "settled_ns"), nullptr);
}

TEST(RunView, OlderResultsHaveNoIdealTimeOfIterations) {
  Json result = example_result();
  result["settled"].erase("ideal_ns");
  const RunView view = view_of_result(result, "here");
  EXPECT_EQ(*find_named(view.metrics, "settled_ns"), 800);
  EXPECT_EQ(find_named(view.metrics, "settled_ideal_ns"), nullptr);
}

TEST(RunView, TheThreeWaysToLimitMemory) {
  Json result = example_result();
  result["limit"] = {
      {"by", "capacity"}, {"osf_thousandths", nullptr}, {"capacity_bytes", 4096}, {"footprint_bytes", 9}};
  RunView view = view_of_result(result, "here");
  EXPECT_EQ(*find_named(view.identity, "capacity_bytes"), "4096");
  EXPECT_EQ(*find_named(view.identity, "footprint_bytes"), "9");
  EXPECT_EQ(find_named(view.identity, "osf"), nullptr);
  result["limit"]["by"] = "none";
  EXPECT_EQ(*find_named(view_of_result(result, "here").identity, "osf"), "none");
}

// Two results with different origins may be of the same run; results with different choices may not.
TEST(RunView, PlugInsAndVersionsAreNotInputs) {
  Json result = example_result();
  const NamedTexts identity = view_of_result(result, "here").identity;
  result["plugins"] = {{{"file", "mine.so"}, {"bytes", 5}, {"sha256", "ab"}}};
  result["uvmsim_version"] = "9.9.9";
  result["model_version"] = "abc";
  const RunView view = view_of_result(result, "here");
  EXPECT_EQ(view.identity, identity);
  EXPECT_EQ(*find_named(view.provenance, "uvmsim"), "9.9.9");
  EXPECT_EQ(*find_named(view.provenance, "plug-in mine.so"), "ab");
  EXPECT_EQ(*find_named(view.provenance, "model_version"), "abc");
}

// In results of later versions, unknown members whose keys end in a unit are results, all other members are choices.
TEST(RunView, SortsMembersItDoesNotKnowByTheirNames) {
  Json result = example_result();
  result["waiting_ns"] = 5;
  result["layout_parameters"] = {{"max_split_bytes", "100"}};
  result["time_scale"] = {{"rule", "roofline"}, {"factor_millionths", 1000000}};
  const RunView view = view_of_result(result, "here");
  EXPECT_EQ(*find_named(view.metrics, "waiting_ns"), 5);
  EXPECT_EQ(*find_named(view.identity, "layout.max_split_bytes"), "100");
  EXPECT_EQ(*find_named(view.identity, "time_scale.rule"), "roofline");
  EXPECT_EQ(*find_named(view.identity, "time_scale.factor_millionths"), "1000000");
}

TEST(RunView, IsDescribedInTheOrderInWhichPeopleNameARun) {
  const RunView view = view_of_result(example_result(), "here");
  EXPECT_EQ(describe_run(view, [](std::string_view key) { return !key.starts_with("system."); })
                .find("gpt2.uvmt on h200, layout recorded, osf 1.5, prefetch tree:threshold=51,min_faults=1, evict "
                      "lrm, plan none, migrate first_touch, route direct, batch driver, seed 1"),
            0u);
  EXPECT_EQ(describe_run(view, [](std::string_view key) { return key == "prefetch.threshold"; }),
            "prefetch.threshold 51");
  EXPECT_EQ(describe_run(view, [](std::string_view) { return false; }), "");
}

TEST(RunView, RefusesWhatIsNoResult) {
  const auto says = [](const std::string& words) {
    return AllOf(StartsWith("file.jsonl: line 3: "), HasSubstr(words));
  };
  EXPECT_THAT(message_of(Json::array()), says("not an object"));
  EXPECT_THAT(message_of(Json::object()), says("/: the key 'schema' is missing"));
  Json other = example_result();
  other["schema"] = "uvmsim.result/9";
  EXPECT_THAT(message_of(other), says("/schema: \"uvmsim.result/9\" is not allowed; allowed: one of uvmsim.result/3"));
  for (const char* key : {"uvmsim_version", "trace", "system", "limit", "policies", "plugins", "counters", "settled"}) {
    Json result = example_result();
    result.erase(key);
    EXPECT_THAT(message_of(result), says(std::string("the key '") + key + "' is missing"));
  }
  Json result = example_result();
  result["counters"]["evictions"] = -1;
  EXPECT_THAT(message_of(result),
              says("/counters/evictions: -1 is not allowed; allowed: a whole number of at least 0"));
  result["counters"]["evictions"] = 1.5;
  EXPECT_THAT(message_of(result), says("is not allowed; allowed: a whole number of at least 0"));
  result = example_result();
  result["total_ns"] = -5;
  EXPECT_THAT(message_of(result), says("/total_ns: -5 is not allowed; allowed: a whole number of at least 0"));
  result = example_result();
  result["limit"]["by"] = "mood";
  EXPECT_THAT(message_of(result), says("/limit/by: \"mood\" is not allowed; allowed: one of osf, capacity, none"));
  EXPECT_THROW(parse_json("{\"schema\":", "here"), InputError);
}

TEST(RunView, ControlCharactersDoNotReachTables) {
  Json result = example_result();
  result["trace"]["file"] = "a\nb\x1b[31m";
  EXPECT_EQ(view_of_result(result, "here").trace_name, "a?b?[31m");
}

}  // namespace
}  // namespace uvmsim::compare
