// SPDX-License-Identifier: Apache-2.0
// Arguments of the driver calls that are recorded: the structs that the callback API points to hold a call's arguments
// in their order in cuda.h. They are declared here because the headers that define them are not part of every toolkit;
// a test compares them with the headers. The numbers of the calls are the same in CUPTI and in the Sanitizer API.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace uvmtrace::access {

// A CUmemLocation by value, without requiring a cuda.h that has it.
struct MemoryLocation {
  int type;
  int id;
};

namespace params {
// clang-format off
struct Alloc { CUdeviceptr* pointer; std::size_t bytes; };
struct AllocPitch { CUdeviceptr* pointer; std::size_t* pitch; std::size_t width; std::size_t height; unsigned element; };
struct AllocAsync { CUdeviceptr* pointer; std::size_t bytes; CUstream stream; };
struct AllocFromPool { CUdeviceptr* pointer; std::size_t bytes; CUmemoryPool pool; CUstream stream; };
struct AllocHost { void** pointer; std::size_t bytes; };
struct HostRegister { void* pointer; std::size_t bytes; unsigned flags; };
struct ModuleGlobal { CUdeviceptr* pointer; std::size_t* bytes; };  // followed by the module or library, and the name
struct Free { CUdeviceptr pointer; };
struct FreeAsync { CUdeviceptr pointer; CUstream stream; };
struct FreeHost { void* pointer; };
struct Map { CUdeviceptr pointer; std::size_t bytes; std::size_t offset; CUmemGenericAllocationHandle handle; unsigned long long flags; };
struct Unmap { CUdeviceptr pointer; std::size_t bytes; };
struct Copy { CUdeviceptr dst; CUdeviceptr src; std::size_t bytes; CUstream stream; };                 // stream: Async only
struct CopyPeer { CUdeviceptr dst; CUcontext dst_context; CUdeviceptr src; CUcontext src_context; std::size_t bytes; CUstream stream; };
struct Copy2D { const CUDA_MEMCPY2D* copy; CUstream stream; };
struct Copy3D { const CUDA_MEMCPY3D* copy; CUstream stream; };
struct CopyBatch2 { CUdeviceptr* dsts; CUdeviceptr* srcs; std::size_t* bytes; std::size_t count; void* attributes; std::size_t* indices; std::size_t attribute_count; CUstream stream; };
struct CopyBatch { CUdeviceptr* dsts; CUdeviceptr* srcs; std::size_t* bytes; std::size_t count; void* attributes; std::size_t* indices; std::size_t attribute_count; std::size_t* failed; CUstream stream; };
struct Set8 { CUdeviceptr dst; unsigned char value; std::size_t count; CUstream stream; };
struct Set16 { CUdeviceptr dst; unsigned short value; std::size_t count; CUstream stream; };
struct Set32 { CUdeviceptr dst; unsigned value; std::size_t count; CUstream stream; };
struct Set2D { CUdeviceptr dst; std::size_t pitch; unsigned value; std::size_t width; std::size_t height; CUstream stream; };
struct Prefetch { CUdeviceptr pointer; std::size_t bytes; CUdevice device; CUstream stream; };
struct Prefetch2 { CUdeviceptr pointer; std::size_t bytes; MemoryLocation location; unsigned flags; CUstream stream; };
struct PrefetchBatch { CUdeviceptr* pointers; std::size_t* bytes; std::size_t count; const MemoryLocation* locations; std::size_t* indices; std::size_t location_count; unsigned long long flags; CUstream stream; };
struct DiscardBatch { CUdeviceptr* pointers; std::size_t* bytes; std::size_t count; unsigned long long flags; CUstream stream; };
struct Advise { CUdeviceptr pointer; std::size_t bytes; int advice; CUdevice device; };
struct Advise2 { CUdeviceptr pointer; std::size_t bytes; int advice; MemoryLocation location; };
struct Launch { CUfunction function; unsigned grid[3]; unsigned block[3]; unsigned shared_bytes; CUstream stream; void** parameters; };
struct LaunchEx { const CUlaunchConfig* config; CUfunction function; void** parameters; void** extra; };
struct GraphLaunch { CUgraphExec graph; CUstream stream; };
struct StreamOnly { CUstream stream; };
struct EventOnly { CUevent event; };
struct EventRecord { CUevent event; CUstream stream; };
struct StreamWait { CUstream stream; CUevent event; unsigned flags; };
// clang-format on
}  // namespace params

}  // namespace uvmtrace::access
