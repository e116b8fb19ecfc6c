// SPDX-License-Identifier: Apache-2.0
#include "policies/plan/exchanges.h"
#include "policies/plan/oracle.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {

// Makes exactly the replacements of MIN, and so the fewest fetches, each as early as it does no harm: as soon as the
// evicted block has had its last use before the fetched one. Blocks that a fault brought are skipped.
class Conservative final : public Planner {
 public:
  static PolicyInfo info() {
    return {.description = "the fewest fetches: the replacements of MIN, each as early as it does no harm",
            .source = "Cao, Felten, Karlin, Li, SIGMETRICS 1995, on kernels and 2 MB blocks",
            .information = InformationClass::kD4};
  }
  static ParameterTable parameters() {
    return {integer("reserve_chunks", 16, {0, 65536}, "replacements to begin ahead, so that copies both ways overlap")};
  }
  Conservative(const PolicyContext& context, const KernelFuture& future)
      : ahead_(static_cast<std::size_t>(context.parameters.integer("reserve_chunks")) + 1),
        oracle_(future),
        exchanges_(min_exchanges(oracle_.blocks(), future.chunks)) {}

  void on_launched(const KernelLaunch& kernel) override { oracle_.on_launched(kernel.number); }
  void on_begin(const KernelLaunch& kernel) override { oracle_.on_begin(kernel.number); }
  void on_end(std::uint64_t number) override { oracle_.on_end(number); }
  void on_migrated(BlockIndex block) override { oracle_.on_migrated(block); }
  void on_released(BlockIndex block) override { oracle_.on_released(block); }

  PlanCommand next(const PlanQueries& queries) override {
    for (; out_ < exchanges_.size() && out_ < in_ + ahead_; ++out_) {
      const Exchange& exchange = exchanges_[out_];
      if (!exchange.replaces || !queries.evictable(exchange.out)) continue;
      if (oracle_.position() < exchange.free_after) break;
      return {queries.inactive(exchange.out) ? PlanCommand::Kind::kDrop : PlanCommand::Kind::kEvict, exchange.out, {}};
    }
    for (; in_ < out_; ++in_) {
      const Exchange& exchange = exchanges_[in_];
      const PageMask missing = queries.missing(exchange.in);
      if (missing.empty() || exchange.needed < oracle_.position()) continue;  // present, or too late
      if (queries.free_chunks() == 0) return {};
      return {PlanCommand::Kind::kPrefetch, exchange.in, missing};
    }
    return {};
  }
  PlanCommand victim(const PlanQueries& queries) override { return oracle_.farthest(queries, oracle_.position()); }

 private:
  std::size_t ahead_;
  Oracle oracle_;
  std::vector<Exchange> exchanges_;
  std::size_t out_ = 0, in_ = 0;  // the next block to evict, and to fetch
};

UVMSIM_POLICY(conservative, Conservative);

}  // namespace uvmsim::policy
