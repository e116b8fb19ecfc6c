// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/pair.h"

#include <fmt/format.h>

namespace uvmsim::validate {

double error_percent(std::uint64_t measured, std::uint64_t simulated) {
  if (measured == simulated) return 0;
  if (measured == 0) return kUnboundedError;
  const Pair pair{measured, simulated};
  return std::min(kUnboundedError, 100.0 * static_cast<double>(pair.difference()) / static_cast<double>(measured));
}

std::string Pair::error_text() const { return fmt::format("{}{:.1f} %", simulated >= measured ? "+" : "-", error()); }

std::string Failure::text() const {
  return error_percent == 0 ? check : fmt::format("{} {:.1f} %", check, error_percent);
}

std::string joined(const std::vector<Failure>& failures) {
  std::string text;
  for (const Failure& failure : failures) text += (text.empty() ? "" : ", ") + failure.text();
  return text;
}

void Verdict::add(const char* check, double error) {
  for (Failure& failure : failures_) {
    if (failure.check != check) continue;
    failure.error_percent = std::max(failure.error_percent, error);
    return;
  }
  failures_.push_back({check, error});
}

}  // namespace uvmsim::validate
