// SPDX-License-Identifier: Apache-2.0
#include "sim/config/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/common/error.h"
#include "sim/config/load_system.h"

namespace uvmsim::config {
namespace {

constexpr std::string_view kInheritedFrom = "inherited from ";
constexpr std::string_view kCosts = "costs.";
constexpr std::string_view kSet = "--set ";  // not a property of a machine

// Maps "inherited from h200-sxm-pcie5: fitted: ..." to "h200-sxm-pcie5"; empty for a figure of the system's own.
std::string origin_of(const std::string& source) {
  if (!source.starts_with(kInheritedFrom)) return "";
  const std::string rest = source.substr(kInheritedFrom.size());
  return rest.substr(0, rest.find(": "));
}

bool has_same_gpu(const SystemConfig& config, const std::string& origin, const std::vector<std::string>& search_path) {
  try {
    const SystemConfig other = load_system(origin, search_path);
    return !config.gpus.empty() && !other.gpus.empty() && config.gpus.front().model == other.gpus.front().model;
  } catch (const InputError&) {
    return false;  // the system no longer exists
  }
}

// Calls were timed only on the H200 and the H100. For all other costs, those of faults show where a machine's figures
// come from.
bool is_of_calls(std::string_view key) {
  key.remove_prefix(std::string_view(kCosts).size());
  constexpr std::string_view kCalls[] = {"prefetch_", "advise_", "managed_call_", "cpu_remap_", "plan_"};
  return std::ranges::any_of(kCalls, [&](std::string_view call) { return key.starts_with(call); });
}

struct Spread {
  const char *costs_fast, *costs_slow, *link_fast, *link_slow, *host_fast, *host_slow;
};

// The differences between machines, from those that were measured or fitted (configs/README.md has the figures):
// - the hosts of two machines with an H200 differ by a quarter; a difference of 3 % between their links is assumed;
// - programs held out of a fit deviate by up to a third (RTX 5090), most by less than a tenth;
// - the driver of the fitted machines takes 0.43 to 0.95 of the H200's time for the faults of AlexNet and DLRM at a
//   factor of 1.5, without copies. Their links reach 0.86 to 1.02 times the H200's fraction of the nominal bandwidth.
//   tests/config/calibration_test.cpp compares these with the files;
// - an A30, to which nothing was fitted, takes as long as with up to 3.2 times the H200's costs
//   (tests/ground_truth/campaign_test.cpp).
Spread spread_of(Calibration::Kind kind) {
  switch (kind) {
    case Calibration::Kind::kMeasured:
    case Calibration::Kind::kSameGpu:
      return {"0.8", "1.25", "1.03", "0.97", "1.25", "0.8"};
    case Calibration::Kind::kFitted:
      return {"0.75", "1.33", "1.03", "0.97", "1.25", "0.8"};
    case Calibration::Kind::kCarriedOver:
      break;
  }
  return {"0.43", "3.2", "1.02", "0.86", "1.25", "0.8"};
}

std::vector<std::string> settings(const char* costs, const char* link, const char* host) {
  return {fmt::format("costs.*=x{}", costs), fmt::format("host_links.*bytes_per_us=x{}", link),
          fmt::format("host.*bytes_per_us=x{}", host)};
}

}  // namespace

Calibration calibration_of(const SystemConfig& config, const std::vector<std::string>& search_path) {
  using enum Calibration::Kind;
  // A combination of a system with another driver was never measured.
  if (const std::size_t over = config.name.find('+'); over != std::string::npos) {
    return {kCarriedOver, config.name.substr(0, over)};
  }
  std::map<std::string, std::size_t> origins;
  std::size_t all = 0;
  for (const auto& [key, source] : config.sources) {
    if (!key.starts_with(kCosts) || source.starts_with(kSet) || is_of_calls(key)) continue;
    ++origins[origin_of(source)];
    ++all;
  }
  const std::size_t own = origins[""];
  if (all != 0 && own == all) return {kMeasured, ""};
  if (own * 2 > all) return {kFitted, ""};
  origins.erase("");
  const auto most = std::ranges::max_element(origins, {}, [](const auto& one) { return one.second; });
  if (most == origins.end()) return {kCarriedOver, ""};
  return {has_same_gpu(config, most->first, search_path) ? kSameGpu : kCarriedOver, most->first};
}

std::string calibration_text(const Calibration& calibration) {
  switch (calibration.kind) {
    case Calibration::Kind::kMeasured:
      return "measured here";
    case Calibration::Kind::kFitted:
      return "fitted to published runs";
    case Calibration::Kind::kSameGpu:
      return fmt::format("carried over from {}, the same GPU", calibration.from);
    case Calibration::Kind::kCarriedOver:
      break;
  }
  return calibration.from.empty() ? "carried over" : fmt::format("carried over from {}", calibration.from);
}

std::string_view calibration_name(Calibration::Kind kind) {
  constexpr std::string_view kNames[] = {"measured", "same_gpu", "fitted", "carried_over"};
  return kNames[static_cast<std::size_t>(kind)];
}

Corners corners_of(Calibration::Kind kind) {
  const Spread s = spread_of(kind);
  return {settings(s.costs_fast, s.link_fast, s.host_fast), settings(s.costs_slow, s.link_slow, s.host_slow),
          fmt::format("driver costs x{} to x{}, link x{} to x{}, host memory x{} to x{}", s.costs_fast, s.costs_slow,
                      s.link_slow, s.link_fast, s.host_slow, s.host_fast)};
}

}  // namespace uvmsim::config
