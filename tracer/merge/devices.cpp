// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace uvmtrace {

DeviceNumbers::DeviceNumbers(const PassLog& log) {
  std::set<std::int32_t> used;
  for (const Launch& launch : log.launches) used.insert(launch.device);
  for (const Event& event : log.events) {
    if (const auto* alloc = std::get_if<AllocEvent>(&event.what); alloc != nullptr) {
      used.insert(alloc->device);
    } else if (const auto* prefetch = std::get_if<PrefetchEvent>(&event.what); prefetch != nullptr) {
      used.insert(prefetch->to);
    } else if (const auto* advise = std::get_if<AdviseEvent>(&event.what); advise != nullptr) {
      used.insert(advise->to);
    } else if (const auto* discard = std::get_if<DiscardEvent>(&event.what); discard != nullptr && discard->prefetch) {
      used.insert(discard->to);
    }
  }
  used.erase(-1);  // the host
  used_.assign(used.begin(), used.end());
  if (used_.empty() || used_.back() + 1 == static_cast<std::int32_t>(used_.size())) used_.clear();
}

std::int32_t DeviceNumbers::number(std::int32_t device) const {
  const auto place = std::lower_bound(used_.begin(), used_.end(), device);
  return place != used_.end() && *place == device ? static_cast<std::int32_t>(place - used_.begin()) : device;
}

void DeviceNumbers::apply(trace::Record& record) const {
  if (used_.empty()) return;
  if (auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
    object->device = number(object->device);
  } else if (auto* kernel = std::get_if<trace::Kernel>(&record)) {
    kernel->device = number(kernel->device);
  } else if (auto* prefetch = std::get_if<trace::Prefetch>(&record)) {
    prefetch->destination = number(prefetch->destination);
  } else if (auto* advise = std::get_if<trace::Advise>(&record)) {
    advise->device = number(advise->device);
  }
}

std::string DeviceNumbers::text() const { return fmt::format("{}", fmt::join(used_, ", ")); }

}  // namespace uvmtrace
