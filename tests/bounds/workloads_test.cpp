// SPDX-License-Identifier: Apache-2.0
// The shipped workloads: bounds are not beaten, and the pages that bounds assume to be touched are those that the
// engine touches.
#include "tests/bounds/never_beaten.h"

#include <string>
#include <tuple>

#include "sim/bounds/program.h"
#include "sim/bounds/steps.h"
#include "sim/config/load_system.h"
#include "sim/sweep/trace_input.h"
#include "sim/validate/experiment_program.h"

namespace uvmsim {
namespace {

class Workload {
 public:
  explicit Workload(const std::string& name, const char* layout)
      : input_(std::string(UVMSIM_SOURCE_DIR "/workloads/") + name + ".uvmt", false, std::uint64_t{256} << 20) {
    options_.system = config::load_system("a100-pcie-80g");
    options_.layout = layout;
    options_.footprint_bytes = input_.footprint_bytes(options_.layout, 0);
  }
  const trace::Header& header() { return input_.header(); }
  RecordSource source() const { return input_.play(); }
  RunOptions options(std::uint64_t osf_thousandths) const {
    RunOptions options = options_;
    options.osf_thousandths = osf_thousandths;
    return options;
  }

 private:
  sweep::TraceInput input_;
  RunOptions options_;
};

using Parameter =
    std::tuple<const char*, const char*, std::uint64_t, Policies>;  // workload, layout, OSF in thousandths

class ShippedWorkloads : public testing::TestWithParam<Parameter> {};

TEST_P(ShippedWorkloads, NoBoundIsBeaten) {
  const auto [name, layout, osf, policies] = GetParam();
  Workload workload(name, layout);
  Closest closest;
  expect_never_beaten(
      workload.header(), [&] { return workload.source(); }, workload.options(osf), closest, policies);
  std::printf("%s %s %llu: largest bound / simulated: time %.4f, HtoD %.4f, DtoH %.4f\n", name, layout,
              static_cast<unsigned long long>(osf), closest.time, closest.htod, closest.dtoh);
}

// `uvmsim bounds --best-of all` shows the same for the others, which take minutes.
INSTANTIATE_TEST_SUITE_P(All, ShippedWorkloads,
                         testing::Values(Parameter{"pagerank", "recorded", 1500, Policies::kDrivers},
                                         Parameter{"tiled_matmul", "recorded", 1500, Policies::kSome},
                                         Parameter{"dlrm", "none", 2000, Policies::kDrivers},
                                         Parameter{"dlrm", "pytorch_caching", 1250, Policies::kDrivers},
                                         Parameter{"alexnet", "pytorch_caching", 2000, Policies::kDrivers},
                                         Parameter{"alexnet", "expandable_segments", 1500, Policies::kDrivers},
                                         Parameter{"alexnet_tf32", "none", 4000, Policies::kDrivers}));

// The measured experiments: hints, prefetches, CPU and GPU alternating.
TEST(GroundTruth, NoBoundIsBeaten) {
  Closest closest;
  RunOptions options;
  options.system = config::load_system("h200-sxm-pcie5");
  const validate::ExperimentFile file =
      validate::read_experiments(UVMSIM_SOURCE_DIR "/tests/ground_truth/data/uvm_h200_dev.jsonl.zst");
  for (const validate::Experiment& experiment : file.experiments) {
    SCOPED_TRACE(experiment.name);
    const validate::Program program = validate::make_program(experiment, options.system);
    const auto source = [&] {
      return [&program, next = std::size_t{0}](trace::Record& record) mutable {
        if (next == program.records.size()) return false;
        record = program.records[next++];
        return true;
      };
    };
    for (const bool limited : {false, true}) {
      options.limited = limited;
      options.capacity_bytes = 8 * kBlockBytes;
      expect_never_beaten(program.header, source, options, closest, Policies::kDrivers);
    }
  }
  std::printf("largest bound / simulated: time %.4f, HtoD %.4f, DtoH %.4f\n", closest.time, closest.htod, closest.dtoh);
}

// With memory for everything and no prefetching, the engine migrates the pages that kernels touch, and nothing else.
class TouchedPages : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(TouchedPages, AreThoseOfTheEngine) {
  const auto [name, layout] = GetParam();
  Workload workload(name, layout);
  RunOptions options = workload.options(1000);
  options.limited = false;
  options.prefetch = {"none", {}};
  const RunResult result = simulate(workload.header(), workload.source(), options);
  const bounds::Program program =
      bounds::read_program(workload.header(), workload.source(), options, result.capacity_bytes);
  const bounds::Steps steps = bounds::cut_into_steps(program, options.system);
  std::uint64_t fresh = 0, cold = 0;
  for (const bounds::Step& step : steps.steps) {
    fresh += step.fresh_pages;
    cold += step.cold_pages;
  }
  EXPECT_EQ(fresh - cold, result.counters.populated_pages);
  EXPECT_EQ(cold * kBasePageBytes, bytes_in(result.counters));
}

INSTANTIATE_TEST_SUITE_P(All, TouchedPages,
                         testing::Values(std::tuple{"pagerank", "recorded"}, std::tuple{"bfs", "recorded"},
                                         std::tuple{"tiled_matmul", "recorded"}, std::tuple{"dlrm", "none"},
                                         std::tuple{"dlrm", "pytorch_caching"}, std::tuple{"alexnet", "recorded"},
                                         std::tuple{"alexnet_tf32", "expandable_segments"}));

}  // namespace
}  // namespace uvmsim
