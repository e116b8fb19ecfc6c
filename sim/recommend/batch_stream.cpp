// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/batch_stream.h"

#include <algorithm>
#include <array>
#include <bit>

namespace uvmsim::recommend {

namespace {

// Tries to find a rank that is not in the bag yet; after that a repeated rank is taken. FBGEMM requires more rows than
// a bag takes.
constexpr unsigned kTries = 64;

// Sorts by the least significant digit first, as batches have millions of rows.
void radix_sort(std::vector<std::uint64_t>& values) {
  constexpr unsigned kDigit = 11;
  std::uint64_t largest = 0;
  for (const std::uint64_t value : values) largest = std::max(largest, value);
  std::vector<std::uint64_t> other(values.size());
  for (unsigned shift = 0; shift < static_cast<unsigned>(std::bit_width(largest)); shift += kDigit) {
    const auto digit = [&](std::uint64_t value) { return (value >> shift) & ((1u << kDigit) - 1); };
    std::array<std::size_t, (1u << kDigit) + 1> start{};
    for (const std::uint64_t value : values) ++start[digit(value) + 1];
    for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
    for (const std::uint64_t value : values) other[start[digit(value)]++] = value;
    values.swap(other);
  }
}

}  // namespace

BatchStream::BatchStream(const Workload& workload, bool training, std::uint64_t seed, unsigned gpus)
    : batch_(workload.batch * gpus), seed_(seed), repeats_in_bag_(workload.repeats_in_bag) {
  const std::uint32_t alpha = training ? workload.training_zipf_thousandths : workload.inference_zipf_thousandths;
  const bool one_law = !workload.bounded && alpha > 1000;
  if (one_law) popularities_.emplace_back(alpha, ZipfRanks::kEndless);
  std::uint64_t base = 0;
  for (std::size_t t = 0; t < workload.rows.size(); ++t) {
    if (!one_law) popularities_.emplace_back(alpha, workload.rows[t]);
    tables_.push_back({base, workload.rows[t], workload.lookups[t], popularities_.size() - 1,
                       RowPermutation(workload.rows[t], Random(seed + t).next())});
    base += workload.rows[t];
  }
}

void BatchStream::draw(std::uint64_t number, std::vector<std::uint64_t>& lookups) const {
  Random random(Random(seed_ ^ 0x5851f42d4c957f2du).next() + number * 0xd1342543de82ef95u);
  lookups.clear();
  std::vector<std::uint64_t> bag;
  for (const Table& table : tables_) {
    const ZipfRanks& popularity = popularities_[table.popularity];
    const unsigned tries = !repeats_in_bag_ && table.rows > table.lookups ? kTries : 1;
    for (std::uint64_t sample = 0; sample < batch_; ++sample) {
      bag.clear();
      for (std::uint32_t i = 0; i < table.lookups; ++i) {
        std::uint64_t rank = 0;
        unsigned left = tries;
        do {
          rank = (popularity.draw(random) - 1) % table.rows;
        } while (--left != 0 && std::find(bag.begin(), bag.end(), rank) != bag.end());
        bag.push_back(rank);
        lookups.push_back(table.base + table.scatter(rank));
      }
    }
  }
}

void group_rows(Batch& batch) {
  std::vector<std::uint64_t>& rows = batch.rows;
  rows = batch.lookups;
  radix_sort(rows);
  batch.counts.clear();
  std::size_t different = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i != 0 && rows[i] == rows[different - 1]) {
      ++batch.counts.back();
    } else {
      rows[different++] = rows[i];
      batch.counts.push_back(1);
    }
  }
  rows.resize(different);
}

}  // namespace uvmsim::recommend
