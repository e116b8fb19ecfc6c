#include "sim/trace/kernel_names.h"

#include <algorithm>
#include <array>

namespace uvmsim::trace {

Distribution distribution_by_name(std::string_view kernel_name) {
  constexpr std::array<std::string_view, 8> kTiles = {"gemm",  "fprop",    "dgrad",    "wgrad",
                                                      "xmma_", "winograd", "convolve", "implicit_con"};
  const bool tiled = std::any_of(kTiles.begin(), kTiles.end(), [&](std::string_view part) {
    return kernel_name.find(part) != std::string_view::npos;
  });
  return tiled ? Distribution::kTiled : Distribution::kBlockLinear;
}

}  // namespace uvmsim::trace
