// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace generate llm`: the memory of the generated programs follows from the configuration, and wrong
// configurations are rejected.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// A model of two layers of width 64 with a vocabulary of 1000 and 16-bit numbers.
Json small_model() {
  return {{"model_type", "llama"},     {"hidden_size", 64},
          {"num_hidden_layers", 2},    {"num_attention_heads", 4},
          {"num_key_value_heads", 2},  {"intermediate_size", 128},
          {"vocab_size", 1000},        {"max_position_embeddings", 256},
          {"torch_dtype", "bfloat16"}, {"uvmsim", {{"batch", 2}, {"tokens", 32}}}};
}
// Elements of the embedding and the output layer; per layer query, key, value, output, three products and two norms;
// and the last norm.
constexpr std::uint64_t kSmallWeights =
    2 * 1000 * 64 + 2 * (64 * 64 + 2 * 64 * 32 + 64 * 64 + 3 * 64 * 128 + 2 * 64) + 64;

class GenerateLlm : public CommandTest {
 protected:
  CommandResult generate(const std::string& config, std::vector<std::string> options = {}) {
    folder.write("config.json", config);
    options.insert(options.begin(), {"trace", "generate", "llm", "--config", "config.json", "-o", "out.jsonl"});
    return run(options);
  }
  // Generates a trace, checks it and returns its records, one JSON object each.
  std::vector<Json> records(const Json& config, const std::vector<std::string>& options = {}) {
    const CommandResult result = generate(config.dump(), options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(run({"trace", "validate", "out.jsonl"}).exit_code, 0);
    std::vector<Json> out;
    std::istringstream lines(folder.read("out.jsonl"));
    for (std::string line; std::getline(lines, line);) out.push_back(Json::parse(line));
    return out;
  }
  // Returns the bytes of live tensors at the peak.
  static std::uint64_t peak_of(const std::vector<Json>& records) {
    std::map<std::uint64_t, std::uint64_t> sizes;
    std::uint64_t live = 0, peak = 0;
    for (const Json& record : records) {
      if (record["t"] == "tensor_alloc") {
        live += sizes[record["id"]] = record["bytes"];
        peak = std::max(peak, live);
      } else if (record["t"] == "tensor_free") {
        live -= sizes.at(record["id"]);
      }
    }
    return peak;
  }
  // Returns the bytes of all tensors whose name contains `part`.
  static std::uint64_t bytes_named(const std::vector<Json>& records, const std::string& part) {
    std::uint64_t bytes = 0;
    for (const Json& record : records) {
      if (record["t"] == "tensor_alloc" && record.value("name", "").find(part) != std::string::npos) {
        bytes += record["bytes"].get<std::uint64_t>();
      }
    }
    return bytes;
  }
};

TEST_F(GenerateLlm, WeightsAreThoseOfTheConfiguration) {
  const auto made = records(small_model());
  EXPECT_EQ(bytes_named(made, "weight"), 2 * kSmallWeights);
  Json tied = small_model();
  tied["tie_word_embeddings"] = true;
  EXPECT_EQ(bytes_named(records(tied), "weight"), 2 * (kSmallWeights - 1000 * 64));
  EXPECT_EQ(bytes_named(records(small_model(), {"--dtype", "float32"}), "weight"), 4 * kSmallWeights);
}

TEST_F(GenerateLlm, TheSameConfigurationGivesTheSameBytes) {
  records(small_model());
  const std::string first = folder.read("out.jsonl");
  records(small_model());
  EXPECT_EQ(folder.read("out.jsonl"), first);
}

// AdamW holds two numbers per weight besides the weight and its gradient, and one more during its step.
TEST_F(GenerateLlm, WhatTrainingHoldsFollowsFromTheOptimizer) {
  const std::uint64_t sgd = peak_of(records(small_model(), {"--optimizer", "sgd"}));
  const std::uint64_t momentum = peak_of(records(small_model(), {"--optimizer", "sgd_momentum"}));
  const std::uint64_t adamw = peak_of(records(small_model(), {"--optimizer", "adamw"}));
  EXPECT_EQ(momentum - sgd, 2 * kSmallWeights);
  EXPECT_GE(adamw - momentum, 2 * kSmallWeights);
  EXPECT_LE(adamw - momentum, 4 * kSmallWeights);
}

TEST_F(GenerateLlm, AdaptersTrainLittle) {
  const auto made = records(small_model(), {"--lora-rank", "4"});
  // LoRA adds weights at query (64 to 64) and value (64 to 32) of two layers.
  EXPECT_EQ(bytes_named(made, "lora_"), 2 * 2 * (4 * (64 + 64) + 4 * (64 + 32)));
  EXPECT_LT(peak_of(made), peak_of(records(small_model())));
}

TEST_F(GenerateLlm, RecomputationHoldsLessAndLaunchesMore) {
  const auto kernels = [](const std::vector<Json>& all) {
    return std::ranges::count_if(all, [](const Json& record) { return record["t"] == "kernel"; });
  };
  // With this number of tokens the activations outweigh the weights.
  Json large = small_model();
  large["num_hidden_layers"] = 8;
  large["uvmsim"]["tokens"] = 256;
  large["uvmsim"]["batch"] = 16;
  const auto plain = records(large), again = records(large, {"--recompute", "true"});
  EXPECT_LT(peak_of(again), peak_of(plain));
  EXPECT_GT(kernels(again), kernels(plain));
}

// Keys and values of every token take layers x 2 x batch x key-value width x 2 bytes.
TEST_F(GenerateLlm, AStaticCacheIsThereFromTheStart) {
  const auto made = records(small_model(), {"--mode", "decode", "--kv-cache", "static", "--tokens", "128"});
  EXPECT_EQ(bytes_named(made, "cache."), std::uint64_t{2} * 2 * 2 * 32 * 128 * 2);
  const auto iterations = std::ranges::count_if(
      made, [](const Json& record) { return record["t"] == "range" && record["kind"] == "iteration_begin"; });
  EXPECT_EQ(iterations, 3);
}

TEST_F(GenerateLlm, AGrowingCacheGrowsByATokenPerIteration) {
  const auto made = records(small_model(), {"--mode", "decode", "--iterations", "3"});
  // The tensors of this cache have no names: each layer and step has two for 33 tokens, then two for 34.
  for (const std::uint64_t tokens : {std::uint64_t{33}, std::uint64_t{34}}) {
    const auto grown = std::ranges::count_if(made, [&](const Json& record) {
      return record["t"] == "tensor_alloc" && record["bytes"] == 2 * 32 * tokens * 2;
    });
    EXPECT_GE(grown, 4) << tokens;
  }
}

TEST_F(GenerateLlm, ExpertsAreReadOneByOne) {
  Json experts = small_model();
  experts["model_type"] = "mixtral";
  experts["num_local_experts"] = 4;
  experts["num_experts_per_tok"] = 2;
  const auto made = records(experts, {"--mode", "decode", "--kv-cache", "static"});
  EXPECT_EQ(bytes_named(made, "up_proj"), std::uint64_t{2} * 4 * 64 * 128 * 2);
  EXPECT_EQ(bytes_named(made, "block_sparse_moe.gate.weight"), std::uint64_t{2} * 4 * 64 * 2);
}

TEST_F(GenerateLlm, AllShippedModelsAreWellFormed) {
  std::size_t models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(UVMSIM_SOURCE_DIR) + "/configs/models")) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path());
    ++models;
    const CommandResult made = run({"trace", "generate", "llm", "--config", entry.path().string(), "-o", "model.uvmt"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.err, "");
    EXPECT_EQ(run({"trace", "validate", "model.uvmt"}).exit_code, 0);
  }
  EXPECT_EQ(models, 8u);
}

TEST_F(GenerateLlm, FitTakesAConfiguration) {
  folder.write("small.json", small_model().dump());
  const CommandResult result = run({"fit", "small.json", "--gpus", "h200-sxm-pcie5", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["machines"][0]["fits"], true);
}

// The kernels of the second iteration by tile, grid and launch: products that are not batched, and softmax.
std::map<std::string, int> launches_of(std::istream& lines) {
  std::map<std::string, int> count;
  bool within = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("iteration_") != std::string::npos) {
      const Json range = Json::parse(line);
      within = range["kind"] == "iteration_begin" && range.value("index", 0) == 1;
    }
    if (!within || line.find("\"t\":\"kernel\"") == std::string::npos) continue;
    const Json kernel = Json::parse(line);
    const std::string name = kernel["name"];
    for (const char* begin : {"sm80_xmma", "cutlass_80", "cunn_SoftMax"}) {
      const std::size_t at = name.find(begin);
      if (at == std::string::npos || kernel["grid"][2] == 96) continue;  // 96 = batch x heads
      const std::size_t tile = name.find("_stage", at), align = name.find("_align", at),
                        variant = name.find("ward", at);
      const std::size_t end = std::min({tile, align, variant});
      ++count[name.substr(at, end == std::string::npos ? end : end - at) + kernel["grid"].dump() +
              kernel["block"].dump() + kernel["shared_bytes_per_block"].dump()];
    }
  }
  return count;
}

// Registers are left out: cuBLAS's kernels of one tile differ by one or two.
TEST_F(GenerateLlm, Gpt2LaunchesTheRecordedProducts) {
  const std::string root = UVMSIM_SOURCE_DIR;
  ASSERT_EQ(run({"trace", "dump", root + "/workloads/gpt2.uvmt", "-o", "recorded.jsonl"}).exit_code, 0);
  ASSERT_EQ(
      run({"trace", "generate", "llm", "--config", root + "/configs/models/gpt2.json", "-o", "made.jsonl"}).exit_code,
      0);
  std::istringstream recorded_lines(folder.read("recorded.jsonl")), made_lines(folder.read("made.jsonl"));
  const std::map<std::string, int> recorded = launches_of(recorded_lines), made = launches_of(made_lines);
  int launches = 0, others = 0;
  for (const auto& [launch, times] : made) {
    launches += times;
    const auto found = recorded.find(launch);
    const int differ = times - (found == recorded.end() ? 0 : found->second);
    others += std::max(0, differ);
  }
  EXPECT_EQ(launches, 147 + 2);
  EXPECT_EQ(others, 1);  // the gradient of the last hidden state, cut into 33 slices in the recording
}

TEST_F(GenerateLlm, KeysThatNothingReadsAreNamed) {
  Json config = small_model();
  config["rope_theta"] = 10000;
  config["something_new"] = 3;
  const CommandResult result = generate(config.dump());
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("not read: something_new"));
}

TEST_F(GenerateLlm, WrongConfigurationsAreOneLine) {
  const auto with = [](const std::string& key, const Json& value) {
    Json config = small_model();
    config[key] = value;
    return config.dump();
  };
  const auto with_setting = [](const std::string& key, const Json& value) {
    Json config = small_model();
    config["uvmsim"][key] = value;
    return config.dump();
  };
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "config.json"},
      {"[]", "object"},
      {"{}", "model_type"},
      {"{\"model_type\": \"llama\", \"model_type\": \"llama\"}", "model_type"},
      {with("model_type", "opt"), "allowed: one of bert, gpt2, llama, mistral, mixtral, qwen2"},
      {with("hidden_size", 0), "/hidden_size"},
      {with("hidden_size", -64), "/hidden_size"},
      {with("hidden_size", 1e30), "/hidden_size"},
      {with("hidden_size", 66), "divisor"},
      {with("num_key_value_heads", 3), "divisor"},
      {with("num_hidden_layers", "two"), "/num_hidden_layers"},
      {with("num_hidden_layers", 4000000000), "/num_hidden_layers"},
      {with("vocab_size", nullptr), "/vocab_size"},
      {with("torch_dtype", "int4"), "/torch_dtype"},
      {with("hidden_act", "mish"), "/hidden_act"},
      {with("quantization_config", {{"bits", 4}}), "not modelled"},
      {with("mlp_bias", true), "not modelled"},
      {with("attention_dropout", 7), "/attention_dropout"},
      {with("uvmsim", 3), "/uvmsim"},
      {with("uvmsim", {{"tokens", 32}}), "no batch"},
      {with_setting("batch", 0), "batch"},
      {with_setting("batch", 1.5), "batch"},
      {with_setting("bach", 1), "bach"},
      {with_setting("tokens", 257), "positions"},
      {with_setting("mode", "sleep"), "allowed: train, prefill, decode"},
      {with_setting("gpu", "no-such"), "no-such"},
      {with_setting("lora_rank", 0), "lora_rank"},
      {with_setting("attention", "eager"), "allowed: fused"},
  };
  for (const auto& [config, word] : wrong) {
    SCOPED_TRACE(config);
    expect_one_line_error(generate(config), {word});
    EXPECT_FALSE(std::filesystem::exists(folder.path("out.jsonl")));
  }
  // Each number alone is allowed, but not all of them together.
  Json huge = small_model();
  huge["max_position_embeddings"] = 1 << 22;
  huge["uvmsim"] = {{"batch", 1 << 20}, {"tokens", 1 << 22}};
  expect_one_line_error(generate(huge.dump()), {"tokens at once"});
  const Json scores = {{"model_type", "gpt2"},
                       {"n_embd", 64},
                       {"n_layer", 1},
                       {"n_head", 32},
                       {"n_positions", 1 << 20},
                       {"vocab_size", 1000},
                       {"uvmsim", {{"batch", 1}, {"tokens", 1 << 20}}}};
  expect_one_line_error(generate(scores.dump()), {"2^46"});
}

TEST_F(GenerateLlm, OptionsOfOtherProgramsAreRefused) {
  folder.write("config.json", small_model().dump());
  expect_one_line_error(run({"trace", "generate", "llm", "--config", "config.json", "--bytes", "1MiB", "-o", "a.uvmt"}),
                        {"--bytes is no option of llm"});
  expect_one_line_error(run({"trace", "generate", "sequential", "--batch", "3", "-o", "a.uvmt"}),
                        {"--batch is no option of sequential"});
  expect_one_line_error(run({"trace", "generate", "llm", "-o", "a.uvmt"}), {"no model given"});
  expect_one_line_error(run({"trace", "generate", "llm", "--config", "none.json", "-o", "a.uvmt"}), {"none.json"});
}

}  // namespace
}  // namespace uvmsim
