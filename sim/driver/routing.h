// SPDX-License-Identifier: Apache-2.0
// Routes of copies: asks the GPU's route policy and checks its answer. Without a policy, copies take the driver's
// route.
#pragma once

#include "sim/driver/context.h"
#include "sim/policy/router.h"

namespace uvmsim::driver {

policy::MoveCause move_cause(TransferCause cause);

// Calls f(route, pages) for each stripe of a striped route (Route::Way::kStriped); the stripes' pages are disjoint and
// not empty. Any other route is one stripe.
template <class F>
void for_each_stripe(const policy::Route& route, const PageMask& pages, F&& f) {
  if (route.way != policy::Route::Way::kStriped) return f(route, pages);
  const PageMask units = pages.grown_to_big_pages();
  const std::uint64_t count = units.count() / kPagesPerBigPage;
  std::uint64_t weights = route.direct;
  for (const std::uint16_t weight : route.through) weights += weight;
  std::uint64_t before = 0;  // weights of the stripes before this one
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

// Returns whether a policy routes copies to and from the GPU.
inline bool asks_route(const DriverContext& context, unsigned gpu) {
  return context.gpus.size() > 1 && context.gpus[gpu].router != nullptr;
}

// Describes a move of a block's pages for choose_route().
inline policy::Move move_of(BlockIndex b, ProcessorId from, ProcessorId to, const PageMask& pages,
                            policy::MoveCause cause) {
  return {.block = b, .from = from, .to = to, .bytes = pages.count() * kBasePageBytes, .cause = cause};
}

// Returns the route of the move, whose `now` need not be set. The route is possible: kDirect only if a link joins the
// ends, kHost only between two GPUs. `full`: bits of GPUs whose spare memory cannot take further copies.
policy::Route choose_route(DriverContext& context, Work& work, unsigned gpu, policy::Move move, std::uint32_t full = 0);

}  // namespace uvmsim::driver
