// SPDX-License-Identifier: Apache-2.0
// MIN with bypass: content whose next use is later than that of everything in memory is remote-mapped instead of
// fetched.
//
// If memory is full, a fault on a content whose next use (after this one) is the furthest of all leaves it on the host,
// mapped. The policy is asked again about remote-mapped content whenever a kernel that used it ends, and fetches it
// once its next use is sooner than that of something in memory. By then it has crossed the link once more than under
// MIN with bypass on a bare reference stream, which decides before each use.
#include <unordered_set>

#include "policies/evict/furthest_next_use.h"
#include "sim/policy/block_map.h"
#include "sim/policy/migrator.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class MinWithBypass final : public FurthestNextUse, public Migrator {
 public:
  static PolicyInfo info() {
    return {.description = "Belady's MIN; what is used later than all in memory rests on the host",
            .source = "Belady, IBM Systems J. 1966, with bypass; reads the trace ahead",
            .information = InformationClass::kD4,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  MinWithBypass(const PolicyContext& context, const Future& future)
      : FurthestNextUse(context, future, context.chunk_count),
        chunk_count_(context.chunk_count),
        chunk_pages_(static_cast<unsigned>(context.chunk_bytes / kBasePageBytes)) {}

  RestingPages rest(const FaultedPages& faulted) override {
    const PageMask here = faulted.reads | faulted.writes;
    RestingPages answer;
    for_each_content(faulted.block, here, [&](ContentIndex content, const PageMask& pages) {
      if (!is_last_of_all(content)) return;
      answer.pages |= (here | faulted.on_host) & pages;
    });
    answer.writable = answer.pages;
    return answer;
  }
  PageMask fetch(const RemoteAccesses& accesses) override {
    PageMask coming;
    for_each_content(accesses.block, accesses.pages, [&](ContentIndex content, const PageMask& pages) {
      const Future::Position next = by_next_use_.use_after_this(content);
      if (next != Future::kNever && (!full() || next < by_next_use_.furthest_use())) coming |= pages;
    });
    return coming;
  }

  using FurthestNextUse::add_state;
  using FurthestNextUse::on_freed;
  using FurthestNextUse::on_migrated;

 private:
  bool full() const { return by_next_use_.size() == chunk_count_; }
  void insert(ChunkId chunk) override {
    FurthestNextUse::insert(chunk);
    here_.insert(content_of(chunk).value);
  }
  void remove(ChunkId chunk) override {
    FurthestNextUse::remove(chunk);
    here_.erase(content_of(chunk).value);
  }
  // Returns whether the content, no part of which is in memory, has the furthest next use.
  bool is_last_of_all(ContentIndex content) {
    return full() && !here_.contains(content.value) &&
           by_next_use_.use_after_this(content) > by_next_use_.furthest_use();
  }
  // Calls f(content, its pages of the block) for each content that holds one of `pages`.
  template <class F>
  void for_each_content(BlockIndex block, const PageMask& pages, F&& f) const {
    for (unsigned first = 0; first < kPagesPerBlock; first += chunk_pages_) {
      const PageMask content = PageMask::range(first, chunk_pages_);
      if (!pages.intersects(content)) continue;
      f(ContentIndex((block.value * kPagesPerBlock + first) / chunk_pages_), content);
    }
  }

  std::size_t chunk_count_;
  unsigned chunk_pages_;
  std::unordered_set<std::uint64_t> here_;  // contents; only looked up
};

}  // namespace

UVMSIM_POLICY(min_bypass, MinWithBypass);

}  // namespace uvmsim::policy
