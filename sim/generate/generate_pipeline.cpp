// SPDX-License-Identifier: Apache-2.0
// Pipeline-parallel training: stages on separate GPUs, which pass activations and gradients on. The help text at the
// end of this file describes the accesses of each kernel.
#include <algorithm>
#include <vector>

#include "sim/common/error.h"
#include "sim/generate/generate_patterns.h"

namespace uvmsim::trace {

namespace {

// One forward, one backward (PipeDream-Flush, Narayanan et al., ICML 2021): stage s of S first runs S - 1 - s forward
// passes, then both kinds in turn, then the remaining backward passes. It therefore keeps the activations of S - s
// micro-batches.
class Pipeline final : public SyntheticProgram {
 public:
  explicit Pipeline(const GeneratorOptions& options) : SyntheticProgram(options), stages_(options.gpus) {
    if (stages_ < 2) throw_input_error("gpus is {}; allowed for pipeline: 2 to 16", stages_);
    const std::uint64_t units = stages_ + stages_ * (stages_ + 1) / 2;
    unit_ = options.bytes / units / kPageBytes * kPageBytes;
    if (unit_ == 0) {
      throw_input_error("bytes is {}; allowed for pipeline over {} GPUs: at least {}", options.bytes, stages_,
                        units * kPageBytes);
    }
    for (std::uint64_t s = 0; s < stages_; ++s) add_object(unit_);                  // weights
    for (std::uint64_t s = 0; s < stages_; ++s) add_object((stages_ - s) * unit_);  // activations
    // buffers for messages from the neighbours
    for (std::uint64_t s = 0; s < stages_; ++s) add_buffer(unit_ / kMessageShare, s);
    schedule();
  }

 private:
  static constexpr std::uint64_t kMessageShare = 8;  // this part of an activation goes to the next stage
  enum class Step : std::uint8_t { kWait, kPass, kSend, kRecord };
  struct Operation {
    Step step;
    bool forward;
    std::uint64_t stage, batch;
  };

  // Uses the order in which one host thread issues everything: no call waits for a later one.
  void schedule() {
    struct Progress {
      std::uint64_t forward = 0, backward = 0;
    };
    std::vector<Progress> done(stages_);
    const std::uint64_t batches = options_.kernels;
    for (bool any = true; any;) {
      any = false;
      for (std::uint64_t s = 0; s < stages_; ++s) {
        Progress& mine = done[s];
        const std::uint64_t ahead = std::min(batches, stages_ - s);
        const bool forward = mine.forward < batches && mine.forward - mine.backward < ahead;
        if (!forward && mine.backward == batches) continue;
        const bool first = s == 0, last = s + 1 == stages_;
        if (forward ? !first && done[s - 1].forward <= mine.forward : !last && done[s + 1].backward <= mine.backward) {
          continue;
        }
        std::uint64_t& batch = forward ? mine.forward : mine.backward;
        if (forward ? !first : !last) operations_.push_back({Step::kWait, forward, s, batch});
        operations_.push_back({Step::kPass, forward, s, batch});
        if (forward ? !last : !first) {
          operations_.push_back({Step::kSend, forward, s, batch});
          operations_.push_back({Step::kRecord, forward, s, batch});
        }
        ++batch;
        any = true;
      }
    }
  }

  std::uint64_t steps() const override { return operations_.size(); }
  void make_step(std::uint64_t repeat, std::uint64_t index, Record& record) override {
    const Operation& operation = operations_[index];
    const auto stream = static_cast<std::uint32_t>(operation.stage);
    const auto event_of = [&](std::uint64_t sender) {
      return 2 * (sender * options_.kernels + operation.batch) + (operation.forward ? 0 : 1);
    };
    const std::uint64_t previous = operation.stage - (operation.forward ? 1 : std::uint64_t{0} - 1);
    switch (operation.step) {
      case Step::kWait:
        record.emplace<Sync>() = {SyncKind::kEventWait, stream, event_of(previous), 0};
        return;
      case Step::kPass:
        return SyntheticProgram::make_step(repeat, index, record);
      case Step::kSend: {
        const std::uint64_t receiver = operation.forward ? operation.stage + 1 : operation.stage - 1;
        auto& copy = record.emplace<Memcpy>();
        copy.dst = {buffer_id(receiver), 0};
        copy.src = {buffer_id(operation.stage), 0};
        copy.bytes = unit_ / kMessageShare;
        copy.kind = CopyKind::kDeviceToDevice;
        copy.stream = stream;
        copy.blocking = false;
        return;
      }
      case Step::kRecord:
        record.emplace<Sync>() = {SyncKind::kEventRecord, stream, event_of(operation.stage), 0};
        return;
    }
  }

  void fill(std::uint64_t, std::uint64_t index, Kernel& kernel) override {
    const Operation& operation = operations_[index];
    const std::uint64_t pages = unit_ / kPageBytes, slot = operation.batch % (stages_ - operation.stage);
    kernel.name = operation.forward ? "forward" : "backward";
    kernel.device = static_cast<std::int32_t>(operation.stage);
    kernel.stream = static_cast<std::uint32_t>(operation.stage);
    const AccessMode weights = operation.forward ? AccessMode::kRead : AccessMode::kReadWrite;
    const AccessMode activations = operation.forward ? AccessMode::kWrite : AccessMode::kRead;
    kernel.accesses.push_back({operation.stage + 1, {{0, pages, weights}}});
    kernel.accesses.push_back({stages_ + operation.stage + 1, {{slot * pages, pages, activations}}});
  }
  ObjectId buffer_id(std::uint64_t stage) const { return 2 * stages_ + stage + 1; }

  std::uint64_t stages_, unit_ = 0;
  std::vector<Operation> operations_;  // of one repeat
};

}  // namespace

std::span<const GeneratorPattern> pipeline_patterns() {
  static constexpr GeneratorPattern kPatterns[] = {
      {"pipeline",
       "training over `gpus` stages, each on its GPU, one forward and one backward pass in turn; kernels "
       "counts the micro-batches; a pass reads weights and writes or reads activations, 1/8 of which a "
       "copy takes on to the neighbour",
       "Stage s of S keeps S - s micro-batches: u (1 + S - s) bytes, u = bytes / (S + S (S + 1) / 2) in "
       "whole pages. With all resident a repeat of K takes K + S - 1 times a forward and a backward "
       "pass, and what the copies take.",
       make_pattern<Pipeline>},
  };
  return kPatterns;
}

}  // namespace uvmsim::trace
