// SPDX-License-Identifier: Apache-2.0
// Sweep files: the points that they expand to, and every mistake that is refused.
#include "sim/sweep/spec.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "tests/sweep/sweep_folder.h"

namespace uvmsim::sweep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class SpecTest : public SweepFolderTest {
 protected:
  SpecTest() {
    folder.write("b.jsonl", two_iterations(16));
    folder.write("c.txt", "no trace, but nobody looks yet");
  }
  Spec read(const std::string& text) const { return read_spec(folder.write("spec.json", text)); }
  // Reads a file of the required keys and `more`.
  Spec read_with(const std::string& more) const {
    return read(R"({"traces": "a.jsonl", "systems": "h200-sxm-pcie5")" + (more.empty() ? "" : ", " + more) + "}");
  }
  template <class Member>
  std::vector<Member> members(const Spec& spec, Member Point::*member) const {
    std::vector<Member> values;
    for (const Point& point : spec.points) values.push_back(point.*member);
    return values;
  }
  std::vector<std::string> labels(const Spec& spec) const {
    std::vector<std::string> texts;
    for (const Point& point : spec.points) texts.push_back(label(point));
    return texts;
  }
};

TEST_F(SpecTest, TheSmallestSweepIsOnePointWithDefaults) {
  const Spec spec = read_with("");
  ASSERT_EQ(spec.points.size(), 1u);
  EXPECT_EQ(to_json(spec.points[0]).dump(), to_json(point()).dump());
}

TEST_F(SpecTest, EveryCombinationWithTheLimitFastest) {
  const Spec spec = read(R"({"traces": ["a.jsonl", "b.jsonl"], "systems": "h200-sxm-pcie5", "osf": ["none", 1.25],
                             "seeds": [1, 7]})");
  EXPECT_THAT(labels(spec), ElementsAre("a.jsonl h200-sxm-pcie5 recorded no limit tree lrm seed 1",
                                        "a.jsonl h200-sxm-pcie5 recorded OSF 1.25 tree lrm seed 1",
                                        "a.jsonl h200-sxm-pcie5 recorded no limit tree lrm seed 7",
                                        "a.jsonl h200-sxm-pcie5 recorded OSF 1.25 tree lrm seed 7",
                                        "b.jsonl h200-sxm-pcie5 recorded no limit tree lrm seed 1",
                                        "b.jsonl h200-sxm-pcie5 recorded OSF 1.25 tree lrm seed 1",
                                        "b.jsonl h200-sxm-pcie5 recorded no limit tree lrm seed 7",
                                        "b.jsonl h200-sxm-pcie5 recorded OSF 1.25 tree lrm seed 7"));
}

TEST_F(SpecTest, PathsAndPatternsAreRelativeToTheFile) {
  std::filesystem::create_directory(folder.path("specs"));
  folder.write("specs/s.json", R"({"traces": "../[ab]*.jsonl", "systems": ["x", "./x.json"], "plugins": "p.so"})");
  const Spec spec = read_spec(folder.path("specs/s.json"));
  EXPECT_THAT(members(spec, &Point::trace), ElementsAre(folder.path("a.jsonl"), folder.path("a.jsonl"),
                                                        folder.path("b.jsonl"), folder.path("b.jsonl")));
  EXPECT_EQ(spec.points[0].system, "x");
  EXPECT_EQ(spec.points[1].system, folder.path("specs/x.json"));
  EXPECT_THAT(spec.points[0].plugins, ElementsAre(folder.path("specs/p.so")));
}

TEST_F(SpecTest, AFileThatSeveralPatternsMatchIsThereOnce) {
  const Spec spec = read(R"({"traces": ["b.jsonl", "*.jsonl"], "systems": "s"})");
  EXPECT_THAT(members(spec, &Point::trace), ElementsAre(folder.path("b.jsonl"), folder.path("a.jsonl")));
}

TEST_F(SpecTest, SettingsCrossTheirListsAndListAlternatives) {
  const Spec spec = read_with(R"("settings": [{}, {"costs.batch_ns": [6000, "7 us"], "driver.x": true}])");
  EXPECT_THAT(members(spec, &Point::settings),
              ElementsAre(ElementsAre(), ElementsAre("costs.batch_ns=6000", "driver.x=true"),
                          ElementsAre("costs.batch_ns=7 us", "driver.x=true")));
}

TEST_F(SpecTest, PoliciesAsTextOrWithListsOfParameters) {
  const Spec spec = read_with(
      R"("prefetch": ["none", "tree:threshold=75", {"name": "tree", "parameters": {"threshold": [51, 90]}}],
         "evict": {"name": "lru"})");
  std::vector<std::string> texts;
  for (const Point& one : spec.points) texts.push_back(policy_text(one.prefetch) + " " + policy_text(one.evict));
  EXPECT_THAT(texts,
              ElementsAre("none lru", "tree:threshold=75 lru", "tree:threshold=51 lru", "tree:threshold=90 lru"));
}

TEST_F(SpecTest, LimitsOfBothKinds) {
  const Spec spec = read_with(R"("osf": ["none", 2, "1.5"], "capacity_bytes": ["12GiB", 2097152],
                                 "footprint_bytes": ["measured", "1GiB"])");
  std::vector<std::string> texts;
  for (const Point& one : spec.points) texts.push_back(fmt::format("{} of {}", limit_text(one), one.footprint_bytes));
  EXPECT_THAT(texts, ElementsAre("no limit of 0", "OSF 2 of 0", "OSF 1.5 of 0", "capacity 12.00 GiB of 0",
                                 "capacity 2.00 MiB of 0", "no limit of 0", "OSF 2 of 1073741824",
                                 "OSF 1.5 of 1073741824", "capacity 12.00 GiB of 0", "capacity 2.00 MiB of 0"));
}

// The footprint is the reference of a factor or a capacity: points without a limit stay the same.
TEST_F(SpecTest, TheTouchedFootprint) {
  const Spec spec = read_with(R"("osf": ["none", 2], "capacity_bytes": "12GiB", "footprint": "touched")");
  std::vector<bool> touched;
  for (const Point& one : spec.points) touched.push_back(one.touched_footprint);
  EXPECT_THAT(touched, ElementsAre(false, true, true));
  EXPECT_FALSE(read_with(R"("osf": 2, "footprint": "allocated")").points.front().touched_footprint);
}

TEST_F(SpecTest, TheOtherAxes) {
  const Spec spec =
      read_with(R"("iterations": ["recorded", 10], "time_scale": ["auto", 1.25], "host_gaps": [true, false],
                                 "partial": true, "recorded_on": "h100-sxm", "layouts": ["recorded", "none"])");
  EXPECT_EQ(spec.points.size(), 16u);
  EXPECT_EQ(std::set<std::uint64_t>({0, 10}), [&] {
    const auto all = members(spec, &Point::iterations);
    return std::set<std::uint64_t>(all.begin(), all.end());
  }());
  EXPECT_EQ(spec.points.back().time_scale_millionths, 1'250'000u);
  EXPECT_FALSE(spec.points.back().include_host_gaps);
  EXPECT_TRUE(spec.points.back().partial);
  EXPECT_EQ(spec.points.back().recorded_on, "h100-sxm");
  EXPECT_EQ(spec.points.back().layout, "none");
}

TEST_F(SpecTest, GridsShareWhatStandsOutside) {
  const Spec spec = read(R"({"description": "two grids", "systems": "h200-sxm-pcie5", "osf": [1, 2],
                             "grids": [{"traces": "a.jsonl"},
                                       {"description": "the other", "traces": "b.jsonl", "osf": 3, "evict": "lru"}]})");
  EXPECT_THAT(labels(spec), ElementsAre("a.jsonl h200-sxm-pcie5 recorded OSF 1 tree lrm seed 1",
                                        "a.jsonl h200-sxm-pcie5 recorded OSF 2 tree lrm seed 1",
                                        "b.jsonl h200-sxm-pcie5 recorded OSF 3 tree lru seed 1"));
}

// Each error is one line that names the file, the key and what is allowed.
TEST_F(SpecTest, RefusesWhatIsWrong) {
  const std::string traces = R"("traces": "a.jsonl")", both = traces + R"(, "systems": "s")";
  struct Case {
    std::string text;
    std::vector<std::string> words;
  };
  const std::vector<Case> cases = {
      {"", {"is not JSON"}},
      {"{", {"is not JSON"}},
      {"[]", {"[]", "an object"}},
      {"{}", {"traces", "missing"}},
      {"{" + traces + "}", {"systems", "missing"}},
      {R"({"systems": "s"})", {"traces", "missing"}},
      {"{" + both + R"(, "osf": 1, "osf": 2})", {"/osf", "twice"}},
      {"{" + both + R"(, "seed": 1})", {"'seed'", "seeds", "allowed"}},
      {"{" + both + R"(, "grids": {}})", {"/grids", "a list"}},
      {"{" + both + R"(, "grids": []})", {"/grids", "a list"}},
      {"{" + both + R"(, "grids": [1]})", {"/grids/0", "an object"}},
      {"{" + both + R"(, "grids": [{}, {"osv": 1}]})", {"/grids/1", "'osv'", "osf"}},
      {"{" + both + R"(, "grids": [{"grids": []}]})", {"/grids/0", "'grids'"}},
      {R"({"systems": "s", "grids": [{"traces": "a.jsonl"}, {}]})", {"/grids/1", "traces", "missing"}},
      {"{" + both + R"(, "description": 1})", {"/description", "a text"}},
      {"{" + both + R"(, "$schema": 1})", {"/$schema", "a text"}},
      {R"({"traces": [], "systems": "s"})", {"/traces", "at least one"}},
      {R"({"traces": 1, "systems": "s"})", {"/traces", "path of a trace"}},
      {R"({"traces": "", "systems": "s"})", {"/traces", "path of a trace"}},
      {R"({"traces": ["a.jsonl", "a.jsonl"], "systems": "s"})", {"/traces/1", "twice"}},
      {R"({"traces": "*.uvmt", "systems": "s"})", {"/traces", "'*.uvmt'", "no file"}},
      {R"({"traces": "a.jsonl", "systems": [1]})", {"/systems/0", "name of a system"}},
      {"{" + both + R"(, "osf": 0})", {"/osf", "above 0"}},
      {"{" + both + R"(, "osf": [1, -1]})", {"/osf/1", "'-1'", "above 0"}},
      {"{" + both + R"(, "osf": 1.2345})", {"/osf", "three digits"}},
      {"{" + both + R"(, "osf": 1e30})", {"/osf", "above 0"}},
      {"{" + both + R"(, "osf": true})", {"/osf", "\"none\""}},
      {"{" + both + R"(, "osf": null})", {"/osf", "\"none\""}},
      {"{" + both + R"(, "osf": [1, 1]})", {"/osf/1", "twice"}},
      {"{" + both + R"(, "osf": [[1]]})", {"/osf/0"}},
      {"{" + both + R"(, "capacity_bytes": 4096})", {"/capacity_bytes", "at least 2097152"}},
      {"{" + both + R"(, "capacity_bytes": "12Gb"})", {"/capacity_bytes", "GiB"}},
      {"{" + both + R"(, "capacity_bytes": -1})", {"/capacity_bytes", "number of bytes"}},
      {"{" + both + R"(, "footprint_bytes": 0})", {"/footprint_bytes", "too small"}},
      {"{" + both + R"(, "footprint": "used"})", {"/footprint", "touched"}},
      {"{" + both + R"(, "osf": 2, "footprint": "touched", "footprint_bytes": "1GiB"})", {"/footprint", "one of them"}},
      {"{" + both + R"(, "settings": "costs.batch_ns=1"})", {"/settings", "an object"}},
      {"{" + both + R"(, "settings": {"costs.batch_ns": 1.5}})", {"/settings/costs.batch_ns", "whole number"}},
      {"{" + both + R"(, "settings": {"costs.batch_ns": []}})", {"/settings/costs.batch_ns", "at least one"}},
      {"{" + both + R"(, "settings": [{"costs.batch_ns": null}]})", {"/settings/0/costs.batch_ns"}},
      {"{" + both + R"(, "prefetch": 1})", {"/prefetch", "tree:threshold=51"}},
      {"{" + both + R"(, "prefetch": "tree:threshold"})", {"/prefetch", "NAME:key=value"}},
      {"{" + both + R"(, "prefetch": {"parameters": {}}})", {"/prefetch", "name"}},
      {"{" + both + R"(, "prefetch": {"name": "tree", "threshold": 1}})", {"/prefetch", "'threshold'", "parameters"}},
      {"{" + both + R"(, "prefetch": {"name": "tree", "parameters": {"threshold": {}}}})",
       {"/prefetch/parameters/threshold"}},
      {"{" + both + R"(, "evict": [{"name": 1}]})", {"/evict/0/name"}},
      {"{" + both + R"(, "plugins": 1})", {"/plugins", "shared library"}},
      {"{" + both + R"(, "seeds": -1})", {"/seeds", "from 0"}},
      {"{" + both + R"(, "seeds": 18446744073709551615})", {"/seeds", "9223372036854775807"}},
      {"{" + both + R"(, "iterations": 0})", {"/iterations", "1 to"}},
      {"{" + both + R"(, "iterations": "ten"})", {"/iterations", "\"recorded\""}},
      {"{" + both + R"(, "time_scale": 0})", {"/time_scale", "above 0"}},
      {"{" + both + R"(, "time_scale": []})", {"/time_scale", "at least one"}},
      {"{" + both + R"(, "recorded_on": 1})", {"/recorded_on"}},
      {"{" + both + R"(, "host_gaps": "no"})", {"/host_gaps", "true or false"}},
      {"{" + both + R"(, "partial": [true]})", {"/partial", "true or false"}},
      {"{" + both + R"(, "layouts": [""]})", {"/layouts/0", "name of a layout"}},
      {"{" + both + R"(, "a\nb": 1})", {"a?b"}},
      {"{" + both + R"(, "osf": "1\n2"})", {"1?2"}},
  };
  for (const Case& one : cases) {
    const std::string message = message_of([&] { read(one.text); });
    EXPECT_THAT(message, StartsWith(folder.path("spec.json") + ": ")) << one.text;
    EXPECT_THAT(message, Not(HasSubstr("\n"))) << one.text;
    for (const std::string& word : one.words) EXPECT_THAT(message, HasSubstr(word)) << one.text;
  }
}

TEST_F(SpecTest, MorePointsThanAllowedAreRefusedBeforeTheyAreMade) {
  std::string list;
  for (int i = 1; i <= 1000; ++i) list += fmt::format("{}{}", i == 1 ? "" : ",", i);
  const std::string thousand = "[" + list + "]";
  EXPECT_THAT(message_of([&] {
                read_with(R"("osf": )" + thousand + R"(, "seeds": )" + thousand + R"(, "iterations": )" + thousand);
              }),
              HasSubstr("more than 1000000 points"));
  std::string settings = "{";
  for (char key = 'a'; key <= 'g'; ++key) settings += fmt::format("{}\"{}\": [{}]", key == 'a' ? "" : ",", key, list);
  EXPECT_THAT(message_of([&] { read_with(R"("settings": )" + settings + "}"); }), HasSubstr("1000000 combinations"));
}

TEST_F(SpecTest, AMissingFileIsNamed) {
  EXPECT_THAT(message_of([] { read_spec("/nowhere/s.json"); }), HasSubstr("/nowhere/s.json"));
  EXPECT_THAT(message_of([&] { read_spec(folder.path()); }), HasSubstr("directory"));
}

TEST(SpecSchema, TheFileInConfigsIsCurrent) {
  std::ifstream file(UVMSIM_SOURCE_DIR "/configs/sweep.schema.json");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(text == spec_schema()) << "write it again: uvmsim sweep --schema > configs/sweep.schema.json";
}

TEST(SpecSchema, KnowsEveryKeyThatIsRead) {
  const auto schema = nlohmann::json::parse(spec_schema());
  EXPECT_EQ(schema["additionalProperties"], false);
  for (const char* key : {"traces", "osf", "grids", "$schema", "description", "recorded_on"}) {
    EXPECT_TRUE(schema["properties"].contains(key)) << key;
  }
  EXPECT_FALSE(schema["properties"]["grids"]["items"]["properties"].contains("grids"));
}

}  // namespace
}  // namespace uvmsim::sweep
