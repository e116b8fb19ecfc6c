// SPDX-License-Identifier: Apache-2.0
// The version of the project, as CMakeLists.txt states it.
#pragma once

namespace uvmsim {

// "major.minor.patch"
const char* version();

}  // namespace uvmsim
