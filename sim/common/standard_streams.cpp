// SPDX-License-Identifier: Apache-2.0
#include "sim/common/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace uvmsim {

void open_closed_standard_streams() {
  // The wrong way round for 0 and 1: EBADF, not an empty input and not a result that went nowhere.
  constexpr std::array kFlags = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int descriptor = 0; descriptor < static_cast<int>(kFlags.size()); ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number, which is this one: those below are open. Without it nothing can be said, nor done.
    if (::open("/dev/null", kFlags.at(static_cast<std::size_t>(descriptor))) != descriptor) std::_Exit(2);
  }
}

}  // namespace uvmsim
