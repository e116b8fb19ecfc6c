// SPDX-License-Identifier: Apache-2.0
#include "sim/common/version.h"

namespace uvmsim {

const char* version() { return UVMSIM_VERSION; }

}  // namespace uvmsim
