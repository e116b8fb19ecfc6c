// SPDX-License-Identifier: Apache-2.0
// Checks planners on tiny GPUs: random programs of kernels that fault, with every command carried out, or not, as by
// the migration thread.
#include <algorithm>
#include <optional>
#include <utility>

#include "sim/common/error.h"
#include "sim/conformance/checks.h"

namespace uvmsim::conformance {
namespace {

using policy::ArgumentMemory;
using policy::BlockRun;
using policy::InformationClass;
using policy::KernelArgument;
using policy::KernelLaunch;
using policy::PlanCommand;
using policy::Planner;
using policy::PolicyEntry;

struct Answer {
  PlanCommand::Kind kind;
  std::uint64_t block;
  bool operator==(const Answer&) const = default;
};

struct History {
  std::vector<Answer> answers;
  std::uint64_t in_vain = 0;  // commands that had no effect
};

struct Kernel {
  std::string name;
  std::vector<std::uint64_t> blocks;
};

// Draws mostly repetitions of the same kernels, as in training, and now and then another one.
std::vector<Kernel> random_kernels(std::uint64_t seed, std::uint64_t count, std::uint64_t blocks) {
  Random random(seed);
  std::vector<Kernel> kernels;
  while (kernels.size() < count) {
    const std::uint64_t which = random.below(10) == 0 ? random.below(12) : kernels.size() % 6;
    Kernel kernel{std::string(1, static_cast<char>('a' + which)), {}};
    for (std::uint64_t i = 0; i <= which % 3; ++i) kernel.blocks.push_back((which * 2 + i) % blocks);
    kernels.push_back(kernel);
  }
  return kernels;
}

policy::KernelFuture future_of(const std::vector<Kernel>& kernels, std::uint32_t chunks) {
  policy::KernelFuture future;
  future.chunks = chunks;
  for (const Kernel& kernel : kernels) {
    policy::FutureKernel& noted = future.kernels.emplace_back();
    noted.duration = Nanoseconds(1000 + static_cast<std::int64_t>(kernel.blocks.size()) * 100000);
    for (const std::uint64_t b : kernel.blocks) noted.uses.push_back({BlockIndex(b), b});
  }
  return future;
}

// A GPU with a few chunks, and kernels that are launched ahead and run one after another.
class TinyMachine final : private policy::PlanQueries {
 public:
  static std::uint64_t block_count(std::uint32_t chunks) { return 3 * std::uint64_t{chunks} + 2; }
  TinyMachine(Planner& planner, const std::vector<Kernel>& kernels, bool tells_kernels, std::uint32_t chunks,
              std::uint64_t seed)
      : planner_(planner),
        kernels_(kernels),
        tells_kernels_(tells_kernels),
        chunks_(chunks),
        blocks_(block_count(chunks)),
        random_(seed) {}

  // Throws Wrong.
  void step() {
    ++step_;
    switch (random_.below(8)) {
      case 0:
      case 1:
        launch();
        break;
      case 2:
        run_next();
        break;
      case 3:
        leave(random_.below(blocks_.size()));
        break;
      case 4:
        blocks_[random_.below(blocks_.size())].holds_nothing = random_.below(2) == 0;
        break;
      case 5:
        migrate(random_.below(blocks_.size()));
        break;
      default:
        if (running_) fault();
    }
    obey();
  }

  History history;

 private:
  struct Block {
    bool here = false, holds_nothing = false;
  };
  bool known(BlockIndex b) const { return b.value < blocks_.size(); }
  PageMask missing(BlockIndex b) const override {
    return known(b) && !blocks_[b.value].here ? PageMask::all() : PageMask{};
  }
  bool evictable(BlockIndex b) const override { return known(b) && blocks_[b.value].here; }
  bool inactive(BlockIndex b) const override { return known(b) && blocks_[b.value].holds_nothing; }
  std::uint32_t free_chunks() const override {
    return chunks_ - static_cast<std::uint32_t>(
                         std::count_if(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.here; }));
  }
  Nanoseconds now() const override { return Nanoseconds(step_ * 1000); }

  void launch() {
    if (launched_ == kernels_.size()) return;
    const Kernel& kernel = kernels_[launched_];
    queue_.push_back(kernel);
    if (tells_kernels_) tell(kernel, launched_, &Planner::on_launched);
    ++launched_;
  }
  void tell(const Kernel& kernel, std::uint64_t number, void (Planner::*event)(const KernelLaunch&)) {
    std::vector<BlockRun> runs;
    for (const std::uint64_t b : kernel.blocks) runs.push_back({BlockIndex(b), 1});
    const KernelArgument argument{kernel.blocks.front() * kBlockBytes,
                                  ArgumentMemory(runs, 0, runs.size() * kPagesPerBlock)};
    (planner_.*event)({.number = number, .name = kernel.name, .arguments = {&argument, 1}});
  }
  void run_next() {
    if (running_) {
      if (tells_kernels_) planner_.on_end(begun_ - 1);
      queue_.erase(queue_.begin());
      running_ = false;
    }
    if (queue_.empty()) return;
    running_ = true;
    if (tells_kernels_) tell(queue_.front(), begun_, &Planner::on_begin);
    ++begun_;
  }
  void fault() {
    const std::vector<std::uint64_t>& blocks = queue_.front().blocks;
    const std::uint64_t b = blocks[random_.below(blocks.size())];
    if (blocks_[b].here) return;
    migrate(b);
    planner_.on_faulted(BlockIndex(b), PageMask::all());
  }
  void migrate(std::uint64_t b) {
    if (!blocks_[b].here && free_chunks() == 0) make_room();
    blocks_[b].here = true;
    planner_.on_migrated(BlockIndex(b));
  }
  void make_room() {
    const PlanCommand victim = planner_.victim(*this);
    note(victim, "victim");
    if (victim.kind != PlanCommand::Kind::kPrefetch && carry_out(victim)) return;
    const auto first = std::find_if(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.here; });
    leave(static_cast<std::uint64_t>(first - blocks_.begin()));
  }
  void leave(std::uint64_t b) {
    if (!blocks_[b].here) return;
    blocks_[b].here = false;
    planner_.on_released(BlockIndex(b));
  }

  // Executes commands until the planner has none, or its command has no effect: then it is asked after the next event.
  void obey() {
    for (int commands = 0; commands < 1000; ++commands) {
      PlanCommand command;
      if (decided_) {  // an earlier decision comes first, when it is ready
        if (now() < decided_at_) return;
        command = *std::exchange(decided_, std::nullopt);
      } else {
        command = planner_.next(*this);
        note(command, "next");
        if (command.kind == PlanCommand::Kind::kNone || command.kind == PlanCommand::Kind::kWait) return;
        if (command.latency > Nanoseconds{}) {
          decided_ = command;
          decided_at_ = now() + command.latency;
          return;
        }
      }
      if (!carry_out(command)) {
        ++history.in_vain;
        return;
      }
    }
    throw Wrong(fmt::format(
        "next on a GPU with {} x 2 MB: 1,000 commands without an end while nothing else happened (event {})", chunks_,
        step_));
  }
  bool carry_out(const PlanCommand& command) {
    const BlockIndex b = command.block;
    switch (command.kind) {
      case PlanCommand::Kind::kNone:
      case PlanCommand::Kind::kWait:
        return false;
      case PlanCommand::Kind::kPrefetch:
        if ((command.pages & missing(b)).empty() || free_chunks() == 0) return false;
        migrate(b.value);
        return true;
      case PlanCommand::Kind::kDrop:
        if (!inactive(b)) return false;
        [[fallthrough]];
      case PlanCommand::Kind::kEvict:
        if (!evictable(b)) return false;
        leave(b.value);
        return true;
    }
    return false;
  }
  void note(const PlanCommand& command, const char* function) {
    if (command.kind > PlanCommand::Kind::kWait) {
      throw Wrong(fmt::format("{}: command {} does not exist (event {})", function, static_cast<unsigned>(command.kind),
                              step_));
    }
    if (command.latency < Nanoseconds{} || command.latency > policy::kMostLatency) {
      throw Wrong(fmt::format("{}: a latency of {} ns; allowed: 0 to {} (event {})", function, command.latency.value,
                              policy::kMostLatency.value, step_));
    }
    history.answers.push_back({command.kind, command.block.value});
  }

  Planner& planner_;
  const std::vector<Kernel>& kernels_;
  bool tells_kernels_;
  std::uint32_t chunks_;
  std::vector<Block> blocks_;
  Random random_;
  std::int64_t step_ = 0;
  std::vector<Kernel> queue_;  // launched, the running one in front
  bool running_ = false;
  std::uint64_t launched_ = 0, begun_ = 0;
  std::optional<PlanCommand> decided_;
  Nanoseconds decided_at_{};
};

constexpr std::uint32_t kPlanSizes[] = {1, 2, 3, 5, 17};

History run_plan_history(const PolicyEntry& entry, const policy::GivenParameters& given, std::uint64_t seed,
                         std::uint32_t chunks, std::uint64_t history, int events) {
  const std::vector<Kernel> kernels =
      random_kernels(history, static_cast<std::uint64_t>(events) / 3, TinyMachine::block_count(chunks));
  const policy::KernelFuture future = future_of(kernels, chunks);
  const auto planner = entry.create<policy::Planner>(given, seed, chunks, &future);
  TinyMachine machine(*planner, kernels, entry.info.information >= InformationClass::kD3, chunks, history);
  for (int event = 0; event < events; ++event) machine.step();
  return std::move(machine.history);
}

std::string check_tiny_machines(const PolicyEntry& entry, const CheckOptions& options) {
  std::uint64_t histories = 0, answers = 0, in_vain = 0;
  for (const std::uint32_t chunks : kPlanSizes) {
    for (std::uint64_t i = 0; i < 8; ++i, ++histories) {
      const History history = run_plan_history(entry, options.given, options.seed, chunks, options.seed + i, 4000);
      answers += history.answers.size();
      in_vain += history.in_vain;
    }
  }
  return fmt::format("{} histories of 4,000 events on GPUs of 1 to 17 chunks, {} answers, {} commands in vain",
                     histories, answers, in_vain);
}

std::string check_planner_determinism(const PolicyEntry& entry, const CheckOptions& options) {
  for (const std::uint32_t chunks : kPlanSizes) {
    const auto run = [&] {
      return run_plan_history(entry, options.given, options.seed, chunks, options.seed, 4000).answers;
    };
    check_same(run(), run(), kAnotherAnswer, chunks);
  }
  return "the same history twice, the same answers";
}

}  // namespace

std::span<const Check> checks_of(std::type_identity<policy::Planner>) {
  static constexpr Check kChecks[] = {{"parameters", check_parameters_by_size<run_plan_history, kPlanSizes>},
                                      {"tiny GPUs", check_tiny_machines},
                                      {"determinism", check_planner_determinism}};
  return kChecks;
}

}  // namespace uvmsim::conformance
