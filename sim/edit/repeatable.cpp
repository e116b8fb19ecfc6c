// SPDX-License-Identifier: Apache-2.0
#include "sim/edit/repeatable.h"

#include "sim/common/error.h"
#include "sim/edit/repeat_iterations.h"

namespace uvmsim::trace {

Repeatable find_repeatable(const std::function<bool(Record&)>& source) {
  Repeatable found;
  bool at_end = false;
  const IterationRepeater::Source counted = [&](Record& record) {
    at_end = !source(record);
    if (at_end) return false;
    const auto* range = std::get_if<Range>(&record);
    found.marked += range != nullptr && range->kind == RangeKind::kIterationEnd ? 1 : 0;
    return true;
  };
  IterationRepeater repeater(counted, IterationRepeater::kEndless);
  Record record;
  try {
    while (!at_end && repeater.next(record)) continue;
    found.repeated = repeater.passes().first;
  } catch (const InputError& error) {
    found.obstacle = error.what();
  }
  return found;
}

}  // namespace uvmsim::trace
