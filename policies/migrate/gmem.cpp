// SPDX-License-Identifier: Apache-2.0
// GMEM's choices for a 2 MB page: it migrates on the fault, is used on the host, or migrates once it is used there
// often enough. GMEM itself only migrates; its documents announce the rest, so that the counters are this project's.
#include <algorithm>
#include <string>

#include "sim/policy/block_map.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class GmemPlacement final : public Migrator {
 public:
  static PolicyInfo info() {
    return {.description = "a 2 MB page comes at its fault, never, or once it was used often enough on the host",
            .source = "GMEM, arXiv 2310.12554 and openEuler: migrate is its code, remote and auto our reading",
            .information = InformationClass::kD1};
  }
  static ParameterTable parameters() {
    return {choice("placement", "auto", {"migrate", "remote", "auto"}, "at its fault; never; by the threshold"),
            integer("threshold", 32768, {1, 1 << 30},
                    "auto: accesses of 128 bytes that bring a page; 16384 touch all of it once")};
  }

  explicit GmemPlacement(const PolicyContext& context)
      : placement_(context.parameters.choice("placement")),
        threshold_(static_cast<std::uint64_t>(context.parameters.integer("threshold"))) {}

  // Answers whole blocks, so that one fault maps all of it. With counters, unpopulated memory begins on the GPU.
  RestingPages rest(const FaultedPages& faulted) override {
    if (placement_ == "remote") return {PageMask::all(), PageMask::all()};
    if (placement_ == "migrate") return {};
    return {faulted.on_host, faulted.on_host};
  }

  PageMask fetch(const RemoteAccesses& accesses) override {
    if (placement_ != "auto") return {};
    std::uint64_t& used = used_[accesses.block];
    used += accesses.accesses;
    return used >= threshold_ ? accesses.pages : PageMask{};
  }
  void on_migrated(BlockIndex block, const PageMask&) override { used_.forget(block); }
  void on_freed(BlockIndex block) override { used_.forget(block); }

  void add_state(StateDigest& digest) const override {
    used_.for_each([&](BlockIndex block, std::uint64_t used) {
      if (used == 0) return;
      digest.add(block.value);
      digest.add(used);
    });
  }

 private:
  std::string placement_;
  std::uint64_t threshold_;
  BlockMap<std::uint64_t> used_;  // accesses on the host since it was last on the GPU
};

}  // namespace

UVMSIM_POLICY(gmem, GmemPlacement);

}  // namespace uvmsim::policy
