// SPDX-License-Identifier: Apache-2.0
// Calls one function for many numbers, on several cores.
#pragma once

#include <cstddef>
#include <functional>

namespace uvmsim {

// The CPUs that this process may use, according to its affinity mask or batch system. At least 1.
std::size_t available_cpus();

// Calls f(0) to f(count - 1), begun in this order, on `threads` threads (0 and 1: only on this one). Returns when all
// have ended. After an exception no further call begins; of several exceptions the one with the lowest number is
// rethrown, so that the error does not depend on the threads.
void in_parallel(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& f);

}  // namespace uvmsim
