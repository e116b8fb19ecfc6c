// SPDX-License-Identifier: Apache-2.0
// Which measurements support a system's driver costs, and the variations that give the uncertainty of a result (`uvmsim
// run --uncertainty`).
//
// Both follow from the sources of the figures (SystemConfig::sources). A file that states most of its costs and extends
// no other file was measured. A file that states most of them and extends another system was fitted. All other files
// take the costs of another system.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/system.h"

namespace uvmsim::config {

struct Calibration {
  enum class Kind : std::uint8_t { kMeasured, kSameGpu, kFitted, kCarriedOver } kind = Kind::kCarriedOver;
  std::string from;  // the system that costs were carried over from; empty: its own costs
};
Calibration calibration_of(const SystemConfig& config, const std::vector<std::string>& search_path);

// "measured here", "fitted to published runs", "carried over from h200-sxm-pcie5, the same GPU", ...
std::string calibration_text(const Calibration& calibration);
// Returns the name in files: "measured", "same_gpu", "fitted", "carried_over".
std::string_view calibration_name(Calibration::Kind kind);

// Settings (apply_overrides) for the fastest and the slowest machine that the system may stand for, with a description.
struct Corners {
  std::vector<std::string> fast, slow;
  std::string text;  // "driver costs x0.8 to x1.25, link x0.97 to x1.03, host x0.8 to x1.25"
};
Corners corners_of(Calibration::Kind kind);

}  // namespace uvmsim::config
