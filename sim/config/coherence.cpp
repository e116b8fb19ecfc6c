// SPDX-License-Identifier: Apache-2.0
#include "sim/config/coherence.h"

#include <algorithm>
#include <tuple>

#include "sim/common/units.h"

namespace uvmsim::config {

namespace {

bool counts(const SystemConfig& system) {
  return system.coherence.address_mode == "ats" && system.coherence.host_page_bytes != kBasePageBytes;
}

// The versions are of two branches, 535.171 and 550.40.53; versions between them belong to neither branch.
bool migrates_by_default(const DriverConfig& driver) {
  const auto version = std::tuple(driver.version_major, driver.version_minor, driver.version_patch);
  return driver.version_major == 535 ? version >= std::tuple(535u, 171u, 0u) : version >= std::tuple(550u, 40u, 53u);
}

bool over_c2c(const SystemConfig& system) {
  return std::ranges::any_of(system.host_links, [](const LinkConfig& link) { return link.kind == "c2c"; });
}

}  // namespace

bool reaches_system_memory(const SystemConfig& system) { return system.coherence.address_mode != "none"; }

bool uses_system_memory_in_place(const SystemConfig& system) {
  return system.coherence.address_mode == "ats" || system.coherence.address_mode == "cdmm";
}

bool populates_on_gpu(const SystemConfig& system) { return system.coherence.address_mode == "ats"; }

bool counters_move_system(const SystemConfig& system) { return counts(system) && migrates_by_default(system.driver); }

bool counters_move_managed(const SystemConfig& system) {
  return counts(system) && (!over_c2c(system) || migrates_by_default(system.driver));
}

bool keeps_evicted_mapped(const SystemConfig& system) {
  return uses_system_memory_in_place(system) && migrates_by_default(system.driver);
}

}  // namespace uvmsim::config
