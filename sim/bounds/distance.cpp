// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/distance.h"

#include <algorithm>

#include "sim/bounds/link_time.h"
#include "sim/common/units.h"

namespace uvmsim::bounds {

Distance distance_of(const RunResult& result, const Bounds& bounds, const config::SystemConfig& system) {
  const Counters& c = result.counters;
  const std::uint64_t htod = c.htod_bytes(), dtoh = c.dtoh_bytes();

  Distance distance;
  distance.excess_htod_bytes = htod - std::min(htod, bounds.bytes.htod);
  distance.excess_dtoh_bytes = dtoh - std::min(dtoh, bounds.bytes.dtoh);
  distance.necessary_bytes = bounds.time.best() - bounds.time.compute;

  Nanoseconds left = result.total - bounds.time.best();
  const auto take = [&](Nanoseconds part) {
    part = std::clamp(part, Nanoseconds{}, std::max(left, Nanoseconds{}));
    left -= part;
    return part;
  };
  const LinkTime link(system, bounds.gpus);
  distance.excess_bytes = take(link.of(htod / kBasePageBytes, dtoh / kBasePageBytes) - bounds.bytes.link_time);
  const std::uint64_t copying = std::min(c.fault_service_ns, c.htod_busy_ns + c.dtoh_busy_ns);
  const std::uint64_t serving = c.fault_service_ns - copying + c.wakeups * system.costs.wakeup_ns;
  distance.fault_latency = take(Nanoseconds(static_cast<std::int64_t>(serving)));
  distance.serialisation = left;
  return distance;
}

}  // namespace uvmsim::bounds
