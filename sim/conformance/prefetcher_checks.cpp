// SPDX-License-Identifier: Apache-2.0
// Prefetchers on random blocks: any mixture of resident, faulted and thrashing pages, tails of allocations, CPU faults.
#include <algorithm>

#include "sim/common/error.h"
#include "sim/conformance/checks.h"

namespace uvmsim::conformance {
namespace {

using policy::PolicyEntry;

// Clustered, as pages are in real blocks, or scattered.
PageMask random_pages(Random& random, const PageMask& among) {
  PageMask pages;
  const std::uint64_t runs = random.below(6);
  const unsigned longest = random.below(2) == 0 ? 4 : 128;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const auto first = static_cast<unsigned>(random.below(kPagesPerBlock));
    pages.set_range(first, std::min(kPagesPerBlock - first, 1 + static_cast<unsigned>(random.below(longest))));
  }
  return pages & among;
}

// Answers to one sequence of calls; how many pages the core had to take out of them.
struct Answers {
  std::vector<PageMask> pages;
  std::vector<policy::PageSpan> beyond;
  std::uint64_t clipped = 0;
};

// Sixteen blocks of which nothing is on the GPU.
class Everywhere final : public policy::PrefetchQueries {
 public:
  PageMask missing(BlockIndex block) const override { return block.value < 16 ? PageMask::all() : PageMask{}; }
  std::uint32_t free_chunks() const override { return 4; }
};

Answers run_calls(const PolicyEntry& entry, const policy::GivenParameters& given, std::uint64_t seed,
                  std::uint64_t sequence, int calls) {
  const policy::Future future = random_future(sequence);
  const auto prefetcher = entry.create_prefetcher(given, seed, 64, &future);
  std::vector<policy::PageSpan> spans;
  Random random(sequence);
  Answers answers;
  for (int call = 0; call < calls; ++call) {
    const BlockIndex block(random.below(16));
    unsigned first = 0, end = kPagesPerBlock;
    if (random.below(3) == 0) {  // an allocation that begins or ends in this block
      first = random.below(2) == 0 ? 0 : static_cast<unsigned>(random.below(kPagesPerBlock));
      end = first + 1 + static_cast<unsigned>(random.below(kPagesPerBlock - first));
    }
    const PageMask whole = PageMask::range(first, end - first);
    const PageMask resident = random_pages(random, whole);
    PageMask faulted = random_pages(random, whole) - resident;
    if (faulted.empty()) {
      faulted.set(first + static_cast<unsigned>(random.below(end - first)));
      faulted -= resident;
    }
    const PageMask thrashing = random.below(4) == 0 ? random_pages(random, whole) : PageMask{};
    policy::FaultedBlock faults{.block = block,
                                .allocation = {PageIndex(block.value / 4 * 4 * kPagesPerBlock),
                                               PageIndex((block.value / 4 * 4 + 4) * kPagesPerBlock)},
                                .first_page = first,
                                .end_page = end,
                                .resident = resident,
                                .faulted = faulted,
                                .thrashing = thrashing,
                                .destination_is_preferred = random.below(4) == 0,
                                .resident_nowhere = resident.empty() && random.below(2) == 0,
                                .to_host = random.below(4) == 0,
                                .now = Nanoseconds(call * 1000)};
    const PageMask pages = prefetcher->prefetch(faults);
    answers.clipped += (pages - (whole - resident - faulted)).count();
    answers.pages.push_back(pages);
    if (!faults.to_host) {
      spans.clear();
      prefetcher->prefetch_beyond(faults, Everywhere(), spans);
      for (const policy::PageSpan& span : spans) {
        if (span.first >= span.end) throw Wrong(fmt::format("call {}: an empty span of pages", call + 1));
        answers.beyond.push_back(span);
      }
    }
    if (random.below(8) == 0) {
      const PageMask gone = random_pages(random, whole);
      prefetcher->on_evicted(block, gone, random_pages(random, gone));
    }
    if (random.below(20) == 0) {
      prefetcher->on_freed(block);
    }
  }
  return answers;
}

}  // namespace

std::string check_prefetcher_parameters(const PolicyEntry& entry, const CheckOptions& options) {
  return try_parameters(entry, options, [&](const policy::GivenParameters& given) {
    run_calls(entry, given, options.seed, options.seed, 500);
  });
}

std::string check_random_blocks(const PolicyEntry& entry, const CheckOptions& options) {
  std::uint64_t pages = 0, clipped = 0;
  for (std::uint64_t sequence = 0; sequence < 8; ++sequence) {
    const Answers answers = run_calls(entry, options.given, options.seed, options.seed + sequence, 4000);
    for (const PageMask& mask : answers.pages) pages += mask.count();
    clipped += answers.clipped;
  }
  return fmt::format(
      "8 sequences of 4,000 calls, {} pages asked for; the simulator takes out {} of them that are resident, faulted "
      "or "
      "outside the allocation",
      pages, clipped);
}

std::string check_prefetcher_determinism(const PolicyEntry& entry, const CheckOptions& options) {
  const Answers first = run_calls(entry, options.given, options.seed, options.seed, 4000);
  const Answers second = run_calls(entry, options.given, options.seed, options.seed, 4000);
  for (std::size_t call = 0; call < first.pages.size(); ++call) {
    if (first.pages[call] != second.pages[call]) {
      throw Wrong(fmt::format("call {} was answered otherwise when the same calls were made again", call + 1));
    }
  }
  if (first.beyond != second.beyond) {
    throw Wrong("other blocks were asked for when the same calls were made again");
  }
  return "the same calls twice, the same answers";
}

}  // namespace uvmsim::conformance
