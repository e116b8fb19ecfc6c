// SPDX-License-Identifier: Apache-2.0
// Zero copy: nothing ever migrates, as with memory that the program allocated and pinned on the host.
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class HostPinned final : public Migrator {
 public:
  static PolicyInfo info() {
    return {.description = "nothing comes: the GPU uses all managed memory on the host, over the link",
            .source = "zero copy (cudaHostAlloc); the baseline 'host-pinned' of Ganguly et al., IPDPS 2020"};
  }
  static ParameterTable parameters() { return {}; }

  explicit HostPinned(const PolicyContext&) {}

  // Maps the whole block at once, because pinned memory raises no faults.
  RestingPages rest(const FaultedPages&) override { return {PageMask::all(), PageMask::all()}; }
  void add_state(StateDigest&) const override {}  // no state
};

}  // namespace

UVMSIM_POLICY(host_pinned, HostPinned);

}  // namespace uvmsim::policy
