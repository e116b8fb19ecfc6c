// SPDX-License-Identifier: Apache-2.0
// The whole pass except the GPU: the injection library runs over the fake Sanitizer API, and the test reads its log.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace uvmtrace::access {
namespace {

using nlohmann::json;

constexpr std::uint64_t kA = 0x7f0000000000;
constexpr std::uint64_t kB = 0x7f0000300000;

struct Recording {
  int status = -1;
  std::string out;
  std::string err;
  std::vector<json> log;

  std::vector<json> of(const std::string& type) const {
    std::vector<json> found;
    for (const json& event : log) {
      if (event.at("t") == type) found.push_back(event);
    }
    return found;
  }
  json launch(const std::string& name) const {
    for (const json& event : log) {
      if (event.at("t") == "launch" && event.at("name") == name) return event;
    }
    ADD_FAILURE() << "no launch " << name;
    return json::object();
  }
};

std::string read_all(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Runs the player in a folder of its own; `environment` overrides the ordinary one.
Recording record(const std::string& scenario, const std::string& environment = "") {
  std::string pattern = (std::filesystem::temp_directory_path() / "uvmtrace_access_XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return {};
  const std::filesystem::path folder = pattern;
  std::ostringstream command;
  command << "env -u UVMTRACE_PHASES UVMTRACE_LOG_DIR='" << pattern << "' UVMTRACE_SANITIZER_LIBRARY='" FAKE_SANITIZER
          << "' " << environment << " '" ACCESS_PLAYER "' '" ACCESS_LIBRARY "' " << scenario << " >'" << pattern
          << "/out' 2>'" << pattern << "/err'";
  Recording recording;
  const int status = std::system(command.str().c_str());
  recording.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  recording.out = read_all(folder / "out");
  recording.err = read_all(folder / "err");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) recording.log.push_back(json::parse(line));
  }
  std::filesystem::remove_all(folder);
  return recording;
}

json runs(std::initializer_list<std::array<std::uint64_t, 3>> list) {
  json out = json::array();
  for (const auto& run : list) out.push_back({run[0], run[1], run[2]});
  return out;
}

TEST(AccessPass, RecordsWhatEachLaunchTouched) {
  const Recording r = record("mixed");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  ASSERT_FALSE(r.log.empty());
  EXPECT_EQ(r.log.front().at("t"), "header");
  EXPECT_EQ(r.log.front().at("quantum_bytes"), 512);
  EXPECT_EQ(r.log.back().at("t"), "end");

  const json reads = r.launch("reads_a");
  EXPECT_EQ(reads.at("accesses"),
            runs({{0x7d0000000000 / 512, 1, 1}, {kA / 512, 2, 1}, {(kA + (2 << 20)) / 512 - 1, 2, 1}}));
  EXPECT_EQ(reads.at("stream"), 1);
  EXPECT_EQ(reads.at("shared_bytes"), 64);
  EXPECT_EQ(reads.at("grid"), json({8, 1, 1}));
  EXPECT_EQ(reads.at("patched"), true);
  EXPECT_FALSE(reads.contains("phases"));
  const json writes = r.launch("writes_b");
  EXPECT_EQ(writes.at("accesses"), runs({{kB / 512, 1, 2}, {kB / 512 + 1, 1, 3}, {kB / 512 + 2, 2046, 2}}));
  EXPECT_EQ(writes.at("stream"), 0);
  EXPECT_EQ(r.launch("nothing").at("accesses"), json::array());
  EXPECT_EQ(r.launch("unknown").at("unknown"), 1);
  EXPECT_EQ(r.launch("unknown").at("unknown_at"), json({0x1234567 / 512 * 512}));
  EXPECT_EQ(r.launch("not_patched").at("patched"), false);
  EXPECT_FALSE(r.launch("not_patched").contains("accesses"));
  EXPECT_EQ(r.launch("after_free").at("accesses"), runs({{(kA + (64 << 20)) / 512, 1, 2}}));
}

TEST(AccessPass, RecordsHostEventsInTheLogsVocabulary) {
  const Recording r = record("mixed");
  ASSERT_EQ(r.status, 0) << r.err;
  const std::vector<json> allocations = r.of("alloc");
  ASSERT_EQ(allocations.size(), 5U);
  EXPECT_EQ(allocations[0].at("va"), kA);
  EXPECT_EQ(allocations[0].at("bytes"), 3 << 20);
  EXPECT_EQ(allocations[0].at("kind"), "device");
  EXPECT_EQ(allocations[2].at("kind"), "module");
  EXPECT_EQ(allocations[3].at("va"), 0x7c0000001000) << "asked for twice, there once";
  EXPECT_EQ(allocations[3].at("kind"), "module");
  ASSERT_EQ(r.of("free").size(), 1U);
  EXPECT_EQ(r.of("free")[0].at("kind"), "device");
  const json copy = r.of("memcpy").at(0);
  EXPECT_EQ(copy.at("kind"), "htod");
  EXPECT_EQ(copy.at("bytes"), 700);
  EXPECT_EQ(copy.at("async"), true);
  EXPECT_EQ(copy.at("stream"), 2);
  const json set = r.of("memset").at(0);
  EXPECT_EQ(set.at("bytes"), 400);
  EXPECT_EQ(set.at("stream"), 0);
  EXPECT_EQ(r.of("prefetch").at(0).at("to"), 0);
  EXPECT_EQ(r.of("advise").at(0).at("advice"), "set_preferred_location");
  EXPECT_EQ(r.of("advise").at(0).at("to"), -1);
  EXPECT_EQ(r.of("sync").at(0).at("kind"), "device");
  EXPECT_EQ(r.of("window").at(0).at("open"), true);

  std::vector<std::uint64_t> sequences;
  for (const json& event : r.log) {
    if (event.contains("seq")) sequences.push_back(event.at("seq"));
  }
  std::sort(sequences.begin(), sequences.end());
  EXPECT_EQ(std::adjacent_find(sequences.begin(), sequences.end()), sequences.end()) << "places are unique";
}

// Returns whether the event has these fields; it may have others.
bool has(const json& event, const json& fields) {
  return std::all_of(fields.items().begin(), fields.items().end(), [&](const auto& field) {
    return event.contains(field.key()) && event.at(field.key()) == field.value();
  });
}

void expect_events(const std::vector<json>& events, const std::vector<json>& wanted) {
  ASSERT_EQ(events.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(has(events[i], wanted[i])) << events[i] << wanted[i];
}

TEST(AccessPass, EveryKindOfMemory) {
  const Recording r = record("calls");
  ASSERT_EQ(r.status, 0) << r.err;
  expect_events(r.of("alloc"), {{{"va", 0x10000000}, {"bytes", 5120}, {"kind", "device"}},
                                {{"va", 0x20000000}, {"bytes", 1 << 20}, {"kind", "managed"}},
                                {{"va", 0x30000000}, {"bytes", 4096}, {"kind", "pool"}, {"stream", 1}},
                                {{"va", 0x40000000}, {"bytes", 8192}, {"kind", "pinned"}},
                                {{"va", 0x50000000}, {"bytes", 2 << 20}, {"kind", "vmm"}},
                                {{"va", 0x50200000}, {"bytes", 2 << 20}, {"kind", "vmm"}}});
  expect_events(r.of("free"), {{{"va", 0x50000000}, {"kind", "vmm"}},
                               {{"va", 0x50200000}, {"kind", "vmm"}},
                               {{"va", 0x30000000}, {"kind", "pool"}, {"stream", 2}},
                               {{"va", 0x40000000}, {"kind", "pinned"}},
                               {{"va", 0x20000000}, {"kind", "managed"}}});
}

TEST(AccessPass, EveryKindOfCopyHintAndSynchronisation) {
  const Recording r = record("calls");
  ASSERT_EQ(r.status, 0) << r.err;
  expect_events(r.of("memcpy"), {{{"dst", 0x10000010},
                                  {"src", 0x40000000 + 200},
                                  {"kind", "htod"},
                                  {"bytes", 320},
                                  {"rows", 5},
                                  {"row_bytes", 64},
                                  {"dst_pitch", 512},
                                  {"src_pitch", 100}},
                                 {{"kind", "htod"}, {"bytes", 256}, {"stream", 2}, {"async", true}},
                                 {{"kind", "dtod"}, {"bytes", 16}, {"stream", 1}},
                                 {{"kind", "dtoh"}, {"bytes", 32}, {"stream", 1}}});
  EXPECT_EQ(r.of("memcpy")[2].at("corr"), r.of("memcpy")[3].at("corr")) << "one call";
  expect_events(r.of("memset"), {{{"va", 0x10000000}, {"bytes", 120}, {"rows", 3}, {"row_bytes", 40}, {"pitch", 512}}});
  expect_events(r.of("prefetch"), {{{"va", 0x10000000}, {"bytes", 16}, {"to", 3}},
                                   {{"va", 0x40000000}, {"bytes", 32}, {"to", -1}},
                                   {{"va", 0x20000000}, {"bytes", 4096}, {"to", -1}}});
  expect_events(r.of("discard"), {{{"va", 0x10000000}, {"prefetch", true}, {"to", 3}},
                                  {{"va", 0x40000000}, {"prefetch", true}, {"to", -1}},
                                  {{"va", 0x10000000}, {"prefetch", false}}});
  expect_events(r.of("advise"), {{{"advice", "set_accessed_by"}, {"to", 0}}});
  expect_events(r.of("sync"), {{{"kind", "event_record"}, {"stream", 1}, {"event", 0x900}},
                               {{"kind", "event_wait"}, {"stream", 2}, {"event", 0x900}},
                               {{"kind", "event_synchronize"}, {"event", 0x900}},
                               {{"kind", "stream"}, {"stream", 2}}});
}

TEST(AccessPass, KernelsOfAGraphAreKeptApart) {
  const Recording r = record("mixed");
  std::vector<json> nodes;
  for (const json& launch : r.of("launch")) {
    if (launch.contains("node")) nodes.push_back(launch);
  }
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].at("node"), 100);
  EXPECT_EQ(nodes[1].at("node"), 101);
  EXPECT_EQ(nodes[0].at("accesses"), runs({{kB / 512, 1, 1}}));
  EXPECT_EQ(nodes[1].at("accesses"), runs({{kB / 512 + 2, 1, 2}}));
}

TEST(AccessPass, WindowOfTheProfiler) {
  const Recording r = record("window", "UVMTRACE_WINDOW=profiler");
  EXPECT_EQ(r.launch("before").at("patched"), false);
  EXPECT_EQ(r.launch("inside").at("patched"), true);
  EXPECT_EQ(r.launch("inside_too").at("accesses"), runs({{kA / 512, 1, 1}}));
  EXPECT_EQ(r.launch("after").at("patched"), false);
  const Recording all = record("window");
  EXPECT_EQ(all.launch("before").at("patched"), true);
  EXPECT_EQ(all.launch("after").at("patched"), true);
}

TEST(AccessPass, PhasesOnlyOfLargeLaunches) {
  const Recording r = record("phases", "UVMTRACE_PHASES=4");
  const json phases = r.launch("big").at("phases");
  ASSERT_EQ(phases.size(), 4U);
  const std::uint64_t page = kA / 65536;
  // The slices are blocks 0-2, 3-4, 5-7, 8-9, with 64 pages per block.
  EXPECT_EQ(phases[0], json({0, 3, runs({{page, 192, 2}})}));
  EXPECT_EQ(phases[1], json({3, 2, runs({{page + 192, 128, 2}})}));
  EXPECT_EQ(phases[2], json({5, 3, runs({{page + 320, 192, 2}})}));
  EXPECT_EQ(phases[3], json({8, 2, runs({{page + 512, 128, 2}})}));
  EXPECT_FALSE(r.launch("small").contains("phases"));
  EXPECT_EQ(r.launch("small").at("accesses"), runs({{kA / 512, 8, 1}}));
  EXPECT_FALSE(record("phases", "UVMTRACE_PHASES=0").launch("big").contains("phases"));
  EXPECT_TRUE(record("phases", "UVMTRACE_PHASE_BYTES=4000").launch("small").contains("phases"));
}

TEST(AccessPass, OrderAndCounts) {
  const Recording r = record("phases", "UVMTRACE_ORDER=1 UVMTRACE_COUNTS=1");
  const std::vector<std::uint64_t> order = r.launch("big").at("order");
  ASSERT_EQ(order.size(), 640U);
  EXPECT_EQ(order.front(), kA / 65536);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(r.launch("small").at("counts"), json::array({{kA / 65536, 8}}));
  EXPECT_EQ(r.launch("small").at("order"), json({kA / 65536}));
}

TEST(AccessPass, ReadsBackWhatWasTouchedNotWhatIsAllocated) {
  const Recording r = record("readback");
  ASSERT_EQ(r.status, 0) << r.err;
  // 64 GB are allocated, whose marks take 36 MB. A launch that touches one chunk reads back 4 KB of dirty bits and one
  // record.
  EXPECT_GT(std::stoul(r.out), 4096U);
  EXPECT_LT(std::stoul(r.out), 8192U);
}

TEST(AccessPass, LaunchesOfSeveralThreadsStayApart) {
  const Recording r = record("threads");
  ASSERT_EQ(r.status, 0) << r.err;
  std::map<std::string, int> seen;
  for (const json& launch : r.of("launch")) {
    const std::string name = launch.at("name");
    const auto t = static_cast<std::uint64_t>(name.back() - '0');
    EXPECT_EQ(launch.at("accesses"), runs({{kA / 512 + t * 16384, 2 * (t + 1), 2}}));
    ++seen[name];
  }
  EXPECT_EQ(seen.size(), 4U);
  for (const auto& [name, count] : seen) EXPECT_EQ(count, 50) << name;
}

TEST(AccessPass, ShortDeviceMemoryIsSaidOnceAndTheRestGoesUnrecorded) {
  const Recording r = record("short_memory");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_NE(r.err.find("uvmtrace: device memory"), std::string::npos) << r.err;
  EXPECT_EQ(r.launch("good").at("patched"), true);
  EXPECT_EQ(r.launch("short").at("patched"), false);
  EXPECT_EQ(r.launch("later").at("patched"), false);
  EXPECT_EQ(r.of("note").size(), 1U);
  EXPECT_EQ(r.log.back().at("t"), "end");
}

// Each refusal prints one line, and the program ends as it would without the recording.
void expect_one_line(const Recording& r, const std::string& words) {
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err.rfind("uvmtrace: ", 0), 0U) << r.err;
  EXPECT_NE(r.err.find(words), std::string::npos) << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
}

TEST(AccessPass, RefusalsAreOneLine) {
  expect_one_line(record("mixed", "FAKE_SANITIZER_FAIL=subscribe"), "another profiler is attached");
  expect_one_line(record("mixed", "FAKE_SANITIZER_FAIL=patches"), "Device not supported");
  expect_one_line(record("mixed", "FAKE_SANITIZER_FAIL=synchronize"), "did not end well");
  expect_one_line(record("mixed", "UVMTRACE_SANITIZER_LIBRARY=/no/such.so"), "cannot be loaded");
  expect_one_line(record("mixed", "UVMTRACE_LOG_DIR=/no/such/folder"), "/no/such/folder");
  expect_one_line(record("mixed", "UVMTRACE_PHASES=many"), "UVMTRACE_PHASES");
}

TEST(AccessPass, AnUnsupportedGpuStillGivesHostEvents) {
  const Recording r = record("mixed", "FAKE_SANITIZER_FAIL=patches");
  EXPECT_EQ(r.of("launch").size(), 8U);
  for (const json& launch : r.of("launch")) EXPECT_EQ(launch.at("patched"), false);
  EXPECT_EQ(r.of("alloc").size(), 5U);
}

}  // namespace
}  // namespace uvmtrace::access
