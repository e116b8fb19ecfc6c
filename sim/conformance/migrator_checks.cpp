// SPDX-License-Identifier: Apache-2.0
// Checks migrate policies on random blocks: any mixture of reads, writes and pages on the host, remote accesses,
// evictions.
#include <algorithm>
#include <array>

#include "sim/common/error.h"
#include "sim/conformance/told_state.h"

namespace uvmsim::conformance {
namespace {

using policy::PolicyEntry;

constexpr std::uint64_t kBlocks = 16;
constexpr std::uint32_t kChunks = 8;

PageMask random_pages(Random& random) {
  PageMask pages;
  for (std::uint64_t run = random.below(5); run > 0; --run) {
    const auto first = static_cast<unsigned>(random.below(kPagesPerBlock));
    pages.set_range(first, std::min(kPagesPerBlock - first, 1 + static_cast<unsigned>(random.below(64))));
  }
  return pages;
}

// The answers to one sequence of calls, and the number of pages that the core had to remove from them.
struct MigratorAnswers {
  std::vector<PageMask> pages;
  std::uint64_t clipped = 0;
};

// One policy and its calls.
class Calls {
 public:
  Calls(const PolicyEntry& entry, const policy::GivenParameters& given, std::uint64_t seed, std::uint64_t sequence)
      : future_(random_future(sequence)),
        migrator_(entry.create<policy::Migrator>(given, seed, kChunks, &future_)),
        counters_(entry.info.information >= policy::InformationClass::kD1),
        kernels_(entry.info.information >= policy::InformationClass::kD3),
        random_(sequence) {}

  MigratorAnswers make(int calls) {
    for (int call = 0; call < calls; ++call) {
      now_ = Nanoseconds(call * 1000);
      full_ = call > calls / 2;
      one();
    }
    return std::move(answers_);
  }

 private:
  policy::GpuMemoryUse memory() {
    return {kChunks, full_ ? 0 : static_cast<std::uint32_t>(random_.below(kChunks + 1)), full_};
  }

  void one() {
    const BlockIndex block(random_.below(kBlocks));
    const PageMask some = random_pages(random_);
    switch (random_.below(8)) {
      case 0:
        answers_.pages.push_back(migrator_->on_evicted(block, some) ? some : PageMask{});
        break;
      case 1:
        migrator_->on_migrated(block, some);
        break;
      case 2:
        if (kernels_) migrator_->on_kernel(0);
        break;
      case 3:
        if (random_.below(8) == 0) migrator_->on_freed(block);
        break;
      case 4:
      case 5:
        if (counters_ && !some.empty()) use_from_afar(block, some);
        break;
      default:
        if (!some.empty()) fault(block, some);
    }
  }

  void use_from_afar(BlockIndex block, const PageMask& pages) {
    answers_.pages.push_back(migrator_->fetch({.block = block,
                                               .range = BlockIndex(0),
                                               .pages = pages,
                                               .accesses = pages.count() * (1 + random_.below(64)),
                                               .memory = memory()}));
  }

  void fault(BlockIndex block, const PageMask& pages) {
    const PageMask writes = pages & random_pages(random_), reads = pages - writes;
    const PageMask on_host = random_pages(random_) | reads;
    const policy::RestingPages rest = migrator_->rest({.block = block,
                                                       .range = BlockIndex(0),
                                                       .reads = reads,
                                                       .writes = writes,
                                                       .on_host = on_host,
                                                       .memory = memory(),
                                                       .now = now_});
    answers_.clipped += (rest.writable - rest.pages).count();
    answers_.pages.push_back(rest.pages);
    answers_.pages.push_back(rest.writable);
  }

  policy::Future future_;
  std::shared_ptr<policy::Migrator> migrator_;
  bool counters_, kernels_;
  Random random_;
  Nanoseconds now_{};
  bool full_ = false;
  MigratorAnswers answers_;
};

// An allocation of two blocks: the calls and answers determine which pages are on the GPU and which are remote-mapped.
class TwoBlocks final : public LifeOf<policy::Migrator> {
 public:
  using LifeOf::LifeOf;

  void step() override {
    now_ += Nanoseconds(1000 * static_cast<std::int64_t>(1 + below(2)));
    const std::uint64_t b = below(kBlocks);
    switch (below(13)) {
      case 0:
        return evict(b);
      case 1:
        if (one_in(4)) free();
        return;
      case 12:
        return write_on_host(b, some_pages());
      case 2:
        if (is_told(policy::InformationClass::kD3)) policy_->on_kernel(0);
        return listening_.kernel(random_, now_);
      case 3:
      case 4:
      case 5:
      case 6:
        return use_from_afar(b, some_pages());
      default:
        return fault(b, some_pages(), one_in(3));
    }
  }
  // Sometimes everything is evicted, and then freed; sometimes everything is on the host, remote-mapped.
  void settle() override {
    const std::uint64_t how = below(4);
    if (how == 3) return;
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      if (how == 2) {
        write_on_host(b, PageMask::all());
        fault(b, PageMask::all(), false);
      }
      evict(b);
    }
    if (how == 1) free();
  }
  Nanoseconds now() const override { return now_; }
  void add_state(StateDigest& digest) const override {
    for (const Block& block : blocks_) {
      for (const PageMask* mask : {&block.gpu, &block.host, &block.resting, &block.writable}) add_mask(digest, *mask);
    }
    digest.add(std::uint64_t{oversubscribed_});
    add_policy_state(digest);
  }

 private:
  static constexpr std::uint64_t kBlocks = 2;
  struct Block {
    PageMask gpu, host;
    PageMask resting, writable;  // on the host, mapped by the GPU
  };

  // Draws one of two units, one of two halves, or all pages.
  PageMask some_pages() {
    const auto second = static_cast<unsigned>(below(2));
    switch (below(3)) {
      case 0:
        return PageMask::range(second * kPagesPerBigPage, kPagesPerBigPage);
      case 1:
        return PageMask::range(second * (kPagesPerBlock / 2), kPagesPerBlock / 2);
      default:
        return PageMask::all();
    }
  }
  policy::GpuMemoryUse memory() const {
    const auto used = std::count_if(blocks_.begin(), blocks_.end(), [](const Block& b) { return !b.gpu.empty(); });
    return {static_cast<std::uint32_t>(kBlocks), static_cast<std::uint32_t>(kBlocks) - static_cast<std::uint32_t>(used),
            oversubscribed_};
  }

  void fault(std::uint64_t b, const PageMask& touched, bool write) {
    Block& block = blocks_[b];
    const PageMask pages = touched - block.gpu - (write ? block.writable : block.resting);
    if (pages.empty()) return;
    const PageMask none;
    policy::RestingPages rest = policy_->rest({.block = BlockIndex(b),
                                               .range = BlockIndex(0),
                                               .reads = write ? none : pages,
                                               .writes = write ? pages : none,
                                               .on_host = block.host,
                                               .memory = memory(),
                                               .now = now_});
    answered("rest", rest.pages);
    answered("rest", rest.writable);
    rest.pages -= block.gpu;
    block.host |= rest.pages;
    block.resting |= rest.pages;
    block.writable |= rest.writable & rest.pages;
    come(b, pages - rest.pages);
  }
  void use_from_afar(std::uint64_t b, const PageMask& touched) {
    const PageMask pages = touched & blocks_[b].resting;
    if (!is_told(policy::InformationClass::kD1) || pages.empty()) return;
    constexpr std::uint64_t kPerPage[] = {1, 8, 32};
    const PageMask coming = policy_->fetch({.block = BlockIndex(b),
                                            .range = BlockIndex(0),
                                            .pages = pages,
                                            .accesses = pages.count() * kPerPage[below(std::size(kPerPage))],
                                            .memory = memory()});
    answered("fetch", coming);
    come(b, coming & blocks_[b].host);
  }
  // Pages on the GPU move to the host; remote-mapped pages stay remote-mapped.
  void write_on_host(std::uint64_t b, const PageMask& pages) {
    blocks_[b].gpu -= pages;
    blocks_[b].host |= pages;
  }
  void come(std::uint64_t b, const PageMask& pages) {
    if (pages.empty()) return;
    Block& block = blocks_[b];
    block.gpu |= pages;
    for (PageMask* mask : {&block.host, &block.resting, &block.writable}) *mask -= pages;
    policy_->on_migrated(BlockIndex(b), pages);
  }
  void evict(std::uint64_t b) {
    Block& block = blocks_[b];
    const PageMask pages = block.gpu;
    if (pages.empty()) return;
    oversubscribed_ = true;
    block.gpu.clear();
    block.host |= pages;
    const bool rests = policy_->on_evicted(BlockIndex(b), pages);
    answered("on_evicted", std::uint64_t{rests});
    if (!rests) return;
    block.resting |= pages;
    block.writable |= pages;
  }
  void free() {
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      blocks_[b] = {};
      policy_->on_freed(BlockIndex(b));
    }
  }

  std::array<Block, kBlocks> blocks_;
  bool oversubscribed_ = false;
  Nanoseconds now_{};
};

MigratorAnswers answers_to(const PolicyEntry& entry, const policy::GivenParameters& given, std::uint64_t seed,
                           std::uint64_t sequence, int calls) {
  return Calls(entry, given, seed, sequence).make(calls);
}

std::string check_random_faults(const PolicyEntry& entry, const CheckOptions& options) {
  std::uint64_t pages = 0, clipped = 0;
  for (std::uint64_t sequence = 0; sequence < 8; ++sequence) {
    const MigratorAnswers answers = answers_to(entry, options.given, options.seed, options.seed + sequence, 4000);
    for (const PageMask& mask : answers.pages) pages += mask.count();
    clipped += answers.clipped;
  }
  return fmt::format(
      "8 sequences of 4,000 calls, {} pages answered; the simulator takes out {} that are to be written and do not "
      "rest",
      pages, clipped);
}

std::string check_migrator_determinism(const PolicyEntry& entry, const CheckOptions& options) {
  const auto run = [&] { return answers_to(entry, options.given, options.seed, options.seed, 4000).pages; };
  check_same(run(), run(), "answer {} differed when the same calls were repeated");
  return "the same calls twice, the same answers";
}

}  // namespace

std::span<const Check> checks_of(std::type_identity<policy::Migrator>) {
  static constexpr Check kChecks[] = {{"parameters", check_parameters<answers_to, 500>},
                                      {"random blocks", check_random_faults},
                                      {"determinism", check_migrator_determinism},
                                      {"state", check_told_state_of<TwoBlocks, kChunks>}};
  return kChecks;
}

}  // namespace uvmsim::conformance
