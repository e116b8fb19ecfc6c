// SPDX-License-Identifier: Apache-2.0
// A stand-in for the Compute Sanitizer API's header, declared from its public documentation with only what the access
// pass uses, for building and testing the pass where the real header is absent. Not the real layout of the structs:
// code built with this never meets NVIDIA's library.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#define SANITIZERAPI

using Sanitizer_CallbackId = std::uint32_t;
using Sanitizer_StreamHandle = struct Sanitizer_Stream_st*;
using Sanitizer_LaunchHandle = struct Sanitizer_Launch_st*;
using Sanitizer_SubscriberHandle = struct Sanitizer_Subscriber_st*;

enum SanitizerResult {
  SANITIZER_SUCCESS = 0,
  SANITIZER_ERROR_INVALID_PARAMETER = 1,
  SANITIZER_ERROR_OUT_OF_MEMORY = 7,
  SANITIZER_ERROR_MAX_LIMIT_REACHED = 10,
  SANITIZER_ERROR_NOT_SUPPORTED = 14,
};

enum Sanitizer_InstructionId { SANITIZER_INSTRUCTION_INVALID = 0, SANITIZER_INSTRUCTION_FORCE_INT = 0x7fffffff };

enum Sanitizer_CallbackDomain {
  SANITIZER_CB_DOMAIN_DRIVER_API = 1,
  SANITIZER_CB_DOMAIN_RESOURCE = 3,
  SANITIZER_CB_DOMAIN_LAUNCH = 5,
  SANITIZER_CB_DOMAIN_GRAPHS = 10,
};

enum Sanitizer_ApiCallbackSite { SANITIZER_API_ENTER = 0, SANITIZER_API_EXIT = 1 };

enum : Sanitizer_CallbackId {
  SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED = 3,
  SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_STARTING = 4,
  SANITIZER_CBID_RESOURCE_MODULE_LOADED = 9,
  SANITIZER_CBID_RESOURCE_MODULE_UNLOAD_STARTING = 10,
  SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_ALLOC = 11,
  SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_FREE = 12,
};
enum : Sanitizer_CallbackId { SANITIZER_CBID_LAUNCH_BEGIN = 1, SANITIZER_CBID_LAUNCH_END = 3 };
enum : Sanitizer_CallbackId {
  SANITIZER_CBID_GRAPHS_NODE_LAUNCH_BEGIN = 4,
  SANITIZER_CBID_GRAPHS_NODE_LAUNCH_END = 5,
  SANITIZER_CBID_GRAPHS_LAUNCH_BEGIN = 6,
  SANITIZER_CBID_GRAPHS_LAUNCH_END = 7,
};
enum : std::uint32_t { SANITIZER_MEMORY_FLAG_MODULE = 1, SANITIZER_MEMORY_FLAG_PEER = 0x10 };

struct Sanitizer_CallbackData {
  Sanitizer_ApiCallbackSite callbackSite;
  const void* functionParams;
  const void* functionReturnValue;
};

struct Sanitizer_ResourceContextData {
  CUcontext context;
  CUdevice device;
};

struct Sanitizer_ResourceModuleData {
  CUcontext context;
  CUmodule module;
};

struct Sanitizer_ResourceMemoryData {
  std::uint64_t address;
  std::uint64_t size;
  std::uint32_t flags;
};

struct Sanitizer_LaunchData {
  CUcontext context;
  CUstream stream;
  Sanitizer_StreamHandle hStream;
  CUmodule module;
  CUfunction function;
  const char* functionName;
  std::uint32_t gridDim_x, gridDim_y, gridDim_z;
  std::uint32_t blockDim_x, blockDim_y, blockDim_z;
  std::uint64_t gridId;
  Sanitizer_LaunchHandle hLaunch;
  CUdevice device;
};

struct Sanitizer_GraphLaunchData {
  CUcontext context;
  Sanitizer_StreamHandle hStream;
  std::uint32_t isGraphUpload;
};

struct Sanitizer_GraphNodeLaunchData {
  CUgraphNode node;
  CUgraphNodeType nodeType;
  union {
    Sanitizer_LaunchData launchData;
    Sanitizer_ResourceMemoryData memAllocData;
    std::uint64_t memFreeAddress;
  };
  std::uint32_t isGraphUpload;
};

using Sanitizer_CallbackFunc = void (*)(void*, Sanitizer_CallbackDomain, Sanitizer_CallbackId, const void*);

extern "C" {
SanitizerResult sanitizerSubscribe(Sanitizer_SubscriberHandle*, Sanitizer_CallbackFunc, void*);
SanitizerResult sanitizerUnsubscribe(Sanitizer_SubscriberHandle);
SanitizerResult sanitizerEnableDomain(std::uint32_t, Sanitizer_SubscriberHandle, Sanitizer_CallbackDomain);
SanitizerResult sanitizerEnableCallback(std::uint32_t, Sanitizer_SubscriberHandle, Sanitizer_CallbackDomain,
                                        Sanitizer_CallbackId);
SanitizerResult sanitizerGetResultString(SanitizerResult, const char**);
SanitizerResult sanitizerAddPatches(const void*, CUcontext);
SanitizerResult sanitizerPatchInstructions(Sanitizer_InstructionId, CUmodule, const char*);
SanitizerResult sanitizerPatchModule(CUmodule);
SanitizerResult sanitizerUnpatchModule(CUmodule);
SanitizerResult sanitizerSetLaunchCallbackData(Sanitizer_LaunchHandle, CUfunction, Sanitizer_StreamHandle, const void*);
SanitizerResult sanitizerAlloc(CUcontext, void**, std::size_t);
SanitizerResult sanitizerFree(CUcontext, void*);
SanitizerResult sanitizerAllocHost(CUcontext, void**, std::size_t);
SanitizerResult sanitizerFreeHost(CUcontext, void*);
SanitizerResult sanitizerMemcpyHostToDeviceAsync(void*, void*, std::size_t, Sanitizer_StreamHandle);
SanitizerResult sanitizerMemcpyDeviceToHost(void*, void*, std::size_t, Sanitizer_StreamHandle);
SanitizerResult sanitizerMemset(void*, int, std::size_t, Sanitizer_StreamHandle);
SanitizerResult sanitizerStreamSynchronize(Sanitizer_StreamHandle);
}
