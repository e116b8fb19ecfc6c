#include <cstdio>

#include "sim/common/units.h"
#include "sim/common/version.h"

int main() {
  static_assert(uvmsim::kPagesPerBlock * uvmsim::kBasePageBytes == uvmsim::kBlockBytes);
  std::printf("uvmsim %s\n", uvmsim::version());
  return 0;
}
