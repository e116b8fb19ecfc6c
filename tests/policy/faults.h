// SPDX-License-Identifier: Apache-2.0
// One VA block under test: it keeps the resident pages and asks a prefetcher which pages to add to each batch of
// faults.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "sim/policy/registry.h"

namespace uvmsim::policy {

inline PageMask mask_of(std::initializer_list<unsigned> pages) {
  PageMask mask;
  for (const unsigned page : pages) mask.set(page);
  return mask;
}

inline std::shared_ptr<Prefetcher> prefetcher(std::string_view name, const GivenParameters& given = {}) {
  return built_ins()->create<Prefetcher>(name, given, 1, 16);
}

struct BlockUnderTest {
  Prefetcher& policy;
  unsigned first_page = 0;
  unsigned end_page = kPagesPerBlock;
  PageMask resident = {};
  PageMask thrashing = {};
  bool preferred = false;
  bool to_host = false;

  // Returns the pages that the policy adds to the batch.
  PageMask added(const PageMask& faulted) const {
    return policy.prefetch({.block = BlockIndex(7),
                            .first_page = first_page,
                            .end_page = end_page,
                            .resident = resident,
                            .faulted = faulted,
                            .thrashing = thrashing,
                            .destination_is_preferred = preferred,
                            .resident_nowhere = resident.empty(),
                            .to_host = to_host,
                            .now = {}});
  }
  // Services the batch as the core does; returns the pages that were fetched.
  PageMask service(const PageMask& faulted) {
    const PageMask inside = PageMask::range(first_page, end_page - first_page);
    const PageMask moved = (faulted | (added(faulted) & inside)) - resident;
    resident |= moved;
    return moved;
  }
};

}  // namespace uvmsim::policy
