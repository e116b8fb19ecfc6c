#include "sim/common/commit.h"

#include "generated/commit.inc"

namespace uvmsim {

const char* commit() { return UVMSIM_COMMIT; }

}  // namespace uvmsim
