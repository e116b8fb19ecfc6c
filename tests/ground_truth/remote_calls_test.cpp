// SPDX-License-Identifier: Apache-2.0
// Calls whose inputs or outputs stay in host memory: measured against simulated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/config/load_system.h"
#include "sim/validate/validation.h"

namespace uvmsim::validate {
namespace {

struct Gpu {
  const char* file;
  const char* system;
};

void PrintTo(const Gpu& gpu, std::ostream* out) { *out << gpu.system; }

class RemoteCalls : public ::testing::TestWithParam<Gpu> {};
INSTANTIATE_TEST_SUITE_P(Gpus, RemoteCalls,
                         ::testing::Values(Gpu{"remote_calls_h200.jsonl.zst", "h200-sxm-pcie5"},
                                           Gpu{"remote_calls_h100.jsonl.zst", "h100-sxm"}));

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

double share(const std::vector<double>& errors, double limit) {
  return static_cast<double>(std::count_if(errors.begin(), errors.end(), [=](double e) { return e <= limit; })) /
         static_cast<double>(errors.size());
}

// The goals: medians of bytes and times within 20 %, 75 % of the times within 35 %, 90 % of the bytes within a factor
// of two. Strided copies, windows of pooling and sums of columns are not distinguished from whole reads.
TEST_P(RemoteCalls, ComeCloseInTheMedian) {
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/data/" + GetParam().file;
  const Validation validation = validate({read_experiments(path)}, config::load_system(GetParam().system));
  EXPECT_EQ(validation.comparisons.size(), 551u);
  std::vector<double> inputs, outputs, bytes;
  std::size_t within_twice = 0;
  for (const Comparison& call : validation.comparisons) {
    EXPECT_EQ(call.experiment_class, ExperimentClass::kRemote);
    EXPECT_EQ(call.batches.simulated, 0u) << call.name;
    (call.name.ends_with("/inputs_remote") ? inputs : outputs).push_back(call.time_ns.error());
    if (call.remote_bytes.measured == 0) continue;
    bytes.push_back(call.remote_bytes.error());
    const double factor =
        static_cast<double>(call.remote_bytes.simulated) / static_cast<double>(call.remote_bytes.measured);
    within_twice += factor >= 0.5 && factor <= 2 ? 1 : 0;
  }
  fmt::print(
      "{}: inputs remote, {}: time {:.1f} % off in the median, {:.0f} % within 35 %; outputs, {}: {:.1f} %, {:.0f} %\n",
      GetParam().system, inputs.size(), median(inputs), 100 * share(inputs, 35), outputs.size(), median(outputs),
      100 * share(outputs, 35));
  EXPECT_LE(median(inputs), 20);
  EXPECT_LE(median(outputs), 20);
  EXPECT_GE(share(inputs, 35), 0.7);
  EXPECT_GE(share(outputs, 35), 0.75);
  if (bytes.empty()) return;
  fmt::print("bytes of {}: {:.1f} % off in the median, {} within a factor of two\n", bytes.size(), median(bytes),
             within_twice);
  EXPECT_LE(median(bytes), 20);
  EXPECT_GE(within_twice, bytes.size() * 8 / 10);
}

}  // namespace
}  // namespace uvmsim::validate
