// SPDX-License-Identifier: Apache-2.0
// Random programs: the logs of both passes merge into the expected trace.
#include <gtest/gtest.h>

#include <map>

#include "tests/trace/samples.h"
#include "tests/tracer/merge/log_builder.h"
#include "tests/tracer/merge/random_program.h"

namespace uvmtrace {
namespace {

MergeOptions any_share() {
  MergeOptions options;
  options.match_thousandths = 0;
  return options;
}

std::string as_text(const trace::Record& record) {
  const std::string text = trace::encode({{}, {record}}, trace::TraceFormat::kJsonLines);
  return text.substr(text.find('\n') + 1);
}

void expect_equal(const std::vector<trace::Record>& merged, const std::vector<trace::Record>& expected,
                  std::uint64_t seed) {
  for (std::size_t i = 0; i < std::min(merged.size(), expected.size()); ++i) {
    ASSERT_TRUE(trace::same(merged[i], expected[i])) << "seed " << seed << " record " << i << "\nmerged   "
                                                     << as_text(merged[i]) << "expected " << as_text(expected[i]);
  }
  ASSERT_EQ(merged.size(), expected.size()) << "seed " << seed;
}

TEST(RandomProgram, MergesIntoItsTrace) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const RandomProgram program(seed, 120, false);
    expect_equal(merge_logs(program.timing, program.access, any_share()).records, program.trace, seed);
  }
}

TEST(RandomProgram, MergesTheSameTwice) {
  const RandomProgram program(7, 300, true);
  const auto bytes = [&] {
    const Merged merged = merge_logs(program.timing, program.access, any_share());
    return trace::encode({merged.header, merged.records}, trace::TraceFormat::kUvmt);
  };
  EXPECT_TRUE(bytes() == bytes());
}

using Quanta = std::map<std::pair<std::uint32_t, std::uint64_t>, unsigned>;  // by slot and quantum: mode
void add(std::uint32_t slot, const std::vector<trace::Extent>& extents, Quanta& out) {
  for (const trace::Extent& extent : extents) {
    for (std::uint64_t q = extent.first; q < extent.first + extent.count; ++q) {
      out[{slot, q}] |= static_cast<unsigned>(extent.mode);
    }
  }
}

// merge_logs() has checked already that phases are subsets of the accesses.
TEST(RandomProgram, PhasesCoverTheGridAndTheAccesses) {
  std::uint64_t with_phases = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const RandomProgram program(seed, 100, true);
    Merged merged = merge_logs(program.timing, program.access, any_share());
    for (trace::Record& record : merged.records) {
      auto* kernel = std::get_if<trace::Kernel>(&record);
      if (kernel == nullptr || kernel->phases.empty()) continue;
      ++with_phases;
      Quanta accessed, in_phases;
      for (std::uint32_t slot = 0; slot < kernel->accesses.size(); ++slot) {
        add(slot, kernel->accesses[slot].extents, accessed);
      }
      std::uint64_t blocks = 0;
      for (const trace::Phase& phase : kernel->phases) {
        ASSERT_EQ(phase.first_block, blocks);
        blocks += phase.block_count;
        for (const trace::PhaseAccess& access : phase.accesses) add(access.slot, access.extents, in_phases);
      }
      ASSERT_EQ(blocks, kernel->grid.count());
      ASSERT_TRUE(accessed == in_phases) << "seed " << seed;
      kernel->phases.clear();
    }
    expect_equal(merged.records, program.trace, seed);
  }
  EXPECT_GT(with_phases, 100u);
}

}  // namespace
}  // namespace uvmtrace
