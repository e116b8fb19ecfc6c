// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/llm/attention.h"

namespace uvmsim::llm {
namespace {

constexpr std::uint64_t kWordBytes = 8;

// Measured: memory that cuBLAS allocates from the driver, and PyTorch from its allocator, at a thread's first matrix
// product on an H100 or H200 (all recordings of `workloads/` have these).
constexpr std::uint64_t kLibraryBytes[] = {std::uint64_t{128} << 10, std::uint64_t{64} << 20};
constexpr std::uint64_t kWorkspaceBytes = std::uint64_t{32} << 20;

// Measured: cuDNN plans its attention anew for every number of tokens (1.2 ms of 36 ms per token and layer in the
// recorded `llm_generate` on an H200).
constexpr std::int64_t kPlanNs = 1237000;

// Measured: selecting rows or a matrix by an index takes the host longer than other operators (25 to 50 us in the
// recorded `moe_generate`, medians of four kinds of kernels).
constexpr std::int64_t kIndexNs = 30000;

}  // namespace

struct Network::Layer {
  std::string name;
  std::uint64_t index = 0;
  Norm attention_norm, hidden_norm;
  Linear query, key, value;  // `query` makes all three where they are fused
  Linear output, gate, up, down, router;
};

Network::Network(Layers& layers, const Model& model, const Settings& settings)
    : layers_(layers), recorder_(layers.recorder()), model_(model), settings_(settings) {
  switch (model_.family) {
    case Family::kGpt2:
      build_gpt2();
      break;
    case Family::kBert:
      build_bert();
      break;
    case Family::kDecoder:
      build_decoder();
  }
}

Network::~Network() = default;

Parameter* Network::parameter(const std::string& name, std::uint64_t elements, bool is_trained) {
  parameters_.push_back(std::make_unique<Parameter>());
  Parameter& made = *parameters_.back();
  made.name = name;
  made.bytes = elements * layers_.element_bytes();
  made.is_trained = is_trained && settings_.mode == Mode::kTrain;
  return &made;
}

Linear Network::make_linear(const std::string& name, std::uint64_t in, std::uint64_t out, bool has_bias) {
  const bool trains = settings_.lora_rank == 0;
  Linear linear;
  linear.in = in;
  linear.out = out;
  linear.weight = parameter(name + ".weight", in * out, trains);
  if (has_bias) linear.bias = parameter(name + ".bias", out, trains);
  return linear;
}

Norm Network::make_norm(const std::string& name, bool has_bias) {
  const bool trains = settings_.lora_rank == 0;
  Norm norm;
  norm.width = model_.width;
  norm.weight = parameter(name + ".weight", model_.width, trains);
  if (has_bias) norm.bias = parameter(name + ".bias", model_.width, trains);
  return norm;
}

void Network::add_adapter(Linear& linear, const std::string& name) {
  if (settings_.lora_rank == 0) return;
  linear.rank = settings_.lora_rank;
  linear.down = parameter(name + ".lora_A.weight", linear.in * linear.rank, true);
  linear.up = parameter(name + ".lora_B.weight", linear.rank * linear.out, true);
}

void Network::build_gpt2() {
  const std::uint64_t width = model_.width;
  words_ = parameter("transformer.wte.weight", model_.vocabulary * width, true);
  positions_ = parameter("transformer.wpe.weight", model_.positions * width, true);
  for (std::uint64_t i = 0; i < model_.layers; ++i) {
    Layer& layer = blocks_.emplace_back();
    layer.index = i;
    layer.name = fmt::format("transformer.h.{}", i);
    layer.attention_norm = make_norm(layer.name + ".ln_1", true);
    layer.query = make_linear(layer.name + ".attn.c_attn", width, 3 * width, true);
    layer.output = make_linear(layer.name + ".attn.c_proj", width, width, true);
    layer.hidden_norm = make_norm(layer.name + ".ln_2", true);
    layer.up = make_linear(layer.name + ".mlp.c_fc", width, model_.hidden, true);
    layer.down = make_linear(layer.name + ".mlp.c_proj", model_.hidden, width, true);
    for (Linear* linear : {&layer.query, &layer.output, &layer.up, &layer.down}) linear->is_in_first = true;
  }
  last_norm_ = make_norm("transformer.ln_f", true);
  head_.in = width;
  head_.out = model_.vocabulary;
  head_.weight = model_.tied_head ? words_ : parameter("lm_head.weight", width * model_.vocabulary, true);
}

void Network::build_bert() {
  const std::uint64_t width = model_.width;
  words_ = parameter("bert.embeddings.word_embeddings.weight", model_.vocabulary * width, true);
  positions_ = parameter("bert.embeddings.position_embeddings.weight", model_.positions * width, true);
  types_ = parameter("bert.embeddings.token_type_embeddings.weight", model_.token_types * width, true);
  embedding_norm_ = make_norm("bert.embeddings.LayerNorm", true);
  for (std::uint64_t i = 0; i < model_.layers; ++i) {
    Layer& layer = blocks_.emplace_back();
    layer.index = i;
    layer.name = fmt::format("bert.encoder.layer.{}", i);
    layer.query = make_linear(layer.name + ".attention.self.query", width, width, true);
    layer.key = make_linear(layer.name + ".attention.self.key", width, width, true);
    layer.value = make_linear(layer.name + ".attention.self.value", width, width, true);
    layer.output = make_linear(layer.name + ".attention.output.dense", width, width, true);
    layer.attention_norm = make_norm(layer.name + ".attention.output.LayerNorm", true);
    layer.up = make_linear(layer.name + ".intermediate.dense", width, model_.hidden, true);
    layer.down = make_linear(layer.name + ".output.dense", model_.hidden, width, true);
    layer.hidden_norm = make_norm(layer.name + ".output.LayerNorm", true);
  }
  transform_ = make_linear("cls.predictions.transform.dense", width, width, true);
  last_norm_ = make_norm("cls.predictions.transform.LayerNorm", true);
  head_.in = width;
  head_.out = model_.vocabulary;
  head_.weight =
      model_.tied_head ? words_ : parameter("cls.predictions.decoder.weight", width * model_.vocabulary, true);
  head_.bias = parameter("cls.predictions.bias", model_.vocabulary, true);
}

void Network::build_decoder() {
  const std::uint64_t width = model_.width;
  words_ = parameter("model.embed_tokens.weight", model_.vocabulary * width, settings_.lora_rank == 0);
  for (std::uint64_t i = 0; i < model_.layers; ++i) {
    Layer& layer = blocks_.emplace_back();
    layer.index = i;
    layer.name = fmt::format("model.layers.{}", i);
    layer.attention_norm = make_norm(layer.name + ".input_layernorm", false);
    const std::string attention = layer.name + ".self_attn";
    if (model_.fused_attention) {
      layer.query = make_linear(attention + ".qkv_proj", width, model_.attention_width() + 2 * model_.key_value_width(),
                                model_.query_bias);
    } else {
      layer.query = make_linear(attention + ".q_proj", width, model_.attention_width(), model_.query_bias);
      add_adapter(layer.query, attention + ".q_proj");
      layer.key = make_linear(attention + ".k_proj", width, model_.key_value_width(), model_.query_bias);
      layer.value = make_linear(attention + ".v_proj", width, model_.key_value_width(), model_.query_bias);
      add_adapter(layer.value, attention + ".v_proj");
    }
    layer.output = make_linear(attention + ".o_proj", model_.attention_width(), width, model_.output_bias);
    layer.hidden_norm = make_norm(layer.name + ".post_attention_layernorm", false);
    const std::uint64_t copies = std::max<std::uint64_t>(1, model_.experts);
    const std::string hidden = layer.name + (model_.experts == 0 ? ".mlp" : ".block_sparse_moe");
    if (model_.experts != 0) layer.router = make_linear(hidden + ".gate", width, model_.experts, false);
    if (model_.gated) layer.gate = make_linear(hidden + ".gate_proj", width, copies * model_.hidden, false);
    layer.up = make_linear(hidden + ".up_proj", width, copies * model_.hidden, false);
    layer.down = make_linear(hidden + ".down_proj", copies * model_.hidden, width, false);
  }
  last_norm_ = make_norm("model.norm", false);
  head_.in = width;
  head_.out = model_.vocabulary;
  head_.weight =
      model_.tied_head ? words_ : parameter("lm_head.weight", width * model_.vocabulary, settings_.lora_rank == 0);
}

void Network::load() {
  for (const auto& made : parameters_) {
    made->data = recorder_.tensor(made->bytes, made->name);
    recorder_.copy_to_gpu(made->data);
  }
  caches_.resize(model_.layers);
  if (settings_.mode != Mode::kDecode || settings_.cache != llm::Cache::kStatic) return;
  for (std::uint64_t i = 0; i < model_.layers; ++i) {
    caches_[i].key =
        recorder_.tensor(2 * settings_.batch * model_.key_value_width() * settings_.tokens * layers_.element_bytes(),
                         fmt::format("cache.{}", i));
    layers_.fill(caches_[i].key);
  }
}

void Network::open_library() {
  for (const std::uint64_t bytes : kLibraryBytes) recorder_.library_memory(bytes);
  workspaces_.push_back(recorder_.tensor(kWorkspaceBytes));
}

void Network::iterate(std::uint64_t index) {
  recorder_.begin_iteration(index);
  if (settings_.mode == Mode::kTrain) {
    train(index);
  } else {
    infer(index);
  }
  recorder_.end_iteration(index);
}

void Network::train(std::uint64_t index) {
  const std::uint64_t rows = settings_.batch * settings_.tokens;
  const Tensor words = recorder_.tensor(rows * kWordBytes);
  recorder_.copy_to_gpu(words);
  for (const auto& one : parameters_) one->gradient.reset();
  Tape& tape = layers_.tape();
  tape.set_recording(true);
  Value logits;
  {
    const Module module(recorder_, model_.type);
    logits = forward(words, settings_.tokens, 0);
  }
  const Tensor held = settings_.keeps_logits ? logits.data : nullptr;
  const Tensor loss = layers_.cross_entropy(std::move(logits), rows, words, settings_.loss_in_float32);
  {
    const Module module(recorder_, "backward");
    if (index == 0) open_library();
    tape.run_backward();
  }
  tape.set_recording(false);
  {
    const Module module(recorder_, "optimizer");
    step();
  }
  recorder_.copy_to_host(loss);
  recorder_.synchronize();
}

void Network::infer(std::uint64_t index) {
  const bool is_static = settings_.mode == Mode::kDecode && settings_.cache == llm::Cache::kStatic;
  const bool reads_prompt = settings_.mode == Mode::kPrefill || (!is_static && index == 0);
  if (settings_.mode == Mode::kPrefill) {
    for (Cache& cache : caches_) cache = {};
  }
  const std::uint64_t tokens = reads_prompt ? settings_.tokens : 1;
  const std::uint64_t position = reads_prompt ? 0
                                 : is_static  ? settings_.tokens - settings_.iterations + index
                                              : settings_.tokens + index - 1;
  const Tensor words = recorder_.tensor(settings_.batch * tokens * kWordBytes);
  recorder_.copy_to_gpu(words);
  Value logits;
  {
    const Module module(recorder_, model_.type);
    logits = forward(words, tokens, position);
  }
  const Tensor chosen = recorder_.tensor(settings_.batch * kWordBytes);
  recorder_.begin_operator();
  layers_.rows("reduce_kernel<argmax>", settings_.batch,
               {reads(logits.data, 0, settings_.batch * model_.vocabulary * layers_.element_bytes()), writes(chosen)});
  if (settings_.logits == Logits::kAllWidened) {
    const Tensor wide = layers_.elementwise("unrolled_elementwise_kernel<convert>", {logits.data},
                                            logits.data->bytes() * 4 / layers_.element_bytes());
    layers_.rows("reduce_kernel<mean>", settings_.batch, {reads(wide), updates(chosen)}, Kind::kColumns);
  }
  recorder_.copy_to_host(chosen);
  recorder_.synchronize();
}

Value Network::embed(const Tensor& words, std::uint64_t tokens) {
  const std::uint64_t rows = settings_.batch * tokens, row_bytes = model_.width * layers_.element_bytes();
  Value x = layers_.embedding(*words_, row_bytes, rows, words, Layers::Places::kRandom);
  if (types_ != nullptr) {
    const Value of_type = layers_.embedding(*types_, row_bytes, rows, words, Layers::Places::kRandom);
    x = layers_.add(x, of_type);
  }
  if (positions_ != nullptr) {
    const Tensor numbers = recorder_.tensor(tokens * kWordBytes);
    layers_.fill(numbers);
    const Value place = layers_.embedding(*positions_, row_bytes, tokens, numbers, Layers::Places::kFirst);
    if (model_.family == Family::kGpt2) locals_ = {x.data, place.data};
    x = layers_.add_broadcast(x, place);
  }
  if (model_.family == Family::kGpt2) {
    mask_ = recorder_.tensor(settings_.batch * tokens * tokens * layers_.element_bytes());
    layers_.fill(mask_);
  }
  if (embedding_norm_.weight != nullptr) x = layers_.norm(x, embedding_norm_, rows);
  if (model_.embedding_dropout && settings_.mode == Mode::kTrain) x = layers_.dropout(x);
  return x;
}

Value Network::forward(const Tensor& words, std::uint64_t tokens, std::uint64_t position) {
  tokens_now_ = tokens;
  Value x = embed(words, tokens);
  if (workspaces_.empty()) open_library();
  if (model_.family == Family::kDecoder) make_rotary_table(position, tokens);
  for (const Layer& layer : blocks_) {
    const Module module(recorder_, layer.name);
    if (model_.family == Family::kGpt2) {
      x = gpt2_layer(layer, std::move(x));
    } else if (model_.family == Family::kBert) {
      x = bert_layer(layer, x);
    } else if (settings_.recompute) {
      x = recomputed(layer, x);
    } else {
      x = decoder_layer(layer, x, position);
    }
  }
  cosine_.reset();
  sine_.reset();
  return head(std::move(x), tokens);
}

Value Network::head(Value x, std::uint64_t tokens) {
  std::uint64_t rows = settings_.batch * tokens;
  if (model_.family == Family::kBert) {
    x = layers_.linear(x, transform_, rows);
    x = layers_.activation(model_.activation, x);
  }
  x = layers_.norm(x, last_norm_, rows);
  locals_.clear();
  mask_.reset();
  const Module module(recorder_, "lm_head");
  const bool of_all = settings_.mode == Mode::kTrain || settings_.logits != Logits::kLast || tokens == 1;
  if (!of_all) {
    rows = settings_.batch;
    x = {layers_.strided_part("elementwise_kernel<copy>", x.data, 0, rows * model_.width * layers_.element_bytes()),
         nullptr};
  }
  return layers_.linear(x, head_, rows);
}

Value Network::gpt2_layer(const Layer& layer, Value x) {
  const std::uint64_t rows = settings_.batch * tokens_now_, bytes = x.data->bytes();
  const bool trains = settings_.mode == Mode::kTrain;
  const AttentionShape shape{settings_.batch, model_.heads, model_.heads, model_.head_width, tokens_now_, tokens_now_};
  Value attended;
  {
    const Module module(recorder_, layer.name + ".attn");
    const Value all = layers_.linear(layers_.norm(x, layer.attention_norm, rows), layer.query, rows);
    // Keys and values are stored in a cache, in training too; the query is stored head after head.
    const auto part = [&](std::uint64_t number) {
      return layers_.result(layers_.strided_part("elementwise_kernel<copy>", all.data, number * bytes, bytes), {&all});
    };
    const Value key = part(1), value = part(2), query = part(0);
    if (layers_.wants(all)) {
      layers_.tape().push(
          [this, bytes, to = all.gradient, query = query.gradient, key = key.gradient, value = value.gradient] {
            Tensor of_query = Layers::take(query), of_value = Layers::take(value);
            const Tensor of_key = Layers::take(key);
            of_query = layers_.strided("elementwise_kernel<copy>", {of_query}, bytes);
            of_value = layers_.strided("elementwise_kernel<copy>", {of_value}, bytes);
            layers_.accumulate(to, layers_.concatenate({of_query, of_key, of_value}, 3 * bytes));
          });
    }
    Value sums = eager_attention(layers_, shape, query, key, value, mask_, trains && model_.attention_dropout);
    sums = layers_.copy_strided(sums);
    attended = layers_.linear(sums, layer.output, rows);
    if (trains && model_.layer_dropout) attended = layers_.dropout(attended);
  }
  const Value middle = layers_.add(x, attended);
  x = {};
  Value hidden;
  {
    const Module module(recorder_, layer.name + ".mlp");
    hidden = layers_.linear(layers_.norm(middle, layer.hidden_norm, rows), layer.up, rows);
    hidden = layers_.activation(model_.activation, hidden);
    hidden = layers_.linear(hidden, layer.down, rows);
    if (trains && model_.layer_dropout) hidden = layers_.dropout(hidden);
  }
  return layers_.add(middle, hidden);
}

Value Network::bert_layer(const Layer& layer, const Value& x) {
  const std::uint64_t rows = settings_.batch * tokens_now_;
  const bool trains = settings_.mode == Mode::kTrain;
  const AttentionShape shape{settings_.batch, model_.heads, model_.heads, model_.head_width, tokens_now_, tokens_now_};
  const auto maybe_dropout = [&](const Value& value) {
    return trains && model_.layer_dropout ? layers_.dropout(value) : value;
  };
  Value attended;
  {
    const Module module(recorder_, layer.name + ".attention");
    Value sums;
    {
      const Value query = layers_.linear(x, layer.query, rows), key = layers_.linear(x, layer.key, rows),
                  value = layers_.linear(x, layer.value, rows);
      const Value by_heads = layers_.copy_strided(query), key_by_heads = layers_.copy_strided(key),
                  value_by_heads = layers_.copy_strided(value);
      sums = layers_.copy_strided(eager_attention(layers_, shape, by_heads, key_by_heads, value_by_heads, nullptr,
                                                  trains && model_.attention_dropout));
    }
    attended = layers_.add(x, maybe_dropout(layers_.linear(sums, layer.output, rows)));
  }
  attended = layers_.norm(attended, layer.attention_norm, rows);
  Value hidden = layers_.linear(attended, layer.up, rows);
  hidden = layers_.activation(model_.activation, hidden);
  hidden = maybe_dropout(layers_.linear(hidden, layer.down, rows));
  return layers_.norm(layers_.add(attended, hidden), layer.hidden_norm, rows);
}

void Network::make_rotary_table(std::uint64_t position, std::uint64_t tokens) {
  const std::uint64_t half_bytes = (position + tokens) * model_.head_width / 2 * 4;
  const Tensor numbers = recorder_.tensor(model_.head_width / 2 * 4);
  layers_.fill(numbers);
  const Tensor half = layers_.strided("elementwise_kernel<mul>", {numbers}, half_bytes);
  const Tensor angles = layers_.concatenate({half}, 2 * half_bytes);
  for (Tensor* table : {&cosine_, &sine_}) {
    const Tensor wide = layers_.elementwise("vectorized_elementwise_kernel<cos>", {angles}, 2 * half_bytes);
    *table = layers_.elementwise("vectorized_elementwise_kernel<convert>", {wide},
                                 2 * half_bytes * layers_.element_bytes() / 4);
  }
}

Value Network::recomputed(const Layer& layer, const Value& x) {
  Tape& tape = layers_.tape();
  tape.set_recording(false);
  Value y{decoder_layer(layer, x, 0).data, std::make_shared<Gradient>()};
  tape.set_recording(true);
  tape.push([this, &layer, x, from = y.gradient, cosine = cosine_, sine = sine_] {
    Tape& inner_tape = layers_.tape();
    const std::size_t mark = inner_tape.mark();
    cosine_ = cosine;
    sine_ = sine;
    const Value again{x.data, x.gradient == nullptr ? nullptr : std::make_shared<Gradient>()};
    {
      const Value out = decoder_layer(layer, again, 0);
      *out.gradient = {Layers::take(from), false};
    }
    inner_tape.run_back_to(mark);
    cosine_.reset();
    sine_.reset();
    if (again.gradient != nullptr) layers_.accumulate(x.gradient, Layers::take(again.gradient));
  });
  return y;
}

Value Network::decoder_layer(const Layer& layer, const Value& x, std::uint64_t position) {
  const std::uint64_t rows = settings_.batch * tokens_now_;
  Value middle;
  {
    const Module module(recorder_, layer.name + ".self_attn");
    middle = layers_.add(x, decoder_attention(layer, layers_.norm(x, layer.attention_norm, rows), position));
  }
  const Module module(recorder_, layer.name + ".mlp");
  const Value y = layers_.norm(middle, layer.hidden_norm, rows);
  if (model_.experts != 0) return layers_.add(middle, experts(layer, y));
  Value hidden;
  if (model_.gated) {
    const Value gate = layers_.activation(model_.activation, layers_.linear(y, layer.gate, rows));
    hidden = layers_.multiply(gate, layers_.linear(y, layer.up, rows));
  } else {
    hidden = layers_.activation(model_.activation, layers_.linear(y, layer.up, rows));
  }
  return layers_.add(middle, layers_.linear(hidden, layer.down, rows));
}

Value Network::decoder_attention(const Layer& layer, const Value& x, std::uint64_t position) {
  const std::uint64_t rows = settings_.batch * tokens_now_;
  const bool is_static = settings_.mode == Mode::kDecode && settings_.cache == llm::Cache::kStatic;
  const std::uint64_t key_bytes = rows * model_.key_value_width() * layers_.element_bytes();
  const std::uint64_t query_bytes = rows * model_.attention_width() * layers_.element_bytes();
  AttentionShape shape{settings_.batch,   model_.heads, model_.key_value_heads,
                       model_.head_width, tokens_now_,  position + tokens_now_};
  Value query, key, value;
  if (model_.fused_attention) {
    const Value all = layers_.linear(x, layer.query, rows);
    query = {layers_.strided_part("elementwise_kernel<copy>", all.data, 0, query_bytes), nullptr};
    key = {layers_.strided_part("elementwise_kernel<copy>", all.data, query_bytes, key_bytes), nullptr};
    value = {layers_.strided_part("elementwise_kernel<copy>", all.data, query_bytes + key_bytes, key_bytes), nullptr};
    query = rotate(layers_, query, cosine_, sine_);
    key = rotate(layers_, key, cosine_, sine_);
  } else {
    query = layers_.linear(x, layer.query, rows);
    query = rotate(layers_, query, cosine_, sine_);
    key = layers_.linear(x, layer.key, rows);
    key = rotate(layers_, key, cosine_, sine_);
    value = layers_.linear(x, layer.value, rows);
  }
  Cache& cache = caches_[layer.index];
  if (is_static) {
    const std::uint64_t token_bytes = model_.head_width * layers_.element_bytes();
    const std::uint64_t heads = settings_.batch * model_.key_value_heads;
    for (std::uint64_t half = 0; half < 2; ++half) {
      Use place{cache.key.get(), trace::AccessMode::kWrite, {}};
      for (std::uint64_t head = 0; head < heads; ++head) {
        place.stretches.push_back({((half * heads + head) * settings_.tokens + position) * token_bytes, token_bytes});
      }
      recorder_.begin_operator();
      layers_.rows("elementwise_kernel<copy>", 1 + heads / 8, {reads(half == 0 ? key.data : value.data), place});
    }
    const Tensor sums = cached_attention(layers_, shape, settings_.tokens, query.data, cache.key,
                                         settings_.attention == AttentionKind::kFused);
    return layers_.linear({sums, nullptr}, layer.output, rows);
  }
  if (settings_.mode != Mode::kTrain) {
    if (cache.key == nullptr) {
      cache = {key.data, value.data};
    } else {
      Tensor longer = layers_.concatenate({cache.key, key.data}, cache.key->bytes() + key_bytes);
      key.data = longer;
      Tensor longer_value = layers_.concatenate({cache.value, value.data}, cache.value->bytes() + key_bytes);
      value.data = longer_value;
      cache = {std::move(longer), std::move(longer_value)};
      recorder_.spend_on_host(kPlanNs);
    }
  }
  const Value sums = fused_attention(layers_, shape, std::move(query), std::move(key), std::move(value));
  return layers_.linear(sums, layer.output, rows);
}

// Every token goes to some experts. Each expert computes its tokens together, after the host has read their number.
Value Network::experts(const Layer& layer, const Value& x) {
  const std::uint64_t rows = settings_.batch * tokens_now_, element = layers_.element_bytes();
  const std::uint64_t chosen_rows = rows * model_.experts_per_token;
  std::vector<std::uint64_t> tokens_of(model_.experts, 0);
  for (std::uint64_t token = 0; token < rows; ++token) {
    std::vector<std::uint64_t> left(model_.experts);
    for (std::uint64_t i = 0; i < model_.experts; ++i) left[i] = i;
    for (std::uint64_t i = 0; i < model_.experts_per_token; ++i) {
      const auto at = static_cast<std::ptrdiff_t>(random_.below(left.size()));
      ++tokens_of[left[static_cast<std::size_t>(at)]];
      left.erase(left.begin() + at);
    }
  }
  const Value scores = layers_.linear(x, layer.router, rows);
  Tensor shares = layers_.elementwise("softmax_warp_forward", {scores.data}, scores.data->bytes());
  const Tensor weights = recorder_.tensor(chosen_rows * element), places = recorder_.tensor(chosen_rows * kWordBytes);
  recorder_.begin_operator();
  layers_.rows("gatherTopK", rows, {reads(shares), writes(weights), writes(places)});
  layers_.rows("bitonicSortKVInPlace", rows, {updates(weights), updates(places)});
  shares.reset();
  const Tensor out = recorder_.tensor(x.data->bytes());
  layers_.fill(out);
  const std::uint64_t matrix = model_.width * model_.hidden * element;
  for (std::uint64_t expert = 0; expert < model_.experts; ++expert) {
    const std::uint64_t count = tokens_of[expert];
    const Tensor is_chosen =
        layers_.elementwise("vectorized_elementwise_kernel<equal>", {places}, std::max<std::uint64_t>(chosen_rows, 1));
    const Tensor number = recorder_.tensor(4);
    layers_.rows("DeviceReduceSingleTileKernel", 1, {reads(is_chosen), writes(number)});
    recorder_.copy_to_host(number);
    if (count == 0) continue;
    const Tensor indices = recorder_.tensor(count * 2 * kWordBytes);
    recorder_.begin_operator();
    layers_.rows("DeviceSelectSweepKernel", 1, {reads(is_chosen), writes(indices)});
    layers_.rows("write_indices", 1, {updates(indices)});
    const std::uint64_t taken_bytes = count * model_.width * element, hidden_bytes = count * model_.hidden * element;
    const auto expert_product = [&](const Linear& linear, const Tensor& from, std::uint64_t in, std::uint64_t outputs,
                                    std::uint64_t bytes) {
      recorder_.spend_on_host(kIndexNs);
      recorder_.begin_operator();
      Tensor made = recorder_.tensor(bytes);
      layers_.product({count, in, outputs, 1}, Operands::kTn,
                      {reads(linear.weight->data, expert * matrix, matrix), reads(from), writes(made)});
      return made;
    };
    recorder_.spend_on_host(kIndexNs);
    const Tensor taken = layers_.strided_part("vectorized_gather_kernel", x.data, 0, taken_bytes);
    Tensor hidden;
    if (model_.gated) {
      hidden = expert_product(layer.gate, taken, model_.width, model_.hidden, hidden_bytes);
      hidden = layers_.elementwise("vectorized_elementwise_kernel<activation>", {hidden}, hidden_bytes);
      const Tensor up = expert_product(layer.up, taken, model_.width, model_.hidden, hidden_bytes);
      hidden = layers_.elementwise("vectorized_elementwise_kernel<mul>", {hidden, up}, hidden_bytes);
    } else {
      hidden = expert_product(layer.up, taken, model_.width, model_.hidden, hidden_bytes);
      hidden = layers_.elementwise("vectorized_elementwise_kernel<activation>", {hidden}, hidden_bytes);
    }
    const Tensor made = expert_product(layer.down, hidden, model_.hidden, model_.width, taken_bytes);
    recorder_.spend_on_host(kIndexNs);
    const Tensor share = layers_.strided("index_elementwise_kernel", {weights, indices}, count * element);
    const Tensor weighted = layers_.strided("elementwise_kernel<mul>", {made, share}, taken_bytes);
    recorder_.begin_operator();
    layers_.rows("indexFuncLargeIndex", count,
                 {reads(indices), reads(weighted), {out.get(), trace::AccessMode::kReadWrite, {{0, taken_bytes}}}});
  }
  return {out, nullptr};
}

}  // namespace uvmsim::llm
