// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/model_version.h"

#include "generated/model_version.inc"

namespace uvmsim::sweep {

const char* model_version() { return UVMSIM_MODEL_VERSION; }

}  // namespace uvmsim::sweep
