// SPDX-License-Identifier: Apache-2.0
// How a process ends where memory ran out and no exception can say so: in a destructor, in a library's assertion that
// meets what was left half made.
#pragma once

namespace uvmsim {

// Sets memory aside for the way out: destructors of JSON take some. `last_words` takes none and returns the exit code;
// temporary files are removed before it is called. Another call changes the words.
void end_without_memory_by(int (*last_words)());

}  // namespace uvmsim
