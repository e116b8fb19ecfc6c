// SPDX-License-Identifier: Apache-2.0
// The conditions that every record must satisfy by itself, independently of the records before it. Readers check them
// on input, the writer on output; validate.h checks the rest.
#pragma once

#include <span>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// Throws InputError (without file or record number; the caller adds them) when
//  - extents are not ascending, overlap, are empty or end beyond kMaxQuantum; a mode is none of r, w, rw,
//  - a touch or a phase names a slot that the kernel does not have,
//  - units of an order or of counts lie beyond any object, or counts do not ascend,
//  - a grid or block dimension is 0,
//  - a time is negative or beyond kMaxTimeNs (times of UvmCounter: beyond it in either direction),
//  - a name is longer than kMaxNameBytes.
void check_shape(const Record& record);

// Throws InputError when the quantum is not a power of two of at most kMaxQuantumBytes or the version is not supported.
void check_shape(const Header& header);

// `what` names the list in messages, such as "accesses[2]".
void check_extents(std::span<const Extent> extents, std::string_view what);

}  // namespace uvmsim::trace
