// SPDX-License-Identifier: Apache-2.0
// A whole model: its parameters, its forward pass, and the work of a program's step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/llm/layers.h"
#include "sim/llm/model.h"
#include "sim/llm/settings.h"

namespace uvmsim::llm {

class Network {
 public:
  Network(Layers& layers, const Model& model, const Settings& settings);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Allocates the weights and copies them to the GPU; allocates a static cache if there is one.
  void load();
  // Runs one iteration of the program.
  void iterate(std::uint64_t index);

 private:
  struct Layer;
  struct Cache {
    Tensor key, value;  // of a growing cache; a static cache has both in `key`
  };

  Parameter* parameter(const std::string& name, std::uint64_t elements, bool is_trained);
  Linear make_linear(const std::string& name, std::uint64_t in, std::uint64_t out, bool has_bias);
  Norm make_norm(const std::string& name, bool has_bias);
  void add_adapter(Linear& linear, const std::string& name);
  void build_gpt2();
  void build_bert();
  void build_decoder();

  void train(std::uint64_t index);
  void infer(std::uint64_t index);
  void step();  // of the optimizer
  void open_library();

  // Returns the logits of all tokens, or of the last one of each sequence.
  Value forward(const Tensor& words, std::uint64_t tokens, std::uint64_t position);
  Value embed(const Tensor& words, std::uint64_t tokens);
  Value gpt2_layer(const Layer& layer, Value x);
  Value bert_layer(const Layer& layer, const Value& x);
  Value decoder_layer(const Layer& layer, const Value& x, std::uint64_t position);
  Value decoder_attention(const Layer& layer, const Value& x, std::uint64_t position);
  Value experts(const Layer& layer, const Value& x);
  Value recomputed(const Layer& layer, const Value& x);
  void make_rotary_table(std::uint64_t position, std::uint64_t tokens);
  Value head(Value x, std::uint64_t tokens);

  Layers& layers_;
  Recorder& recorder_;
  const Model model_;
  const Settings settings_;
  std::vector<std::unique_ptr<Parameter>> parameters_;  // in the order of the optimizer
  std::vector<Layer> blocks_;
  Parameter *words_ = nullptr, *positions_ = nullptr, *types_ = nullptr;
  Norm embedding_norm_, last_norm_;
  Linear transform_, head_;
  std::vector<Cache> caches_;
  Tensor cosine_, sine_;
  // Of GPT-2: the mask of attention, and local variables of `forward`, which live until it returns.
  Tensor mask_;
  std::vector<Tensor> locals_;
  std::vector<Tensor> workspaces_;
  std::uint64_t tokens_now_ = 0;  // of a sequence, in the running forward pass
  Random random_{1};
};

}  // namespace uvmsim::llm
