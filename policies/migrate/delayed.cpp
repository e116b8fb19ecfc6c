// SPDX-License-Identifier: Apache-2.0
// Delayed migration: a 64 KB unit migrates once it is read remotely often enough, or when it is written.
#include <string>

#include "policies/migrate/delayed_migrator.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Delayed final : public DelayedMigrator {
 public:
  static PolicyInfo info() {
    return {.description = "a 64 KB unit comes once it was read often enough on the host, or is written",
            .source = "Ganguly et al., IPDPS 2020, as in UVMSmart's should_cause_page_migration",
            .information = InformationClass::kD1};
  }
  static ParameterTable parameters() {
    return {
        choice("mode", "adaptive", {"always", "oversubscribed", "adaptive"},
               "a fixed threshold; one that holds after the first eviction; one that grows with use and round trips"),
        integer("threshold", 8, {1, 65535}, "accesses of 128 bytes to a unit that bring it"),
        integer("penalty", 2, {1, 1024}, "adaptive: times the threshold per round trip, once memory is full")};
  }

  explicit Delayed(const PolicyContext& context)
      : DelayedMigrator(mode_of(context.parameters.choice("mode")),
                        static_cast<std::uint64_t>(context.parameters.integer("threshold")),
                        static_cast<std::uint64_t>(context.parameters.integer("penalty"))) {}

 private:
  static Mode mode_of(const std::string& text) {
    return text == "always" ? Mode::kAlways : text == "adaptive" ? Mode::kAdaptive : Mode::kOversubscribed;
  }
};

}  // namespace

UVMSIM_POLICY(delayed, Delayed);

}  // namespace uvmsim::policy
