// SPDX-License-Identifier: Apache-2.0
// Evictors on tiny GPUs: random histories of everything the driver may tell, with every answer checked.
#include <algorithm>
#include <optional>

#include "sim/common/error.h"
#include "sim/conformance/checks.h"

namespace uvmsim::conformance {
namespace {

using policy::ContentIndex;
using policy::Evictor;
using policy::InformationClass;
using policy::PolicyEntry;

// A GPU of a few chunks and the driver's bookkeeping, driven at random.
class TinyGpu final : private policy::EvictionQueries {
 public:
  TinyGpu(Evictor& evictor, bool tells_touches, std::uint32_t chunks, std::uint64_t seed)
      : evictor_(evictor),
        tells_touches_(tells_touches),
        chunks_(chunks),
        processes_(static_cast<std::uint32_t>(1 + seed % 3)),
        random_(seed) {}

  // Throws Wrong.
  void step() {
    ++step_;
    if (processes_ > 1 && step_ % 16 == 0) take_turn();
    const ChunkId chunk{static_cast<std::uint32_t>(random_.below(chunks_.size()))};
    switch (random_.below(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return bring(ContentIndex(random_.below(3 * chunks_.size())));
      case 4:
      case 5:
        if (tells_touches_ && in_use(chunk)) {
          evictor_.on_touched(chunk);
        }
        return;
      case 6:
        return migrate_again(chunk);
      case 7:
        return empty(chunk);
      case 8:
        return free(ContentIndex(random_.below(3 * chunks_.size())));
      default:
        return pin_or_unpin(chunk);
    }
  }

  const std::vector<std::uint32_t>& answers() const { return answers_; }

 private:
  enum class State : std::uint8_t { kFree, kUsed, kEmptied, kDiscarded, kPinned };
  struct Chunk {
    State state = State::kFree;
    ContentIndex content;
  };

  bool evictable(ChunkId chunk) const override {
    return chunk.value < chunks_.size() && state(chunk) != State::kFree && state(chunk) != State::kPinned;
  }
  policy::ChunkView view(ChunkId chunk) const override {
    return {chunks_[chunk.value].content, in_use(chunk) ? kPagesPerBlock : 0};
  }
  Nanoseconds now() const override { return Nanoseconds(step_); }
  ContentIndex incoming() const override { return incoming_; }
  std::uint32_t process() const override { return static_cast<std::uint32_t>(incoming_.value) % processes_; }
  std::uint32_t free_chunks() const override {
    return static_cast<std::uint32_t>(
        std::count_if(chunks_.begin(), chunks_.end(), [](const Chunk& c) { return c.state == State::kFree; }));
  }

  // The GPU computes for another process, the others follow.
  void take_turn() {
    std::vector<std::uint32_t> turns;
    const std::uint64_t first = random_.below(processes_);
    for (std::uint32_t i = 0; i < processes_; ++i) turns.push_back(static_cast<std::uint32_t>(first + i) % processes_);
    evictor_.on_turn(turns);
  }

  State state(ChunkId chunk) const { return chunks_[chunk.value].state; }
  bool in_use(ChunkId chunk) const { return state(chunk) == State::kUsed || state(chunk) == State::kDiscarded; }
  std::optional<ChunkId> find(ContentIndex content) const {
    for (std::uint32_t c = 0; c < chunks_.size(); ++c) {
      if (chunks_[c].state != State::kFree && chunks_[c].content == content) {
        return ChunkId{c};
      }
    }
    return std::nullopt;
  }
  ChunkId first_in(State wanted) const {
    for (std::uint32_t c = 0; c < chunks_.size(); ++c) {
      if (chunks_[c].state == wanted) {
        return ChunkId{c};
      }
    }
    return {};
  }

  // A fault on memory that is or is not on the GPU.
  void bring(ContentIndex content) {
    if (const auto here = find(content)) {
      return migrate_again(*here);
    }
    incoming_ = content;
    ChunkId chunk = first_in(State::kFree);
    if (!chunk.valid()) {
      chunk = evictor_.select_victim(*this);
      answers_.push_back(chunk.value);
      if (!check_answer(chunk, "select_victim")) {
        return;  // all are pinned
      }
      evictor_.on_released(chunk);
    }
    chunks_[chunk.value] = {State::kPinned, content};
    evictor_.on_allocated(chunk, content);
    if (processes_ > 1) evictor_.on_process(chunk, process());
    chunks_[chunk.value].state = State::kUsed;
    evictor_.on_migrated(chunk);
    evictor_.on_migrated(chunk);
    evict_early();
  }
  // False: there is no victim, and rightly so.
  bool check_answer(ChunkId chunk, const char* function) {
    const auto evictables = std::count_if(chunks_.begin(), chunks_.end(), [](const Chunk& c) {
      return c.state != State::kFree && c.state != State::kPinned;
    });
    const std::string where = fmt::format("{} on a GPU of {} chunks, {} of them evictable (event {})", function,
                                          chunks_.size(), evictables, step_);
    if (!chunk.valid()) {
      if (evictables != 0) {
        throw Wrong(fmt::format("{}: no victim", where));
      }
      return false;
    }
    if (chunk.value >= chunks_.size()) {
      throw Wrong(fmt::format("{}: chunk {} does not exist", where, chunk.value));
    }
    if (!evictable(chunk)) {
      throw Wrong(fmt::format("{}: chunk {} is {}", where, chunk.value,
                              state(chunk) == State::kFree ? "free already" : "pinned by the operation in progress"));
    }
    return true;
  }
  void evict_early() {
    for (std::size_t evicted = 0;; ++evicted) {
      const ChunkId chunk = evictor_.select_early_victim(*this);
      answers_.push_back(chunk.value);
      if (!chunk.valid()) {
        return;
      }
      check_answer(chunk, "select_early_victim");
      if (evicted > chunks_.size()) {
        throw Wrong(
            fmt::format("select_early_victim on a GPU of {} chunks: never says that it is enough", chunks_.size()));
      }
      evictor_.on_released(chunk);
      chunks_[chunk.value].state = State::kFree;
    }
  }
  void migrate_again(ChunkId chunk) {
    if (state(chunk) != State::kFree && state(chunk) != State::kPinned) {
      chunks_[chunk.value].state = State::kUsed;
      evictor_.on_migrated(chunk);
    }
  }
  void empty(ChunkId chunk) {
    if (!in_use(chunk)) {
      return;
    }
    const bool discarded = random_.below(2) == 0;
    chunks_[chunk.value].state = discarded ? State::kDiscarded : State::kEmptied;
    discarded ? evictor_.on_discarded(chunk) : evictor_.on_emptied(chunk);
  }
  // The program frees memory that is or is not on the GPU.
  void free(ContentIndex content) {
    if (random_.below(4) != 0) {
      return;
    }
    if (const auto chunk = find(content)) {
      if (state(*chunk) == State::kPinned) {
        return;
      }
      evictor_.on_released(*chunk);
      chunks_[chunk->value].state = State::kFree;
    }
    evictor_.on_freed(content);
  }
  // A longer operation holds the chunk; when it is done, the chunk is in use.
  void pin_or_unpin(ChunkId chunk) {
    if (state(chunk) == State::kUsed) {
      chunks_[chunk.value].state = State::kPinned;
    } else if (state(chunk) == State::kPinned) {
      chunks_[chunk.value].state = State::kUsed;
      evictor_.on_migrated(chunk);
    }
  }

  Evictor& evictor_;
  bool tells_touches_;
  std::vector<Chunk> chunks_;
  std::uint32_t processes_;  // that share the GPU
  Random random_;
  std::int64_t step_ = 0;
  ContentIndex incoming_;
  std::vector<std::uint32_t> answers_;
};

constexpr std::uint32_t kSizes[] = {1, 2, 3, 5, 17, 64};

// One history; the answers given on it.
std::vector<std::uint32_t> run_history(const PolicyEntry& entry, const policy::GivenParameters& given,
                                       std::uint64_t seed, std::uint32_t chunks, std::uint64_t history, int events) {
  const policy::Future future = random_future(history);
  const auto evictor = entry.create_evictor(given, seed, chunks, entry.chunk_bytes(given), &future);
  TinyGpu gpu(*evictor, entry.info.information >= InformationClass::kD2, chunks, history);
  for (int event = 0; event < events; ++event) {
    gpu.step();
  }
  return gpu.answers();
}

}  // namespace

std::string check_evictor_parameters(const PolicyEntry& entry, const CheckOptions& options) {
  return try_parameters(entry, options,
                        [&](const policy::GivenParameters& given) {
                          for (const std::uint32_t chunks : kSizes) {
                            run_history(entry, given, options.seed, chunks, options.seed, 500);
                          }
                        }) +
         ", each on GPUs of 1 to 64 chunks";
}

std::string check_tiny_gpus(const PolicyEntry& entry, const CheckOptions& options) {
  std::size_t histories = 0, answers = 0;
  for (const std::uint32_t chunks : kSizes) {
    for (std::uint64_t i = 0; i < 8; ++i, ++histories) {
      answers += run_history(entry, options.given, options.seed, chunks, options.seed + i, 4000).size();
    }
  }
  return fmt::format("{} histories of 4,000 events on GPUs of 1 to 64 chunks, {} answers", histories, answers);
}

std::string check_evictor_determinism(const PolicyEntry& entry, const CheckOptions& options) {
  for (const std::uint32_t chunks : kSizes) {
    const auto first = run_history(entry, options.given, options.seed, chunks, options.seed, 4000);
    const auto second = run_history(entry, options.given, options.seed, chunks, options.seed, 4000);
    if (first != second) {
      const auto differs = std::mismatch(first.begin(), first.end(), second.begin(), second.end()).first;
      throw Wrong(fmt::format("answer {} on a GPU of {} chunks was another one when the same history ran again",
                              differs - first.begin() + 1, chunks));
    }
  }
  return "the same history twice, the same answers";
}

}  // namespace uvmsim::conformance
