// SPDX-License-Identifier: Apache-2.0
// The device code of the patches, built into the library.
#pragma once

namespace uvmtrace::access {

// Returns a fatbin, as cuModuleLoadData takes it.
const void* patch_image();

}  // namespace uvmtrace::access
