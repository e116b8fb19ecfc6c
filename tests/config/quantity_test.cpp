// SPDX-License-Identifier: Apache-2.0
#include "sim/config/quantity.h"

#include <gtest/gtest.h>

namespace uvmsim::config {
namespace {

struct Accepted {
  const char* text;
  Unit unit;
  std::uint64_t value;
};

TEST(Quantity, ReadsWholeNumbersOfBaseUnits) {
  const Accepted cases[] = {
      {"6 us", Unit::kNanoseconds, 6000},
      {"6us", Unit::kNanoseconds, 6000},
      {"0.5 us", Unit::kNanoseconds, 500},
      {"1.000 s", Unit::kNanoseconds, 1000000000},
      {"80 GiB", Unit::kBytes, std::uint64_t{80} << 30},
      {"1.5 KiB", Unit::kBytes, 1536},
      {"141 GB", Unit::kBytes, 141000000000},
      {"55.48 GB/s", Unit::kBytesPerMicrosecond, 55480},
      {"4.8 TB/s", Unit::kBytesPerMicrosecond, 4800000},
      {"67 TFLOPS", Unit::kFlopsPerMicrosecond, 67000000},
      {"1980 MHz", Unit::kKilohertz, 1980000},
      {"8.5 us/GiB", Unit::kNanosecondsPerGib, 8500},
      {"6.8 us/MiB", Unit::kNanosecondsPerMib, 6800},
      {"51 %", Unit::kPercent, 51},
      {"132", Unit::kCount, 132},
      {"999999999999999999 ns", Unit::kNanoseconds, 999999999999999999},
  };
  for (const Accepted& c : cases) {
    const ParsedQuantity parsed = parse_quantity(c.text, c.unit);
    ASSERT_TRUE(parsed.value) << c.text << ": " << parsed.problem;
    EXPECT_EQ(*parsed.value, c.value) << c.text;
  }
}

struct Refused {
  const char* text;
  Unit unit;
  const char* problem;
};

TEST(Quantity, SaysWhatIsWrong) {
  const Refused cases[] = {
      {"6 MB", Unit::kNanoseconds, "'6 MB' has the unit 'MB'"},
      {"6 Us", Unit::kNanoseconds, "'6 Us' has the unit 'Us'"},
      {"6  us", Unit::kNanoseconds, "'6  us' has the unit ' us'"},
      {"6", Unit::kNanoseconds, "'6' has no unit"},
      {"4 warps", Unit::kCount, "'4 warps' has the unit 'warps'"},
      {"0.5 ns", Unit::kNanoseconds, "'0.5 ns' is not a whole number of ns"},
      {"1.5", Unit::kCount, "'1.5' is not a whole number"},
      {"", Unit::kBytes, "'' is not a number"},
      {" 6 us", Unit::kNanoseconds, "' 6 us' is not a number"},
      {"us", Unit::kNanoseconds, "'us' is not a number"},
      {"-6 us", Unit::kNanoseconds, "'-6 us' is not a number"},
      {"+6 us", Unit::kNanoseconds, "'+6 us' is not a number"},
      {"6. us", Unit::kNanoseconds, "'6. us' is not a number"},
      {".5 us", Unit::kNanoseconds, "'.5 us' is not a number"},
      {"1e3 us", Unit::kNanoseconds, "'1e3 us' has the unit 'e3 us'"},
      {"1.2.3 us", Unit::kNanoseconds, "'1.2.3 us' has the unit '.3 us'"},
      {"1000000000000000000 ns", Unit::kNanoseconds, "'1000000000000000000 ns' is not a number"},
      {"99999999999999999 TiB", Unit::kBytes, "'99999999999999999 TiB' is larger than 64 bits hold"},
  };
  for (const Refused& c : cases) {
    const ParsedQuantity parsed = parse_quantity(c.text, c.unit);
    EXPECT_FALSE(parsed.value) << c.text;
    EXPECT_EQ(parsed.problem, c.problem);
  }
}

TEST(Quantity, UnitFollowsFromTheName) {
  EXPECT_EQ(unit_by_suffix("batch_ns"), Unit::kNanoseconds);
  EXPECT_EQ(unit_by_suffix("allocate_ns_per_gib"), Unit::kNanosecondsPerGib);
  EXPECT_EQ(unit_by_suffix("free_ns_per_mib"), Unit::kNanosecondsPerMib);
  EXPECT_EQ(unit_by_suffix("memory_bytes"), Unit::kBytes);
  EXPECT_EQ(unit_by_suffix("shared_bytes_per_sm"), Unit::kBytes);
  EXPECT_EQ(unit_by_suffix("bytes_per_us"), Unit::kBytesPerMicrosecond);
  EXPECT_EQ(unit_by_suffix("memory_bytes_per_us"), Unit::kBytesPerMicrosecond);
  EXPECT_EQ(unit_by_suffix("fp32_flops_per_us"), Unit::kFlopsPerMicrosecond);
  EXPECT_EQ(unit_by_suffix("sm_clock_khz"), Unit::kKilohertz);
  EXPECT_EQ(unit_by_suffix("sm_count"), Unit::kCount);
}

}  // namespace
}  // namespace uvmsim::config
