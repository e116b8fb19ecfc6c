// SPDX-License-Identifier: Apache-2.0
// A point, its JSON and its id.
#include "sim/sweep/point.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "sim/common/sha256.h"
#include "sim/report/result_json.h"
#include "sim/sweep/model_version.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/run_point.h"
#include "tests/sweep/sweep_folder.h"

namespace uvmsim::sweep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

Point smallest() {
  Point point;
  point.trace = "t";
  point.system = "s";
  return point;
}

Point every_member_set() {
  Point point;
  point.trace = "t.uvmt";
  point.partial = true;
  point.layout = "none";
  point.system = "a100-pcie-80g";
  point.settings = {"costs.batch_ns=7000", "costs.replay_ns=1"};
  point.osf_thousandths = 1250;
  point.footprint_bytes = 1 << 30;
  point.prefetch = {"tree", {{"threshold", "75"}}};
  point.evict = {"lru", {}};
  point.plugins = {"./mine.so"};
  point.seed = 18446744073709551615u;
  point.include_host_gaps = false;
  point.iterations = 10;
  point.time_scale_millionths = 1'500'000;
  point.recorded_on = "h200-sxm-pcie5";
  point.bounds = true;
  return point;
}

Point read(const std::string& text, const std::string& origin) {
  const auto object = nlohmann::ordered_json::parse(text);
  return point_from_json(JsonValue(object, origin));
}

TEST(PointJson, ComesBackWhole) {
  Point touched = smallest();
  touched.osf_thousandths = 2000;
  touched.touched_footprint = true;
  for (const Point& point : {smallest(), every_member_set(), touched}) {
    const std::string text = to_json(point).dump();
    EXPECT_EQ(to_json(read(text, "here")).dump(), text);
  }
}

TEST(PointJson, WhatIsMissingHasItsDefault) {
  const Point point = read(R"({"trace":"t","system":"s"})", "here");
  EXPECT_EQ(to_json(point).dump(), to_json(smallest()).dump());
}

TEST(PointJson, RefusesWhatIsNoPoint) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {R"([])", {"an object"}},
      {R"({"system":"s"})", {"/trace", "path of a trace"}},
      {R"({"trace":"t"})", {"/system"}},
      {R"({"trace":1,"system":"s"})", {"/trace", "a text"}},
      {R"({"trace":"t","system":"s","sed":1})", {"'sed'", "seed"}},
      {R"({"trace":"t","system":"s","seed":-1})", {"/seed", "at least 0"}},
      {R"({"trace":"t","system":"s","seed":1.5})", {"/seed"}},
      {R"({"trace":"t","system":"s","partial":1})", {"/partial", "true or false"}},
      {R"({"trace":"t","system":"s","settings":"a=1"})", {"/settings", "list"}},
      {R"({"trace":"t","system":"s","settings":[1]})", {"/settings/0", "text"}},
      {R"({"trace":"t","system":"s","prefetch":"tree"})", {"/prefetch", "an object"}},
      {R"({"trace":"t","system":"s","prefetch":{}})", {"/prefetch", "name"}},
      {R"({"trace":"t","system":"s","prefetch":{"name":"tree","parameters":[]}})", {"/prefetch/parameters"}},
      {R"({"trace":"t","system":"s","prefetch":{"name":"tree","x":1}})", {"/prefetch", "'x'"}},
      {R"({"trace":"t","system":"s","osf_thousandths":1000,"capacity_bytes":1})", {"one of them"}},
      {R"({"trace":"t","system":"s","touched_footprint":true,"footprint_bytes":1})", {"one of them"}},
  };
  for (const auto& [text, words] : cases) {
    const std::string message = message_of([&, &text = text] { read(text, "file: line 3"); });
    EXPECT_THAT(message, HasSubstr("file: line 3")) << text;
    for (const std::string& word : words) EXPECT_THAT(message, HasSubstr(word)) << text;
  }
}

class PointId : public SweepFolderTest {
 protected:
  std::string id(const Point& point) { return Resolver().resolve(point).id; }
};

TEST_F(PointId, IsTheHashOfTheDeterminants) {
  const ResolvedPoint resolved = Resolver().resolve(point());
  EXPECT_EQ(resolved.id, sha256(resolved.determinants));
  const json determinants = json::parse(resolved.determinants);
  EXPECT_EQ(determinants.dump(), resolved.determinants) << "canonical";
  EXPECT_EQ(determinants["trace"]["sha256"], sha256(two_iterations(8)));
  EXPECT_EQ(determinants["model_version"], model_version());
  EXPECT_EQ(determinants["policy_versions"].size(), policy::Slots::kCount) << "also of slots that nobody chose for";
  EXPECT_EQ(determinants["policy_versions"]["evict"], policy_version(policy::Slot::kEvict, "lrm"));
  EXPECT_EQ(determinants["policies"]["prefetch"]["parameters"]["threshold"], "51") << "defaults are resolved";
  EXPECT_THAT(resolved.determinants, Not(HasSubstr(folder.path()))) << "no folder is part of it";
}

// Each of these changes makes another run, so each has another id, and no two are the same.
TEST_F(PointId, EveryDeterminantChangesIt) {
  folder.write("b.jsonl", two_iterations(16));
  folder.write("sys.json", R"({"description": "the same", "extends": "h200-sxm-pcie5"})");
  const std::vector<std::function<void(Point&)>> changes = {
      [](Point&) {},
      [&](Point& p) { p.trace = folder.path("b.jsonl"); },
      [](Point& p) { p.partial = true; },
      [](Point& p) { p.layout = "none"; },
      [](Point& p) { p.system = "a100-sxm-40g"; },
      [&](Point& p) { p.system = folder.path("sys.json"); },  // the same numbers under another name
      [](Point& p) { p.settings = {"costs.batch_ns=7001"}; },
      [](Point& p) { p.settings = {"costs.batch_ns=7002"}; },
      [](Point& p) { p.osf_thousandths = 1000; },
      [](Point& p) { p.osf_thousandths = 1250; },
      [](Point& p) { p.capacity_bytes = 1 << 22; },
      [](Point& p) {
        p.osf_thousandths = 1250;
        p.footprint_bytes = 1 << 23;
      },
      [](Point& p) {
        p.osf_thousandths = 1250;
        p.touched_footprint = true;
      },
      [](Point& p) {
        p.prefetch = {"none", {}};
      },
      [](Point& p) {
        p.prefetch = {"tree", {{"threshold", "75"}}};
      },
      [](Point& p) {
        p.evict = {"lru", {}};
      },
      [](Point& p) { p.seed = 2; },
      [](Point& p) { p.include_host_gaps = false; },
      [](Point& p) { p.iterations = 5; },
      [](Point& p) { p.time_scale_millionths = 2'000'000; },
      [](Point& p) { p.bounds = true; },
  };
  std::set<std::string> ids;
  for (const auto& change : changes) {
    Point changed = point();
    change(changed);
    ids.insert(id(changed));
  }
  EXPECT_EQ(ids.size(), changes.size());
}

// The same run keeps its id if it is spelled differently.
TEST_F(PointId, NothingElseChangesIt) {
  const std::string before = id(point());
  EXPECT_EQ(id(point()), before);

  Point spelled_out = point();
  spelled_out.prefetch = {"tree", {{"threshold", "51"}}};
  EXPECT_EQ(id(spelled_out), before) << "a default that is given";

  Point moved = point();
  std::filesystem::create_directory(folder.path("elsewhere"));
  moved.trace = folder.write("elsewhere/a.jsonl", two_iterations(8));
  EXPECT_EQ(id(moved), before) << "the same file in another folder";

  Point set = point();
  set.settings = {"costs.batch_ns=" +
                  json::parse(Resolver().resolve(point()).record.system_json)["costs"]["batch_ns"].dump()};
  EXPECT_EQ(id(set), before) << "a setting that sets what is so anyway";
}

TEST_F(PointId, FollowsTheContentOfTheTrace) {
  const std::string before = id(point());
  folder.write("a.jsonl", two_iterations(8) + "\n");
  EXPECT_NE(id(point()), before);
}

TEST_F(PointId, ResolvingFindsWhatIsWrong) {
  const std::vector<std::pair<std::function<void(Point&)>, std::string>> cases = {
      {[](Point& p) { p.trace = "/nowhere/x.uvmt"; }, "/nowhere/x.uvmt"},
      {[](Point& p) { p.system = "h200"; }, "h200"},
      {[](Point& p) { p.settings = {"costs.batch=1"}; }, "costs.batch"},
      {[](Point& p) { p.layout = "pytorch"; }, "pytorch"},
      {[](Point& p) { p.prefetch.name = "trea"; }, "trea"},
      {[](Point& p) {
         p.evict = {"lrm", {{"x", "1"}}};
       },
       "'x'"},
      {[](Point& p) { p.plugins = {"/nowhere.so"}; }, "/nowhere.so"},
  };
  for (const auto& [change, word] : cases) {
    Point wrong = point();
    change(wrong);
    EXPECT_THAT(message_of([&] { Resolver().resolve(wrong); }), HasSubstr(word));
  }
}

class RunPoint : public SweepFolderTest {};

// A worker keeps decoded traces; a result must not depend on that.
TEST_F(RunPoint, KeptOrDecodedAgainTheResultIsTheSame) {
  Resolver keeping(std::uint64_t{1} << 30), reading;
  for (const std::uint64_t osf : {0u, 1500u, 2000u}) {
    Point limited = point();
    limited.osf_thousandths = osf;
    const std::string first = report::result_json(run_point(limited, reading));
    EXPECT_EQ(report::result_json(run_point(limited, keeping)), first);
    EXPECT_EQ(report::result_json(run_point(limited, keeping)), first) << "again, from the kept records";
  }
  EXPECT_GT(keeping.trace(point()).kept_bytes(), 0u);
  EXPECT_EQ(reading.trace(point()).kept_bytes(), 0u);
}

TEST_F(RunPoint, WhatDoesNotFitIsNotKept) {
  TraceInput small(folder.path("a.jsonl"), false, 100), large(folder.path("a.jsonl"), false, 1 << 20);
  EXPECT_EQ(small.footprint_bytes("recorded", 0), large.footprint_bytes("recorded", 0));
  EXPECT_EQ(small.records(), large.records());
  EXPECT_EQ(small.kept_bytes(), 0u);
  EXPECT_GT(large.kept_bytes(), 100u);
  const auto count = [](RecordSource source) {
    std::size_t records = 0;
    for (trace::Record record; source(record);) ++records;
    return records;
  };
  EXPECT_EQ(count(small.play()), small.records());
  EXPECT_EQ(count(large.play()), large.records());
}

TEST_F(RunPoint, AFactorThatLeavesNothingIsRefused) {
  Point tight = point();
  tight.osf_thousandths = 5000;  // 8 MiB / 5 is less than a chunk
  Resolver resolver;
  EXPECT_THAT(message_of([&] { run_point(tight, resolver); }),
              ::testing::AllOf(HasSubstr("osf: 5"), HasSubstr("at most 4")));
}

TEST_F(RunPoint, ProgressMayStopIt) {
  struct Stop {};
  Resolver resolver;
  EXPECT_THROW(run_point(point(), resolver, [](std::uint64_t) { throw Stop(); }), Stop);
}

}  // namespace
}  // namespace uvmsim::sweep
