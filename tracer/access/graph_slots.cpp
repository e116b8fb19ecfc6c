// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/graph_slots.h"

#include "tracer/access/sanitizer_api.h"

namespace uvmtrace::access {

namespace {
constexpr std::uint64_t kHead = 256;
}  // namespace

bool GraphSlots::begin(Sanitizer_StreamHandle stream, std::string& why) {
  const SanitizerApi& api = sanitizer();
  if (memory_ == nullptr) {
    void* memory = nullptr;
    if (!succeeded(api.sanitizerAlloc(context_, &memory, kHead + kGraphSlots * 8), "device memory for a graph", why)) {
      return false;
    }
    memory_ = static_cast<char*>(memory);
  }
  taken_.assign(kGraphSlots, false);
  Marks head{};
  head.graph = reinterpret_cast<std::uint64_t>(memory_) + kHead;
  return succeeded(api.sanitizerMemset(memory_ + kHead, 0, kGraphSlots * 8, stream), "clearing a graph's slots", why) &&
         succeeded(api.sanitizerMemcpyHostToDeviceAsync(memory_, &head, sizeof head, stream), "copy of a graph's head",
                   why);
}

bool GraphSlots::put(std::uint64_t grid, const MarkSet& set, Sanitizer_StreamHandle stream, std::string& why) {
  const std::uint64_t slot = grid % kGraphSlots;
  if (taken_[slot]) return false;
  taken_[slot] = true;
  auto address = reinterpret_cast<std::uint64_t>(set.device_address());
  return succeeded(sanitizer().sanitizerMemcpyHostToDeviceAsync(memory_ + kHead + slot * 8, &address, 8, stream),
                   "copy of a graph's slot", why);
}

}  // namespace uvmtrace::access
