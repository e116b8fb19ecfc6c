// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "tests/compare/results.h"

namespace uvmsim::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;

std::vector<RunView> views(const std::vector<Json>& results) {
  std::vector<RunView> runs;
  for (const Json& result : results) runs.push_back(view_of_result(result, "line " + std::to_string(runs.size() + 1)));
  return runs;
}

std::string message_of(const std::vector<RunView>& a, const std::vector<RunView>& b, const CompareOptions& options) {
  try {
    compare(a, b, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Comparison, OfARunWithItselfFindsNothing) {
  const auto a = views({example_result()});
  const Comparison result = compare(a, a, {});
  ASSERT_EQ(result.pairs.size(), 1u);
  EXPECT_THAT(result.pairs[0].changes, IsEmpty());
  EXPECT_FALSE(result.differs());
  EXPECT_THAT(comparison_text(result, {"x", a, {}}, {"y", a, {}}, {}), HasSubstr("no difference in 1 run\n"));
}

// With several seeds, overlapping ranges are noise, separate ranges are differences.
TEST(Comparison, KnowsWhatTheSeedsScatter) {
  const auto seeded = [](std::vector<std::uint64_t> evictions, const char* evict) {
    std::vector<Json> results;
    for (const std::uint64_t value : evictions) {
      results.push_back(example_at(1500, value));
      results.back()["seed"] = results.size();
      results.back()["policies"]["evict"]["name"] = evict;
    }
    return views(results);
  };
  CompareOptions across_evict;
  across_evict.across = {"evict"};
  const auto a = seeded({10, 14, 12}, "random"), near = seeded({13, 17, 15}, "lru"), far = seeded({30, 31, 32}, "lru");
  const Comparison noise = compare(a, near, across_evict);
  EXPECT_FALSE(noise.differs());
  EXPECT_THAT(comparison_text(noise, {"x", a, {}}, {"y", near, {}}, {}),
              HasSubstr("no difference beyond what the seeds scatter (3 changes within that) in 3 runs\n"));
  EXPECT_EQ(compare(a, far, across_evict).changed_pairs(), 3u);
  const auto one = seeded({10}, "random"), other = seeded({13}, "lru");
  EXPECT_TRUE(compare(one, other, across_evict).differs()) << "one seed says nothing of chance";
}

TEST(Comparison, MatchesRunsByTheirInputsWhateverTheirOrder) {
  const auto a = views({example_at(1500, 4), example_at(2000, 9), example_at(4000, 20)});
  const auto b = views({example_at(8000, 50), example_at(2000, 11), example_at(1500, 4)});
  const Comparison result = compare(a, b, {});
  ASSERT_EQ(result.pairs.size(), 2u);
  EXPECT_THAT(result.pairs[0].changes, IsEmpty());
  ASSERT_EQ(result.pairs[1].changes.size(), 1u);
  EXPECT_EQ(result.pairs[1].changes[0].name, "evictions");
  EXPECT_EQ(result.pairs[1].changes[0].a, 9);
  EXPECT_EQ(result.pairs[1].changes[0].b, 11);
  ASSERT_EQ(result.only_a.size(), 1u);
  EXPECT_EQ(shown_text(*result.only_a[0], "osf"), "4");
  ASSERT_EQ(result.only_b.size(), 1u);
  EXPECT_EQ(shown_text(*result.only_b[0], "osf"), "8");
  EXPECT_THAT(result.across, IsEmpty());
  EXPECT_TRUE(result.differs());

  const std::string text = comparison_text(result, {"before", a, {}}, {"after", b, {}}, {});
  EXPECT_THAT(text, HasSubstr("osf 2\n"));
  EXPECT_THAT(text, HasSubstr("  evictions  9  11  +22.22 %\n"));
  EXPECT_THAT(text, Not(HasSubstr("osf 1.5\n")));  // nothing changed there
  EXPECT_THAT(text, HasSubstr("only in a: osf 4\nonly in b: osf 8\n1 of 2 runs differs\n"));
}

TEST(Comparison, GoesAcrossTheOneThingThatDiffers) {
  const auto a = views({example_at(1500, 4), example_at(2000, 9)});
  const auto b = views({with_evictor(example_at(1500, 3), "lru"), with_evictor(example_at(2000, 9), "lru")});
  const Comparison result = compare(a, b, {});
  ASSERT_EQ(result.pairs.size(), 2u);
  ASSERT_EQ(result.across.size(), 1u);
  EXPECT_EQ(result.across[0].key, "evict");
  EXPECT_EQ(result.across[0].a, "lrm");
  EXPECT_EQ(result.across[0].b, "lru");
  EXPECT_EQ(result.changed_pairs(), 1u);
  EXPECT_THAT(comparison_text(result, {"x", a, {}}, {"y", b, {}}, {}),
              HasSubstr("compared across evict lrm (a) and lru (b)\n"));
}

TEST(Comparison, AParameterOrANumberOfTheSystemIsOneThing) {
  Json other = example_result();
  other["policies"]["prefetch"]["parameters"]["threshold"] = "75";
  Comparison result = compare(views({example_result()}), views({other}), {});
  ASSERT_EQ(result.across.size(), 1u);
  EXPECT_EQ(result.across[0].key, "prefetch.threshold");
  EXPECT_EQ(result.across[0].b, "75");

  other = example_result();
  other["system"]["costs"]["batch_ns"] = 7000;
  result = compare(views({example_result()}), views({other}), {});
  ASSERT_EQ(result.across.size(), 1u);
  EXPECT_EQ(result.across[0].key, "system.costs.batch_ns");
}

// Another policy has other parameters, another system other numbers: each still counts as one difference.
TEST(Comparison, APolicyAndItsParametersAreOneThing) {
  Json other = example_result();
  other["policies"]["prefetch"] = {{"name", "ahead"}, {"information_class", "D0"}, {"parameters", {{"pages", "16"}}}};
  Comparison result = compare(views({example_result()}), views({other}), {});
  ASSERT_EQ(result.across.size(), 1u);
  EXPECT_EQ(result.across[0].a, "tree:threshold=51,min_faults=1");
  EXPECT_EQ(result.across[0].b, "ahead:pages=16");
  ASSERT_EQ(result.pairs.size(), 1u);

  other = example_result();
  other["system"] = {{"name", "a100"}, {"costs", {{"batch_ns", 1}}}};
  result = compare(views({example_result()}), views({other}), {});
  ASSERT_EQ(result.across.size(), 1u);
  EXPECT_EQ(result.across[0].key, "system");
  EXPECT_EQ(result.across[0].b, "a100");
}

TEST(Comparison, ATraceIsItsContent) {
  Json renamed = example_result();
  renamed["trace"]["file"] = "copy.uvmt";
  EXPECT_THAT(compare(views({example_result()}), views({renamed}), {}).across, IsEmpty());
  Json recorded_again = example_result();
  recorded_again["trace"]["sha256"] = std::string(64, 'b');
  const Comparison result = compare(views({example_result()}), views({recorded_again}), {});
  ASSERT_EQ(result.across.size(), 1u);
  EXPECT_EQ(result.across[0].a, "gpt2.uvmt (sha256 aaaaaaaaaaaa)");
  EXPECT_EQ(result.across[0].b, "gpt2.uvmt (sha256 bbbbbbbbbbbb)");
}

TEST(Comparison, SeveralThingsAreOnlyComparedOnRequest) {
  Json other = with_evictor(example_result(), "lru");
  other["seed"] = 2;
  const auto a = views({example_result()}), b = views({other});
  Comparison result = compare(a, b, {});
  EXPECT_THAT(result.pairs, IsEmpty());
  ASSERT_EQ(result.hindrances.size(), 2u);
  EXPECT_THAT(comparison_text(result, {"x", a, {}}, {"y", b, {}}, {}),
              HasSubstr("--across evict,seed compares them all the same"));
  CompareOptions options;
  options.across = {"seed", "evict"};
  result = compare(a, b, options);
  EXPECT_EQ(result.pairs.size(), 1u);
  EXPECT_EQ(result.across.size(), 2u);
}

TEST(Comparison, AWholeFamilyOfKeysCanBeCrossed) {
  Json other = example_result();
  other["system"]["costs"]["batch_ns"] = 7000;
  other["system"]["costs"]["replay_ns"] = 7;
  EXPECT_EQ(compare(views({example_result()}), views({other}), {}).pairs.size(), 0u);
  CompareOptions options;
  options.across = {"system"};
  EXPECT_EQ(compare(views({example_result()}), views({other}), options).pairs.size(), 1u);
}

TEST(Comparison, WhatIsAmbiguousIsRefused) {
  Json seeded = example_at(1500, 5);
  seeded["seed"] = 2;
  CompareOptions options;
  options.across = {"seed"};
  EXPECT_THAT(message_of(views({example_result(), seeded}), views({example_result()}), options),
              HasSubstr("compared across seed, line 1 and line 2 belong to the same run"));
  EXPECT_THAT(message_of(views({example_at(1500, 4), example_at(1500, 5)}), views({example_result()}), {}),
              HasSubstr("line 1 and line 2 say different things about one and the same run"));
  // A line that occurs twice adds nothing.
  EXPECT_EQ(compare(views({example_result(), example_result()}), views({example_result()}), {}).pairs.size(), 1u);
}

TEST(Comparison, OnlyTheMetricsAskedFor) {
  Json other = example_at(1500, 5);
  other["total_ns"] = 3003;
  CompareOptions options;
  options.metrics = {"tot*", "fault_batches"};
  const Comparison result = compare(views({example_result()}), views({other}), options);
  ASSERT_EQ(result.pairs[0].changes.size(), 1u);
  EXPECT_EQ(result.pairs[0].changes[0].name, "total_ns");
  options.metrics = {"totl_ns"};
  EXPECT_THAT(message_of(views({example_result()}), views({other}), options),
              HasSubstr("no run has a metric 'totl_ns' (did you mean 'total_ns'?)"));
  options = {};
  options.across = {"evikt"};
  EXPECT_THAT(message_of(views({example_result()}), views({other}), options), HasSubstr("did you mean 'evict'?"));
}

TEST(Comparison, ToleranceDecidesWhatIsADifference) {
  Json other = example_result();
  other["total_ns"] = 3030;
  CompareOptions options;
  options.tolerances.add("total_ns", "1 %", "here");
  EXPECT_FALSE(compare(views({example_result()}), views({other}), options).differs());
  other["total_ns"] = 3031;
  EXPECT_TRUE(compare(views({example_result()}), views({other}), options).differs());
}

TEST(Comparison, AMetricThatOneSideLacksIsADifference) {
  Json other = example_result();
  other["settled"] = nullptr;
  CompareOptions options;
  options.metrics = {"settled_ns"};
  options.tolerances.add("*", "1000 %", "here");
  const Comparison result = compare(views({example_result()}), views({other}), options);
  ASSERT_EQ(result.pairs[0].changes.size(), 1u);
  EXPECT_EQ(result.pairs[0].changes[0].b, std::nullopt);
}

TEST(ComparisonText, CountersAreHiddenBehindTheMainMetricsAndNeverSilently) {
  Json other = example_at(1500, 5);
  other["counters"]["wakeups"] = 3;
  other["counters"]["replays"] = 3;
  const auto a = views({example_result()}), b = views({other});
  const Comparison result = compare(a, b, {});
  const RunSet set_a{"x", a, {}}, set_b{"y", b, {}};
  std::string text = comparison_text(result, set_a, set_b, {});
  EXPECT_THAT(text, Not(HasSubstr("wakeups")));
  EXPECT_THAT(text, HasSubstr("2 further metrics changed: --all shows them"));
  TextOptions options;
  options.all_metrics = true;
  EXPECT_THAT(comparison_text(result, set_a, set_b, options), HasSubstr("wakeups"));
  // If no main metric changed, the others are shown.
  other["counters"]["evictions"] = 4;
  const auto c = views({other});
  EXPECT_THAT(comparison_text(compare(a, c, {}), set_a, {"z", c, {}}, {}), HasSubstr("wakeups"));
}

TEST(ComparisonText, SaysWhatASweepLacks) {
  const auto a = views({example_result()});
  const RunSet partial{"sweep", a, {"gpt2 OSF 2: failed: no memory"}};
  const std::string text = comparison_text(compare(a, a, {}), partial, {"y", a, {}}, {});
  EXPECT_THAT(text, HasSubstr("a: sweep: 1 run (1 missing)"));
  EXPECT_THAT(text, HasSubstr("no result in a: gpt2 OSF 2: failed: no memory\n"));
}

TEST(ComparisonJson, HoldsEveryChange) {
  const auto a = views({example_at(1500, 4), example_at(4000, 1)}), b = views({example_at(1500, 5)});
  const Comparison result = compare(a, b, {});
  const Json json = Json::parse(comparison_json(result, {"x", a, {}}, {"y", b, {}}));
  EXPECT_EQ(json["schema"], "uvmsim.comparison/1");
  EXPECT_EQ(json["compared"], 1);
  ASSERT_EQ(json["changed"].size(), 1u);
  const Json& metric = json["changed"][0]["metrics"][0];
  EXPECT_EQ(metric["metric"], "evictions");
  EXPECT_EQ(metric["a"], 4);
  EXPECT_EQ(metric["b"], 5);
  EXPECT_EQ(metric["change_percent_thousandths"], 25000);
  EXPECT_EQ(json["changed"][0]["a"]["identity"]["osf"], "1.5");
  ASSERT_EQ(json["a"]["only_here"].size(), 1u);
  EXPECT_EQ(json["a"]["only_here"][0]["identity"]["osf"], "4");
  EXPECT_EQ(json["b"]["only_here"].size(), 0u);
}

TEST(ComparisonCsv, HasOneRowPerChange) {
  const auto a = views({example_at(1500, 4), example_at(4000, 1)});
  const auto b = views({with_evictor(example_at(1500, 5), "lru")});
  EXPECT_EQ(
      comparison_csv(compare(a, b, {})),
      "trace,system,layout,osf,capacity_bytes,prefetch,evict,plan,migrate,route,batch,seed,side,metric,a,b,change_"
      "percent\n"
      "gpt2.uvmt,h200,recorded,1.5,,\"tree:threshold=51,min_faults=1\",lrm -> "
      "lru,none,first_touch,direct,driver,1,both,evictions,4,5,25.000\n"
      "gpt2.uvmt,h200,recorded,4,,\"tree:threshold=51,min_faults=1\",lrm,none,first_touch,direct,driver,1,a,,,,\n");
}

TEST(VaryingKeys, NameWhatTellsRunsApart) {
  Json other_policy = example_at(2000, 4);
  other_policy["policies"]["prefetch"] = {
      {"name", "none"}, {"information_class", "D0"}, {"parameters", Json::object()}};
  Json other_threshold = example_at(1500, 4);
  other_threshold["policies"]["prefetch"]["parameters"]["threshold"] = "75";
  const auto runs = views({example_at(1500, 4), other_policy});
  EXPECT_THAT(varying_keys({&runs[0], &runs[1]}), ElementsAre("osf", "prefetch"));
  const auto more = views({example_at(1500, 4), other_policy, other_threshold});
  EXPECT_THAT(varying_keys({&more[0], &more[1], &more[2]}), ElementsAre("osf", "prefetch", "prefetch.threshold"));
}

}  // namespace
}  // namespace uvmsim::compare
