// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/call_list.h"

#include <array>

namespace uvmtrace::access {

namespace {

// Numbers of CUPTI_DRIVER_TRACE_CBID_<call>, which are also those of SANITIZER_CBID_DRIVER_API_<call>.
// clang-format off
constexpr CallEntry kCalls[] = {
    {243, Call::kAlloc}, {244, Call::kAllocPitch}, {371, Call::kAllocManaged}, {598, Call::kAllocAsync},
    {599, Call::kAllocAsync}, {611, Call::kAllocFromPool}, {612, Call::kAllocFromPool}, {39, Call::kAllocHost},
    {271, Call::kAllocHost}, {37, Call::kAllocHost}, {294, Call::kAllocHost}, {301, Call::kHostRegister},
    {379, Call::kHostRegister}, {551, Call::kMap}, {245, Call::kFree}, {600, Call::kFreeAsync},
    {601, Call::kFreeAsync}, {38, Call::kFreeHost}, {302, Call::kFreeHost}, {552, Call::kUnmap},
    {276, Call::kCopyHtoD}, {397, Call::kCopyHtoD}, {277, Call::kCopyHtoD, true}, {421, Call::kCopyHtoD, true},
    {278, Call::kCopyDtoH}, {398, Call::kCopyDtoH}, {279, Call::kCopyDtoH, true}, {422, Call::kCopyDtoH, true},
    {280, Call::kCopyDtoD}, {399, Call::kCopyDtoD}, {281, Call::kCopyDtoD, true}, {423, Call::kCopyDtoD, true},
    {305, Call::kCopyAny}, {408, Call::kCopyAny}, {306, Call::kCopyAny, true}, {418, Call::kCopyAny, true},
    {318, Call::kCopyPeer}, {409, Call::kCopyPeer}, {319, Call::kCopyPeer, true}, {426, Call::kCopyPeer, true},
    {287, Call::kCopy2D}, {288, Call::kCopy2D}, {405, Call::kCopy2D}, {406, Call::kCopy2D},
    {289, Call::kCopy2D, true}, {424, Call::kCopy2D, true}, {290, Call::kCopy3D}, {407, Call::kCopy3D},
    {291, Call::kCopy3D, true}, {425, Call::kCopy3D, true}, {776, Call::kCopyBatch, true},
    {777, Call::kCopyBatch, true}, {796, Call::kCopyBatch2, true}, {797, Call::kCopyBatch2, true},
    {249, Call::kSet8}, {411, Call::kSet8}, {216, Call::kSet8, true}, {428, Call::kSet8, true}, {250, Call::kSet16},
    {412, Call::kSet16}, {218, Call::kSet16, true}, {429, Call::kSet16, true}, {251, Call::kSet32},
    {413, Call::kSet32}, {220, Call::kSet32, true}, {430, Call::kSet32, true}, {252, Call::kSet2D8},
    {414, Call::kSet2D8}, {222, Call::kSet2D8, true}, {431, Call::kSet2D8, true}, {253, Call::kSet2D16},
    {415, Call::kSet2D16}, {224, Call::kSet2D16, true}, {432, Call::kSet2D16, true}, {254, Call::kSet2D32},
    {416, Call::kSet2D32}, {226, Call::kSet2D32, true}, {433, Call::kSet2D32, true}, {467, Call::kPrefetch},
    {468, Call::kPrefetch}, {716, Call::kPrefetch2}, {717, Call::kPrefetch2}, {784, Call::kPrefetchBatch},
    {785, Call::kPrefetchBatch}, {789, Call::kDiscardBatch}, {790, Call::kDiscardBatch},
    {791, Call::kDiscardPrefetchBatch}, {792, Call::kDiscardPrefetchBatch}, {457, Call::kAdvise},
    {715, Call::kAdvise2}, {307, Call::kLaunch}, {442, Call::kLaunch}, {477, Call::kLaunch}, {478, Call::kLaunch},
    {652, Call::kLaunchEx}, {653, Call::kLaunchEx}, {480, Call::kLaunchMultiDevice},
    {514, Call::kGraphLaunch}, {515, Call::kGraphLaunch},
    {17, Call::kContextSync}, {800, Call::kContextSync}, {126, Call::kStreamSync}, {440, Call::kStreamSync},
    {121, Call::kEventSync}, {119, Call::kEventRecord}, {441, Call::kEventRecord}, {587, Call::kEventRecord},
    {588, Call::kEventRecord}, {295, Call::kStreamWait}, {436, Call::kStreamWait}, {308, Call::kProfilerStart},
    {309, Call::kProfilerStop}, {495, Call::kBeginCapture}, {496, Call::kBeginCapture}, {539, Call::kBeginCapture},
    {540, Call::kBeginCapture}, {720, Call::kBeginCapture}, {721, Call::kBeginCapture}, {497, Call::kEndCapture},
    {498, Call::kEndCapture},
    {241, Call::kModuleGlobal}, {684, Call::kModuleGlobal}, {685, Call::kModuleGlobal},
};
// clang-format on

constexpr std::uint32_t kMostNumber = 1024;

}  // namespace

std::span<const CallEntry> recorded_calls() { return kCalls; }

const CallEntry* find_call(std::uint32_t number) {
  static const auto by_number = [] {
    std::array<const CallEntry*, kMostNumber> table{};
    for (const CallEntry& entry : kCalls) table[entry.number] = &entry;
    return table;
  }();
  return number < kMostNumber ? by_number[number] : nullptr;
}

}  // namespace uvmtrace::access
