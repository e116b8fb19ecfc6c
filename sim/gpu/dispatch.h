// SPDX-License-Identifier: Apache-2.0
// Which SMs take the first thread blocks of a kernel, and in which GPC each lies.
#pragma once

#include <cstdint>
#include <vector>

namespace uvmsim::gpu {

// The GPCs of all SMs in the order in which they take the first `blocks` blocks of a kernel. SMs come in pairs (TPCs);
// where the pairs do not divide evenly, the last and the first GPC have one more.
std::vector<std::uint8_t> gpcs_in_order_of_dispatch(std::uint32_t sms, std::uint32_t gpcs, std::uint64_t blocks);

}  // namespace uvmsim::gpu
