// SPDX-License-Identifier: Apache-2.0
// Notes tensor maps that the program lets the driver encode. They give no event of their own: launches that use them
// describe them.
#include "tracer/timing/calls.h"
#include "tracer/timing/tensor_maps.h"

namespace uvmtrace {

namespace {

// The parameters that both calls have under the same names.
template <class Parameters>
MapArguments common(const Parameters& p, bool im2col) {
  MapArguments out;
  out.im2col = im2col;
  out.type = static_cast<std::uint32_t>(p.tensorDataType);
  out.rank = p.tensorRank;
  out.va = reinterpret_cast<std::uint64_t>(p.globalAddress);
  for (std::uint32_t d = 0; d < out.rank && d < kMaxMapRank; ++d) {
    out.dims[d] = p.globalDim[d];
    if (d != 0) out.strides[d - 1] = p.globalStrides[d - 1];
  }
  out.interleave = static_cast<std::uint32_t>(p.interleave);
  return out;
}

}  // namespace

void add_map_calls(CallTable& table) {
  table.add(CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeTiled, {.on_success = [](const Call& call) {
              if (TensorMaps::is_own_call()) return;
              const auto& p = call.as<cuTensorMapEncodeTiled_params>();
              MapArguments arguments = common(p, false);
              for (std::uint32_t d = 0; d < arguments.rank && d < kMaxMapRank; ++d) arguments.box[d] = p.boxDim[d];
              TensorMaps::instance().note_encoded(arguments, p.tensorMap);
            }});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2col, {.on_success = [](const Call& call) {
              if (TensorMaps::is_own_call()) return;
              const auto& p = call.as<cuTensorMapEncodeIm2col_params>();
              MapArguments arguments = common(p, true);
              arguments.box[0] = p.channelsPerPixel;
              TensorMaps::instance().note_encoded(arguments, p.tensorMap);
            }});
}

}  // namespace uvmtrace
