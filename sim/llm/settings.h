// SPDX-License-Identifier: Apache-2.0
// The work of a program with a model: training, reading a prompt or adding tokens, the size of its batch, and its
// optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/formats/json_value.h"
#include "sim/llm/model.h"

namespace uvmsim::llm {

enum class Mode : std::uint8_t { kTrain, kPrefill, kDecode };
enum class Optimizer : std::uint8_t { kSgd, kSgdMomentum, kAdamw };
enum class AttentionKind : std::uint8_t {
  kEager,  // scores, softmax and sums in separate kernels
  kFused,  // one kernel that keeps the scores in the SMs
};
enum class Cache : std::uint8_t {
  kGrowing,  // a new tensor per layer and token; iteration 0 reads the prompt
  kStatic,   // allocated for the whole context, and full: every iteration adds one of the last tokens
};
// of the last token, of all tokens, or of all with a copy in fp32
enum class Logits : std::uint8_t { kLast, kAll, kAllWidened };

struct Settings {
  Mode mode = Mode::kTrain;
  // number of sequences; tokens of each: in a step, in the prompt, or in the cache
  std::uint64_t batch = 0, tokens = 0;
  std::uint64_t iterations = 0;
  Optimizer optimizer = Optimizer::kAdamw;
  std::uint64_t lora_rank = 0;  // 0: all weights are trained; otherwise only adapters of query and value
  bool recompute = false;       // only the input of a layer is kept, and the backward pass runs its forward pass again
  AttentionKind attention = AttentionKind::kFused;
  Cache cache = Cache::kGrowing;
  Logits logits = Logits::kLast;  // of a prompt: which logits are computed
  bool keeps_logits = false;      // the training loop holds them until its step ends
  bool loss_in_float32 = true;    // logits in 16 bits are widened before the loss
  std::string gpu;                // the system whose first GPU's peaks determine the times
};

// A setting, named as in the file's "uvmsim"; options have '-' for '_'.
struct Setting {
  std::string_view name;
  std::string_view value;  // as help shows it
  std::string_view meaning;
};
std::span<const Setting> settings();

using Given = std::vector<std::pair<std::string, std::string>>;  // name, text

// Reads the file's "uvmsim" object, changed by what was `given` on the command line; "gated", "fused_qkv" and "dtype"
// change the model. Throws InputError for settings that are missing, unknown, out of range, or do not go together.
Settings read_settings(const JsonValue& config, const Given& given, Model& model);

}  // namespace uvmsim::llm
