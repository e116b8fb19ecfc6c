// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <unordered_map>

#include "policies/plan/correlation_tables.h"
#include "policies/plan/kernel_blocks.h"
#include "policies/plan/lookahead.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// Returns the identity of an execution: the hash of the kernel's name and arguments.
std::uint64_t hash_of(const KernelLaunch& kernel) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a, 64 bit
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
  for (const char c : kernel.name) add(static_cast<unsigned char>(c));
  add(kernel.thread_blocks);
  add(kernel.threads_per_block);
  for (const KernelArgument& argument : kernel.arguments) add(argument.address);
  return hash;
}

}  // namespace

// DeepUM learns which kernel follows which and which blocks each faults on, and walks these tables ahead of the running
// kernel. The walk begins with the kernel, not with its first fault, and restarts at every fault on an unexpected
// block.
class DeepUm final : public Planner {
 public:
  static PolicyInfo info() {
    return {.description = "kernels and the blocks they fault on, learned; prefetches chained over the next kernels",
            .source = "DeepUM, Jung, Kim, Lee, ASPLOS 2023",
            .information = InformationClass::kD3};
  }
  static ParameterTable parameters() {
    return {integer("degree", 32, {0, 4096}, "kernels ahead of the running one"),
            boolean("prefetch", true, "false: only choose what gives way"),
            integer("reserve_chunks", 16, {0, 65536}, "2 MB chunks to keep free by evicting early"),
            boolean("invalidate", true, "blocks in which the framework holds nothing go without a copy"),
            integer("rows", 2048, {1, 1 << 20}, "blocks that the table of one kernel holds"),
            integer("ways", 2, {1, 64}, "rows per set of that table"),
            integer("successors", 4, {1, 64}, "following blocks that a row holds")};
  }
  explicit DeepUm(const PolicyContext& context)
      : degree_(static_cast<std::size_t>(context.parameters.integer("degree"))),
        shape_{static_cast<std::size_t>(context.parameters.integer("rows")),
               static_cast<std::size_t>(context.parameters.integer("ways")),
               static_cast<std::size_t>(context.parameters.integer("successors"))},
        ahead_({context.parameters.boolean("prefetch"), context.parameters.boolean("invalidate"),
                static_cast<std::uint32_t>(context.parameters.integer("reserve_chunks"))}) {}

  void on_begin(const KernelLaunch& kernel) override {
    const ExecutionId id = id_of(kernel);
    if (running_) executions_.record(history_, id);
    ExecutionTable::append(history_, id);
    running_ = true;
    blocks_of_[id].restart();
    if (expected_.size() > 1 && expected_[1] == id) {
      expected_.pop_front();
      ahead_.pop();
    } else {
      expected_.clear();
      ahead_.clear();
      ahead_end_ = history_;
      expect(id);
    }
    while (expect_one_more()) {
    }
  }
  void on_faulted(BlockIndex block, const PageMask&) override {
    if (!running_) return;
    BlockTable& table = blocks_of_[history_.back()];
    table.record(block);
    if (!ahead_.expects(block)) ahead_.add_to_front(table.chain(block));
  }
  void on_migrated(BlockIndex block) override { ahead_.on_migrated(block); }
  void on_released(BlockIndex block) override { ahead_.on_released(block); }

  PlanCommand next(const PlanQueries& queries) override {
    return ahead_.next(queries, [this] { return expect_one_more(); });
  }
  PlanCommand victim(const PlanQueries& queries) override { return ahead_.victim(queries); }

 private:
  ExecutionId id_of(const KernelLaunch& kernel) {
    const auto [found, fresh] = ids_.emplace(hash_of(kernel), static_cast<ExecutionId>(blocks_of_.size()));
    if (fresh) blocks_of_.emplace_back(shape_);
    return found->second;
  }
  void expect(ExecutionId id) {
    expected_.push_back(id);
    ahead_.push(BlockChain(blocks_of_[id].chain()));
  }
  bool expect_one_more() {
    if (expected_.empty() || expected_.size() > degree_) return false;
    const auto next = executions_.predict(ahead_end_);
    if (!next) return false;
    ExecutionTable::append(ahead_end_, *next);
    expect(*next);
    return true;
  }

  std::size_t degree_;
  BlockTable::Shape shape_;
  Lookahead<BlockChain> ahead_;
  std::unordered_map<std::uint64_t, ExecutionId> ids_;  // by hash
  std::vector<BlockTable> blocks_of_;                   // by execution
  ExecutionTable executions_;
  bool running_ = false;
  ExecutionTable::History history_{};    // executed kernels, the running one last
  ExecutionTable::History ahead_end_{};  // expected kernels, the farthest one last
  std::deque<ExecutionId> expected_;     // the kernels of ahead_
};

UVMSIM_POLICY(deepum, DeepUm);

}  // namespace uvmsim::policy
