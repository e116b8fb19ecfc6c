// SPDX-License-Identifier: Apache-2.0
// LIRS: chunks whose last two accesses were close together stay; the others pass through a short queue.
//
// The paper's stack S holds everything accessed after the oldest access of a LIR chunk. Here that is a comparison of
// times: LIR chunks are kept in order of their last access, and every other content with its last access; pruning the
// stack means advancing the time of the first LIR chunk.
#include <algorithm>
#include <optional>
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/ghost_list.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Lirs final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "LIRS: keeps chunks with a short time between accesses (LIR), queues the others (HIR)",
            .source = "Jiang, Zhang, SIGMETRICS 2002",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {real("hir", 1, {0, 100}, "length of the queue of HIR chunks, in percent of the chunks, at least one chunk"),
            integer("ghosts", 100, {0, 1000}, "evicted HIR contents kept in the stack, in percent of the chunks")};
  }

  explicit Lirs(const PolicyContext& context)
      : CachePolicy(context),
        most_lir_(context.chunk_count - std::max(1u, hir_chunks(context))),
        lists_(context.chunk_count, kListCount),
        ghosts_(context.chunk_count * static_cast<std::size_t>(context.parameters.integer("ghosts")) / 100) {}

  void on_freed(ContentIndex content) override { ghosts_.take(content); }

 private:
  // kHir: demoted chunks by their demotion, the others by last access.
  enum List : std::uint32_t { kLir, kHir, kListCount };

  static std::uint32_t hir_chunks(const PolicyContext& context) {
    return static_cast<std::uint32_t>(context.parameters.real("hir") * context.chunk_count / 100);
  }

  bool in_stack(std::uint64_t access) const {
    return !lists_.empty(kLir) && access > last_access_[lists_.front(kLir).value];
  }

  void miss(ContentIndex content) override {
    const std::optional<std::uint64_t> last_access = ghosts_.take(content);
    came_back_ = last_access.has_value() && in_stack(*last_access);
  }
  void insert(ChunkId chunk) override { access(chunk, came_back_); }
  void hit(ChunkId chunk) override {
    access(chunk, lists_.list_of(chunk) == kLir || in_stack(last_access_[chunk.value]));
  }
  void access(ChunkId chunk, bool recent) {
    last_access_[chunk.value] = ++time_;
    const bool stays_lir = lists_.contains(kLir, chunk);
    const bool has_room = lists_.size(kLir) < most_lir_;
    lists_.move_to_back(most_lir_ > 0 && (recent || has_room) ? kLir : kHir, chunk);
    if (!stays_lir && lists_.size(kLir) > most_lir_) lists_.move_to_back(kHir, lists_.front(kLir));
  }
  void remove(ChunkId chunk) override { lists_.remove(chunk); }

  ChunkId replace(const EvictionQueries& queries) override {
    const ChunkId victim = lists_.take_first_evictable(kHir, queries);
    if (!victim.valid()) {
      return lists_.take_first_evictable(kLir, queries);  // no HIR chunk, or all are pinned
    }
    while (ghosts_.size() > 0 && !in_stack(ghosts_.oldest())) ghosts_.drop_oldest();
    if (in_stack(last_access_[victim.value])) ghosts_.push(content_of(victim), last_access_[victim.value]);
    return victim;
  }

  std::uint32_t most_lir_;
  ChunkLists lists_;
  PerChunk<std::uint64_t> last_access_;
  GhostList<std::uint64_t> ghosts_;  // evicted HIR contents with their last access
  bool came_back_ = false;           // whether the last missing content was in the stack
  std::uint64_t time_ = 0;
};

}  // namespace

UVMSIM_POLICY(lirs, Lirs);

}  // namespace uvmsim::policy
