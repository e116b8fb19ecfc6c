// SPDX-License-Identifier: Apache-2.0
#include "sim/common/version.h"

#include "generated/commit.inc"

namespace uvmsim {

const char* commit() { return UVMSIM_COMMIT; }

}  // namespace uvmsim
