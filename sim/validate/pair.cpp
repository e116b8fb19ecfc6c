// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/pair.h"

#include <fmt/format.h>

#include <algorithm>

namespace uvmsim::validate {

double error_percent(std::uint64_t measured, std::uint64_t simulated) {
  if (measured == simulated) return 0;
  if (measured == 0) return kUnboundedError;
  const std::uint64_t difference = measured > simulated ? measured - simulated : simulated - measured;
  return std::min(kUnboundedError, 100.0 * static_cast<double>(difference) / static_cast<double>(measured));
}

std::string Failure::text() const {
  return error_percent == 0 ? check : fmt::format("{} {:.1f} %", check, error_percent);
}

std::string joined(const std::vector<Failure>& failures) {
  std::string text;
  for (const Failure& failure : failures) text += (text.empty() ? "" : ", ") + failure.text();
  return text;
}

}  // namespace uvmsim::validate
