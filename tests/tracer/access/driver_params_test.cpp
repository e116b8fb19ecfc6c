// SPDX-License-Identifier: Apache-2.0
// Compares the declared arguments of driver calls with the header that CUPTI contains.
#include "tracer/access/driver_params.h"

#include <cupti.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "tracer/access/call_list.h"

namespace uvmtrace::access {
namespace {

#define SAME(ours, member, theirs, field)                                            \
  static_assert(offsetof(params::ours, member) == offsetof(theirs##_params, field)); \
  static_assert(sizeof(params::ours::member) == sizeof(theirs##_params::field))

SAME(Alloc, bytes, cuMemAlloc_v2, bytesize);
SAME(Alloc, pointer, cuMemAllocManaged, dptr);
SAME(AllocPitch, height, cuMemAllocPitch_v2, Height);
SAME(AllocAsync, stream, cuMemAllocAsync, hStream);
SAME(AllocFromPool, stream, cuMemAllocFromPoolAsync, hStream);
SAME(AllocHost, bytes, cuMemHostAlloc, bytesize);
SAME(HostRegister, bytes, cuMemHostRegister_v2, bytesize);
SAME(ModuleGlobal, bytes, cuModuleGetGlobal_v2, bytes);
SAME(Free, pointer, cuMemFree_v2, dptr);
SAME(FreeAsync, stream, cuMemFreeAsync, hStream);
SAME(Map, bytes, cuMemMap, size);
SAME(Unmap, bytes, cuMemUnmap, size);
SAME(Copy, bytes, cuMemcpyHtoDAsync_v2, ByteCount);
SAME(Copy, stream, cuMemcpyHtoDAsync_v2, hStream);
SAME(Copy, src, cuMemcpyDtoHAsync_v2, srcDevice);
SAME(Copy, bytes, cuMemcpyDtoD_v2, ByteCount);
SAME(Copy, stream, cuMemcpyAsync, hStream);
SAME(CopyPeer, bytes, cuMemcpyPeerAsync, ByteCount);
SAME(CopyPeer, stream, cuMemcpyPeerAsync, hStream);
SAME(Copy2D, stream, cuMemcpy2DAsync_v2, hStream);
SAME(Copy3D, stream, cuMemcpy3DAsync_v2, hStream);
SAME(Set8, count, cuMemsetD8Async, N);
SAME(Set8, stream, cuMemsetD8Async, hStream);
SAME(Set16, stream, cuMemsetD16Async, hStream);
SAME(Set32, stream, cuMemsetD32Async, hStream);
SAME(Set2D, width, cuMemsetD2D8Async, Width);
SAME(Set2D, stream, cuMemsetD2D8Async, hStream);
SAME(Set2D, height, cuMemsetD2D16Async, Height);
SAME(Set2D, stream, cuMemsetD2D32Async, hStream);
SAME(Launch, shared_bytes, cuLaunchKernel, sharedMemBytes);
SAME(Launch, stream, cuLaunchKernel, hStream);
SAME(Launch, stream, cuLaunchCooperativeKernel, hStream);
SAME(LaunchEx, config, cuLaunchKernelEx, config);
SAME(GraphLaunch, stream, cuGraphLaunch, hStream);
SAME(StreamOnly, stream, cuStreamSynchronize, hStream);
SAME(EventRecord, stream, cuEventRecord, hStream);
SAME(EventRecord, stream, cuEventRecordWithFlags, hStream);
SAME(StreamWait, event, cuStreamWaitEvent, hEvent);
#if CUDA_VERSION >= 13000
SAME(CopyBatch2, stream, cuMemcpyBatchAsync_v2, hStream);
SAME(CopyBatch, stream, cuMemcpyBatchAsync, hStream);
SAME(Prefetch2, location, cuMemPrefetchAsync_v2, location);
SAME(Prefetch2, stream, cuMemPrefetchAsync_v2, hStream);
SAME(PrefetchBatch, location_count, cuMemPrefetchBatchAsync, numPrefetchLocs);
SAME(PrefetchBatch, stream, cuMemDiscardAndPrefetchBatchAsync, hStream);
SAME(DiscardBatch, stream, cuMemDiscardBatchAsync, hStream);
SAME(Advise2, advice, cuMemAdvise_v2, advice);
SAME(Advise2, location, cuMemAdvise_v2, location);
static_assert(offsetof(CUmemLocation, id) == offsetof(MemoryLocation, id));
#endif

TEST(DriverCalls, NumbersAreThoseOfCupti) {
  for (const auto number : {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
                            CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
                            CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz,
                            CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync,
                            CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2,
                            CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2,
                            CUPTI_DRIVER_TRACE_CBID_cuMemMap,
                            CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
                            CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
                            CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost,
                            CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister,
                            CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync,
                            CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2,
                            CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz,
                            CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync,
                            CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync_ptsz,
                            CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2,
                            CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2,
                            CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz,
                            CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async,
                            CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D32Async_ptsz,
                            CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync_v2,
                            CUPTI_DRIVER_TRACE_CBID_cuMemAdvise_v2,
                            CUPTI_DRIVER_TRACE_CBID_cuMemDiscardBatchAsync,
                            CUPTI_DRIVER_TRACE_CBID_cuMemDiscardAndPrefetchBatchAsync,
                            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                            CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                            CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
                            CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
                            CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
                            CUPTI_DRIVER_TRACE_CBID_cuEventRecord,
                            CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,
                            CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent,
                            CUPTI_DRIVER_TRACE_CBID_cuProfilerStart,
                            CUPTI_DRIVER_TRACE_CBID_cuProfilerStop,
                            CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
                            CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture}) {
    EXPECT_NE(find_call(static_cast<std::uint32_t>(number)), nullptr) << number;
  }
}

TEST(DriverCalls, WhatEachNumberIs) {
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2)->call, Call::kAlloc);
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2)->call, Call::kAllocPitch);
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2)->call, Call::kFree);
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2)->call, Call::kCopyHtoD);
  EXPECT_TRUE(find_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2)->async);
  EXPECT_FALSE(find_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2_ptds)->async);
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuMemsetD16_v2)->call, Call::kSet16);
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D8Async)->call, Call::kSet2D8);
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz)->call, Call::kLaunchEx);
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister)->call, Call::kFreeHost);
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent)->call, Call::kStreamWait);
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuModuleGetGlobal_v2)->call, Call::kModuleGlobal);
  EXPECT_EQ(find_call(CUPTI_DRIVER_TRACE_CBID_cuInit), nullptr);
  EXPECT_EQ(find_call(0xffffffff), nullptr);
}

}  // namespace
}  // namespace uvmtrace::access
