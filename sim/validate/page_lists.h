// SPDX-License-Identifier: Apache-2.0
// The pages that the programs of campaigns touch in random order, the same with any compiler.
//
// sparse_blocks: its source (github.com/rayanw36/SpecAsync-UVM, benchmarks/bench_sparse.cu) shuffles the 2 MB blocks
// with std::shuffle and std::mt19937_64, and takes K distinct pages of each by a partial Fisher-Yates shuffle with the
// same generator, a word of each with one more draw. The C++ standard fixes the generator but not std::shuffle; this
// code does what libstdc++ 11 to 14 do: two places per draw, drawn by the multiplication of Lemire (ACM TOMACS 29,
// 2019).
#pragma once

#include <cstdint>
#include <vector>

namespace uvmsim::validate {

struct SparseWord {
  std::uint64_t page = 0;  // 4 KB page from the start of the array
  std::uint32_t word = 0;  // 4-byte word of that page
};

// Requires `blocks` >= 1 and `pages_per_block` from 1 to 512. Returns one entry per thread, in the order of threads.
std::vector<SparseWord> sparse_words(std::uint64_t blocks, std::uint32_t pages_per_block, std::uint64_t seed);

// page_walk in random order: the `share` pages of thread t, from t * share on, are shuffled and stored at [t * share,
// (t + 1) * share). Only threads with pages are included; the last one visits the last page again for those that its
// share lacks.
std::vector<std::uint32_t> random_walk(std::uint64_t pages, std::uint64_t share, std::uint64_t seed);

}  // namespace uvmsim::validate
