// SPDX-License-Identifier: Apache-2.0
// Attention over heads that are stored one after the other: as separate kernels with the scores in memory, or as one
// kernel.
#pragma once

#include <cstdint>

#include "sim/llm/layers.h"

namespace uvmsim::llm {

struct AttentionShape {
  std::uint64_t batch = 1, heads = 1, key_value_heads = 1, head_width = 1;
  std::uint64_t queries = 1, keys = 1;  // tokens of a sequence
  std::uint64_t query_bytes(std::uint64_t element_bytes) const {
    return batch * heads * queries * head_width * element_bytes;
  }
};

// Attention in separate kernels; query, key and value are stored head after head. Adds `mask` to the scores, if there
// is one.
Value eager_attention(Layers& layers, const AttentionShape& shape, Value query, Value key, Value value,
                      const Tensor& mask, bool dropout);

// Attention in one kernel. Keys and values of fewer heads are widened first, as `repeat_interleave` does.
Value fused_attention(Layers& layers, const AttentionShape& shape, Value query, Value key, Value value);

// Attention of one token to a cache that was allocated for the whole context: keys, then values, of `context` tokens
// per head. The query heads of a group are the rows of one matrix product per key-value head.
Tensor cached_attention(Layers& layers, const AttentionShape& shape, std::uint64_t context, const Tensor& query,
                        const Tensor& cache, bool is_fused);

// Applies rotary positions: x * cosine + turned(x) * sine, one kernel per operation.
Value rotate(Layers& layers, const Value& x, const Tensor& cosine, const Tensor& sine);

}  // namespace uvmsim::llm
