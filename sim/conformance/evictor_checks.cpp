// SPDX-License-Identifier: Apache-2.0
// Checks evictors on tiny GPUs: random histories of all driver events, with every answer checked.
#include <algorithm>
#include <optional>

#include "sim/common/error.h"
#include "sim/conformance/told_state.h"

namespace uvmsim::conformance {
namespace {

using policy::ContentIndex;
using policy::Evictor;
using policy::InformationClass;
using policy::PolicyEntry;

// A GPU of a few chunks and the driver's bookkeeping, driven at random.
class TinyGpu final : public LifeOf<Evictor>, private policy::EvictionQueries {
 public:
  TinyGpu(std::shared_ptr<Evictor> evictor, InformationClass information, std::uint32_t chunks, std::uint64_t contents,
          std::uint32_t processes)
      : LifeOf(std::move(evictor), information), chunks_(chunks), contents_(contents), processes_(processes) {}

  // Throws Wrong.
  void step() override {
    ++step_;
    if (processes_ > 1 && step_ % 16 == 0) take_turn();
    const ChunkId chunk = some_chunk();
    switch (below(11)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return bring(some_content());
      case 4:
      case 5:
        if (is_told(InformationClass::kD2) && in_use(chunk)) policy_->on_touched(chunk);
        return;
      case 6:
        return migrate_again(chunk);
      case 7:
        return empty(chunk, one_in(2));
      case 8:
        if (one_in(4)) free(some_content());
        return;
      case 9:
        return listening_.kernel(random_, now());
      default:
        return pin_or_unpin(chunk);
    }
  }

  // Ends all operations. Sometimes everything is freed; sometimes the first contents are brought back; sometimes some
  // of these are emptied afterwards, in any order.
  void settle() override {
    for (std::uint32_t c = 0; c < chunks_.size(); ++c) {
      if (chunks_[c].state == State::kPinned) pin_or_unpin(ChunkId{c});
    }
    const std::uint64_t how = below(4);
    if (how == 3) return;
    for (std::uint64_t content = 0; content < contents_; ++content) free(ContentIndex(content));
    if (how == 0) return;
    for (std::uint64_t content = 0; content < chunks_.size(); ++content) bring(ContentIndex(content));
    if (how == 1) return;
    for (std::size_t left = 2 * chunks_.size(); left > 0; --left) {
      const ChunkId chunk = some_chunk();
      if (state(chunk) == State::kUsed) empty(chunk, false);
    }
  }
  Nanoseconds now() const override { return Nanoseconds(step_); }
  void add_state(StateDigest& digest) const override {
    std::vector<std::uint64_t> names;
    for (std::uint32_t c = 0; c < chunks_.size(); ++c) names.push_back(name_of(ChunkId{c}));
    for (std::uint32_t c = 0; c < chunks_.size(); ++c) {
      StateDigest part = digest.part();
      part.add(names[c]);
      part.add(static_cast<std::uint64_t>(chunks_[c].state));
      digest.add_unordered(part);
    }
    add_policy_state(digest, names);
  }

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
  ContentIndex incoming() const override { return incoming_; }
  std::uint32_t process() const override { return static_cast<std::uint32_t>(incoming_.value) % processes_; }
  std::uint32_t free_chunks() const override {
    return static_cast<std::uint32_t>(
        std::count_if(chunks_.begin(), chunks_.end(), [](const Chunk& c) { return c.state == State::kFree; }));
  }

  // Gives the GPU to another process; the others follow.
  void take_turn() {
    std::vector<std::uint32_t> turns;
    const std::uint64_t first = below(processes_);
    for (std::uint32_t i = 0; i < processes_; ++i) turns.push_back(static_cast<std::uint32_t>(first + i) % processes_);
    policy_->on_turn(turns);
  }

  ContentIndex some_content() { return ContentIndex(below(contents_)); }
  // Draws a chunk by its content; among free chunks the choice is random.
  ChunkId some_chunk() {
    std::vector<ChunkId> order;
    for (std::uint32_t c = 0; c < chunks_.size(); ++c) order.push_back(ChunkId{c});
    const auto place = order.begin() + static_cast<std::ptrdiff_t>(below(order.size()));
    std::nth_element(order.begin(), place, order.end(),
                     [this](ChunkId one, ChunkId other) { return name_of(one) < name_of(other); });
    return *place;
  }
  // The name that the simulator uses: the chunk's content, else the chunk itself.
  std::uint64_t name_of(ChunkId chunk) const {
    if (!chunk.valid()) return ~std::uint64_t{0};
    const bool free = chunk.value < chunks_.size() && state(chunk) == State::kFree;
    return chunk.value < chunks_.size() && !free ? chunks_[chunk.value].content.value << 1
                                                 : (std::uint64_t{1} << 32 | chunk.value) << 1 | 1;
  }

  State state(ChunkId chunk) const { return chunks_[chunk.value].state; }
  bool in_use(ChunkId chunk) const { return state(chunk) == State::kUsed || state(chunk) == State::kDiscarded; }
  std::optional<ChunkId> find(ContentIndex content) const {
    for (std::uint32_t c = 0; c < chunks_.size(); ++c) {
      if (chunks_[c].state != State::kFree && chunks_[c].content == content) return ChunkId{c};
    }
    return std::nullopt;
  }
  ChunkId first_in(State wanted) const {
    for (std::uint32_t c = 0; c < chunks_.size(); ++c) {
      if (chunks_[c].state == wanted) return ChunkId{c};
    }
    return {};
  }

  // Faults on memory, which may be on the GPU already.
  void bring(ContentIndex content) {
    if (const auto here = find(content)) return migrate_again(*here);
    incoming_ = content;
    ChunkId chunk = first_in(State::kFree);
    if (!chunk.valid()) {
      chunk = policy_->select_victim(*this);
      answered("select_victim", name_of(chunk));
      if (!check_answer(chunk, "select_victim")) {
        return;  // all chunks are pinned
      }
      policy_->on_released(chunk);
    }
    chunks_[chunk.value] = {State::kPinned, content};
    policy_->on_allocated(chunk, content);
    if (processes_ > 1) policy_->on_process(chunk, process());
    chunks_[chunk.value].state = State::kUsed;
    policy_->on_migrated(chunk);
    policy_->on_migrated(chunk);
    evict_early();
  }
  // Returns false if there is no victim and there should be none.
  bool check_answer(ChunkId chunk, const char* function) {
    const auto evictables = std::count_if(chunks_.begin(), chunks_.end(), [](const Chunk& c) {
      return c.state != State::kFree && c.state != State::kPinned;
    });
    const std::string where = fmt::format("{} on a GPU with {} x 2 MB, {} of them evictable (event {})", function,
                                          chunks_.size(), evictables, step_);
    if (!chunk.valid()) {
      if (evictables != 0) throw Wrong(fmt::format("{}: no victim", where));
      return false;
    }
    if (chunk.value >= chunks_.size()) throw Wrong(fmt::format("{}: chunk {} does not exist", where, chunk.value));
    if (!evictable(chunk)) {
      throw Wrong(fmt::format("{}: chunk {} is {}", where, chunk.value,
                              state(chunk) == State::kFree ? "free already" : "pinned by the operation in progress"));
    }
    return true;
  }
  void evict_early() {
    for (std::size_t evicted = 0;; ++evicted) {
      const ChunkId chunk = policy_->select_early_victim(*this);
      answered("select_early_victim", name_of(chunk));
      if (!chunk.valid()) return;
      check_answer(chunk, "select_early_victim");
      if (evicted > chunks_.size()) {
        throw Wrong(
            fmt::format("select_early_victim on a GPU with {} x 2 MB: names victims without an end", chunks_.size()));
      }
      policy_->on_released(chunk);
      chunks_[chunk.value].state = State::kFree;
    }
  }
  void migrate_again(ChunkId chunk) {
    if (state(chunk) != State::kFree && state(chunk) != State::kPinned) {
      chunks_[chunk.value].state = State::kUsed;
      policy_->on_migrated(chunk);
    }
  }
  void empty(ChunkId chunk, bool discarded) {
    if (!in_use(chunk)) return;
    chunks_[chunk.value].state = discarded ? State::kDiscarded : State::kEmptied;
    discarded ? policy_->on_discarded(chunk) : policy_->on_emptied(chunk);
  }
  // Frees memory that may be on the GPU.
  void free(ContentIndex content) {
    if (const auto chunk = find(content)) {
      if (state(*chunk) == State::kPinned) return;
      policy_->on_released(*chunk);
      chunks_[chunk->value].state = State::kFree;
    }
    policy_->on_freed(content);
  }
  // Lets a longer operation hold the chunk; at its end the chunk is in use.
  void pin_or_unpin(ChunkId chunk) {
    if (state(chunk) == State::kUsed) {
      chunks_[chunk.value].state = State::kPinned;
    } else if (state(chunk) == State::kPinned) {
      chunks_[chunk.value].state = State::kUsed;
      policy_->on_migrated(chunk);
    }
  }

  std::vector<Chunk> chunks_;
  std::uint64_t contents_;   // contents that come and go
  std::uint32_t processes_;  // processes that share the GPU
  std::int64_t step_ = 0;
  ContentIndex incoming_;
};

constexpr std::uint32_t kSizes[] = {1, 2, 3, 5, 17, 64};

// Runs one history and returns the policy's answers.
std::vector<Life::Answer> run_history(const PolicyEntry& entry, const policy::GivenParameters& given,
                                      std::uint64_t seed, std::uint32_t chunks, std::uint64_t history, int events) {
  const policy::Future future = random_future(history);
  TinyGpu gpu(entry.create<Evictor>(given, seed, chunks, &future), entry.info.information, chunks,
              std::uint64_t{3} * chunks, static_cast<std::uint32_t>(1 + history % 3));
  gpu.draw_from(history);
  for (int event = 0; event < events; ++event) gpu.step();
  return gpu.answers();
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
    const auto run = [&] { return run_history(entry, options.given, options.seed, chunks, options.seed, 4000); };
    check_same(run(), run(), kAnotherAnswer, chunks);
  }
  return "the same history twice, the same answers";
}

// Checks a single process: with several, no two states ever count as equal. The history uses slightly more memory than
// the GPU has.
std::string check_evictor_state(const PolicyEntry& entry, const CheckOptions& options) {
  constexpr std::uint32_t kChunks[] = {2, 3, 5};
  const auto birth = [&](const auto& given, const auto& future, std::uint64_t variant) {
    const std::uint32_t chunks = kChunks[variant];
    return std::make_unique<TinyGpu>(entry.create<Evictor>(given, options.seed, chunks, &future),
                                     entry.info.information, chunks, std::uint64_t{chunks} + 1, 1);
  };
  return check_told_state(entry, options, std::size(kChunks), birth);
}

}  // namespace

std::span<const Check> checks_of(std::type_identity<policy::Evictor>) {
  static constexpr Check kChecks[] = {{"parameters", check_parameters_by_size<run_history, kSizes>},
                                      {"tiny GPUs", check_tiny_gpus},
                                      {"determinism", check_evictor_determinism},
                                      {"state", check_evictor_state}};
  return kChecks;
}

}  // namespace uvmsim::conformance
