// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/settings.h"

#include <algorithm>
#include <array>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/formats/decimal.h"
#include "sim/formats/printable.h"

namespace uvmsim::llm {
namespace {

// A kernel that touches one word in each of many rows lists the rows one by one; this many fit a record of a trace.
constexpr std::uint64_t kMostRows = 1u << 20;
constexpr std::uint64_t kMostBatch = 1u << 20, kMostTokens = 1u << 22, kMostIterations = 10000, kMostRank = 65536;

constexpr std::array kSettings = {
    Setting{"mode", "MODE", "train, prefill (read a prompt) or decode (add a token per iteration)"},
    Setting{"batch", "N", "sequences at once"},
    Setting{"tokens", "N", "of each: in a training step, in the prompt, or in a static cache"},
    Setting{"iterations", "N", "how many, default 3; decode with a growing cache: 17, the first reads the prompt"},
    Setting{"optimizer", "NAME", "adamw (default), sgd or sgd_momentum"},
    Setting{"lora_rank", "N", "train adapters of that rank at query and value, not the weights"},
    Setting{"recompute", "BOOL", "keep of a layer its input, and run it again for its gradients (default false)"},
    Setting{"attention", "KIND", "fused (default) or eager: scores in memory"},
    Setting{"kv_cache", "KIND", "growing (default): a new tensor per token; static: all at once, and full"},
    Setting{"logits", "WHICH", "of a prompt: last (default), all, or all_float32, which copies them to fp32"},
    Setting{"keeps_logits", "BOOL", "the training loop holds the logits until its step ends (default false)"},
    Setting{"loss_in_float32", "BOOL", "logits in 16 bits are widened for the loss (default true)"},
    Setting{"dtype", "NAME", "float32, bfloat16 or float16, instead of the file's"},
    Setting{"gated", "BOOL", "layers have a gate, default by the model's type"},
    Setting{"fused_qkv", "BOOL", "query, key and value are one product, default by the model's type"},
    Setting{"gpu", "SYSTEM", "whose peaks the kernel times come from, default h200-sxm-pcie5"},
};

// One setting, from the file or the command line.
class SettingText {
 public:
  SettingText(std::string where, std::string text) : where_(std::move(where)), text_(std::move(text)) {}

  std::uint64_t number(std::uint64_t most) const {
    const auto number = parse_digits(text_);
    if (!number || *number < 1 || *number > most) refuse(fmt::format("1 to {}", most));
    return *number;
  }
  bool boolean() const { return word({"false", "true"}) == 1; }
  std::size_t word(std::initializer_list<std::string_view> words) const {
    const auto* const found = std::ranges::find(words, std::string_view(text_));
    if (found == words.end()) {
      std::string allowed;
      for (const std::string_view one : words) allowed += (allowed.empty() ? "" : ", ") + std::string(one);
      refuse(allowed);
    }
    return static_cast<std::size_t>(found - words.begin());
  }
  const std::string& text() const { return text_; }

 private:
  [[noreturn]] void refuse(const std::string& allowed) const {
    throw_input_error("{}: '{}' is not allowed; allowed: {}", where_, printable(text_), allowed);
  }
  std::string where_, text_;
};

class SettingSource {
 public:
  SettingSource(const JsonValue& config, const Given& given)
      : section_(config.find("uvmsim")), given_(given), config_(config) {
    std::vector<std::string> names{"sources"};
    for (const Setting& setting : kSettings) names.emplace_back(setting.name);
    if (section_) {
      section_->check_object();
      section_->check_keys(names);
    }
  }

  std::optional<SettingText> find(const std::string& name) const {
    for (const auto& [key, text] : given_) {
      std::string option = "--" + key;
      std::ranges::replace(option, '_', '-');
      if (key == name) return SettingText(option, text);
    }
    const auto value = section_ ? section_->find(name) : std::nullopt;
    if (!value) return std::nullopt;
    const auto& json = value->json();
    if (json.is_string()) return SettingText(value->where(), json.get<std::string>());
    if (json.is_boolean() || json.is_number_unsigned()) return SettingText(value->where(), json.dump());
    value->refuse("a text, true, false or a positive integer");
  }
  SettingText at(const std::string& name) const {
    if (auto value = find(name)) return *value;
    throw_input_error("{}: no {}; allowed: --{} N, or \"uvmsim\": {{\"{}\": N}} in the file", config_.origin(), name,
                      name, name);
  }

 private:
  std::optional<JsonValue> section_;
  const Given& given_;
  const JsonValue& config_;
};

void check(const Settings& settings, const Model& model, const std::string& file) {
  const bool trains = settings.mode == Mode::kTrain;
  if (!trains && settings.lora_rank != 0) throw_input_error("{}: adapters (lora_rank) are for training", file);
  if (!trains && settings.recompute) throw_input_error("{}: recompute is for training", file);
  if (settings.mode == Mode::kDecode && model.family != Family::kDecoder) {
    throw_input_error("{}: decode of a {} model is not modelled; allowed: llama, mistral, mixtral, qwen2", file,
                      model.type);
  }
  const bool eager_decoder = model.family == Family::kDecoder && settings.attention == AttentionKind::kEager;
  if (eager_decoder && (settings.mode != Mode::kDecode || settings.cache == Cache::kGrowing)) {
    throw_input_error("{}: eager attention of a {} model is modelled for decode with a static cache; allowed: fused",
                      file, model.type);
  }
  if (model.family != Family::kDecoder && settings.attention == AttentionKind::kFused) {
    throw_input_error("{}: fused attention of a {} model is not modelled; allowed: eager", file, model.type);
  }
  if (model.experts != 0 && trains) throw_input_error("{}: training of experts is not modelled", file);
  if (model.fused_attention && trains) throw_input_error("{}: training with fused_qkv is not modelled", file);
  if (model.family == Family::kBert && settings.lora_rank != 0) {
    throw_input_error("{}: adapters (lora_rank) of a bert model are not modelled", file);
  }
  if (model.family == Family::kGpt2 && settings.lora_rank != 0) {
    throw_input_error("{}: adapters (lora_rank) of a gpt2 model are not modelled", file);
  }
  const std::uint64_t longest =
      settings.tokens + (settings.mode == Mode::kDecode && settings.cache == Cache::kGrowing ? settings.iterations : 0);
  if (longest > model.positions) {
    throw_input_error("{}: {} tokens; allowed: up to {}, the positions of the model", file, longest, model.positions);
  }
  if (settings.mode == Mode::kDecode && settings.cache == Cache::kStatic && settings.iterations > settings.tokens) {
    throw_input_error("{}: {} iterations for a cache of {} tokens; allowed: as many, or fewer", file,
                      settings.iterations, settings.tokens);
  }
  if (model.window != 0 && longest > model.window) {
    throw_input_error("{}: {} tokens with a window of {}; a window shorter than the context is not modelled", file,
                      longest, model.window);
  }
  const bool is_static = settings.mode == Mode::kDecode && settings.cache == Cache::kStatic;
  const std::uint64_t rows = settings.batch * (is_static ? model.key_value_heads : settings.tokens);
  if (rows > kMostRows) {
    throw_input_error("{}: {} {}; allowed: up to {}", file, rows,
                      is_static ? "sequences times key-value heads" : "tokens at once", kMostRows);
  }
  // Limit for the bytes of the largest tensors, so that no product below overflows and no tensor exceeds an address
  // space.
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
  const auto product = [&](std::initializer_list<std::uint64_t> factors) {
    WideUnsigned all = 1;
    for (const std::uint64_t factor : factors) all *= factor;  // 2^20 * 2^22 * 2^22 * 4 at most
    if (all > kMostBytes) {
      throw_input_error("{}: batch, tokens and widths need a tensor of more than 2^46 bytes; allowed: less", file);
    }
  };
  const std::uint64_t widest = std::max({model.vocabulary, model.hidden, 4 * model.width, 3 * model.attention_width()});
  product({settings.batch, settings.tokens, widest, 4});
  product({widest, std::max(model.width, model.hidden), 4});
  if (settings.attention == AttentionKind::kEager) {
    const std::uint64_t queries = settings.mode == Mode::kDecode ? 1 : settings.tokens;
    product({settings.batch, model.heads});
    product({settings.batch * model.heads, queries, settings.tokens * 4});
  }
}

}  // namespace

std::span<const Setting> settings() { return kSettings; }

Settings read_settings(const JsonValue& config, const Given& given, Model& model) {
  const SettingSource source(config, given);
  Settings out;
  const auto word = [&](const char* name, auto& member, std::initializer_list<std::string_view> words) {
    if (const auto value = source.find(name)) {
      member = static_cast<std::remove_reference_t<decltype(member)>>(value->word(words));
    }
  };
  const auto flag = [&](const char* name, bool& member) {
    if (const auto value = source.find(name)) member = value->boolean();
  };
  word("mode", out.mode, {"train", "prefill", "decode"});
  out.batch = source.at("batch").number(kMostBatch);
  out.tokens = source.at("tokens").number(kMostTokens);
  word("optimizer", out.optimizer, {"sgd", "sgd_momentum", "adamw"});
  if (const auto rank = source.find("lora_rank")) out.lora_rank = rank->number(kMostRank);
  flag("recompute", out.recompute);
  if (model.family != Family::kDecoder) out.attention = AttentionKind::kEager;
  word("attention", out.attention, {"eager", "fused"});
  word("kv_cache", out.cache, {"growing", "static"});
  out.iterations = out.mode == Mode::kDecode && out.cache == Cache::kGrowing ? 17 : 3;
  if (const auto value = source.find("iterations")) out.iterations = value->number(kMostIterations);
  word("logits", out.logits, {"last", "all", "all_float32"});
  flag("keeps_logits", out.keeps_logits);
  flag("loss_in_float32", out.loss_in_float32);
  word("dtype", model.number, {"float32", "bfloat16", "float16"});
  flag("gated", model.gated);
  flag("fused_qkv", model.fused_attention);
  const auto gpu = source.find("gpu");
  out.gpu = gpu ? gpu->text() : "h200-sxm-pcie5";
  check(out, model, config.origin());
  return out;
}

}  // namespace uvmsim::llm
