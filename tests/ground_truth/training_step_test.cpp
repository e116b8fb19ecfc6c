// Whole training steps without oversubscription: every tensor one managed allocation, freed when it dies, so that each
// step first-touches all of its memory again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/load_system.h"
#include "sim/report/run_record.h"
#include "sim/trace/reader.h"
#include "sim/validate/compare.h"
#include "tests/ground_truth/known_differences.h"

namespace uvmsim::validate {
namespace {

constexpr double kTolerancePercent = 20;

// The last measured iteration: managed memory without PyTorch's caching allocator.
nlohmann::json measured_iteration(const std::string& model) {
  std::ifstream file(UVMSIM_SOURCE_DIR "/tests/ground_truth/data/pytorch_h200_dev.json");
  return nlohmann::json::parse(file)[model]["managed_nopca"]["iterations"].back();
}

Counters settled_iteration(const std::string& model) {
  trace::TraceReader reader(std::string(UVMSIM_SOURCE_DIR) + "/workloads/" + model + "_h200.uvmt");
  RunOptions options;
  options.system = config::load_system("h200-sxm-pcie5");
  options.layout = "none";
  options.limited = false;
  const RunResult result = simulate(
      reader.header(), [&](trace::Record& record) { return reader.next(record); }, options);
  const IterationResult* settled = report::settled_iteration(result);
  EXPECT_NE(settled, nullptr);
  return settled == nullptr ? Counters{} : settled->counters;
}

class TrainingStep : public ::testing::TestWithParam<const char*> {};

TEST_P(TrainingStep, KernelTimeAndFaultBatchesOfASettledIteration) {
  const std::string model = GetParam();
  const nlohmann::json measured = measured_iteration(model);
  const Counters simulated = settled_iteration(model);
  const Pair time{static_cast<std::uint64_t>(measured["kernel_ms"].get<double>() * 1e6), simulated.kernel_ns};
  const Pair batches{measured["fault_groups"].get<std::uint64_t>(), simulated.fault_batches};
  fmt::print("{}: kernel time {} / {} ms ({:.1f} %), fault batches {} / {} ({:.1f} %)\n", model,
             time.measured / 1000000, time.simulated / 1000000, time.error(), batches.measured, batches.simulated,
             batches.error());
  ground_truth::Differences found;
  if (time.error() > kTolerancePercent) found[model].insert("time");
  if (batches.error() > kTolerancePercent) found[model].insert("batches");
  EXPECT_THAT(ground_truth::compare_with_known(found, {model}), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingStep, ::testing::Values("gpt2", "resnet50"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace uvmsim::validate
