// SPDX-License-Identifier: Apache-2.0
// The driver calls that are recorded, by their numbers, which CUPTI and the Sanitizer API share.
#pragma once

#include <cstdint>
#include <span>

namespace uvmtrace::access {

// Calls whose arguments are read in the same way have one name. Those that allocate come first.
enum class Call : std::uint8_t {
  kAlloc,
  kAllocPitch,
  kAllocManaged,
  kAllocAsync,
  kAllocFromPool,
  kAllocHost,
  kHostRegister,
  kMap,
  kFree,
  kFreeAsync,
  kFreeHost,
  kUnmap,
  kCopyHtoD,
  kCopyDtoH,
  kCopyDtoD,
  kCopyAny,
  kCopyPeer,
  kCopy2D,
  kCopy3D,
  kCopyBatch,
  kCopyBatch2,
  kSet8,
  kSet16,
  kSet32,
  kSet2D8,
  kSet2D16,
  kSet2D32,
  kPrefetch,
  kPrefetch2,
  kPrefetchBatch,
  kDiscardBatch,
  kDiscardPrefetchBatch,
  kAdvise,
  kAdvise2,
  kLaunch,
  kLaunchEx,
  kLaunchMultiDevice,  // the callback of each of its launches has all that is needed
  kGraphLaunch,
  kContextSync,
  kStreamSync,
  kEventSync,
  kEventRecord,
  kStreamWait,
  kProfilerStart,
  kProfilerStop,
  kBeginCapture,
  kEndCapture,
  kModuleGlobal,
};

struct CallEntry {
  std::uint16_t number;
  Call call;
  bool async = false;  // of copies and sets: the arguments end with a stream
};

inline bool allocates(Call call) { return call <= Call::kMap; }
inline bool launches(Call call) { return call >= Call::kLaunch && call <= Call::kGraphLaunch; }

// Returns all recorded calls, the plain ones and their twins for the per-thread default stream (_ptds, _ptsz).
std::span<const CallEntry> recorded_calls();
// Returns null for a call that is not recorded.
const CallEntry* find_call(std::uint32_t number);

}  // namespace uvmtrace::access
