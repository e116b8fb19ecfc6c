// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/batcher.h"

#include <fmt/format.h>

namespace uvmsim::policy {

std::string shape_error(const BatchShape& shape, const BatchMoment& moment) {
  if (shape.delay < Nanoseconds{}) return fmt::format("a delay of {} ns; allowed: 0 or more", shape.delay.value);
  if (shape.faults > moment.buffer_entries) {
    return fmt::format("{} faults; allowed: at most the {} of the buffer", shape.faults, moment.buffer_entries);
  }
  return {};
}

}  // namespace uvmsim::policy
