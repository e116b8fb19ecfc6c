// SPDX-License-Identifier: Apache-2.0
// Which way memory moves: asks the route policy of the GPU and checks its answer; the driver's own way where there is
// none.
#pragma once

#include "sim/driver/context.h"
#include "sim/policy/router.h"

namespace uvmsim::driver {

policy::MoveCause move_cause(TransferCause cause);

// The stripes of a route of several (Route::Way::kStriped): calls f(route, pages), each pages' own, none empty. Of any
// other route: f(route, pages).
template <class F>
void for_each_stripe(const policy::Route& route, const PageMask& pages, F&& f) {
  if (route.way != policy::Route::Way::kStriped) return f(route, pages);
  const PageMask units = pages.grown_to_big_pages();
  const std::uint64_t count = units.count() / kPagesPerBigPage;
  std::uint64_t weights = route.direct;
  for (const std::uint16_t weight : route.through) weights += weight;
  std::uint64_t before = 0;  // weights of the stripes before
  unsigned first = 0;        // page
  const auto units_of = [&](std::uint64_t weight) { return (count * weight + weights - 1) / weights; };
  const auto stripe = [&](std::uint64_t weight, const policy::Route& way) {
    std::uint64_t left = units_of(before + weight) - units_of(before);
    before += weight;
    const unsigned begin = first;
    for (; left != 0; --left) first = units.next_set(first) + kPagesPerBigPage;
    if (first != begin) f(way, pages & PageMask::range(begin, first - begin));
  };
  stripe(route.direct, {});
  for (unsigned gpu = 0; gpu < kMaxGpus; ++gpu) stripe(route.through[gpu], {policy::Route::Way::kGpu, gpu});
}

// Whether there is a policy to ask about moves of the GPU.
inline bool asks_route(const DriverContext& context, unsigned gpu) {
  return context.gpus.size() > 1 && context.gpus[gpu].router != nullptr;
}

// Pages of a block that move, for choose_route().
inline policy::Move move_of(BlockIndex b, ProcessorId from, ProcessorId to, const PageMask& pages,
                            policy::MoveCause cause) {
  return {.block = b, .from = from, .to = to, .bytes = pages.count() * kBasePageBytes, .cause = cause};
}

// The way of the move, of which `now` need not be set. The answer can be carried out: kDirect where a link joins the
// ends, kHost between two GPUs. `full`: GPUs, a bit each, to whose spare memory no more may be on its way.
policy::Route choose_route(DriverContext& context, Work& work, unsigned gpu, policy::Move move, std::uint32_t full = 0);

}  // namespace uvmsim::driver
