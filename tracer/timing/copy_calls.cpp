// SPDX-License-Identifier: Apache-2.0
// Copies and sets: one-dimensional, pitched, three-dimensional, between GPUs, in batches, from and to CUDA arrays.
#include "tracer/timing/calls.h"
#include "tracer/timing/capture.h"
#include "tracer/timing/copy_shapes.h"

namespace uvmtrace {

namespace {

CopySide host(const void* pointer) { return {reinterpret_cast<std::uint64_t>(pointer), 0, Place::kHost}; }
CopySide device(CUdeviceptr address) { return {address, 0, Place::kDevice}; }
CopySide anywhere(CUdeviceptr address) { return {address, 0, Place::kUnknown}; }
CopySide array() { return {0, 0, Place::kDevice}; }

template <typename Parameters>
CUstream stream_of(const Parameters& p) {
  if constexpr (requires { p.hStream; }) {
    return p.hStream;
  } else {
    return nullptr;
  }
}
template <typename Parameters>
constexpr bool kAsync = requires(const Parameters& p) {
  p.hStream;
};

template <typename Parameters>
void copied(const Call& call, const std::vector<CopyShape>& all) {
  const CUstream stream = stream_of(call.as<Parameters>());
  if (was_captured(call, stream)) return;
  bool first = true;
  for (const CopyShape& shape : all) {
    write_copy(call, shape, stream, kAsync<Parameters>, first);
    first = false;
  }
}

// Handles every linear copy: `Sides` selects destination and source from its parameters.
template <typename Parameters, auto Sides>
void linear(const Call& call) {
  const auto& p = call.as<Parameters>();
  CopyShape shape;
  Sides(p, shape);
  shape.row_bytes = p.ByteCount;
  copied<Parameters>(call, {shape});
}
template <typename Parameters>
void pitched(const Call& call) {
  copied<Parameters>(call, shapes(*call.as<Parameters>().pCopy));
}

constexpr auto kHtoD = [](const auto& p, CopyShape& s) {
  s.destination = device(p.dstDevice);
  s.source = host(p.srcHost);
};
constexpr auto kDtoH = [](const auto& p, CopyShape& s) {
  s.destination = host(p.dstHost);
  s.source = device(p.srcDevice);
};
constexpr auto kDtoD = [](const auto& p, CopyShape& s) {
  s.destination = device(p.dstDevice);
  s.source = device(p.srcDevice);
};
constexpr auto kUnified = [](const auto& p, CopyShape& s) {
  s.destination = anywhere(p.dst);
  s.source = anywhere(p.src);
};
constexpr auto kHtoA = [](const auto& p, CopyShape& s) {
  s.destination = array();
  s.source = host(p.srcHost);
};
constexpr auto kAtoH = [](const auto& p, CopyShape& s) {
  s.destination = host(p.dstHost);
  s.source = array();
};
constexpr auto kDtoA = [](const auto& p, CopyShape& s) {
  s.destination = array();
  s.source = device(p.srcDevice);
};
constexpr auto kAtoD = [](const auto& p, CopyShape& s) {
  s.destination = device(p.dstDevice);
  s.source = array();
};
constexpr auto kAtoA = [](const auto&, CopyShape& s) {
  s.destination = array();
  s.source = array();
};

#define UVMTRACE_LINEAR(name, twin, sides)                                       \
  table.add_pair(CUPTI_DRIVER_TRACE_CBID_##name, CUPTI_DRIVER_TRACE_CBID_##twin, \
                 {.on_success = &linear<name##_params, sides>})
#define UVMTRACE_PITCHED(name, twin)                                             \
  table.add_pair(CUPTI_DRIVER_TRACE_CBID_##name, CUPTI_DRIVER_TRACE_CBID_##twin, \
                 {.on_success = &pitched<name##_params>})

void add_linear_copies(CallTable& table) {
  UVMTRACE_LINEAR(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, kHtoD);
  UVMTRACE_LINEAR(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, kHtoD);
  UVMTRACE_LINEAR(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, kDtoH);
  UVMTRACE_LINEAR(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, kDtoH);
  UVMTRACE_LINEAR(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, kDtoD);
  UVMTRACE_LINEAR(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, kDtoD);
  UVMTRACE_LINEAR(cuMemcpy, cuMemcpy_ptds, kUnified);
  UVMTRACE_LINEAR(cuMemcpyAsync, cuMemcpyAsync_ptsz, kUnified);
  UVMTRACE_LINEAR(cuMemcpyPeer, cuMemcpyPeer_ptds, kDtoD);
  UVMTRACE_LINEAR(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz, kDtoD);
  UVMTRACE_LINEAR(cuMemcpyHtoA_v2, cuMemcpyHtoA_v2_ptds, kHtoA);
  UVMTRACE_LINEAR(cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync_v2_ptsz, kHtoA);
  UVMTRACE_LINEAR(cuMemcpyAtoH_v2, cuMemcpyAtoH_v2_ptds, kAtoH);
  UVMTRACE_LINEAR(cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync_v2_ptsz, kAtoH);
  UVMTRACE_LINEAR(cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_ptds, kDtoA);
  UVMTRACE_LINEAR(cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds, kAtoD);
  UVMTRACE_LINEAR(cuMemcpyAtoA_v2, cuMemcpyAtoA_v2_ptds, kAtoA);
}

void add_pitched_copies(CallTable& table) {
  UVMTRACE_PITCHED(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds);
  UVMTRACE_PITCHED(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds);
  UVMTRACE_PITCHED(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz);
  UVMTRACE_PITCHED(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds);
  UVMTRACE_PITCHED(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz);
  UVMTRACE_PITCHED(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds);
  UVMTRACE_PITCHED(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz);
}

#if CUDA_VERSION >= 12080
template <typename Parameters>
void batch(const Call& call) {
  const auto& p = call.as<Parameters>();
  std::vector<CopyShape> all;
  for (std::size_t i = 0; i < p.count; ++i) {
    CopyShape shape;
    shape.destination = anywhere(p.dsts[i]);
    shape.source = anywhere(p.srcs[i]);
    shape.row_bytes = p.sizes[i];
    all.push_back(shape);
  }
  copied<Parameters>(call, all);
}

CUDA_MEMCPY3D_PEER as_volume(const CUDA_MEMCPY3D_BATCH_OP& copy) {
  CUDA_MEMCPY3D_PEER out{};
  out.WidthInBytes = copy.extent.width;
  out.Height = copy.extent.height;
  out.Depth = copy.extent.depth;
  const auto is_pointer = [](const CUmemcpy3DOperand& side) { return side.type == CU_MEMCPY_OPERAND_TYPE_POINTER; };
  out.srcMemoryType = is_pointer(copy.src) ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_ARRAY;
  out.dstMemoryType = is_pointer(copy.dst) ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_ARRAY;
  // 0 means tightly packed.
  const auto or_else = [](std::size_t value, std::size_t otherwise) { return value != 0 ? value : otherwise; };
  if (is_pointer(copy.src)) {
    out.srcDevice = copy.src.op.ptr.ptr;
    out.srcPitch = or_else(copy.src.op.ptr.rowLength, copy.extent.width);
    out.srcHeight = or_else(copy.src.op.ptr.layerHeight, copy.extent.height);
  }
  if (is_pointer(copy.dst)) {
    out.dstDevice = copy.dst.op.ptr.ptr;
    out.dstPitch = or_else(copy.dst.op.ptr.rowLength, copy.extent.width);
    out.dstHeight = or_else(copy.dst.op.ptr.layerHeight, copy.extent.height);
  }
  return out;
}

template <typename Parameters>
void volume_batch(const Call& call) {
  const auto& p = call.as<Parameters>();
  std::vector<CopyShape> all;
  for (std::size_t i = 0; i < p.numOps; ++i) {
    for (const CopyShape& shape : shapes(as_volume(p.opList[i]))) all.push_back(shape);
  }
  copied<Parameters>(call, all);
}

#define UVMTRACE_BATCH(name, twin) \
  table.add_pair(CUPTI_DRIVER_TRACE_CBID_##name, CUPTI_DRIVER_TRACE_CBID_##twin, {.on_success = &batch<name##_params>})
#define UVMTRACE_VOLUME_BATCH(name, twin)                                        \
  table.add_pair(CUPTI_DRIVER_TRACE_CBID_##name, CUPTI_DRIVER_TRACE_CBID_##twin, \
                 {.on_success = &volume_batch<name##_params>})

void add_batches(CallTable& table) {
  UVMTRACE_BATCH(cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz);
  UVMTRACE_VOLUME_BATCH(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_ptsz);
#if CUDA_VERSION >= 13000
  UVMTRACE_BATCH(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz);
  UVMTRACE_VOLUME_BATCH(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz);
#endif
}
#else
void add_batches(CallTable&) {}
#endif

template <typename Parameters, std::uint64_t ElementBytes>
void set(const Call& call) {
  const auto& p = call.as<Parameters>();
  const CUstream stream = stream_of(p);
  if (was_captured(call, stream)) return;
  SetShape shape{.va = p.dstDevice};
  if constexpr (requires { p.Width; }) {
    shape.row_bytes = p.Width * ElementBytes;
    shape.rows = p.Height;
    shape.pitch = p.dstPitch;
  } else {
    shape.row_bytes = p.N * ElementBytes;
  }
  write_set(call, shape, stream, kAsync<Parameters>, true);
}

#define UVMTRACE_SET(name, twin, bytes)                                          \
  table.add_pair(CUPTI_DRIVER_TRACE_CBID_##name, CUPTI_DRIVER_TRACE_CBID_##twin, \
                 {.on_success = &set<name##_params, bytes>})

void add_sets(CallTable& table) {
  UVMTRACE_SET(cuMemsetD8_v2, cuMemsetD8_v2_ptds, 1);
  UVMTRACE_SET(cuMemsetD16_v2, cuMemsetD16_v2_ptds, 2);
  UVMTRACE_SET(cuMemsetD32_v2, cuMemsetD32_v2_ptds, 4);
  UVMTRACE_SET(cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds, 1);
  UVMTRACE_SET(cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds, 2);
  UVMTRACE_SET(cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds, 4);
  UVMTRACE_SET(cuMemsetD8Async, cuMemsetD8Async_ptsz, 1);
  UVMTRACE_SET(cuMemsetD16Async, cuMemsetD16Async_ptsz, 2);
  UVMTRACE_SET(cuMemsetD32Async, cuMemsetD32Async_ptsz, 4);
  UVMTRACE_SET(cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz, 1);
  UVMTRACE_SET(cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz, 2);
  UVMTRACE_SET(cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz, 4);
}

}  // namespace

void add_copy_calls(CallTable& table) {
  add_linear_copies(table);
  add_pitched_copies(table);
  add_batches(table);
  add_sets(table);
}

}  // namespace uvmtrace
