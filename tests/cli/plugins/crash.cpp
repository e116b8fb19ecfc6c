// A prefetcher that kills its process at the first fault, as a bug or the system's memory killer would.
#include <csignal>

#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class Crash final : public Prefetcher {
 public:
  static PolicyInfo info() { return {.description = "kills its process", .source = "a test"}; }
  static ParameterTable parameters() { return {integer("signal", 0, {0, 15}, "the signal to die of; 0: stay alive")}; }

  explicit Crash(const PolicyContext& context) : signal_(static_cast<int>(context.parameters.integer("signal"))) {}

  PageMask prefetch(const FaultedBlock& block) override {
    if (signal_ != 0) std::raise(signal_);
    return block.faulted;
  }

 private:
  int signal_;
};

}  // namespace

UVMSIM_POLICY(crash, Crash);
