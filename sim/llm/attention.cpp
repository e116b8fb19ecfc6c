// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/attention.h"

#include <algorithm>
#include <utility>

namespace uvmsim::llm {
namespace {

constexpr std::string_view kTimes = "vectorized_elementwise_kernel<mul>";
constexpr std::string_view kBroadcastTimes = "elementwise_kernel<mul>";

// The grid of fused attention on an H100 or H200: a thread block per SM.
constexpr std::uint32_t kFusedBlocks = 132;

void softmax(Layers& layers, std::string_view name, std::uint64_t rows, std::vector<Use> uses) {
  constexpr std::uint64_t kRowsOfBlock = 4;
  layers.recorder().begin_operator();
  layers.rows(name, 1 + (rows - 1) / kRowsOfBlock, std::move(uses));
}

Tensor batched(Layers& layers, const ProductShape& shape, Operands operands, const Tensor& a, const Tensor& b) {
  layers.recorder().begin_operator();
  Tensor out = layers.recorder().tensor(shape.batches * shape.rows * shape.columns * layers.element_bytes());
  layers.product(shape, operands, {reads(a), reads(b), writes(out)});
  return out;
}

// Repeats keys or values of groups of heads once for each head.
Value widened(Layers& layers, const Value& x, std::uint64_t groups) {
  Value y = layers.result(layers.strided("elementwise_kernel<copy>", {x.data}, x.data->bytes() * groups), {&x});
  if (y.gradient != nullptr) {
    layers.tape().push([&layers, groups, to = x.gradient, from = y.gradient] {
      const Tensor given = Layers::take(from);
      layers.recorder().begin_operator();
      Tensor sum = layers.recorder().tensor(given->bytes() / groups);
      layers.rows("reduce_kernel<sum>", 1 + sum->bytes() / 1024, {reads(given), writes(sum)});
      layers.accumulate(to, std::move(sum));
    });
  }
  return y;
}

}  // namespace

Value eager_attention(Layers& layers, const AttentionShape& shape, Value query, Value key, Value value,
                      const Tensor& mask, bool dropout) {
  const std::uint64_t batches = shape.batch * shape.heads;
  const ProductShape of_scores{shape.queries, shape.head_width, shape.keys, batches};
  const ProductShape of_sums{shape.queries, shape.keys, shape.head_width, batches};
  const ProductShape of_keys{shape.keys, shape.queries, shape.head_width, batches};
  const std::uint64_t score_bytes = batches * shape.queries * shape.keys * layers.element_bytes();

  Tensor scores = batched(layers, of_scores, Operands::kTn, query.data, key.data);
  scores = layers.elementwise(kTimes, {scores}, score_bytes);
  if (mask != nullptr) scores = layers.strided("elementwise_kernel<add>", {mask, scores}, score_bytes);
  layers.recorder().begin_operator();
  Tensor weights = layers.recorder().tensor(score_bytes);
  softmax(layers, "softmax_warp_forward", batches * shape.queries, {reads(scores), writes(weights)});
  scores.reset();
  Tensor kept, dropped = weights;
  if (dropout) {
    layers.recorder().begin_operator();
    kept = layers.recorder().tensor(score_bytes / layers.element_bytes());
    dropped = layers.recorder().tensor(score_bytes);
    layers.recorder().launch({"fused_dropout_kernel_vec",
                              {Kind::kDropout, 0, 0},
                              {reads(weights), writes(kept), writes(dropped)},
                              {1056, 1, 1}});
  }
  Value sums = layers.result(batched(layers, of_sums, Operands::kNn, value.data, dropped), {&query, &key, &value});
  if (sums.gradient == nullptr) return sums;
  struct Saved {
    Tensor weights, kept, dropped;
    Value query, key, value;
  };
  auto saved = std::make_shared<Saved>(Saved{std::move(weights), std::move(kept), std::move(dropped), std::move(query),
                                             std::move(key), std::move(value)});
  layers.tape().push([&layers, of_scores, of_keys, of_sums, score_bytes, saved, from = sums.gradient] {
    Tensor given = Layers::take(from);
    Tensor of_values = batched(layers, of_keys, Operands::kNt, saved->dropped, given);
    Tensor of_weights = batched(layers, of_scores, Operands::kTn, saved->value.data, given);
    given.reset();
    saved->value.data.reset();
    saved->dropped.reset();
    layers.accumulate(saved->value.gradient, std::move(of_values));
    if (saved->kept != nullptr) {
      of_weights =
          layers.elementwise("vectorized_elementwise_kernel<masked_scale>", {saved->kept, of_weights}, score_bytes);
      saved->kept.reset();
    }
    layers.recorder().begin_operator();
    Tensor raw = layers.recorder().tensor(score_bytes);
    Tensor product = layers.elementwise(kTimes, {saved->weights, of_weights}, score_bytes);
    softmax(layers, "softmax_warp_backward", of_scores.batches * of_scores.rows,
            {reads(saved->weights), reads(product), writes(raw)});
    product.reset();
    of_weights.reset();
    saved->weights.reset();
    raw = layers.elementwise(kTimes, {raw}, score_bytes);
    Tensor of_key = batched(layers, of_keys, Operands::kNt, saved->query.data, raw);
    Tensor of_query = batched(layers, of_sums, Operands::kNn, saved->key.data, raw);
    raw.reset();
    saved->query.data.reset();
    saved->key.data.reset();
    layers.accumulate(saved->key.gradient, std::move(of_key));
    layers.accumulate(saved->query.gradient, std::move(of_query));
  });
  return sums;
}

Value fused_attention(Layers& layers, const AttentionShape& shape, Value query, Value key, Value value) {
  const std::uint64_t groups = shape.heads / shape.key_value_heads;
  if (groups != 1) {
    key = widened(layers, key, groups);
    value = widened(layers, value, groups);
  }
  Recorder& recorder = layers.recorder();
  const std::uint64_t bytes = shape.query_bytes(layers.element_bytes());
  // With a causal mask only half of the scores are computed when a prompt is read.
  const std::uint64_t flops =
      4 * shape.batch * shape.heads * shape.queries * shape.keys * shape.head_width / (shape.queries > 1 ? 2 : 1);
  recorder.begin_operator();
  Value sums = layers.result(recorder.tensor(bytes), {&query, &key, &value});
  std::vector<Use> uses = {reads(query.data), reads(key.data), reads(value.data), writes(sums.data)};
  constexpr std::uint64_t kStatisticBytes = 4;
  const Tensor statistics =
      sums.gradient == nullptr ? nullptr : recorder.tensor(shape.batch * shape.heads * shape.queries * kStatisticBytes);
  if (statistics != nullptr) uses.push_back(writes(statistics));
  const auto many = static_cast<std::uint32_t>(std::min<std::uint64_t>(shape.batch, 65536));
  const trace::Dim3 grid =
      shape.queries == 1 ? trace::Dim3{1, static_cast<std::uint32_t>(std::min<std::uint64_t>(shape.heads, 65536)), many}
                         : trace::Dim3{kFusedBlocks, 1, 1};
  recorder.launch({shape.queries == 1 ? "sdpa_flash_fprop_decode" : "sdpa_flash_fprop",
                   {Kind::kAttention, flops, 0},
                   std::move(uses),
                   grid});
  if (sums.gradient == nullptr) return sums;
  struct Saved {
    Tensor sums, statistics;
    Value query, key, value;
  };
  auto saved =
      std::make_shared<Saved>(Saved{sums.data, statistics, std::move(query), std::move(key), std::move(value)});
  layers.tape().push([&layers, bytes, flops, saved, from = sums.gradient] {
    Tensor given = Layers::take(from);
    Recorder& to = layers.recorder();
    to.begin_operator();
    Tensor of_query = to.tensor(bytes);
    Tensor of_key = to.tensor(saved->key.data->bytes());
    Tensor of_value = to.tensor(saved->value.data->bytes());
    // The query's gradient is summed in fp32; the same buffer also holds the dot products of output and gradient.
    Tensor space = to.tensor(bytes * 4 / layers.element_bytes() + saved->statistics->bytes());
    layers.rows("compute_dot_do_o", 1 + bytes / 16384, {reads(saved->sums), reads(given), writes(space)});
    constexpr std::uint64_t kMoreThanForward = 5;  // matrix products, compared with 2 in the forward pass
    to.launch({"sdpa_flash_bprop",
               {Kind::kAttention, flops * kMoreThanForward / 2, 0},
               {reads(saved->query.data), reads(saved->key.data), reads(saved->value.data), reads(saved->statistics),
                reads(given), updates(space), writes(of_key), writes(of_value)},
               {kFusedBlocks, 1, 1}});
    layers.rows("convert_dq_to_16bits", 1 + bytes / 16384, {reads(space), writes(of_query)});
    space.reset();
    given.reset();
    *saved = {nullptr,
              nullptr,
              {nullptr, saved->query.gradient},
              {nullptr, saved->key.gradient},
              {nullptr, saved->value.gradient}};
    layers.accumulate(saved->value.gradient, std::move(of_value));
    layers.accumulate(saved->key.gradient, std::move(of_key));
    layers.accumulate(saved->query.gradient, std::move(of_query));
  });
  return sums;
}

Tensor cached_attention(Layers& layers, const AttentionShape& shape, std::uint64_t context, const Tensor& query,
                        const Tensor& cache, bool is_fused) {
  Recorder& recorder = layers.recorder();
  const std::uint64_t key_value_heads = shape.batch * shape.key_value_heads;
  const std::uint64_t token_bytes = shape.head_width * layers.element_bytes();
  const auto part_of_cache = [&](std::uint64_t half) {
    Use use{cache.get(), trace::AccessMode::kRead, {}};
    for (std::uint64_t head = 0; head < key_value_heads; ++head) {
      use.stretches.push_back({(half * key_value_heads + head) * context * token_bytes, shape.keys * token_bytes});
    }
    return use;
  };
  const std::uint64_t groups = shape.heads / shape.key_value_heads;
  const std::uint64_t bytes = shape.query_bytes(layers.element_bytes());
  if (is_fused) {
    Use all = part_of_cache(0);
    const Use values = part_of_cache(1);
    all.stretches.insert(all.stretches.end(), values.stretches.begin(), values.stretches.end());
    recorder.begin_operator();
    Tensor sums = recorder.tensor(bytes);
    recorder.launch({"sdpa_flash_fprop_decode",
                     {Kind::kAttention, 4 * shape.batch * shape.heads * shape.keys * shape.head_width, 0},
                     {reads(query), std::move(all), writes(sums)},
                     {1, static_cast<std::uint32_t>(std::min<std::uint64_t>(key_value_heads, 1u << 20)), 1}});
    return sums;
  }
  const std::uint64_t score_bytes = shape.batch * shape.heads * shape.keys * layers.element_bytes();
  recorder.begin_operator();
  Tensor scores = recorder.tensor(score_bytes);
  layers.product({groups, shape.head_width, shape.keys, key_value_heads}, Operands::kTn,
                 {reads(query), part_of_cache(0), writes(scores)});
  scores = layers.elementwise(kTimes, {scores}, score_bytes);
  recorder.begin_operator();
  Tensor weights = recorder.tensor(score_bytes);
  layers.rows("cunn_SoftMaxForward", shape.batch * shape.heads, {reads(scores), writes(weights)}, Kind::kLongRows);
  scores.reset();
  recorder.begin_operator();
  Tensor sums = recorder.tensor(bytes);
  layers.product({groups, shape.keys, shape.head_width, key_value_heads}, Operands::kNn,
                 {reads(weights), part_of_cache(1), writes(sums)});
  return sums;
}

Value rotate(Layers& layers, const Value& x, const Tensor& cosine, const Tensor& sine) {
  const std::uint64_t bytes = x.data->bytes();
  const auto turned = [&layers, bytes](const Tensor& of) {
    const Tensor negated = layers.strided_part("elementwise_kernel<neg>", of, 0, bytes / 2);
    return layers.concatenate({of, negated}, bytes);
  };
  Tensor straight = layers.strided(kBroadcastTimes, {cosine, x.data}, bytes);
  Tensor across = layers.strided(kBroadcastTimes, {sine, turned(x.data)}, bytes);
  Value y = layers.result(layers.strided("elementwise_kernel<add>", {straight, across}, bytes), {&x});
  if (y.gradient != nullptr) {
    layers.tape().push([&layers, bytes, turned, to = x.gradient, from = y.gradient, cosine, sine] {
      const Tensor given = Layers::take(from);
      Tensor of_turned = layers.strided(kBroadcastTimes, {sine, given}, bytes);
      const Tensor of_straight = layers.strided(kBroadcastTimes, {cosine, given}, bytes);
      of_turned = turned(of_turned);
      layers.in_place("elementwise_kernel<add>", of_straight, of_turned);
      layers.accumulate(to, of_straight);
    });
  }
  return y;
}

}  // namespace uvmsim::llm
