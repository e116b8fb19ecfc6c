// SPDX-License-Identifier: Apache-2.0
// The parts of a kernel's message that its accesses give meaning to: phases, order, counts. uvmtrace.proto says how
// they are packed.
#pragma once

#include "sim/trace/record.h"
#include "sim/trace/uvmtrace.pb.h"

namespace uvmsim::trace {

// Into an empty message; the kernel satisfies shape.h.
void put_phases(const Kernel& kernel, proto::Kernel& out);
void put_order(const Kernel& kernel, proto::Kernel& out);
void put_counts(const Kernel& kernel, proto::Kernel& out);

// Into a kernel that has its accesses and nothing else in these lists; phases apart, reusing their storage. They throw
// InputError for lists that do not fit each other, and for phases of more than kMaxPhaseExtents.
void get_phases(const proto::Kernel& in, const Kernel& kernel, std::vector<Phase>& phases);
void get_order(const proto::Kernel& in, Kernel& kernel);
void get_counts(const proto::Kernel& in, Kernel& kernel);

}  // namespace uvmsim::trace
