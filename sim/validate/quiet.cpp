#include "sim/validate/quiet.h"

namespace uvmsim::validate {

std::int64_t quiet_kernel_ns(const Experiment& experiment) {
  std::int64_t sum = 0;
  for (const MeasuredKernel& kernel : experiment.kernels) sum += kernel.end_ns - kernel.start_ns;
  return sum;
}

}  // namespace uvmsim::validate
