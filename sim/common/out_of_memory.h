// SPDX-License-Identifier: Apache-2.0
// Ends the process when memory runs out where no exception can report it: in a destructor, or in an assertion of a
// library that meets a half-made object.
#pragma once

namespace uvmsim {

// Reserves memory for the exit, because destructors of JSON need some. `last_words` allocates nothing and returns the
// exit code; temporary files are removed before it is called. Another call replaces it.
void end_without_memory_by(int (*last_words)());

}  // namespace uvmsim
