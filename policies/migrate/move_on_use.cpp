// SPDX-License-Identifier: Apache-2.0
// Does what users do by move_pages() before a kernel: when access counters first name a 2 MB block, all of its pages on
// the host come at once, not 64 KB at a time. For machines whose GPUs reach memory of the host in place.
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class MoveOnUse final : public Migrator {
 public:
  static PolicyInfo info() {
    return {.description = "a 2 MB block comes as a whole at the first notification of the access counters",
            .source = "ours, after programs that call move_pages() before their kernels",
            .information = InformationClass::kD1};
  }
  static ParameterTable parameters() { return {}; }

  explicit MoveOnUse(const PolicyContext&) {}

  RestingPages rest(const FaultedPages&) override { return {}; }
  bool on_evicted(BlockIndex, const PageMask&) override { return true; }
  PageMask fetch(const RemoteAccesses&) override { return PageMask::all(); }
  void add_state(StateDigest&) const override {}  // it remembers nothing
};

}  // namespace

UVMSIM_POLICY(move_on_use, MoveOnUse);

}  // namespace uvmsim::policy
