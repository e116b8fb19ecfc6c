// SPDX-License-Identifier: Apache-2.0
// Kernel launches. The parameters are scanned after the call has returned: the caller still holds them, and the driver
// has then loaded the function.
#include "tracer/log/streams.h"
#include "tracer/timing/calls.h"
#include "tracer/timing/capture.h"
#include "tracer/timing/launch_events.h"
#include "tracer/timing/parameters.h"

namespace uvmtrace {

namespace {

// [[offset, va, bits of an element, im2col, [dimensions], [strides], [box]], ...]
void put_maps(JsonLine& line, const std::vector<MapParameter>& maps) {
  line.begin_list("maps");
  for (const auto& [offset, map] : maps) {
    line.begin_list().item(offset).item(map.va).item(map.element_bits).item(map.im2col ? 1 : 0);
    const auto list = [&](const auto& values, std::uint32_t count) {
      line.begin_list();
      for (std::uint32_t i = 0; i < count; ++i) line.item(values[i]);
      line.end_list();
    };
    list(map.dims, map.rank);
    list(map.strides, map.rank - 1);
    list(map.box, map.im2col ? 1 : map.rank);
    line.end_list();
  }
  line.end_list();
}

}  // namespace

void write_launch(const Call& call, std::string_view name, const LaunchShape& shape, CUstream stream,
                  const LaunchParameters& parameters, bool first, std::uint64_t node) {
  JsonLine line = call_event("launch", call, first);
  line.number("corr", call.correlation);
  if (node != 0) line.number("node", node);
  line.text("name", name);
  line.begin_list("grid").item(shape.grid[0]).item(shape.grid[1]).item(shape.grid[2]).end_list();
  line.begin_list("block").item(shape.block[0]).item(shape.block[1]).item(shape.block[2]).end_list();
  line.number("shared_bytes", shape.shared_bytes);
  line.number("stream", StreamNumbers::instance().number(reinterpret_cast<std::uint64_t>(stream)));
  line.begin_list("params");
  for (const std::uint64_t pointer : parameters.pointers) line.item(pointer);
  line.end_list();
  if (!parameters.maps.empty()) put_maps(line, parameters.maps);
  finish_event(std::move(line), call);
}

namespace {

// CUlaunchConfig and the parameters of the other launches use the same names for these fields.
template <typename Parameters>
LaunchShape shape_of(const Parameters& p) {
  return {{p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes};
}

void launched(const Call& call, CUfunction function, const LaunchShape& shape, CUstream stream, void** parameters,
              void** extra, bool first = true) {
  if (was_captured(call, stream)) return;
  const std::string name = call.symbol != nullptr ? call.symbol : kernel_name(function, nullptr);
  write_launch(call, name, shape, stream, read_parameters(name, function, parameters, extra), first);
}

}  // namespace

void add_launch_calls(CallTable& table) {
  UVMTRACE_ADD_PAIR(table, cuLaunchKernel, cuLaunchKernel_ptsz, {.on_success = [](const Call& call) {
                      const auto& p = call.as<cuLaunchKernel_params>();
                      launched(call, p.f, shape_of(p), p.hStream, p.kernelParams, p.extra);
                    }});
  UVMTRACE_ADD_PAIR(table, cuLaunchKernelEx, cuLaunchKernelEx_ptsz, {.on_success = [](const Call& call) {
                      const auto& p = call.as<cuLaunchKernelEx_params>();
                      launched(call, p.f, shape_of(*p.config), p.config->hStream, p.kernelParams, p.extra);
                    }});
  UVMTRACE_ADD_PAIR(table, cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz,
                    {.on_success = [](const Call& call) {
                      const auto& p = call.as<cuLaunchCooperativeKernel_params>();
                      launched(call, p.f, shape_of(p), p.hStream, p.kernelParams, nullptr);
                    }});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice, {.on_success = [](const Call& call) {
              const auto& p = call.as<cuLaunchCooperativeKernelMultiDevice_params>();
              for (unsigned i = 0; i < p.numDevices; ++i) {
                const CUDA_LAUNCH_PARAMS& each = p.launchParamsList[i];
                launched(call, each.function, shape_of(each), each.hStream, each.kernelParams, nullptr, i == 0);
              }
            }});
}

}  // namespace uvmtrace
