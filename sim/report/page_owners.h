// SPDX-License-Identifier: Apache-2.0
// The allocation that owns each page of the simulated address space: an integer per page, 0 for none. Memory grows with
// the number of places where neighbouring pages have different owners, not with the number of pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace uvmsim::report {

class PageOwners {
 public:
  void set(std::uint64_t first_page, std::uint64_t end_page, std::uint32_t owner) {
    if (first_page >= end_page) return;
    auto run = run_of(first_page);
    if (run->second == owner && end_of(run) >= end_page) return;  // most touches end here
    // Runs that begin in [first_page, end_page] are removed; then a run for these pages and one for the pages after
    // them are added.
    const std::uint32_t before = run->first < first_page ? run->second
                                 : first_page == 0       ? kNobody
                                                         : std::prev(run)->second;
    auto next = run->first < first_page ? std::next(run) : run;
    std::uint32_t after = run->second;
    while (next != runs_.end() && next->first <= end_page) {
      after = next->second;
      next = runs_.erase(next);
    }
    if (before != owner) runs_.emplace_hint(next, first_page, owner);
    if (after != owner) runs_.emplace_hint(next, end_page, after);
  }

  // Calls f(owner, first_page, page_count) for each run of pages with one owner, ascending.
  template <class F>
  void for_each(std::uint64_t first_page, std::uint64_t end_page, F&& f) const {
    for (auto run = run_of(first_page); first_page < end_page; ++run) {
      const std::uint64_t end = std::min(end_page, end_of(run));
      f(run->second, first_page, end - first_page);
      first_page = end;
    }
  }

  std::uint32_t at(std::uint64_t page) const { return run_of(page)->second; }

 private:
  using Runs = std::map<std::uint64_t, std::uint32_t>;         // owner by first page, until the next run
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};  // before page 0

  Runs::const_iterator run_of(std::uint64_t page) const { return std::prev(runs_.upper_bound(page)); }
  Runs::iterator run_of(std::uint64_t page) { return std::prev(runs_.upper_bound(page)); }
  std::uint64_t end_of(Runs::const_iterator run) const { return ++run == runs_.end() ? ~std::uint64_t{0} : run->first; }

  Runs runs_{{0, 0}};  // neighbours differ
};

}  // namespace uvmsim::report
