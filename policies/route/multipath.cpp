// SPDX-License-Identifier: Apache-2.0
// HUVM's multi-path prefetch: prefetched blocks come over the links of peers, up to the capacity of these. With
// `demand`, every move takes the links that bring it first.
#include <algorithm>
#include <string>

#include "policies/route/spare_target.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Multipath final : public Router {
 public:
  static PolicyInfo info() {
    return {.description =
                "prefetches take the links of peers into their spare memory while no more GPUs harvest than lend",
            .source = "HUVM (Choi et al., USENIX ATC 2022); `demand` is ours"};
  }
  static ParameterTable parameters() {
    return {choice("target", "min_pending", {"min_pending", "round_robin"},
                   "whose spare memory takes a block: where the fewest wait to be saved, or the next in turn"),
            boolean("demand", false, "all other moves go directly or through one GPU, whichever is there first")};
  }

  explicit Multipath(const PolicyContext& context)
      : target_(context.parameters.choice("target") == "round_robin" ? SpareTarget::Order::kInTurn
                                                                     : SpareTarget::Order::kFewestPending),
        demand_(context.parameters.boolean("demand")) {}

  Route route(const Move& move, const RouteQueries& queries) override {
    if (!move.may_stay) return demand_ ? first_there(move, queries) : Route{};
    if (move.cause == MoveCause::kPrefetch && crowded(queries)) return {};
    return target_.pick(queries);
  }
  void add_state(StateDigest& digest) const override { target_.add_state(digest); }

 private:
  // Returns whether more GPUs harvest than not: then peers need their links themselves.
  static bool crowded(const RouteQueries& queries) {
    unsigned harvest = 0;
    for (unsigned gpu = 0; gpu < queries.gpu_count(); ++gpu) harvest += queries.harvests(gpu) ? 1 : 0;
    return 2 * harvest > queries.gpu_count();
  }

  // Returns the end of a copy that can begin then.
  static Nanoseconds end_of(const Move& move, const RouteQueries& queries, ProcessorId from, ProcessorId to,
                            Nanoseconds begin) {
    return std::max(begin, queries.busy_until(from, to)) + queries.unloaded_time(from, to, move.bytes);
  }

  // Returns the route that arrives first; of equals the one with fewer hops, then the lower GPU. It ignores other
  // traffic on shared links.
  static Route first_there(const Move& move, const RouteQueries& queries) {
    Route best;
    Nanoseconds end;
    if (queries.joined(move.from, move.to)) {
      end = end_of(move, queries, move.from, move.to, move.now);
    } else {
      end = end_of(move, queries, kHost, move.to, end_of(move, queries, move.from, kHost, move.now));
    }
    for (unsigned gpu = 0; gpu < queries.gpu_count(); ++gpu) {
      const ProcessorId hop = gpu_processor(gpu);
      if (hop == move.from || hop == move.to || !queries.joined(move.from, hop) || !queries.joined(hop, move.to)) {
        continue;
      }
      const Nanoseconds there = end_of(move, queries, hop, move.to, end_of(move, queries, move.from, hop, move.now));
      if (there >= end) continue;
      end = there;
      best = {Route::Way::kGpu, gpu};
    }
    return best;
  }

  SpareTarget target_;
  bool demand_;
};

}  // namespace

UVMSIM_POLICY(multipath, Multipath);

}  // namespace uvmsim::policy
