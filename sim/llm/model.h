// SPDX-License-Identifier: Apache-2.0
// The shape of a language model, from a `config.json` as Hugging Face's transformers writes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/formats/json_value.h"

namespace uvmsim::llm {

enum class Family : std::uint8_t {
  kGpt2,     // learned positions, layer norm before, biases, fused query, key and value, tied output layer
  kBert,     // an encoder: layer norm after, biases, a masked-word head
  kDecoder,  // RMS norm before, rotary positions, grouped queries, gated layers, dense or with experts
};

enum class Number : std::uint8_t { kFloat32, kBfloat16, kFloat16 };
constexpr std::uint64_t bytes_of(Number number) { return number == Number::kFloat32 ? 4 : 2; }

enum class Activation : std::uint8_t { kGelu, kGeluTanh, kSilu, kRelu };

struct Model {
  std::string type;  // "model_type": gpt2, llama, ...
  Family family = Family::kDecoder;
  Number number = Number::kFloat32;
  Activation activation = Activation::kSilu;
  std::uint64_t layers = 0, width = 0, heads = 0, key_value_heads = 0, head_width = 0;
  std::uint64_t hidden = 0;      // size of the layers between attentions
  std::uint64_t vocabulary = 0;  // number of words
  std::uint64_t positions = 0;   // the longest context
  std::uint64_t token_types = 0;
  std::uint64_t experts = 0, experts_per_token = 0;  // 0: dense
  std::uint64_t window = 0;                          // number of previous tokens that attention sees; 0: all
  bool tied_head = false;                            // the output layer is the embedding
  bool query_bias = false;                           // the layers that compute query, key and value have a bias
  bool output_bias = false;                          // the layer after attention has a bias
  bool gated = true;                                 // of kDecoder: hidden = activation(gate) * up, else activation(up)
  bool fused_attention = false;                      // of kDecoder: query, key and value in one product
  bool embedding_dropout = false, attention_dropout = false, layer_dropout = false;

  std::uint64_t key_value_width() const { return key_value_heads * head_width; }
  std::uint64_t attention_width() const { return heads * head_width; }
};

struct ModelFile {
  Model model;
  std::vector<std::string> not_read;  // keys that this room does not use, in the order of the file
};

// Reads everything except the key "uvmsim" (settings.h). Throws InputError, one line with file and JSON pointer, for
// keys that are missing, out of range, or change memory in a way that is not modelled (quantisation, for one).
ModelFile read_model(const JsonValue& config);

}  // namespace uvmsim::llm
