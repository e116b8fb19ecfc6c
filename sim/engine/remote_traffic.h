// SPDX-License-Identifier: Apache-2.0
// What a kernel's accesses to memory of the host, or of another GPU, in place bring over the link, in bytes and
// contiguous pieces.
#pragma once

#include "sim/engine/kernel_work.h"
#include "sim/link/remote_lane.h"

namespace uvmsim::engine {

// Of the pages that the GPU has mapped and that `holder` has instead of it now. Extents count once, whole quanta, a
// contiguous stretch of them one piece; touches count each, repeated ones again (nothing of host memory stays in the
// GPU's L2), as Kernel::bytes_per_thread_access bytes in whole sectors.
link::RemoteTraffic remote_traffic(const KernelWork& work, const trace::Kernel& kernel, const layout::Layout& layout,
                                   const AddressSpace& space, unsigned gpu, ProcessorId holder,
                                   std::uint32_t quantum_bytes);

}  // namespace uvmsim::engine
