// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/dispatch.h"

#include <algorithm>

namespace uvmsim::gpu {

std::vector<std::uint8_t> gpcs_in_order_of_dispatch(std::uint32_t sms, std::uint32_t gpcs, std::uint64_t blocks) {
  // By GPC: the number of its SMs that are not in `order` yet.
  const std::uint32_t pairs = sms / 2;
  std::vector<std::uint32_t> left(gpcs, pairs / gpcs * 2);
  const std::uint32_t more = pairs % gpcs;
  for (std::uint32_t i = 0; i < more; ++i) left[(gpcs - 1 + i) % gpcs] += 2;
  left[0] += sms % 2;

  std::vector<std::uint8_t> order;
  order.reserve(sms);
  const auto place = [&](std::uint32_t gpc, std::uint32_t count) {
    const std::uint32_t placed = std::min(count, left[gpc]);
    order.insert(order.end(), placed, static_cast<std::uint8_t>(gpc));
    left[gpc] -= placed;
  };
  // The order begins with four pairs of the second GPC. Then come the last GPC, the rest of the second and so on; the
  // first GPC is the last.
  constexpr std::uint32_t kFirst = 8;
  const std::uint32_t second = gpcs > 1 ? 1 : 0;
  place(second, kFirst);
  const auto in_turn = [&](std::uint32_t turn) { return turn == 0 ? gpcs - 1 : turn == gpcs - 1 ? 0 : turn; };
  while (order.size() < sms) {
    for (std::uint32_t turn = 0; turn < gpcs; ++turn) {
      // A grid that fills the GPU takes GPC by GPC, a smaller one an SM of each GPC in turn.
      place(in_turn(turn), blocks >= sms ? sms : 1);
    }
  }
  return order;
}

}  // namespace uvmsim::gpu
