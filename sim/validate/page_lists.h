// SPDX-License-Identifier: Apache-2.0
// Which pages the programs of campaigns touch where a generator of random numbers says so: the same with any compiler.
//
// sparse_blocks: its source (github.com/rayanw36/SpecAsync-UVM, benchmarks/bench_sparse.cu) shuffles the 2 MB blocks
// with std::shuffle and std::mt19937_64, and takes K distinct pages of each by a partial Fisher-Yates shuffle with the
// same generator, a word of each with one more draw. The C++ standard fixes the generator but not std::shuffle; what is
// here is what libstdc++ 11 to 14 do: two places per draw, drawn by the multiplication of Lemire (ACM TOMACS 29, 2019).
#pragma once

#include <cstdint>
#include <vector>

namespace uvmsim::validate {

struct SparseWord {
  std::uint64_t page = 0;  // 4 KB page from the start of the array
  std::uint32_t word = 0;  // 4-byte word of that page
};

// `blocks` >= 1, `pages_per_block` 1 to 512. One entry per thread, in the order of threads.
std::vector<SparseWord> sparse_words(std::uint64_t blocks, std::uint32_t pages_per_block, std::uint64_t seed);

// page_walk in random order: thread t's `share` pages, from t * share on, stand at [t * share, (t + 1) * share),
// shuffled. Only threads with pages; the last one visits the last page again for those that its share lacks.
std::vector<std::uint32_t> random_walk(std::uint64_t pages, std::uint64_t share, std::uint64_t seed);

}  // namespace uvmsim::validate
