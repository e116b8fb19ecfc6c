// SPDX-License-Identifier: Apache-2.0
// A library that writes a file `loaded` into the working folder as soon as it is loaded, before any call.
#include <fcntl.h>
#include <unistd.h>

namespace {

struct Mark {
  Mark() { ::close(::open("loaded", O_WRONLY | O_CREAT | O_CLOEXEC, 0666)); }
} mark;

}  // namespace
