// SPDX-License-Identifier: Apache-2.0
// A compiled policy as a plug-in: for prefetch, evict or both, depending on its hooks.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "bpf/host/driver_lists.h"
#include "bpf/host/driver_tree.h"
#include "bpf/host/parameters.h"
#include "bpf/host/session.h"
#include "sim/common/error.h"
#include "sim/policy/registry.h"

namespace uvmsim::bpf {
namespace {

using namespace uvmsim::policy;

// The common part of the policies of all slots.
class BpfPolicy {
 public:
  static PolicyInfo info() {
    return {.description = fmt::format("eBPF policy of gpu_ext, from {}", uvmsim_bpf_program.source),
            .source = fmt::format("{}, with `uvmsim bpf build`", uvmsim_bpf_program.source)};
  }
  static ParameterTable parameters() { return parameters_of_maps(); }

 protected:
  BpfPolicy(const PolicyContext& context, std::uint32_t chunk_count) : session_(context, chunk_count) {}
  ~BpfPolicy() {
    if (std::getenv("UVMSIM_BPF_CALLS") == nullptr) return;
    const HookCalls& calls = session_.calls;
    fmt::print(stderr, "{}: calls: before_compute {}, on_tree_iter {}, activate {}, used {}, prepare {}{}\n",
               uvmsim_bpf_program.name, calls.before_compute, calls.on_tree_iter, calls.activate, calls.used,
               calls.prepare, Session::requests() ? fmt::format("; requests refused: {}", calls.refused) : "");
  }

  // Returns whether the policy keeps no state between calls.
  static bool is_stateless() { return uvmsim_bpf_program.map_count == 0; }

  Session session_;
};

class BpfPrefetcher final : private BpfPolicy, public Prefetcher {
 public:
  using BpfPolicy::info;
  using BpfPolicy::parameters;
  explicit BpfPrefetcher(const PolicyContext& context) : BpfPolicy(context, 0) {}
  PageMask prefetch(const FaultedBlock& block) override { return prefetch_with_hooks(session_, block); }
  void add_state(StateDigest& digest) const override {
    if (!is_stateless()) digest.refuse();
  }
};

class BpfEvictor : protected BpfPolicy, public Evictor {
 public:
  using BpfPolicy::info;
  using BpfPolicy::parameters;
  explicit BpfEvictor(const PolicyContext& context)
      : BpfPolicy(context, context.chunk_count), lists_(session_, context.chunk_count) {}

  void on_allocated(ChunkId chunk, ContentIndex content) override { lists_.allocated(chunk, content); }
  void on_process(ChunkId chunk, std::uint32_t process) override { lists_.belongs_to(chunk, process); }
  void on_migrated(ChunkId chunk) override { lists_.migrated(chunk); }
  void on_emptied(ChunkId chunk) override { lists_.emptied(chunk); }
  void on_discarded(ChunkId chunk) override { lists_.discarded(chunk); }
  void on_released(ChunkId chunk) override { lists_.released(chunk); }
  ChunkId select_victim(const EvictionQueries& queries) override { return lists_.victim(queries); }
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    if (is_stateless()) {
      lists_.add_state(digest, names);
    } else {
      digest.refuse();
    }
  }

 private:
  DriverLists lists_;
};

class BpfPrefetcherAndEvictor final : public BpfEvictor, public Prefetcher {
 public:
  using BpfEvictor::BpfEvictor;
  PageMask prefetch(const FaultedBlock& block) override { return prefetch_with_hooks(session_, block); }
  void on_freed(BlockIndex) override {}
  void on_freed(ContentIndex) override {}
  void add_state(StateDigest& digest) const override {
    if (!is_stateless()) digest.refuse();
  }
  using BpfEvictor::add_state;
};

void add_to(Registry& registry) {
  uvmsim_bpf_hooks hooks{};
  uvmsim_bpf_read_hooks(&hooks);
  const uvmsim_bpf_probes& probes = uvmsim_bpf_program.probes;
  const bool prefetches = hooks.before_compute != nullptr || hooks.on_tree_iter != nullptr ||
                          probes.get_hint != nullptr || probes.before_compute != nullptr;
  const bool evicts = hooks.activate != nullptr || hooks.used != nullptr || hooks.prepare != nullptr ||
                      probes.activate != nullptr || probes.used != nullptr || probes.prepare != nullptr;
  const char* const name = uvmsim_bpf_program.name;
  if (prefetches && evicts) {
    add_policy<BpfPrefetcherAndEvictor>(registry, name);
  } else if (prefetches) {
    add_policy<BpfPrefetcher>(registry, name);
  } else if (evicts) {
    add_policy<BpfEvictor>(registry, name);
  } else {
    throw_input_error("{}: has no operation of a driver but the test trigger; allowed: one that prefetches or evicts",
                      uvmsim_bpf_program.source);
  }
}

}  // namespace
}  // namespace uvmsim::bpf

extern "C" __attribute__((visibility("default"))) const uvmsim::policy::PluginDescriptor uvmsim_policy_plugin;
const uvmsim::policy::PluginDescriptor uvmsim_policy_plugin = {uvmsim::policy::kPluginAbiVersion, 0,
                                                               uvmsim::policy::kCompilerAbi, uvmsim_bpf_program.name,
                                                               uvmsim::bpf::add_to};
