#include "sim/common/version.h"

namespace uvmsim {

const char* version() { return UVMSIM_VERSION; }

}  // namespace uvmsim
