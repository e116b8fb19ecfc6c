// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/model.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace uvmsim::llm {
namespace {

// Limits far beyond existing models; products of all of them stay below 2^60.
constexpr std::uint64_t kMostLayers = 1024, kMostWidth = 1u << 17, kMostHeads = 4096, kMostHidden = 1u << 20,
                        kMostWords = 1u << 22, kMostPositions = 1u << 24, kMostExperts = 1024;

// Keys that affect neither memory nor time: names, tokens, initial values, versions, sampling settings of generation.
constexpr std::array kOfNoWeight = {"_name_or_path",
                                    "add_cross_attention",
                                    "architectures",
                                    "attention_type",
                                    "auto_map",
                                    "bos_token_id",
                                    "cls_token_id",
                                    "description",
                                    "eos_token_id",
                                    "gradient_checkpointing",
                                    "id2label",
                                    "initializer_range",
                                    "is_decoder",
                                    "is_encoder_decoder",
                                    "label2id",
                                    "layer_norm_eps",
                                    "layer_norm_epsilon",
                                    "max_window_layers",
                                    "n_ctx",
                                    "output_router_logits",
                                    "pad_token_id",
                                    "position_embedding_type",
                                    "pretraining_tp",
                                    "problem_type",
                                    "reorder_and_upcast_attn",
                                    "rms_norm_eps",
                                    "rope_parameters",
                                    "rope_scaling",
                                    "rope_theta",
                                    "router_aux_loss_coef",
                                    "router_jitter_noise",
                                    "scale_attn_by_inverse_layer_idx",
                                    "scale_attn_weights",
                                    "sep_token_id",
                                    "summary_activation",
                                    "summary_first_dropout",
                                    "summary_proj_to_labels",
                                    "summary_type",
                                    "summary_use_proj",
                                    "task_specific_params",
                                    "transformers_version",
                                    "unk_token_id",
                                    "use_cache",
                                    "uvmsim"};

struct Type {
  std::string_view name;
  Family family;
};
constexpr std::array kTypes = {Type{"bert", Family::kBert},       Type{"gpt2", Family::kGpt2},
                               Type{"llama", Family::kDecoder},   Type{"mistral", Family::kDecoder},
                               Type{"mixtral", Family::kDecoder}, Type{"qwen2", Family::kDecoder}};

class ConfigReader {
 public:
  explicit ConfigReader(const JsonValue& config) : config_(config) {}

  // The value of a key that may be missing or null.
  std::optional<JsonValue> find(const std::string& key) {
    known_.push_back(key);
    auto value = config_.find(key);
    if (value && value->json().is_null()) value.reset();
    return value;
  }
  std::uint64_t number(const std::string& key, std::uint64_t most) {
    known_.push_back(key);
    return config_.at(key).integer(1, most);
  }
  std::uint64_t number(const std::string& key, std::uint64_t most, std::uint64_t otherwise) {
    const auto value = find(key);
    return value ? value->integer(1, most) : otherwise;
  }
  bool flag(const std::string& key, bool otherwise) {
    const auto value = find(key);
    return value ? value->boolean() : otherwise;
  }
  // Reads a number from 0 to 1; returns whether it is above 0.
  bool share(const std::string& key, bool otherwise) {
    const auto value = find(key);
    if (!value) return otherwise;
    const auto& json = value->json();
    if (!json.is_number() || json.get<double>() < 0 || json.get<double>() > 1) value->refuse("0 to 1");
    return json.get<double>() > 0;
  }
  // Refuses a key that is present and neither null nor false.
  void refuse(const std::string& key, const char* why) {
    const auto value = find(key);
    if (value && value->json() != false) value->fail("{}", why);
  }
  std::vector<std::string> not_read() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : config_.members()) {
      if (std::ranges::find(known_, key) == known_.end() && std::ranges::find(kOfNoWeight, key) == kOfNoWeight.end()) {
        keys.push_back(key);
      }
    }
    return keys;
  }
  const JsonValue& config() const { return config_; }

 private:
  const JsonValue& config_;
  std::vector<std::string> known_;
};

Activation activation_of(ConfigReader& reader, const std::string& key, const std::string& otherwise) {
  const auto value = reader.find(key);
  const std::string name = value ? value->text() : otherwise;
  if (name == "gelu") return Activation::kGelu;
  if (name == "gelu_new") return Activation::kGeluTanh;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "relu") return Activation::kRelu;
  value->refuse("gelu, gelu_new, relu, silu");
}

Number number_of(ConfigReader& reader) {
  // Newer files have `dtype`; without either transformers computes in fp32.
  const auto newer = reader.find("dtype");
  const auto older = reader.find("torch_dtype");
  const auto& value = newer ? newer : older;
  if (!value) return Number::kFloat32;
  return static_cast<Number>(value->word({"float32", "bfloat16", "float16"}));
}

void read_gpt2(ConfigReader& reader, Model& model) {
  model.width = reader.number("n_embd", kMostWidth);
  model.layers = reader.number("n_layer", kMostLayers);
  model.heads = reader.number("n_head", kMostHeads);
  model.positions = reader.number("n_positions", kMostPositions);
  model.hidden = reader.number("n_inner", kMostHidden, 4 * model.width);
  model.activation = activation_of(reader, "activation_function", "gelu_new");
  model.embedding_dropout = reader.share("embd_pdrop", true);
  model.attention_dropout = reader.share("attn_pdrop", true);
  model.layer_dropout = reader.share("resid_pdrop", true);
  model.tied_head = reader.flag("tie_word_embeddings", true);
  model.query_bias = model.output_bias = true;
}

void read_bert(ConfigReader& reader, Model& model) {
  model.width = reader.number("hidden_size", kMostWidth);
  model.layers = reader.number("num_hidden_layers", kMostLayers);
  model.heads = reader.number("num_attention_heads", kMostHeads);
  model.hidden = reader.number("intermediate_size", kMostHidden);
  model.positions = reader.number("max_position_embeddings", kMostPositions);
  model.token_types = reader.number("type_vocab_size", 1u << 16);
  model.activation = activation_of(reader, "hidden_act", "gelu");
  model.attention_dropout = reader.share("attention_probs_dropout_prob", true);
  model.embedding_dropout = model.layer_dropout = reader.share("hidden_dropout_prob", true);
  model.tied_head = reader.flag("tie_word_embeddings", true);
  model.query_bias = model.output_bias = true;
}

void read_decoder(ConfigReader& reader, Model& model) {
  model.width = reader.number("hidden_size", kMostWidth);
  model.layers = reader.number("num_hidden_layers", kMostLayers);
  model.heads = reader.number("num_attention_heads", kMostHeads);
  model.key_value_heads = reader.number("num_key_value_heads", kMostHeads, model.heads);
  model.head_width = reader.number("head_dim", kMostWidth, 0);
  model.hidden = reader.number("intermediate_size", kMostHidden);
  model.positions = reader.number("max_position_embeddings", kMostPositions);
  model.activation = activation_of(reader, "hidden_act", "silu");
  model.attention_dropout = reader.share("attention_dropout", false);
  model.tied_head = reader.flag("tie_word_embeddings", false);
  model.query_bias = model.output_bias = reader.flag("attention_bias", false);
  if (model.type == "qwen2") model.query_bias = true;
  if (model.type == "mixtral") {
    model.experts = reader.number("num_local_experts", kMostExperts);
    model.experts_per_token = reader.number("num_experts_per_tok", model.experts);
  }
  reader.refuse("mlp_bias", "biases of the gated layers are not modelled");
  const bool uses_window = reader.flag("use_sliding_window", model.type != "qwen2");
  const std::uint64_t window = reader.number("sliding_window", kMostPositions, 0);
  if (uses_window) model.window = window;
}

}  // namespace

ModelFile read_model(const JsonValue& config) {
  config.check_object();
  ConfigReader reader(config);
  std::vector<std::string> names;
  for (const Type& type : kTypes) names.emplace_back(type.name);
  const Type& type = kTypes.at(config.at("model_type").word(names));
  reader.find("model_type");
  Model model;
  model.type = type.name;
  model.family = type.family;
  model.number = number_of(reader);
  model.vocabulary = reader.number("vocab_size", kMostWords);
  switch (model.family) {
    case Family::kGpt2:
      read_gpt2(reader, model);
      break;
    case Family::kBert:
      read_bert(reader, model);
      break;
    case Family::kDecoder:
      read_decoder(reader, model);
  }
  for (const char* key : {"quantization_config", "compression_config"}) {
    reader.refuse(key, "weights in other formats than fp32, bf16 and fp16 are not modelled");
  }
  if (model.key_value_heads == 0) model.key_value_heads = model.heads;
  if (model.heads % model.key_value_heads != 0) {
    config.fail("{} heads over {} key-value heads; allowed: a divisor", model.heads, model.key_value_heads);
  }
  if (model.head_width == 0) {
    if (model.width % model.heads != 0) {
      config.fail("a width of {} over {} heads; allowed: a divisor", model.width, model.heads);
    }
    model.head_width = model.width / model.heads;
  }
  if (model.attention_width() > kMostWidth) {
    config.fail("{} heads of width {}; allowed: up to {} together", model.heads, model.head_width, kMostWidth);
  }
  return {model, reader.not_read()};
}

}  // namespace uvmsim::llm
