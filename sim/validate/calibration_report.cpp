// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "sim/validate/calibrate.h"

namespace uvmsim::validate {

namespace {

std::string change(double before, double after) { return fmt::format("{:.1f} -> {:.1f}", before, after); }

std::string table(const Validation& before, const Validation& after) {
  std::string text = fmt::format("  {:<9} {:>3}  {:<18} {:<18} {:<18} {:<18} {}\n", "class", "n", "time median %",
                                 "time worst %", "quiet median %", "batches median %", "within tolerances");
  for (const ClassSummary& old : before.classes) {
    const auto now = std::ranges::find(after.classes, old.experiment_class, &ClassSummary::experiment_class);
    if (now == after.classes.end()) continue;
    text += fmt::format("  {:<9} {:>3}  {:<18} {:<18} {:<18} {:<18} {} -> {}\n", class_name(old.experiment_class),
                        old.experiments, change(old.time.median, now->time.median),
                        change(old.time.worst, now->time.worst), change(old.quiet.median, now->quiet.median),
                        change(old.batches.median, now->batches.median), old.within, now->within);
  }
  return text;
}

}  // namespace

std::string calibration_text(const Calibration& calibration) {
  std::string text = fmt::format("fitted experiments: {}; mean error {:.1f} % -> {:.1f} % ({} evaluations)\n",
                                 calibration.before.comparisons.size(), calibration.error_before,
                                 calibration.error_after, calibration.evaluations);
  text += table(calibration.before, calibration.after);
  if (!calibration.holdout_before.comparisons.empty()) {
    text +=
        fmt::format("\nkept back: {}; mean error {:.1f} % -> {:.1f} %\n", calibration.holdout_before.comparisons.size(),
                    calibration.holdout_error_before, calibration.holdout_error_after);
    text += table(calibration.holdout_before, calibration.holdout_after);
  }
  std::size_t width = 9;
  std::size_t together = 0;
  for (const FittedParameter& parameter : calibration.parameters) {
    if (parameter.key.starts_with("costs.")) ++together;
    if (!parameter.alone) continue;
    width = std::max(width, parameter.key.size());
  }
  text += fmt::format("\n{:<{}} {:>10} {:>10} {:>8}  points of error for a tenth more or less\n", "parameter", width,
                      "old", "new", "change");
  for (const FittedParameter& parameter : calibration.parameters) {
    if (!parameter.alone) continue;
    const double ratio =
        parameter.before == 0
            ? 0
            : 100.0 * (static_cast<double>(parameter.after) / static_cast<double>(parameter.before) - 1);
    text += fmt::format("{:<{}} {:>10} {:>10} {:>8}  {}\n", parameter.key, width, parameter.before, parameter.after,
                        parameter.before == 0 ? "" : fmt::format("{:+.0f} %", ratio),
                        parameter.determined()                ? fmt::format("{:.3f}", parameter.sensitivity)
                        : parameter.after == parameter.before ? "none: these experiments do not tell"
                                                              : "none: moved with the others");
  }
  if (together > 1) text += fmt::format("all costs of the driver together: x {:.2f}\n", calibration.driver_factor);
  return text;
}

}  // namespace uvmsim::validate
