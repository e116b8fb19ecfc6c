// SPDX-License-Identifier: Apache-2.0
// Tests of `uvmsim scenario`: its output and files, and every wrong input.
#include "sim/sweep/scenario.h"

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/config/load_system.h"
#include "sim/config/system_text.h"
#include "sim/report/numbers.h"
#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"
#include "tests/report/database.h"

namespace uvmsim {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class ScenarioTest : public CommandTest {
 protected:
  ScenarioTest() {
    // The system has two GPUs whose links share the host's memory.
    json system = json::parse(config::resolved_json(config::load_system("h200-sxm-pcie5")));
    for (const char* list : {"gpus", "host_links"}) system[list].push_back(system[list][0]);
    system["host"]["memory_bytes_per_us"]["value"] = "20 GB/s";
    folder.write("two.json", system.dump());
    folder.write("big.jsonl", two_iterations(64));
    folder.write("small.jsonl", two_iterations(16));
  }
  // Returns a scenario on the system with two GPUs.
  std::string with_programs(const std::string& programs, const std::string& more = "") const {
    return R"({"system": "./two.json", "programs": [)" + programs + "]" + (more.empty() ? "" : ", " + more) + "}";
  }
  CommandResult run_scenario(const std::string& text, const std::vector<std::string>& options = {}) {
    folder.write("scenario.json", text);
    std::vector<std::string> arguments{"scenario", "scenario.json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run(arguments);
  }
  void expect_refused(const std::string& text, const std::vector<std::string>& words) {
    SCOPED_TRACE(text);
    expect_one_line_error(run_scenario(text, {"--json", "out.json", "--timeline", "out.trace"}), words);
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/out.json"));
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/out.trace"));
  }
};

const std::string kBig = R"({"name": "big", "trace": "big.jsonl", "gpus": [0], "osf": 2})";
const std::string kSmall = R"({"name": "small", "trace": "small.jsonl", "gpus": [1], "capacity_bytes": "8MiB")";

TEST_F(ScenarioTest, ProgramsOnOneGpuTellWhoEvictsWhomAndHowFairItIs) {
  for (const char* sharing : {"time_slices", "concurrent"}) {
    SCOPED_TRACE(sharing);
    const CommandResult result =
        run_scenario(with_programs(R"({"name": "big", "trace": "big.jsonl", "gpus": [0]},
                         {"name": "small", "trace": "small.jsonl", "gpus": [0], "prefetch": "none"})",
                                   fmt::format(R"("shared_osf": 1.25, "sharing": "{}")", sharing)),
                     {"--json", "out.json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr(fmt::format("GPUs that several programs use: {}", sharing)));
    EXPECT_THAT(result.out, HasSubstr("evictions by"));
    const json out = json::parse(folder.read("out.json"));
    EXPECT_EQ(out["sharing"], sharing);
    std::vector<std::uint64_t> slowdowns;
    std::uint64_t speedup = 0, footprint = 0;
    for (const json& program : out["programs"]) {
      std::uint64_t evicted = 0;
      for (const auto& [name, count] : program["evicted_from"].items()) evicted += count.get<std::uint64_t>();
      EXPECT_EQ(program["together"]["counters"]["evictions"], evicted);
      EXPECT_GT(evicted, 0u);
      slowdowns.push_back(program["slowdown_thousandths"]);
      speedup += report::ratio_thousandths(program["alone_ns"], program["together_ns"]);
      footprint += program["together"]["limit"]["footprint_bytes"].get<std::uint64_t>();
    }
    EXPECT_EQ(out["weighted_speedup_thousandths"], speedup);
    // In turns, the programs compute one after the other; concurrently, the time of one may be hidden by the other.
    const std::int64_t big_ideal = out["programs"][0]["together"]["ideal_ns"];
    const std::int64_t last = out["last_end_ns"], bound = out["last_end_bound_ns"];
    EXPECT_EQ(last, std::max(out["programs"][0]["together"]["total_ns"].get<std::int64_t>(),
                             out["programs"][1]["together"]["total_ns"].get<std::int64_t>()));
    EXPECT_LE(bound, last);
    EXPECT_GE(bound, big_ideal);
    std::int64_t computing = 0;
    for (const json& program : out["programs"]) {
      computing += program["together"]["counters"]["kernel_compute_ns"].get<std::int64_t>();
    }
    if (std::string(sharing) == "time_slices") {
      EXPECT_EQ(bound, std::max(computing, big_ideal));
    } else {
      EXPECT_LT(bound, std::max(computing, big_ideal) + 1);
    }
    EXPECT_THAT(result.out, HasSubstr("the last program ends after"));
    const auto [least, most] = std::minmax_element(slowdowns.begin(), slowdowns.end());
    EXPECT_EQ(out["unfairness_thousandths"], report::ratio_thousandths(*most, *least));
    const std::uint64_t capacity = out["programs"][0]["together"]["capacity_bytes"];
    EXPECT_EQ(capacity, out["programs"][1]["together"]["capacity_bytes"]);
    EXPECT_LE(capacity, footprint * 4 / 5);
    EXPECT_GT(capacity + kBlockBytes, footprint * 4 / 5);
  }
}

// The timeline shows one slice after the other, without a gap: the turns, and the switches between them.
TEST_F(ScenarioTest, TheTimelineShowsWhoHasTheGpu) {
  const std::string programs = with_programs(
      R"({"name": "big", "trace": "big.jsonl", "gpus": [1]},
                       {"name": "small", "trace": "small.jsonl", "gpus": [1], "start_ns": 50000})",
      R"("shared_osf": 1.25, "settings": {"runtime.time_slice_ns": 200000, "runtime.context_switch_ns": 7000})");
  ASSERT_EQ(run_scenario(programs, {"--no-alone", "--json", "out.json", "--timeline", "t.json"}).exit_code, 0);
  const json events = json::parse(folder.read("t.json"))["traceEvents"];
  std::int64_t turns_track = 0;
  for (const json& event : events) {
    if (event["ph"] == "M" && event["args"].value("name", "") == "turns") {
      turns_track = event["tid"].get<std::int64_t>();
    }
  }
  ASSERT_NE(turns_track, 0);
  const auto ns = [](const json& us) { return static_cast<std::int64_t>(us.get<double>() * 1000 + 0.5); };
  std::map<std::string, int> slices;
  std::int64_t end = -1;
  std::string before;
  for (const json& event : events) {
    if (event["ph"] != "X" || event["tid"] != turns_track || event["cat"] != "turn") continue;
    EXPECT_EQ(event["pid"], 3) << "of GPU 1";
    const std::string name = event["name"];
    if (end >= 0) {
      EXPECT_EQ(ns(event["ts"]), end) << "no gap";
    }
    end = ns(event["ts"]) + ns(event["dur"]);
    EXPECT_NE(name, before);
    if (name == "change") {
      EXPECT_EQ(ns(event["dur"]), 7000);
    }
    before = name;
    ++slices[name];
  }
  EXPECT_GT(slices["big"], 1);
  EXPECT_GT(slices["small"], 1);
  EXPECT_EQ(slices["change"], slices["big"] + slices["small"] - 1);
  EXPECT_EQ(slices.size(), 3u);
  const json out = json::parse(folder.read("out.json"));
  EXPECT_GE(end, out["last_end_ns"].get<std::int64_t>());
  // Concurrent programs have no turns.
  const std::string concurrent = programs.substr(0, programs.size() - 1) + R"(, "sharing": "concurrent"})";
  ASSERT_EQ(run_scenario(concurrent, {"--no-alone", "--timeline", "t.json"}).exit_code, 0);
  EXPECT_THAT(folder.read("t.json"), Not(HasSubstr("\"turns\"")));
}

// Each profile adds up to the counters of its program, whichever program evicted the memory.
TEST_F(ScenarioTest, AProfileOfEachProgram) {
  ASSERT_EQ(run_scenario(with_programs(R"({"name": "big", "trace": "big.jsonl", "gpus": [0]},
                                          {"name": "small", "trace": "small.jsonl", "gpus": [0], "start_ns": 50000})",
                                       R"("shared_osf": 1.25)"),
                         {"--no-alone", "--json", "out.json", "--profile", "p.sqlite"})
                .exit_code,
            0);
  EXPECT_FALSE(std::filesystem::exists(folder.path("p.sqlite")));
  const json out = json::parse(folder.read("out.json"));
  std::int64_t evicted_bytes = 0, evictions = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const json& program = out["programs"][i];
    const TestDatabase db(folder.path(fmt::format("p.{}.sqlite", i)));
    for (const char* counter : {"fault_batches", "raw_faults", "evictions", "htod_fault_bytes", "htod_prefetch_bytes",
                                "dtoh_evict_bytes", "populated_pages", "reloaded_pages", "fault_service_ns"}) {
      EXPECT_EQ(db.text(fmt::format("SELECT SUM({}) FROM operations", counter)),
                program["together"]["counters"][counter].dump())
          << program["name"] << " " << counter;
    }
    evicted_bytes += db.number("SELECT SUM(evicted_bytes) FROM operations");
    evictions += program["together"]["counters"]["evictions"].get<std::int64_t>();
    const json result = json::parse(db.text("SELECT result FROM run"));
    EXPECT_EQ(result["total_ns"], program["together"]["total_ns"]);
    EXPECT_EQ(
        db.text("SELECT end_ns FROM heat_grid"),
        std::to_string(program["start_ns"].get<std::int64_t>() + program["together"]["total_ns"].get<std::int64_t>()));
    EXPECT_GE(db.number("SELECT MIN(start_ns) FROM operations WHERE kind = 'kernel'"),
              program["start_ns"].get<std::int64_t>());
  }
  // Only pages of chunks in use are evicted: at most 2 MiB each.
  EXPECT_GT(evicted_bytes, 0);
  EXPECT_LE(evicted_bytes, evictions * static_cast<std::int64_t>(kBlockBytes));
}

TEST_F(ScenarioTest, TellsEveryProgramTogetherAndAlone) {
  const CommandResult result = run_scenario(
      with_programs(kBig + ", " + kSmall + R"(, "start_ns": 1000})", R"("prefetch": "none")"), {"--json", "out.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 programs on h200-sxm-pcie5"));
  EXPECT_THAT(result.out, HasSubstr("prefetch none"));
  const json out = json::parse(folder.read("out.json"));
  EXPECT_EQ(out["schema"], "uvmsim.scenario/1");
  EXPECT_EQ(out["system"]["gpus"].size(), 2u);
  ASSERT_EQ(out["programs"].size(), 2u);
  const json& small = out["programs"][1];
  EXPECT_EQ(small["name"], "small");
  EXPECT_EQ(small["gpus"], json({1}));
  EXPECT_EQ(small["start_ns"], 1000);
  for (const json& program : out["programs"]) {
    const json &together = program["together"], &alone = program["alone"];
    EXPECT_EQ(together["schema"], "uvmsim.result/3");
    EXPECT_FALSE(together.contains("system"));
    EXPECT_EQ(program["together_ns"], together["settled"]["duration_ns"]);
    EXPECT_EQ(program["alone_ns"], alone["settled"]["duration_ns"]);
    EXPECT_GE(program["slowdown_thousandths"].get<int>(), 1000);
    EXPECT_GT(together["counters"]["evictions"].get<int>(), 0);
    for (const char* bytes : {"htod_fault_bytes", "dtoh_evict_bytes", "populated_pages"}) {
      EXPECT_EQ(together["counters"][bytes], alone["counters"][bytes]) << bytes;
    }
  }
  // Alone, the program takes what `uvmsim run` says for the same memory.
  const CommandResult alone =
      run({"run", "small.jsonl", "--system", "./two.json", "--capacity-bytes", "8MiB", "--prefetch", "none",
           "--no-unlimited-run", "--iterations", "recorded", "--json", "run.json"});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  const json single = json::parse(folder.read("run.json"));
  EXPECT_EQ(single["total_ns"], small["alone"]["total_ns"]);
  EXPECT_EQ(single["counters"], small["alone"]["counters"]);
}

TEST_F(ScenarioTest, TheFactorDividesWhatIsTouchedWhereThatIsSaid) {
  folder.write("arena.jsonl", trace_of({alloc(1, 64 << 20), kernel(1, 0, 2048), kernel(1, 0, 2048)}));
  const CommandResult result =
      run_scenario(with_programs(R"({"name": "arena", "trace": "arena.jsonl", "gpus": [0], "osf": 2,
                                     "footprint": "touched"})"),
                   {"--json", "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json together = json::parse(result.out)["programs"][0]["together"];
  EXPECT_EQ(together["touched_footprint_bytes"], 8 << 20);
  EXPECT_EQ(together["capacity_bytes"], 4 << 20);
  EXPECT_EQ(together["limit"]["footprint"], "touched");
}

TEST_F(ScenarioTest, ARepeatedProgramIsThereAllTheTime) {
  const CommandResult result =
      run_scenario(with_programs(kBig + R"(, {"name": "small", "trace": "small.jsonl", "gpus": [1], "repeat": true})"),
                   {"--json", "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json out = json::parse(result.out);  // and nothing else
  const json &big = out["programs"][0], &small = out["programs"][1];
  EXPECT_EQ(small["together"]["total_ns"], big["together"]["total_ns"]);
  EXPECT_GT(small["together"]["iterations"].size(), 2u);
  EXPECT_EQ(small["together"]["iterations"].size(), small["alone"]["iterations"].size());
}

// The results of a program that lends memory to a harvesting one; `lost_ns`: additional time of its iterations compared
// with running alone.
struct Yielded {
  std::int64_t lost_ns = 0;
  json counters;
  json harvester;
};

Yielded yielded(const json& out) {
  const json& yielder = out["programs"][1];
  Yielded result{0, yielder["together"]["counters"], out["programs"][0]["together"]["counters"]};
  const json &together = yielder["together"]["iterations"], &alone = yielder["alone"]["iterations"];
  EXPECT_EQ(together.size(), alone.size());
  EXPECT_GT(together.size(), 1u);
  for (std::size_t i = 0; i < together.size(); ++i) {
    result.lost_ns += together[i]["duration_ns"].get<std::int64_t>() - alone[i]["duration_ns"].get<std::int64_t>();
  }
  return result;
}

TEST_F(ScenarioTest, AYielderLosesWhereItTakesMemoryBackAndNowhereElse) {
  folder.write("large.jsonl", two_iterations(512));
  folder.write("yielder.jsonl", two_iterations(128));
  const auto run_with = [&](const char* harvester_start, const char* yielder_start) {
    const CommandResult result = run_scenario(
        std::string(R"({"system": "hgx-h200-x2", "prefetch": "always_2mb",
            "harvest": {"victims": true, "reserve_chunks": 0},
            "programs": [{"name": "harvester", "trace": "large.jsonl", "gpus": [0], "osf": 2, "iterations": 3,
                          "start_ns": )") +
            harvester_start +
            R"(}, {"name": "yielder", "trace": "yielder.jsonl", "gpus": [1], "capacity_bytes": "160MiB", "repeat": true,
                          "start_ns": )" +
            yielder_start + "}]}",
        {"--json", "-"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return yielded(json::parse(result.out));
  };
  const Yielded early = run_with("20000000", "0");
  EXPECT_GT(early.harvester["evictions_to_peers"].get<int>(), 0);
  EXPECT_EQ(early.counters["spare_chunks_given_back"], 0);
  EXPECT_EQ(early.lost_ns, 0) << "it lends only what it never needs";

  const Yielded late = run_with("0", "20000000");
  const std::int64_t taken = late.counters["spare_chunks_given_back"].get<std::int64_t>();
  EXPECT_GT(taken, 10);
  EXPECT_GE(late.lost_ns, taken * 5100) << "costs.evict_chunk_ns for each";
  EXPECT_EQ(late.counters["evictions"], 0) << "what it takes is not its own";
  // Every block moves its bytes once per eviction to the peer.
  EXPECT_EQ(late.harvester["dtod_evict_bytes"].get<std::uint64_t>(),
            late.harvester["evictions_to_peers"].get<std::uint64_t>() << 21);
}

TEST_F(ScenarioTest, HarvestingIsTheSameEveryTime) {
  folder.write("large.jsonl", two_iterations(1024));
  const std::string scenario = R"({"system": "p3-8xlarge", "prefetch": "always_2mb",
      "harvest": {"victims": true, "pre_evict": true, "parallel_fetch": true, "prefetch": true,
                  "prefetch_chunks": 8, "prefetch_stride": 1},
      "route": "multipath:target=round_robin",
      "programs": [{"name": "a", "trace": "large.jsonl", "gpus": [0], "osf": 1.5},
                   {"name": "b", "trace": "large.jsonl", "gpus": [1], "osf": 1.5},
                   {"name": "c", "trace": "small.jsonl", "gpus": [2], "capacity_bytes": "360MiB", "repeat": true},
                   {"name": "d", "trace": "small.jsonl", "gpus": [3], "capacity_bytes": "360MiB", "repeat": true}]})";
  const CommandResult first = run_scenario(scenario, {"--json", "-"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(run_scenario(scenario, {"--json", "-"}).out, first.out);
  const json out = json::parse(first.out);
  EXPECT_EQ(out["harvest"],
            json::parse(R"({"victims": true, "pre_evict": true, "parallel_fetch": true, "prefetch": true,
      "reserve_chunks": 50, "prefetch_chunks": 8, "prefetch_stride": 1})"));
  EXPECT_EQ(out["programs"][0]["together"]["policies"]["route"]["name"], "multipath");
  for (const std::size_t harvester : {0u, 1u}) {
    const json& counters = out["programs"][harvester]["together"]["counters"];
    for (const char* counter : {"evictions_to_peers", "pre_evictions", "peer_write_backs", "chunk_prefetches_from_host",
                                "chunk_prefetches_from_peers", "chunk_prefetches_to_peers"}) {
      EXPECT_GT(counters[counter].get<int>(), 0) << harvester << ' ' << counter;
    }
    EXPECT_GE(counters["chunk_prefetches_to_peers"], counters["chunk_prefetches_moved_on"]);
  }
}

TEST_F(ScenarioTest, WithoutAloneNothingIsCompared) {
  const CommandResult result = run_scenario(with_programs(kBig), {"--no-alone", "--json", "out.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json program = json::parse(folder.read("out.json"))["programs"][0];
  EXPECT_TRUE(program["alone"].is_null());
  EXPECT_TRUE(program["slowdown_thousandths"].is_null());
}

TEST_F(ScenarioTest, TheTimelineHasAProcessPerGpuAndPerProgram) {
  const CommandResult result =
      run_scenario(with_programs(kBig + ", " + kSmall + "}"), {"--no-alone", "--timeline", "out.trace"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::map<int, std::string> processes;
  std::map<std::string, std::set<std::string>> tracks;
  std::map<std::string, int> ranges, kernels;
  const json events = json::parse(folder.read("out.trace"))["traceEvents"];
  for (const json& event : events) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
  }
  for (const json& event : events) {
    const std::string& process = processes.at(event["pid"]);
    if (event["name"] == "thread_name") tracks[process].insert(event["args"]["name"]);
    if (event.value("cat", "") == "range") ++ranges[process];
    if (event.value("cat", "") == "kernel") ++kernels[process];
  }
  EXPECT_EQ(processes.size(), 4u);
  EXPECT_EQ(ranges, (std::map<std::string, int>{{"host: big", 2}, {"host: small", 2}}));
  EXPECT_EQ(kernels, (std::map<std::string, int>{{"GPU 0", 2}, {"GPU 1", 2}}));
  EXPECT_TRUE(tracks["GPU 0"].contains("fault batches"));
  EXPECT_TRUE(tracks["GPU 1"].contains("fault batches"));
  EXPECT_TRUE(tracks["GPU 0"].contains("big: stream 0"));
  EXPECT_TRUE(tracks["GPU 1"].contains("small: stream 0"));
}

// Kernels of programs on one GPU overlap in time: there is one track for each program.
TEST_F(ScenarioTest, TheTimelineOfASharedGpuHasATrackPerProgram) {
  const CommandResult result = run_scenario(with_programs(R"({"name": "big", "trace": "big.jsonl", "gpus": [0]},
                                    {"name": "a \"b\\", "trace": "small.jsonl", "gpus": [0]})"),
                                            {"--no-alone", "--timeline", "out.trace"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json events = json::parse(folder.read("out.trace"))["traceEvents"];
  std::map<json, std::string> tracks;
  std::map<std::string, int> kernels;
  for (const json& event : events) {
    if (event["name"] == "thread_name") tracks[json{event["pid"], event["tid"]}] = event["args"]["name"];
  }
  for (const json& event : events) {
    if (event.value("cat", "") == "kernel") ++kernels[tracks.at(json{event["pid"], event["tid"]})];
  }
  EXPECT_EQ(kernels, (std::map<std::string, int>{{"big: stream 0", 2}, {"a \"b\\: stream 0", 2}}));
}

TEST_F(ScenarioTest, EveryMistakeIsOneLine) {
  expect_refused("[]", {"scenario.json", "allowed: an object"});
  expect_refused("{", {"scenario.json"});
  expect_refused(R"({"system": "./two.json"})", {"the key 'programs' is missing"});
  expect_refused(R"({"programs": []})", {"the key 'system' is missing"});
  expect_refused(with_programs(""), {"/programs", "allowed: a list of objects"});
  expect_refused(with_programs("3"), {"/programs/0", "allowed: an object"});
  expect_refused(with_programs(R"({"name": "a", "gpus": [0]})"), {"/programs/0", "'trace' is missing"});
  expect_refused(with_programs(R"({"name": "a", "trace": "big.jsonl"})"), {"/programs/0", "'gpus' is missing"});
  expect_refused(with_programs(R"({"name": "", "trace": "big.jsonl", "gpus": [0]})"), {"/programs/0/name", "1 to 64"});
  expect_refused(with_programs(R"({"name": 7, "trace": "big.jsonl", "gpus": [0]})"), {"/programs/0/name", "a text"});
  for (const char* gpus : {"0", "[]", "[-1]", "[16]", "[0.5]", R"(["0"])", "null", "[18446744073709551616]"}) {
    expect_refused(with_programs(fmt::format(R"({{"name": "a", "trace": "big.jsonl", "gpus": {}}})", gpus)),
                   {"/programs/0/gpus", "from 0 to 15"});
  }
  const auto program = [&](const std::string& more) {
    return with_programs(R"({"name": "a", "trace": "big.jsonl", "gpus": [0], )" + more + "}");
  };
  expect_refused(program(R"("start_ns": -1)"), {"/programs/0/start_ns", "0 to 1000000000000000"});
  expect_refused(program(R"("start_ns": 1e300)"), {"/programs/0/start_ns"});
  expect_refused(program(R"("repeat": 1)"), {"/programs/0/repeat", "true or false"});
  expect_refused(program(R"("repeat": true)"), {"all programs are repeated"});
  expect_refused(program(R"("repeat": true, "iterations": 5)"), {"iterations have no effect"});
  expect_refused(program(R"("osf": 2, "capacity_bytes": "8MiB")"), {"osf and capacity_bytes are both there"});
  expect_refused(program(R"("osf": [1, 2])"), {"/programs/0/osf", "no alternatives"});
  expect_refused(program(R"("osf": 0)"), {"/programs/0/osf"});
  expect_refused(program(R"("osf": 1000)"), {"osf of 'a'", "less than one 2 MiB chunk"});
  expect_refused(program(R"("layout": "nowhere")"), {"nowhere"});
  expect_refused(program(R"("oss": 2)"), {"/programs/0", "unknown key 'oss'", "osf"});
  expect_refused(program(R"("name": "b")"), {"scenario.json", "name"});  // twice
  expect_refused(with_programs(R"({"name": "a", "trace": "none.jsonl", "gpus": [0]})"), {"none.jsonl"});
  expect_refused(with_programs(R"({"name": "a", "trace": "*.jsonl", "gpus": [0]})"), {"describes 2 runs"});
  expect_refused(with_programs(kBig + ", " + kBig), {"/programs/1/name", "'big' is there twice"});
  // Programs that share a GPU share its memory: settings of one of them for it are refused.
  const std::string both = R"({"name": "a", "trace": "big.jsonl", "gpus": [0]},
                              {"name": "b", "trace": "small.jsonl", "gpus": [1, 0]})";
  expect_refused(with_programs(kBig + R"(, {"name": "b", "trace": "small.jsonl", "gpus": [1, 0]})"),
                 {"program 'big' has a limit of its own and shares a GPU", "shared_osf or shared_capacity_bytes"});
  expect_refused(with_programs(kBig + R"(, {"name": "b", "trace": "small.jsonl", "gpus": [0]})", R"("shared_osf": 2)"),
                 {"program 'big' has a limit of its own and shares a GPU", "shared_osf or shared_capacity_bytes"});
  expect_refused(with_programs(both, R"("shared_osf": 2, "shared_capacity_bytes": "8MiB")"),
                 {"shared_osf and shared_capacity_bytes are both there"});
  expect_refused(with_programs(both, R"("shared_osf": 0)"), {"/shared_osf"});
  expect_refused(with_programs(both, R"("shared_osf": [2])"), {"/shared_osf", "one value"});
  expect_refused(with_programs(both, R"("shared_capacity_bytes": 1)"), {"/shared_capacity_bytes", "too small"});
  expect_refused(with_programs(both, R"("sharing": "turns")"), {"/sharing", "time_slices, concurrent"});
  expect_refused(with_programs(both, R"("sharing": 3)"), {"/sharing", "one of time_slices, concurrent"});
  expect_refused(
      with_programs(both, R"("schedule": "prioritty")"),
      {"unknown schedule policy 'prioritty' (did you mean 'priority'?)", "memory_aware, priority, round_robin"});
  expect_refused(with_programs(both, R"("schedule": "priority:0=-1")"), {"schedule policy 'priority'", "'0'", "1000"});
  expect_refused(with_programs(both, R"("schedule": {"name": "priority"})"), {"/schedule", "a text"});
  expect_refused(with_programs(both, R"("schedule": "priority", "sharing": "concurrent")"),
                 {"/schedule", "no effect on concurrent kernels", "time_slices"});
  expect_refused(with_programs(kBig, R"("schedule": "priority")"), {"no two programs name the same GPU"});
  expect_refused(with_programs(both, R"("evict": "min")"), {"program 'a'", "knows the future"});
  expect_refused(with_programs(kBig, R"("shared_osf": 2)"), {"no two programs name the same GPU"});
  expect_refused(with_programs(R"({"name": "b", "trace": "small.jsonl", "gpus": [0, 0]})"), {"names GPU 0 twice"});
  expect_refused(with_programs(R"({"name": "b", "trace": "small.jsonl", "gpus": [2]})"),
                 {"program 'b' uses GPU 2", "0 to 1"});
  expect_refused(with_programs(kBig + ", " + kSmall + "}", R"("evict": "min")"), {"'big'", "class D4", "alone"});
  expect_refused(with_programs(kBig, R"("evict": "mine")"), {"unknown evict policy 'mine'"});
  expect_refused(with_programs(kBig, R"("plan": "deepum")"), {"unknown key 'plan'"});
  expect_refused(R"({"system": "nothing", "programs": [)" + kBig + "]}", {"nothing"});
  const auto harvest = [&](const std::string& value) { return with_programs(kBig, R"("harvest": )" + value); };
  expect_refused(with_programs(kBig, R"("evict": "sequential_local", "harvest": {"pre_evict": true})"),
                 {"program 'big'", "harvesting works with 2 MB chunks", "'sequential_local' evicts 64 KB"});
  expect_refused(harvest("true"), {"/harvest", "an object"});
  expect_refused(harvest(R"({"victims": 1})"), {"/harvest/victims", "true or false"});
  expect_refused(harvest(R"({"prefetch": "multi_path"})"), {"/harvest/prefetch", "true or false"});
  expect_refused(with_programs(kBig, R"("route": "anywhere")"), {"unknown route policy 'anywhere'", "min_pending"});
  expect_refused(harvest(R"({"prefetch_chunks": 0})"), {"/harvest/prefetch_chunks", "1 to 1024"});
  expect_refused(harvest(R"({"prefetch_stride": 1025})"), {"/harvest/prefetch_stride", "1 to 1024"});
  expect_refused(harvest(R"({"reserve_chunks": -1})"), {"/harvest/reserve_chunks", "0 to 1000000"});
  expect_refused(harvest(R"({"prefetch_chunk": 3})"), {"/harvest", "unknown key 'prefetch_chunk'", "prefetch_chunks"});
}

TEST_F(ScenarioTest, MistakesOfTheCommandLine) {
  folder.write("scenario.json", with_programs(kBig));
  expect_one_line_error(run({"scenario"}), {"no scenario file given"});
  expect_one_line_error(run({"scenario", "none.json"}), {"none.json"});
  expect_one_line_error(run({"scenario", "scenario.json", "scenario.json"}), {"scenario.json"});
  expect_one_line_error(run({"scenario", "scenario.json", "--json", "x", "--timeline", "x"}), {"both name x"});
  expect_one_line_error(run({"scenario", "scenario.json", "--json", "no/such/folder"}), {"no/such/folder"});
  expect_one_line_error(run({"scenario", "scenario.json", "--timeline", "-"}), {"--timeline"});
  expect_one_line_error(run({"scenario", "scenario.json", "--profile", "-"}), {"--profile"});
  expect_one_line_error(run({"scenario", "scenario.json", "--profile", "no/such/p"}), {"no/such/p"});
  expect_one_line_error(run({"scenario", "scenario.json", "--profile", "p.json", "--json", "p.0.json"}),
                        {"both name p.0.json"});
}

TEST(ScenarioFiles, TheShippedSchemaIsTheProgramsOwn) {
  std::ifstream file(UVMSIM_SOURCE_DIR "/configs/scenario.schema.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(text == scenario::scenario_schema())
      << "write it again: uvmsim scenario --schema > configs/scenario.schema.json";
}

TEST(ScenarioFiles, TheShippedOnesAreRight) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(UVMSIM_SOURCE_DIR "/configs/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    SCOPED_TRACE(entry.path());
    const scenario::Scenario scenario = scenario::read_scenario(entry.path().string());
    const auto system = config::load_system(scenario.programs.front().point.system);
    for (const scenario::ScenarioProgram& program : scenario.programs) {
      EXPECT_TRUE(std::filesystem::exists(program.point.trace)) << program.point.trace;
      for (const unsigned gpu : program.gpus) EXPECT_LT(gpu, system.gpus.size());
    }
  }
  EXPECT_GE(files, 2u);
}

}  // namespace
}  // namespace uvmsim
