// SPDX-License-Identifier: Apache-2.0
// The activity records that are read. CUPTI writes the newest form of a record, which begins with every older form; the
// oldest form that has all used fields therefore serves CUPTI 12 and 13. The sizes and offsets below are those that
// this library assumes; with a toolkit that changes one it does not compile.
#pragma once

#include <cupti.h>

#include <cstddef>

namespace uvmtrace {

using KernelRecord = CUpti_ActivityKernel9;
using MemcpyRecord = CUpti_ActivityMemcpy5;
using PeerMemcpyRecord = CUpti_ActivityMemcpyPtoP4;
using MemsetRecord = CUpti_ActivityMemset4;
using UvmRecord = CUpti_ActivityUnifiedMemoryCounter2;

static_assert(offsetof(KernelRecord, registersPerThread) == 6);
static_assert(offsetof(KernelRecord, start) == 16);
static_assert(offsetof(KernelRecord, end) == 24);
static_assert(offsetof(KernelRecord, deviceId) == 40);
static_assert(offsetof(KernelRecord, staticSharedMemory) == 76);
static_assert(offsetof(KernelRecord, dynamicSharedMemory) == 80);
static_assert(offsetof(KernelRecord, correlationId) == 92);
static_assert(offsetof(KernelRecord, graphNodeId) == 144);

static_assert(offsetof(MemcpyRecord, bytes) == 8);
static_assert(offsetof(MemcpyRecord, start) == 16);
static_assert(offsetof(MemcpyRecord, end) == 24);
static_assert(offsetof(MemcpyRecord, deviceId) == 32);
static_assert(offsetof(MemcpyRecord, correlationId) == 44);
static_assert(offsetof(MemcpyRecord, graphNodeId) == 64);

static_assert(offsetof(PeerMemcpyRecord, start) == 16);
static_assert(offsetof(PeerMemcpyRecord, end) == 24);
static_assert(offsetof(PeerMemcpyRecord, deviceId) == 32);
static_assert(offsetof(PeerMemcpyRecord, correlationId) == 60);
static_assert(offsetof(PeerMemcpyRecord, graphNodeId) == 72);

static_assert(offsetof(MemsetRecord, start) == 16);
static_assert(offsetof(MemsetRecord, end) == 24);
static_assert(offsetof(MemsetRecord, deviceId) == 32);
static_assert(offsetof(MemsetRecord, correlationId) == 44);
static_assert(offsetof(MemsetRecord, graphNodeId) == 64);

static_assert(offsetof(UvmRecord, counterKind) == 4);
static_assert(offsetof(UvmRecord, value) == 8);
static_assert(offsetof(UvmRecord, start) == 16);
static_assert(offsetof(UvmRecord, end) == 24);
static_assert(offsetof(UvmRecord, address) == 32);
static_assert(offsetof(UvmRecord, srcId) == 40);
static_assert(offsetof(UvmRecord, dstId) == 44);
static_assert(offsetof(UvmRecord, flags) == 56);

#if CUPTI_API_VERSION >= 130000 && CUPTI_API_VERSION < 140000
// The forms that CUPTI 13 writes are longer, and equal in the part that is read.
static_assert(sizeof(CUpti_ActivityKernel10) == 216 && sizeof(KernelRecord) <= 216);
static_assert(sizeof(CUpti_ActivityMemcpy6) == 96 && sizeof(MemcpyRecord) <= 96);
static_assert(sizeof(CUpti_ActivityMemset4) == 88);
static_assert(sizeof(CUpti_ActivityUnifiedMemoryCounter3) == 104 && sizeof(UvmRecord) <= 104);
static_assert(offsetof(CUpti_ActivityKernel10, start) == offsetof(KernelRecord, start));
static_assert(offsetof(CUpti_ActivityKernel10, correlationId) == offsetof(KernelRecord, correlationId));
static_assert(offsetof(CUpti_ActivityKernel10, graphNodeId) == offsetof(KernelRecord, graphNodeId));
static_assert(offsetof(CUpti_ActivityMemcpy6, start) == offsetof(MemcpyRecord, start));
static_assert(offsetof(CUpti_ActivityMemcpy6, correlationId) == offsetof(MemcpyRecord, correlationId));
static_assert(offsetof(CUpti_ActivityMemcpy6, graphNodeId) == offsetof(MemcpyRecord, graphNodeId));
static_assert(offsetof(CUpti_ActivityUnifiedMemoryCounter3, address) == offsetof(UvmRecord, address));
static_assert(offsetof(CUpti_ActivityUnifiedMemoryCounter3, flags) == offsetof(UvmRecord, flags));
#endif

}  // namespace uvmtrace
