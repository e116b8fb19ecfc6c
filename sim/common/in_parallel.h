// SPDX-License-Identifier: Apache-2.0
// One function for many numbers, on several cores.
#pragma once

#include <cstddef>
#include <functional>

namespace uvmsim {

// CPUs that this process may use: what an affinity mask or a batch system leaves of them. At least 1.
std::size_t available_cpus();

// f(0) to f(count - 1), begun in this order, on `threads` threads (0 and 1: on this one alone). Returns when all have
// ended. After an exception none begins any more; of those that fail, the one of the lowest number is rethrown, so that
// the error does not depend on the threads.
void in_parallel(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& f);

}  // namespace uvmsim
