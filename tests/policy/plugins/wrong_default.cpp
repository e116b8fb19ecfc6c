// SPDX-License-Identifier: Apache-2.0
// A plug-in with a wrong declaration: a default outside its range.
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

struct WrongDefault final : Prefetcher {
  static PolicyInfo info() { return {.description = "wrong", .source = "this test"}; }
  static ParameterTable parameters() { return {integer("depth", 9, {0, 3}, "levels")}; }
  explicit WrongDefault(const PolicyContext&) {}
  PageMask prefetch(const FaultedBlock&) override { return {}; }
};

}  // namespace

UVMSIM_POLICY(wrong_default, WrongDefault);
