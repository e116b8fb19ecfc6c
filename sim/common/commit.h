// SPDX-License-Identifier: Apache-2.0
// Which sources were built.
#pragma once

namespace uvmsim {

// Twelve digits of git's commit, with "-dirty" where files differ from it; empty where the sources are no git checkout.
const char* commit();

}  // namespace uvmsim
