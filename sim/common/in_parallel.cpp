// SPDX-License-Identifier: Apache-2.0
#include "sim/common/in_parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace uvmsim {

std::size_t available_cpus() {
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&cpus)));
}

void in_parallel(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& f) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t failed = count;
  std::exception_ptr error;
  const auto take_until_none_is_left = [&] {
    for (std::size_t i = 0; (i = next++) < count;) {
      try {
        f(i);
      } catch (...) {
        next = count;
        const std::lock_guard lock(mutex);
        if (i > failed) continue;
        failed = i;
        error = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take_until_none_is_left);
    take_until_none_is_left();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace uvmsim
