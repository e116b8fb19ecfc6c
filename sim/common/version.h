// SPDX-License-Identifier: Apache-2.0
// The version of this build.
#pragma once

namespace uvmsim {

// The version of the project, as CMakeLists.txt states it: "major.minor.patch".
const char* version();

// Twelve digits of the git commit, with "-dirty" if files differ from it; empty if the sources are not a git checkout.
const char* commit();

}  // namespace uvmsim
