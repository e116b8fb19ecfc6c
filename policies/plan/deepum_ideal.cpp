#include "policies/plan/lookahead.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {

// Perfect prediction as far as the host has launched: the program runs ahead of the GPU, so that the next kernels and
// their memory are known, except where the host waits.
class DeepUmIdeal final : public Planner {
 public:
  static PolicyInfo info() {
    return {.description = "DeepUM with perfect prediction: all memory of the next kernels, as they were launched",
            .source = "DeepUM+ in the artifact of G10, Zhang et al., MICRO 2023",
            .information = InformationClass::kD3};
  }
  static ParameterTable parameters() {
    return {integer("degree", 8, {0, 4096}, "kernels ahead of the running one"),
            boolean("prefetch", true, "false: only choose what gives way"),
            integer("reserve_chunks", 16, {0, 65536}, "2 MB chunks to keep free by evicting early"),
            boolean("invalidate", true, "blocks in which the framework holds nothing go without a copy")};
  }
  explicit DeepUmIdeal(const PolicyContext& context)
      : degree_(static_cast<std::size_t>(context.parameters.integer("degree"))),
        ahead_({context.parameters.boolean("prefetch"), context.parameters.boolean("invalidate"),
                static_cast<std::uint32_t>(context.parameters.integer("reserve_chunks"))}) {}

  void on_launched(const KernelLaunch& kernel) override { launched_.push_back(blocks_of(kernel)); }
  void on_begin(const KernelLaunch& kernel) override {
    for (; first_ < kernel.number && ahead_.size() != 0; ++first_) ahead_.pop();
    for (; first_ < kernel.number; ++first_) launched_.pop_front();
    if (ahead_.size() == 0) expect_one_more();
  }
  void on_migrated(BlockIndex block) override { ahead_.on_migrated(block); }
  void on_released(BlockIndex block) override { ahead_.on_released(block); }

  PlanCommand next(const PlanQueries& queries) override {
    return ahead_.next(queries, [this] { return ahead_.size() != 0 && expect_one_more(); });
  }
  PlanCommand victim(const PlanQueries& queries) override { return ahead_.victim(queries); }

 private:
  bool expect_one_more() {
    if (launched_.empty() || ahead_.size() > degree_) return false;
    ahead_.push(std::move(launched_.front()));
    launched_.pop_front();
    return true;
  }

  std::size_t degree_;
  Lookahead ahead_;
  std::uint64_t first_ = 0;                       // number of the first kernel of ahead_
  std::deque<std::vector<BlockIndex>> launched_;  // beyond those in ahead_
};

UVMSIM_POLICY(deepum_ideal, DeepUmIdeal);

}  // namespace uvmsim::policy
