// Oversubscription as others measured it on an RTX 5090: the program seq_stream (see the data file), replayed on a
// system that shares its cost parameters with the calibrated one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/config/load_system.h"
#include "sim/engine/simulation.h"
#include "sim/validate/compare.h"
#include "tests/ground_truth/known_differences.h"

namespace uvmsim::validate {
namespace {

constexpr double kTolerancePercent = 35;
constexpr std::uint64_t kThreads = 65536;
constexpr int kWarmUps = 2, kTimed = 3;
// Everything resident: 0.57 ms for chunks of 32 pages, 0.861 ms for 48. This is the compute time of a page, in which
// the model adds what faults cost.
constexpr std::int64_t kResidentNsPerPage = 17900;

struct PublishedRun {
  std::string factor;
  std::uint64_t array_bytes = 0;
  double median_ms = 0, min_ms = 0, max_ms = 0;
};
void PrintTo(const PublishedRun& run, std::ostream* out) { *out << "factor " << run.factor; }

std::vector<PublishedRun> published_runs() {
  std::ifstream file(UVMSIM_SOURCE_DIR "/tests/ground_truth/data/oversubscription_published.json");
  std::vector<PublishedRun> runs;
  const nlohmann::json published = nlohmann::json::parse(file);
  for (const auto& run : published["runs"]) {
    const double bytes = run["both_arrays_gb"].get<double>() * 1e9 / 2;
    runs.push_back({fmt::format("{}", run["factor"].get<double>()),
                    static_cast<std::uint64_t>(bytes) / kBasePageBytes * kBasePageBytes, run["median_ms"],
                    run["min_ms"], run["max_ms"]});
  }
  return runs;
}

std::vector<trace::Record> seq_stream(std::uint64_t array_bytes) {
  const std::uint64_t pages = array_bytes / kBasePageBytes;
  std::vector<trace::Record> records;
  for (const trace::ObjectId id : {trace::ObjectId{1}, trace::ObjectId{2}}) {
    trace::ObjectAlloc array;
    array.id = id;
    array.bytes = array_bytes;
    records.emplace_back(array);
  }
  for (std::uint64_t page = 0; page < pages; page += kPagesPerBlock) {
    const std::uint64_t count = std::min<std::uint64_t>(kPagesPerBlock, pages - page);
    records.emplace_back(trace::HostAccess{1, {{page, count, trace::AccessMode::kWrite}}, {}, 0});
  }
  records.emplace_back(trace::Sync{});
  for (int i = 0; i < kWarmUps + kTimed; ++i) {
    trace::Kernel kernel;
    kernel.name = "seq_stream";
    kernel.grid.x = kernel.block.x = 256;
    kernel.distribution = trace::Distribution::kThreadChunk;
    kernel.duration_ns = kResidentNsPerPage * static_cast<std::int64_t>((pages + kThreads - 1) / kThreads);
    kernel.accesses.push_back({1, {{0, pages, trace::AccessMode::kRead}}});
    kernel.accesses.push_back({2, {{0, pages, trace::AccessMode::kWrite}}});
    records.emplace_back(std::move(kernel));
    records.emplace_back(trace::Sync{});
  }
  return records;
}

struct KernelTimes : EventSink {
  std::vector<std::int64_t> nanoseconds;
  void on(const KernelEvent& event) override { nanoseconds.push_back((event.end - event.start).value); }
};

double simulated_median_ms(std::uint64_t array_bytes) {
  const std::vector<trace::Record> records = seq_stream(array_bytes);
  trace::Header header;
  header.quantum_bytes = kBasePageBytes;
  RunOptions options;
  options.system = config::load_system("rtx5090-pcie5");
  options.layout = "none";
  options.limited = false;
  KernelTimes times;
  std::size_t next = 0;
  const RecordSource source = [&](trace::Record& record) {
    if (next == records.size()) return false;
    record = records[next++];
    return true;
  };
  RunObserver observer;
  observer.events = &times;
  simulate(header, source, options, observer);
  EXPECT_EQ(times.nanoseconds.size(), static_cast<std::size_t>(kWarmUps + kTimed));
  std::sort(times.nanoseconds.begin() + kWarmUps, times.nanoseconds.end());
  return static_cast<double>(times.nanoseconds.at(kWarmUps + kTimed / 2)) / 1e6;
}

class SeqStream : public ::testing::TestWithParam<PublishedRun> {};

TEST_P(SeqStream, MedianOfTheTimedLaunches) {
  const PublishedRun& run = GetParam();
  const double simulated = simulated_median_ms(run.array_bytes);
  const double error = 100 * (simulated - run.median_ms) / run.median_ms;
  fmt::print("seq_stream {}: published {} ms ({} to {}), simulated {:.3f} ms ({:+.1f} %)\n", run.factor, run.median_ms,
             run.min_ms, run.max_ms, simulated, error);
  const bool met = std::abs(error) <= kTolerancePercent || (simulated >= run.min_ms && simulated <= run.max_ms);
  const std::string name = "seq_stream " + run.factor;
  ground_truth::Differences found;
  if (!met) found[name].insert("time");
  EXPECT_THAT(ground_truth::compare_with_known(found, {name}), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Factors, SeqStream, ::testing::ValuesIn(published_runs()), [](const auto& info) {
  std::string name = "factor_" + info.param.factor;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace uvmsim::validate
