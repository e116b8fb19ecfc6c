// SPDX-License-Identifier: Apache-2.0
// Numbers with a unit, as people write them: "6 us", "80 GiB", "55.5 GB/s". The model uses only integers in base units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace uvmsim::config {

// The unit of an integer parameter, given by the suffix of its name: batch_ns, memory_bytes, bytes_per_us.
enum class Unit : std::uint8_t {
  kCount,
  kPercent,
  kNanoseconds,
  kNanosecondsPerGib,
  kNanosecondsPerMib,
  kBytes,
  kBytesPerMicrosecond,
  kFlopsPerMicrosecond,
  kKilohertz,
};

// Returns the unit of a parameter by the suffix of its name; kCount when it has none.
constexpr Unit unit_by_suffix(std::string_view name) {
  struct Suffix {
    std::string_view text;
    Unit unit;
  };
  constexpr Suffix kSuffixes[] = {
      {"ns_per_gib", Unit::kNanosecondsPerGib},
      {"ns_per_mib", Unit::kNanosecondsPerMib},
      {"bytes_per_us", Unit::kBytesPerMicrosecond},
      {"flops_per_us", Unit::kFlopsPerMicrosecond},
      {"bytes_per_sm", Unit::kBytes},
      {"_bytes", Unit::kBytes},
      {"_khz", Unit::kKilohertz},
      {"_ns", Unit::kNanoseconds},
      {"put_ratio", Unit::kPercent},
  };
  for (const Suffix& suffix : kSuffixes) {
    if (name.ends_with(suffix.text)) return suffix.unit;
  }
  return Unit::kCount;
}

// Returns the base unit: "ns", "bytes", "bytes/us"; empty for counts.
std::string_view unit_name(Unit unit);

// Lists the units that text may use, for messages: "ns, us, ms, s"; empty for counts.
std::string unit_spellings(Unit unit);

struct ParsedQuantity {
  std::optional<std::uint64_t> value;  // in the base unit; empty when the text is refused
  std::string problem;                 // the reason, as "'6 MB' has the unit 'MB'"; empty when value is set
};

// Parses "6 us" as 6000 for kNanoseconds. It is exact: text that is not a whole number of base units is refused, as are
// signs, exponents, numbers of more than 18 digits and values beyond 64 bits.
ParsedQuantity parse_quantity(std::string_view text, Unit unit);

}  // namespace uvmsim::config
