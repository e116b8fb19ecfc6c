// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include "sim/config/load_system.h"
#include "sim/engine/simulation.h"
#include "sim/layout/layout_choice.h"
#include "sim/policy/registry.h"

namespace uvmsim::cli {
namespace {

Texts system_names() {
  Texts names;
  for (const config::SystemFile& file : config::list_systems(config::default_search_path())) names.push_back(file.name);
  return names;
}

// Of one slot, or of all.
Texts policy_names(std::string_view slot) {
  Texts names;
  for (const policy::PolicyEntry* entry : policy::built_ins()->list()) {
    if (slot.empty() || policy::slot_name(entry->slot) == slot) names.push_back(entry->info.name);
  }
  return names;
}

}  // namespace

Texts completion_words(std::string_view what) {
  if (what == "--system" || what == "--recorded-on" || what == "systems") return system_names();
  if (what == "--layout" || what == "layouts") return layout::layout_names();
  if (what == "--footprint") return {"allocated", "touched"};
  if (what == "policies" || what == "check-policy") return policy_names("");
  for (const policy::Slot slot : kPolicySlots) {
    if (what == "--" + std::string(policy::slot_name(slot))) return policy_names(policy::slot_name(slot));
  }
  return {};
}

}  // namespace uvmsim::cli
