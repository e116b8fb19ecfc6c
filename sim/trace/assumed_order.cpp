// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/assumed_order.h"

#include <fmt/format.h>

#include "sim/common/units.h"

namespace uvmsim::trace {

void AssumedOrder::add(const Record& record) {
  const auto* kernel = std::get_if<Kernel>(&record);
  if (kernel == nullptr) return;
  const std::uint64_t bytes = touched_quanta(kernel->accesses) * header_.quantum_bytes;
  ++kernels_;
  bytes_ += bytes;
  const bool known = !kernel->touches.empty() || !kernel->phases.empty() || kernel->registers_per_thread != 0;
  if (known || bytes <= kBlockBytes) return;
  ++assumed_;
  assumed_bytes_ += bytes;
}

std::string AssumedOrder::warning() const {
  const bool generated = header_.tool.starts_with("uvmsim trace generate"), recorded = !header_.gpu.empty();
  if (assumed_ == 0 || generated || recorded) return "";
  return fmt::format(
      "{} of {} kernels ({} % of the touched bytes) have a grid and a distribution that nobody recorded: how much "
      "moves "
      "under oversubscription hangs on them; give touches or phases, or compare other grids",
      assumed_, kernels_, bytes_ == 0 ? 0 : assumed_bytes_ * 100 / bytes_);
}

}  // namespace uvmsim::trace
