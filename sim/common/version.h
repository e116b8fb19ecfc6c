// SPDX-License-Identifier: Apache-2.0
// What was built.
#pragma once

namespace uvmsim {

// The version of the project, as CMakeLists.txt states it: "major.minor.patch".
const char* version();

// Twelve digits of git's commit, with "-dirty" where files differ from it; empty where the sources are no git checkout.
const char* commit();

}  // namespace uvmsim
