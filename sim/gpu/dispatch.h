// SPDX-License-Identifier: Apache-2.0
// The order in which SMs take the first thread blocks of a kernel, as the GPC of each SM.
#pragma once

#include <cstdint>
#include <vector>

namespace uvmsim::gpu {

// Returns the GPCs of all SMs, in the order in which the SMs take the first `blocks` blocks of a kernel. SMs come in
// pairs (TPCs). Pairs that are left over go to the last GPC, then to the first, the second and so on, one to each.
std::vector<std::uint8_t> gpcs_in_order_of_dispatch(std::uint32_t sms, std::uint32_t gpcs, std::uint64_t blocks);

}  // namespace uvmsim::gpu
