// SPDX-License-Identifier: Apache-2.0
#include "bpf/host/driver_tree.h"

#include <algorithm>
#include <bit>

#include "sim/policy/density_tree.h"

namespace uvmsim::bpf {
namespace {

constexpr unsigned kThreshold = 51;  // uvm_perf_prefetch_threshold

void copy_words(const PageMask& mask, std::array<uvmsim_u64, PageMask::kWords>& words) {
  for (unsigned w = 0; w < PageMask::kWords; ++w) words[w] = mask.word(w);
}

class Walk {
 public:
  Walk(Session& session, const policy::FaultedBlock& block) : session_(session), block_(block) {
    const policy::TreeLeaves under = policy::leaves_under_tree(block);
    base_ = under.base;
    offset_ = block.first_page - base_;
    leaf_count_ = block.end_page - base_;
    level_count_ = static_cast<unsigned>(std::bit_width(leaf_count_ - 1)) + 1;
    under.present.for_each([&](unsigned page) { leaves_.set(page - base_); });
    std::array<uvmsim_u64, PageMask::kWords> words;
    copy_words(leaves_, words);
    Session::layout().fill_tree(session.tree(), words.data(), offset_, leaf_count_, level_count_);
    tell_hint();
  }

  Region region_of(unsigned page) const {
    Region* const max = session_.region(0);
    Region* const result = session_.region(2);
    *max = {static_cast<std::uint16_t>(block_.first_page), static_cast<std::uint16_t>(block_.end_page)};
    *result = {};
    ++session_.calls.before_compute;
    void *const tree = session_.tree(), *const max_region = max, *const region = result;
    session_.probe("kprobe of before_compute", session_.probes().before_compute, uvmsim_u64{page}, tree, max_region,
                   region);
    int action = kDefault;
    session_.request = {};
    if (session_.hooks().before_compute != nullptr) {
      action = session_.run("uvm_prefetch_before_compute", kEnterLoop, session_.hooks().before_compute,
                            uvmsim_u64{page}, tree, max_region, Session::requests() ? session_.decision() : region);
    }
    if (Session::requests()) return by_request(page - base_, action);
    if (action != kBypass) walk_up(page - base_, action == kEnterLoop);
    return inside_block(*result);
  }

 private:
  // Calls the kprobe on uvm_perf_prefetch_get_hint_va_block.
  void tell_hint() const {
    if (session_.probes().get_hint == nullptr) return;
    std::array<uvmsim_u64, PageMask::kWords> words;
    copy_words(block_.faulted, words);
    Session::layout().fill_mask(session_.mask(), words.data());
    unsigned last = 0;
    block_.faulted.for_each([&](unsigned page) { last = page; });
    const unsigned first = block_.faulted.next_set(0);
    const uvmsim_u64 packed = (first | (last + 1) << 16) & 0xffffffffu;
    void* const nothing = nullptr;
    session_.probe("kprobe of get_hint_va_block", session_.probes().get_hint,
                   session_.block(block_.block, block_.process), nothing, uvmsim_u64{block_.to_host ? 0u : 1u},
                   static_cast<void*>(session_.mask()), packed, static_cast<void*>(session_.tree()));
  }

  // The third interface requests pages; pages outside of the block are refused. Without a valid request the driver
  // proceeds as without hooks.
  Region by_request(unsigned leaf, int action) const {
    Region region;
    const bool fine = take_request(region);
    if (action == kBypass && fine) return region;
    if (action != kEnterLoop || (session_.request.attempted && !fine)) {
      walk_up(leaf, false);
      return inside_block(*session_.region(2));
    }
    for_each_node(leaf, [&](Region node, unsigned counter) {
      ++session_.calls.on_tree_iter;
      if (session_.hooks().on_tree_iter == nullptr) return;
      session_.request = {};
      Region* const current = session_.region(1);
      *current = inside_block(node);
      const int answer = session_.run("uvm_prefetch_on_tree_iter", kBypass, session_.hooks().on_tree_iter,
                                      static_cast<void*>(session_.tree()), static_cast<void*>(session_.region(0)),
                                      static_cast<void*>(current), uvmsim_u64{counter}, session_.decision());
      if (answer == kBypass) take_request(region);
    });
    return region;
  }
  // Returns whether the program requested a part of the block, or nothing.
  bool take_request(Region& region) const {
    const Request& request = session_.request;
    if (!request.attempted) return false;
    const bool nothing = request.first == 0 && request.second == 0;
    const bool fine = !request.conflict && (nothing || (request.first < request.second &&
                                                        request.first >= block_.first_page &&
                                                        request.second <= block_.end_page));
    if (fine) region = {static_cast<std::uint16_t>(request.first), static_cast<std::uint16_t>(request.second)};
    session_.calls.refused += fine ? 0 : 1;
    return fine;
  }

  // Calls f(leaves of the node, number of resident ones) from the leaf to the root.
  template <class F>
  void for_each_node(unsigned leaf, F&& f) const {
    for (unsigned height = 0; height < level_count_; ++height) {
      const unsigned first = leaf >> height << height;
      const unsigned outer = std::min(first + (1u << height), leaf_count_);
      f(Region{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(outer)},
        leaves_.count_range(first, outer - first));
    }
  }

  void walk_up(unsigned leaf, bool asks) const {
    Region* const result = session_.region(2);
    Region* const current = session_.region(1);
    for_each_node(leaf, [&](Region node, unsigned counter) {
      *current = node;
      if (!asks) {
        if (counter * 100 > static_cast<unsigned>(node.outer - node.first) * kThreshold) *result = node;
        return;
      }
      ++session_.calls.on_tree_iter;
      if (session_.hooks().on_tree_iter == nullptr) return;
      session_.run("uvm_prefetch_on_tree_iter", kBypass, session_.hooks().on_tree_iter,
                   static_cast<void*>(session_.tree()), static_cast<void*>(session_.region(0)),
                   static_cast<void*>(current), uvmsim_u64{counter}, static_cast<void*>(result));
    });
  }

  // Converts leaves to pages, however the region was set; a region without an end is empty.
  Region inside_block(Region region) const {
    if (region.outer == 0) return {};
    const unsigned first = region.first < offset_ ? block_.first_page + offset_ : base_ + region.first;
    const unsigned outer = std::clamp(base_ + region.outer, block_.first_page, block_.end_page);
    return {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(outer)};
  }

  Session& session_;
  const policy::FaultedBlock& block_;
  unsigned base_, offset_, leaf_count_, level_count_;
  PageMask leaves_;
};

}  // namespace

PageMask prefetch_with_hooks(Session& session, const policy::FaultedBlock& block) {
  session.now = block.now;
  if (block.resident_nowhere && block.destination_is_preferred) {
    return PageMask::range(block.first_page, block.end_page - block.first_page) - block.faulted - block.thrashing;
  }
  const Walk walk(session, block);
  const PageMask starts = block.faulted - block.thrashing;
  PageMask pages;
  for (unsigned page = starts.next_set(0); page < kPagesPerBlock; page = starts.next_set(page + 1)) {
    const Region region = walk.region_of(page);
    if (region.first < region.outer) pages.set_range(region.first, region.outer - region.first);
    if (region.outer == block.end_page) break;
  }
  return pages - block.faulted - block.thrashing;
}

}  // namespace uvmsim::bpf
