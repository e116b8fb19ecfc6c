// SPDX-License-Identifier: Apache-2.0
#include "sim/advise/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/common/plain_text.h"
#include "sim/report/numbers.h"

namespace uvmsim::advise {
namespace {

using trace::HintRule;
using When = HintRule::When;
using Do = HintRule::Do;

constexpr std::size_t kMostObjects = 6;  // objects that get advice of their own: those that kernels wait for longest
constexpr std::uint32_t kAhead[] = {0, 1, 2, 4, 8, 16};
constexpr std::size_t kNamedInText = 3;
// Larger memory is prefetched as a whole only if kernels touch at least half of it: no GPU has this much memory.
constexpr std::uint64_t kMostPrefetchedBytes = std::uint64_t{256} << 30;

HintRule rule_for(const Object& object, Do action, std::uint32_t first_percent = 0, std::uint32_t end_percent = 100) {
  HintRule rule{object.is_tensor ? When::kTensorAlloc : When::kObjectAlloc, action,
                (object.is_tensor ? "@" : "") + std::to_string(object.id)};
  rule.first_percent = first_percent;
  rule.end_percent = end_percent;
  return rule;
}

std::string name_of(const Object& object) {
  const std::string number = fmt::format("{} {}", object.is_tensor ? "tensor" : "allocation", object.id);
  const std::string name = object.name.empty() ? number : fmt::format("{} ({})", plain_text(object.name), number);
  return fmt::format("{}, {}", name, report::format_bytes(object.bytes));
}

std::string names_of(const std::vector<const Object*>& objects) {
  std::string text;
  for (std::size_t i = 0; i < objects.size() && i < kNamedInText; ++i) {
    text += (i == 0 ? "" : "; ") + name_of(*objects[i]);
  }
  if (objects.size() > kNamedInText) text += fmt::format("; and {} more", objects.size() - kNamedInText);
  return text;
}

// A call of the runtime, in CUDA and in PyTorch.
struct Call {
  const char* cuda;
  const char* pytorch;
};
Call call_of(Do action) {
  switch (action) {
    case Do::kReadMostly:
      return {"cudaMemAdvise(p, n, cudaMemAdviseSetReadMostly, 0);",
              "cudart.cudaMemAdvise(t.data_ptr(), t.nbytes, cudart.cudaMemoryAdvise.cudaMemAdviseSetReadMostly, gpu)"};
    case Do::kPreferGpu:
      return {"cudaMemAdvise(p, n, cudaMemAdviseSetPreferredLocation, 0);",
              "cudart.cudaMemAdvise(t.data_ptr(), t.nbytes, "
              "cudart.cudaMemoryAdvise.cudaMemAdviseSetPreferredLocation, gpu)"};
    case Do::kPreferHost:
      return {"cudaMemAdvise(p, n, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId);",
              "cudart.cudaMemAdvise(t.data_ptr(), t.nbytes, "
              "cudart.cudaMemoryAdvise.cudaMemAdviseSetPreferredLocation, host)"};
    case Do::kAccessedBy:
      return {"cudaMemAdvise(p, n, cudaMemAdviseSetAccessedBy, 0);",
              "cudart.cudaMemAdvise(t.data_ptr(), t.nbytes, cudart.cudaMemoryAdvise.cudaMemAdviseSetAccessedBy, gpu)"};
    default:
      return {"cudaMemPrefetchAsync(p, n, 0, stream);",
              "cudart.cudaMemPrefetchAsync(t.data_ptr(), t.nbytes, gpu, 0, stream)"};
  }
}

Change advice(const std::string& kind, const std::vector<const Object*>& objects, const std::vector<Do>& actions,
              std::uint32_t end_percent = 100) {
  Change change;
  const std::string part = end_percent == 100 ? "" : fmt::format("the first {} % of ", end_percent);
  const std::string names = names_of(objects);
  change.what = fmt::format("{}: {}{}", kind, part, names);
  for (const Object* object : objects) {
    for (const Do action : actions) change.rules.push_back(rule_for(*object, action, 0, end_percent));
  }
  const std::string which = fmt::format("{}{}", part, names);
  for (const Do action : actions) {
    const Call call = call_of(action);
    change.cuda.push_back(fmt::format("{}  // after it is allocated, p and n: {}", call.cuda, which));
    change.pytorch.push_back(fmt::format("{}  # t: {}", call.pytorch, which));
  }
  return change;
}

Change prefetch_ahead(std::uint32_t ahead) {
  Change change;
  HintRule rule{When::kKernel, Do::kPrefetch, "*"};
  rule.ahead = ahead;
  change.rules.push_back(rule);
  const std::string what = ahead == 0 ? "what the kernel itself touches, in its stream"
                                      : fmt::format("what the {} after it touches, in a stream of its own",
                                                    ahead == 1 ? "kernel" : fmt::format("kernel {} places", ahead));
  change.what = fmt::format("prefetch before every kernel: {}", what);
  const char* stream = ahead == 0 ? "stream" : "prefetch_stream";
  change.cuda.push_back(
      fmt::format("cudaMemPrefetchAsync(p, n, 0, {});  // before every launch; p and n: {}", stream, what));
  change.pytorch.push_back(fmt::format(
      "cudart.cudaMemPrefetchAsync(t.data_ptr(), t.nbytes, gpu, 0, {}.cuda_stream)  # before every operator; t: {}",
      stream, what));
  return change;
}

void add_allocator(std::vector<Change>& changes, const Memory& memory, const std::string& layout) {
  constexpr const char* kExpandable = "expandable_segments";
  if (!memory.has_tensors || layout == kExpandable) return;
  Change change;
  change.what = "the allocator's expandable segments";
  change.layout = kExpandable;
  change.cuda = {"// of PyTorch's allocator"};
  change.pytorch = {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True  # in the environment"};
  changes.push_back(std::move(change));
}

}  // namespace

std::vector<Change> changes_for(const Memory& memory, std::uint64_t capacity_bytes, const std::string& layout) {
  std::vector<Change> changes;
  std::vector<const Object*> waited_for, only_read, seldom_used, sparse;
  for (const Object& object : memory.objects) {
    if (object.stall_ns > 0 && waited_for.size() < kMostObjects) waited_for.push_back(&object);
    if (object.stall_ns > 0 && !object.gpu_writes) only_read.push_back(&object);
  }
  std::uint64_t most_kernels = 0;
  for (const Object& object : memory.objects) most_kernels = std::max(most_kernels, object.kernels);
  for (const Object& object : memory.objects) {
    if (object.stall_ns <= 0) continue;
    // True if its kernels touch, on average, less than half of the object.
    if (2 * object.touched_bytes < object.bytes * object.kernels) sparse.push_back(&object);
    if (4 * object.kernels <= most_kernels) seldom_used.push_back(&object);
  }

  for (const std::uint32_t ahead : kAhead) changes.push_back(prefetch_ahead(ahead));
  if (only_read.size() > 1) changes.push_back(advice("read-mostly", only_read, {Do::kReadMostly}));
  if (sparse.size() > 1) {
    changes.push_back(advice("on the host, read there by the GPU", sparse, {Do::kPreferHost, Do::kAccessedBy}));
  }
  if (seldom_used.size() > 1 && seldom_used.size() < memory.objects.size()) {
    changes.push_back(advice("on the host, read there by the GPU", seldom_used, {Do::kPreferHost, Do::kAccessedBy}));
  }
  for (const Object* object : waited_for) {
    changes.push_back(advice("on the host, read there by the GPU", {object}, {Do::kPreferHost, Do::kAccessedBy}));
    if (object->bytes * 4 > capacity_bytes) {
      for (const std::uint32_t percent : {25U, 50U, 75U}) {
        changes.push_back(
            advice("on the host, read there by the GPU", {object}, {Do::kPreferHost, Do::kAccessedBy}, percent));
      }
    }
    changes.push_back(advice("read-mostly", {object}, {Do::kReadMostly}));
    if (object->bytes < capacity_bytes) changes.push_back(advice("preferred on the GPU", {object}, {Do::kPreferGpu}));
    if (object->host_touches) {
      changes.push_back(advice("mapped for the GPU wherever it lies", {object}, {Do::kAccessedBy}));
      changes.push_back(advice("kept on the GPU, read there by the host", {object}, {Do::kPreferGpu, Do::kAccessedBy}));
    }
    if (object->bytes <= std::max(kMostPrefetchedBytes, 2 * object->touched_bytes)) {
      changes.push_back(advice("prefetch once, after it is allocated", {object}, {Do::kPrefetch}));
    }
  }
  if (memory.frees_tensors) {
    Change change;
    change.what = "discard: the contents of tensors when they are freed";
    change.rules.push_back({When::kTensorFree, Do::kDontNeed, "*"});
    change.cuda = {"cudaMemDiscardBatchAsync(&p, &n, 1, 0, stream);  // CUDA 13; where a tensor's memory is given up"};
    change.pytorch = {
        "cudart.cudaMemDiscardBatchAsync([ptr], [nbytes], 1, 0, stream.cuda_stream)  # where a tensor dies: in the "
        "allocator's free hook"};
    changes.push_back(std::move(change));
  }
  add_allocator(changes, memory, layout);
  return changes;
}

bool go_together(const Change& a, const Change& b) {
  if (!a.layout.empty() && !b.layout.empty()) return false;
  return std::ranges::none_of(a.rules, [&](const HintRule& one) {
    return std::ranges::any_of(b.rules, [&](const HintRule& other) {
      return one.when == other.when && one.name == other.name && one.when != When::kTensorFree;
    });
  });
}

}  // namespace uvmsim::advise
