// SPDX-License-Identifier: Apache-2.0
// A prefetcher that goes wrong at the first fault: it kills its process, as a bug or the system's memory killer would,
// or does something else that a plug-in must not.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

// Recurses without an end; compilers cannot know that.
volatile bool deeper = true;
int overflow(volatile char* above) {
  volatile char here[4096] = {};
  here[0] = above[0];
  return (deeper ? overflow(here) : 0) + here[1];
}

// Overwrites the memory behind an object on the heap, where the allocator keeps data about its neighbours.
void write_beyond(volatile char* object, std::size_t bytes) {
  for (std::size_t i = bytes; i < bytes + 64; ++i) object[i] = 0x7f;
}

class Crash final : public Prefetcher {
 public:
  static PolicyInfo info() { return {.description = "kills its process", .source = "a test"}; }
  static ParameterTable parameters() {
    return {
        integer("signal", 0, {0, 15}, "the signal to die of; 0: stay alive"),
        choice("fault", "none",
               {"none", "exception", "number", "null", "stack", "exit", "abort", "loop", "sleep", "heap", "late_abort"},
               "what else goes wrong")};
  }

  explicit Crash(const PolicyContext& context)
      : signal_(static_cast<int>(context.parameters.integer("signal"))), fault_(context.parameters.choice("fault")) {}
  ~Crash() override {
    if (fault_ == "late_abort") std::abort();  // as an allocator that finds its lists broken
  }

  PageMask prefetch(const FaultedBlock& block) override {
    if (signal_ != 0) std::raise(signal_);
    if (fault_ == "exception") throw std::out_of_range("no such thing");
    if (fault_ == "number") throw 7;
    if (fault_ == "null") *reinterpret_cast<volatile int*>(std::uintptr_t{8}) = 1;
    if (fault_ == "stack") {
      volatile char first = 0;
      overflow(&first);
    }
    if (fault_ == "exit") std::exit(0);
    if (fault_ == "abort") std::abort();
    if (fault_ == "loop") {
      for (volatile bool forever = true; forever;) {
      }
    }
    if (fault_ == "heap") write_beyond(reinterpret_cast<volatile char*>(this), sizeof *this);
    if (fault_ == "sleep") {
      for (;;) ::sleep(1000);
    }
    return block.faulted;
  }

 private:
  int signal_;
  std::string fault_;
};

}  // namespace

UVMSIM_POLICY(crash, Crash);
