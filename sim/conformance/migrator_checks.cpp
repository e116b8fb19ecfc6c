// SPDX-License-Identifier: Apache-2.0
// Migrate policies on random blocks: any mixture of reads, writes and pages on the host, accesses from afar, evictions.
#include <algorithm>

#include "sim/common/error.h"
#include "sim/conformance/checks.h"

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

// Answers to one sequence of calls; how many pages the core had to take out of them.
struct MigratorAnswers {
  std::vector<PageMask> pages;
  std::uint64_t clipped = 0;
};

// One policy and the calls that it gets.
class Calls {
 public:
  Calls(const PolicyEntry& entry, const policy::GivenParameters& given, std::uint64_t seed, std::uint64_t sequence)
      : future_(random_future(sequence)),
        migrator_(entry.create_migrator(given, seed, kChunks, &future_)),
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

}  // namespace

std::string check_migrator_parameters(const PolicyEntry& entry, const CheckOptions& options) {
  return try_parameters(entry, options, [&](const policy::GivenParameters& given) {
    Calls(entry, given, options.seed, options.seed).make(500);
  });
}

std::string check_random_faults(const PolicyEntry& entry, const CheckOptions& options) {
  std::uint64_t pages = 0, clipped = 0;
  for (std::uint64_t sequence = 0; sequence < 8; ++sequence) {
    const MigratorAnswers answers = Calls(entry, options.given, options.seed, options.seed + sequence).make(4000);
    for (const PageMask& mask : answers.pages) pages += mask.count();
    clipped += answers.clipped;
  }
  return fmt::format(
      "8 sequences of 4,000 calls, {} pages answered; the simulator takes out {} that are to be written and do not "
      "rest",
      pages, clipped);
}

std::string check_migrator_determinism(const PolicyEntry& entry, const CheckOptions& options) {
  const MigratorAnswers first = Calls(entry, options.given, options.seed, options.seed).make(4000);
  const MigratorAnswers second = Calls(entry, options.given, options.seed, options.seed).make(4000);
  for (std::size_t call = 0; call < first.pages.size(); ++call) {
    if (first.pages[call] != second.pages[call]) {
      throw Wrong(fmt::format("answer {} was another one when the same calls were made again", call + 1));
    }
  }
  return "the same calls twice, the same answers";
}

}  // namespace uvmsim::conformance
