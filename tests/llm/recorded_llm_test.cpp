// SPDX-License-Identifier: Apache-2.0
// Compares programs generated from their configurations with recordings of the same programs: footprint, kernel time,
// slowdown.
//
//     build/test/tests/llm/recorded_llm_test     prints footprint, kernel time and settled slowdowns, a row per program
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/llm/generate.h"
#include "sim/report/numbers.h"
#include "sim/sweep/run_point.h"
#include "sim/trace/writer.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim {
namespace {

struct Case {
  const char* name;       // the configuration's name
  const char* recording;  // path below workloads/
  const char* system;
  llm::Given given;
  // Tolerances in percent at oversubscription 1.25, 1.5 and 2 against the recording's slowdowns, and its times. The
  // goal is 15. Four slowdowns differ more, and docs/language_models.md says why.
  std::vector<int> tolerance_percent, time_tolerance_percent;
};

class RecordedProgram : public ::testing::TestWithParam<Case> {
 protected:
  struct Figures {
    std::uint64_t footprint_bytes = 0, kernel_ns = 0, fitting_ns = 0;
    std::vector<std::uint64_t> slowdown_thousandths, time_ns;
  };

  static Figures figures_of(const std::string& trace, const std::string& system) {
    sweep::Resolver resolver(std::uint64_t{256} << 20);
    sweep::Point point;
    point.trace = trace;
    point.system = system;
    const report::RunRecord fits = run_point(fitting_baseline(point, resolver), resolver);
    Figures out;
    out.footprint_bytes = fits.result.footprint_bytes;
    out.fitting_ns = report::quoted_ns(fits.result);
    out.kernel_ns = report::settled_iterations(fits.result)->counters.kernel_compute_ns;
    for (const std::uint64_t osf : {1250u, 1500u, 2000u}) {
      point.osf_thousandths = osf;
      report::RunRecord run = run_point(point, resolver);
      run.unlimited = report::as_unlimited(fits);
      out.slowdown_thousandths.push_back(report::slowdown_thousandths(run));
      out.time_ns.push_back(report::quoted_ns(run.result));
    }
    return out;
  }

  static double off_by(std::uint64_t made, std::uint64_t recorded) {
    return 100 * (static_cast<double>(made) / static_cast<double>(recorded) - 1);
  }

  const ScratchFolder folder;
};

TEST_P(RecordedProgram, HasItsFootprintAndItsSlowdown) {
  const Case& one = GetParam();
  const std::string root = UVMSIM_SOURCE_DIR;
  const llm::Program program = llm::read_program(root + "/configs/models/" + one.name + ".json", one.given);
  const std::string file = folder.path("generated.uvmt");
  trace::TraceWriter writer(file, program.header);
  llm::generate(program, [&](const trace::Record& record) { writer.write(record); });
  writer.finish();

  const Figures made = figures_of(file, one.system);
  const Figures recorded = figures_of(root + "/workloads/" + one.recording + ".uvmt", one.system);
  std::string row = fmt::format(
      "| `{}` | {:.2f}, {:.2f} | {:+.1f} % | {:+.1f} % |", one.recording,
      static_cast<double>(made.footprint_bytes) / (1 << 30), static_cast<double>(recorded.footprint_bytes) / (1 << 30),
      off_by(made.footprint_bytes, recorded.footprint_bytes), off_by(made.kernel_ns, recorded.kernel_ns));
  for (std::size_t i = 0; i < made.slowdown_thousandths.size(); ++i) {
    const std::uint64_t a = made.slowdown_thousandths[i], b = recorded.slowdown_thousandths[i];
    row +=
        fmt::format(" {}, {}: {:+.1f} %", report::format_thousandths(a), report::format_thousandths(b), off_by(a, b));
    EXPECT_LE(std::abs(off_by(a, b)), one.tolerance_percent[i]) << "factor " << i;
    const double time_off = off_by(made.time_ns[i], recorded.time_ns[i]);
    row += fmt::format(" (time {:+.1f} %) |", time_off);
    EXPECT_LE(std::abs(time_off), one.time_tolerance_percent[i]) << "factor " << i;
  }
  fmt::print("{} {:+.1f} % |\n", row, off_by(made.fitting_ns, recorded.fitting_ns));
  EXPECT_LE(std::abs(off_by(made.footprint_bytes, recorded.footprint_bytes)), 3.0);
}

INSTANTIATE_TEST_SUITE_P(
    All, RecordedProgram,
    ::testing::Values(Case{"gpt2", "gpt2", "h200-sxm-pcie5", {}, {50, 10, 10}, {50, 5, 5}},
                      Case{"bert", "bert", "h200-sxm-pcie5", {}, {10, 12, 12}, {5, 8, 8}},
                      Case{"llm_train", "llm_train", "h200-sxm-pcie5", {}, {12, 12, 5}, {5, 5, 10}},
                      Case{"llm_generate", "llm_generate", "h200-sxm-pcie5", {}, {5, 5, 10}, {15, 15, 12}},
                      Case{"moe_generate", "h100/moe_generate", "h100-sxm", {}, {60, 60, 60}, {5, 3, 3}}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace uvmsim
