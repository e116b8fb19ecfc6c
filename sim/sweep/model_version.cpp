// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/model_version.h"

#include <map>
#include <utility>

#include "generated/model_version.inc"
#include "sim/common/sha256.h"
#include "sim/policy/built_ins.h"
#include "sim/policy/registry.h"

namespace uvmsim::sweep {
namespace {

// Versions by the name of the policy's file.
const std::map<std::string_view, const char*> kPolicyVersions = {UVMSIM_POLICY_VERSIONS};

}  // namespace

const char* model_version() { return UVMSIM_MODEL_VERSION; }

std::string_view policy_version(policy::Slot slot, std::string_view name) {
  // A policy's registered name may differ from its file's, and it may fill several slots.
  static const auto versions = [] {
    std::map<std::pair<policy::Slot, std::string>, const char*> all;
    for (const policy::BuiltIn& built_in : policy::built_in_files()) {
      policy::Registry own;
      built_in.add_to(own);
      for (const policy::PolicyEntry* entry : own.list()) {
        all[{entry->slot, entry->info.name}] = kPolicyVersions.at(built_in.file);
      }
    }
    return all;
  }();
  const auto found = versions.find({slot, std::string(name)});
  return found == versions.end() ? "" : found->second;
}

const std::string& policies_version() {
  static const std::string version = [] {
    std::string all;
    for (const auto& [file, own] : kPolicyVersions) all += std::string(own) + "  " + std::string(file) + "\n";
    return sha256(all);
  }();
  return version;
}

}  // namespace uvmsim::sweep
