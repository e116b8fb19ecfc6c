// SPDX-License-Identifier: Apache-2.0
// A recommendation workload as described by its user: embedding tables, the number of rows that a sample looks up in
// each, the popularity of rows, and the dense layers around them. Shipped ones: configs/recommendation/*.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace uvmsim::recommend {

inline constexpr std::uint64_t kMostLookups = std::uint64_t{1} << 24;  // per step

enum class Precision : std::uint8_t { kFp32, kTf32, kHalf };

// The dense layers. A list of n sizes is n - 1 linear layers.
struct Dense {
  std::vector<std::uint32_t> bottom_mlp;  // the last size is the rows' dimension
  // Cross layers of DCN-v2, low rank; 0: products of all pairs of features instead.
  std::uint32_t cross_layers = 0;
  std::uint32_t cross_rank = 0;
  std::vector<std::uint32_t> top_mlp;  // without the input, whose size follows from the features
  Precision precision = Precision::kFp32;
};

struct Workload {
  std::string name;  // of the file, without .json
  std::string description;
  std::vector<std::uint64_t> rows;     // by table
  std::vector<std::uint32_t> lookups;  // of one sample, by table
  std::uint32_t dimension = 0;
  std::uint32_t element_bytes = 4;
  std::uint64_t batch = 0;  // samples of one step
  // Exponents of the popularity by rank, in thousandths; up to 1000 every row is equally likely (FBGEMM's rule).
  std::uint32_t training_zipf_thousandths = 0, inference_zipf_thousandths = 0;
  bool repeats_in_bag = false;  // a bag may name a row twice
  bool bounded = false;         // ranks end with the table; otherwise they wrap around, as in FBGEMM's generator
  Dense dense;

  std::uint64_t row_bytes() const { return std::uint64_t{dimension} * element_bytes; }
  std::uint64_t total_rows() const;
  std::uint64_t bytes() const { return total_rows() * row_bytes(); }
  std::uint64_t lookups_per_sample() const;
};

// "criteo_1tb" is looked up as recommendation/criteo_1tb.json beside configs/systems; a name with a '/' or the ending
// ".json" is a file. Throws InputError, one line: the file, the JSON pointer of the key, what is allowed.
Workload read_workload(const std::string& name_or_path);

}  // namespace uvmsim::recommend
