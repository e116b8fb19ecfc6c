// SPDX-License-Identifier: Apache-2.0
// Checks prefetchers on random blocks: any mixture of resident, faulted and thrashing pages, tails of allocations, CPU
// faults.
#include <algorithm>
#include <array>

#include "sim/common/error.h"
#include "sim/conformance/told_state.h"

namespace uvmsim::conformance {
namespace {

using policy::PolicyEntry;

// Draws pages that are clustered, as in real blocks, or scattered.
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

// The answers to one sequence of calls, and the number of pages that the core had to remove from them.
struct Answers {
  std::vector<PageMask> pages;
  std::vector<policy::PageSpan> beyond;
  std::uint64_t clipped = 0;
};

// Sixteen blocks without any page on the GPU.
class Everywhere final : public policy::PrefetchQueries {
 public:
  PageMask missing(BlockIndex block) const override { return block.value < 16 ? PageMask::all() : PageMask{}; }
  std::uint32_t free_chunks() const override { return 4; }
};

Answers run_calls(const PolicyEntry& entry, const policy::GivenParameters& given, std::uint64_t seed,
                  std::uint64_t sequence, int calls) {
  const policy::Future future = random_future(sequence);
  const auto prefetcher = entry.create<policy::Prefetcher>(given, seed, 64, &future);
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
    if (random.below(20) == 0) prefetcher->on_freed(block);
  }
  return answers;
}

// An allocation of eight blocks, three of which are used, on a GPU with room for two. The calls and answers determine
// where pages are.
class FewBlocks final : public LifeOf<policy::Prefetcher>, private policy::PrefetchQueries {
 public:
  using LifeOf::LifeOf;

  void step() override {
    now_ += Nanoseconds(1000 * static_cast<std::int64_t>(1 + below(2)));
    const std::uint64_t b = below(kUsed);
    switch (below(12)) {
      case 0:
        return evict(b);
      case 1:
        if (one_in(4)) free();
        return;
      case 2:
        return listening_.kernel(random_, now_);
      case 3:
        return use(b, some_pages());
      case 4:
      case 5:
        return fault(b, some_pages() & (blocks_[b].gpu - blocks_[b].host), true);
      default:
        return fault(b, some_pages() - blocks_[b].gpu, false);
    }
  }
  // Sometimes everything is evicted, and then freed, or moved to the host as a whole by a call of the program.
  void settle() override {
    const std::uint64_t how = below(6);
    if (how == 0) return;
    for (std::uint64_t b = 0; b < kBlocks; ++b) evict(b);
    if (how == 1) return;
    if (how == 2) return free();
    for (Block& block : blocks_) block.host = PageMask::all();
  }
  Nanoseconds now() const override { return now_; }
  void add_state(StateDigest& digest) const override {
    for (const Block& block : blocks_) {
      for (const PageMask* mask : {&block.gpu, &block.host, &block.unused, &block.touched}) add_mask(digest, *mask);
    }
    add_policy_state(digest);
  }

 private:
  static constexpr std::uint64_t kBlocks = 8, kUsed = 3, kRoom = 2;
  struct Block {
    PageMask gpu, host;
    PageMask unused;   // prefetched to the GPU and not used since
    PageMask touched;  // used since they came
  };

  PageMask missing(BlockIndex block) const override {
    return block.value < kBlocks ? PageMask::all() - blocks_[block.value].gpu : PageMask{};
  }
  std::uint32_t free_chunks() const override {
    const auto used = std::count_if(blocks_.begin(), blocks_.end(), [](const Block& b) { return !b.gpu.empty(); });
    return static_cast<std::uint32_t>(kRoom) - std::min<std::uint32_t>(kRoom, static_cast<std::uint32_t>(used));
  }

  // Draws a page, a unit, half a block or all of it.
  PageMask some_pages() {
    const auto quarter = static_cast<unsigned>(below(2)) * (kPagesPerBlock / 4);
    switch (below(4)) {
      case 0:
        return PageMask::range(quarter, 1);
      case 1:
        return PageMask::range(quarter, kPagesPerBigPage);
      case 2:
        return PageMask::range(2 * quarter, kPagesPerBlock / 2);
      default:
        return PageMask::all();
    }
  }

  void fault(std::uint64_t b, const PageMask& pages, bool to_host) {
    if (pages.empty()) return;
    Block& block = blocks_[b];
    if (!to_host) {
      const policy::FaultRecord record{PageIndex(b * kPagesPerBlock + pages.next_set(0)), now_,
                                       static_cast<std::uint32_t>(below(2)), pages.count(), one_in(2)};
      listening_.faults(0, now_, {&record, 1});
      make_room(b);
    }
    const PageMask resident = to_host ? block.host : block.gpu;
    const PageMask thrashing = one_in(16) ? PageMask::range(0, kPagesPerBigPage) : PageMask{};
    const policy::FaultedBlock faults{.block = BlockIndex(b),
                                      .allocation = {PageIndex(0), PageIndex(kBlocks * kPagesPerBlock)},
                                      .resident = resident,
                                      .faulted = pages,
                                      .thrashing = thrashing,
                                      .resident_nowhere = block.gpu.empty() && block.host.empty(),
                                      .to_host = to_host,
                                      .now = now_};
    const PageMask more = policy_->prefetch(faults) - resident - pages;
    answered("prefetch", more);
    std::vector<policy::PageSpan> spans;
    if (!to_host) policy_->prefetch_beyond(faults, *this, spans);
    move(b, pages, to_host);
    use(b, pages);
    move(b, more, to_host);
    for (const policy::PageSpan& span : spans) {
      answered("prefetch_beyond", span.first.value << 32 | span.end.value);
      bring(b, span);
    }
  }
  void bring(std::uint64_t faulted, const policy::PageSpan& span) {
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      const std::uint64_t begin = b * kPagesPerBlock;
      const std::uint64_t first = std::max(span.first.value, begin);
      const std::uint64_t end = std::min(span.end.value, begin + kPagesPerBlock);
      if (b == faulted || first >= end || (free_chunks() == 0 && blocks_[b].gpu.empty())) continue;
      move(b, PageMask::range(static_cast<unsigned>(first - begin), static_cast<unsigned>(end - first)), false);
    }
  }
  // Moves pages, which are unused then; present pages stay.
  void move(std::uint64_t b, const PageMask& pages, bool to_host) {
    Block& block = blocks_[b];
    if (to_host) {
      leave(b, block.gpu & pages);
      block.host |= pages;
    } else {
      block.unused |= pages - block.gpu;
      block.gpu |= pages;
      block.host -= pages;
    }
  }
  void use(std::uint64_t b, const PageMask& pages) {
    Block& block = blocks_[b];
    const PageMask first = block.unused & pages;
    block.unused -= first;
    block.touched |= block.gpu & pages;
    listening_.used(BlockIndex(b), first);
  }
  PageMask leave(std::uint64_t b, const PageMask& pages) {
    Block& block = blocks_[b];
    const PageMask wasted = block.unused & pages, touched = block.touched & pages;
    block.gpu -= pages;
    block.unused -= pages;
    block.touched -= pages;
    listening_.wasted(BlockIndex(b), wasted);
    return touched;
  }
  void evict(std::uint64_t b) {
    const PageMask pages = blocks_[b].gpu;
    if (pages.empty()) return;
    const PageMask touched = leave(b, pages);
    blocks_[b].host |= pages;
    policy_->on_evicted(BlockIndex(b), pages, is_told(policy::InformationClass::kD2) ? touched : PageMask{});
  }
  void make_room(std::uint64_t b) {
    for (std::uint64_t other = 0; other < kBlocks && free_chunks() == 0 && blocks_[b].gpu.empty(); ++other) {
      if (other != b) evict(other);
    }
  }
  void free() {
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      leave(b, blocks_[b].gpu);
      blocks_[b] = {};
      policy_->on_freed(BlockIndex(b));
    }
  }

  std::array<Block, kBlocks> blocks_;
  Nanoseconds now_{};
};

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
  const auto run = [&] { return run_calls(entry, options.given, options.seed, options.seed, 4000); };
  const Answers first = run(), second = run();
  check_same(first.pages, second.pages, "call {} had another answer when the same calls were repeated");
  check_same(first.beyond, second.beyond, "other blocks were asked for when the same calls were repeated");
  return "the same calls twice, the same answers";
}

}  // namespace

std::span<const Check> checks_of(std::type_identity<policy::Prefetcher>) {
  static constexpr Check kChecks[] = {{"parameters", check_parameters<run_calls, 500>},
                                      {"random blocks", check_random_blocks},
                                      {"determinism", check_prefetcher_determinism},
                                      {"state", check_told_state_of<FewBlocks, 64>}};
  return kChecks;
}

}  // namespace uvmsim::conformance
