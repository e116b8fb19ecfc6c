// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error that a process was started without.
#pragma once

namespace uvmsim {

// First thing in a process: opens those of the descriptors 0 to 2 that are closed, so that no file and no socket gets
// their number and what is printed lands in it. Reading or writing one of them then fails as a closed one does, only
// messages on standard error get lost.
void open_closed_standard_streams();

}  // namespace uvmsim
