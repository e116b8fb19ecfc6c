// SPDX-License-Identifier: Apache-2.0
// Copies and fills of managed memory against their raw faults on an H200 (data/copies_h200.json).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/config/load_system.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

enum class Place { kNew, kHost, kGpu };

Place place_of(const std::string& name) {
  return name == "new" ? Place::kNew : name == "host" ? Place::kHost : Place::kGpu;
}

trace::ObjectId managed(Program& program, std::uint64_t bytes, Place place) {
  const trace::ObjectId id = program.alloc(bytes);
  if (place != Place::kNew) program.host(id);
  if (place == Place::kGpu) program.prefetch(id, 0);
  program.sync();
  return id;
}

// Returns the program of the copy or fill that `what` names, copy_FROM_to_managed_TO or fill_managed_TO, or all of it
// but the call.
Program program_of(const std::string& what, std::uint64_t bytes, bool with_call) {
  Program program;
  const std::string to = what.substr(what.rfind('_') + 1);
  if (what.starts_with("fill")) {
    const trace::ObjectId target = managed(program, bytes, place_of(to));
    if (with_call) program.add(trace::Memset{target, 0, bytes});
    program.sync();
    return program;
  }
  trace::Memcpy copy;
  copy.bytes = bytes;
  copy.kind = trace::CopyKind::kHostToDevice;
  if (what.starts_with("copy_managed_")) {
    copy.kind = trace::CopyKind::kDeviceToDevice;
    copy.src = {managed(program, bytes, place_of(what.substr(13, what.find("_to_") - 13))), 0};
  } else if (what.starts_with("copy_pinned")) {
    constexpr trace::ObjectId kPinned = 1000;
    program.add(trace::ObjectAlloc{kPinned, trace::ObjectKind::kPinned, bytes});
    copy.src = {kPinned, 0};
  }
  copy.dst = {managed(program, bytes, place_of(to)), 0};
  if (with_call) program.add(copy);
  program.sync();
  return program;
}

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Nothing was fitted to these: blocks and bytes of the copying kernels follow from which SM raised which page.
TEST(ManagedCopies, RaiseTheFaultsOfKernelsOnAllSms) {
  std::ifstream file(UVMSIM_SOURCE_DIR "/tests/ground_truth/data/copies_h200.json");
  const nlohmann::json data = nlohmann::json::parse(file);
  std::vector<double> batch_errors, time_errors;
  for (const nlohmann::json& measured : data["copies"]) {
    const std::uint64_t bytes = measured["bytes"];
    if (bytes < 16 * kMiB) continue;  // smaller ones have ten batches at most
    const std::string what = measured["what"];
    RunOptions options;
    options.system = config::load_system("h200-sxm-pcie5");
    options.limited = false;
    const RunResult result = program_of(what, bytes, true).run(options);
    const double without = static_cast<double>(program_of(what, bytes, false).run(options).total.value);
    const double taken = static_cast<double>(result.total.value) - without;
    const double batches = measured["fault_batches"], ns = measured["unobserved_ns"];
    const double simulated = static_cast<double>(result.counters.fault_batches);
    batch_errors.push_back(std::abs(simulated / batches - 1));
    time_errors.push_back(std::abs(taken / ns - 1));
    fmt::print("{} of {} MiB: fault batches {} / {}, {:.2f} / {:.2f} ms\n", what, bytes / kMiB, batches, simulated,
               ns / 1e6, taken / 1e6);
    EXPECT_LE(batch_errors.back(), 0.7) << what;
  }
  ASSERT_EQ(batch_errors.size(), 22);
  EXPECT_LE(middle(batch_errors), 0.2);
  EXPECT_LE(middle(time_errors), 0.3);
}

}  // namespace
}  // namespace uvmsim
