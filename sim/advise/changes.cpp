// SPDX-License-Identifier: Apache-2.0
#include "sim/advise/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/advise/least_used.h"
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
constexpr const char* kOnHost = "on the host, read there by the GPU";
// How much is left on the host, in percent of what does not fit: kernels do not need all memory at once, and 2 MiB
// blocks are seldom filled.
constexpr std::uint32_t kExcessPercents[] = {50, 75, 100, 110, 130};
// Larger memory is prefetched as a whole only if kernels touch at least half of it: no GPU has this much memory.
constexpr std::uint64_t kMostPrefetchedBytes = std::uint64_t{256} << 30;

HintRule rule_for(const Part& part, Do action) {
  const Object& object = *part.object;
  HintRule rule{object.is_tensor ? When::kTensorAlloc : When::kObjectAlloc, action,
                (object.is_tensor ? "@" : "") + std::to_string(object.id)};
  rule.first_percent = part.first_percent;
  rule.end_percent = part.end_percent;
  return rule;
}

std::string name_of(const Object& object) {
  const std::string number = fmt::format("{} {}", object.is_tensor ? "tensor" : "allocation", object.id);
  const std::string name = object.name.empty() ? number : fmt::format("{} ({})", plain_text(object.name), number);
  return fmt::format("{}, {}", name, report::format_bytes(object.bytes));
}

std::string name_of(const Part& part) {
  const std::string name = name_of(*part.object);
  if (part.is_whole()) return name;
  if (part.first_percent == 0) return fmt::format("the first {} % of {}", part.end_percent, name);
  return fmt::format("{} to {} % of {}", part.first_percent, part.end_percent, name);
}

// Names the largest.
std::string names_of(std::vector<Part> parts) {
  std::ranges::stable_sort(parts, std::ranges::greater{}, &Part::bytes);
  std::string text;
  for (std::size_t i = 0; i < parts.size() && i < kNamedInText; ++i) text += (i == 0 ? "" : "; ") + name_of(parts[i]);
  if (parts.size() > kNamedInText) text += fmt::format("; and {} more", parts.size() - kNamedInText);
  return text;
}

std::vector<Part> whole(const std::vector<const Object*>& objects) {
  std::vector<Part> parts;
  for (const Object* object : objects) parts.push_back({object});
  return parts;
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

std::vector<Do> read_there() { return {Do::kPreferHost, Do::kAccessedBy}; }

Change advice(const std::string& kind, const std::vector<Part>& parts, const std::vector<Do>& actions) {
  Change change;
  const std::string names = names_of(parts);
  change.what = fmt::format("{}: {}", kind, names);
  for (const Part& part : parts) {
    for (const Do action : actions) change.rules.push_back(rule_for(part, action));
  }
  for (const Do action : actions) {
    const Call call = call_of(action);
    change.cuda.push_back(fmt::format("{}  // after it is allocated, p and n: {}", call.cuda, names));
    change.pytorch.push_back(fmt::format("{}  # t: {}", call.pytorch, names));
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

// Leaves on the host what is used least, so that the rest fits. `footprint_bytes` includes memory that lives within an
// iteration, and nobody can advise about that.
void add_least_used(std::vector<Change>& changes, const Memory& memory, std::uint64_t footprint_bytes,
                    std::uint64_t capacity_bytes) {
  if (footprint_bytes <= capacity_bytes) return;
  for (const Pieces pieces : {Pieces::kWholeObjects, Pieces::kParts}) {
    for (const std::uint32_t percent : kExcessPercents) {
      const std::vector<Part> parts = least_used(memory, (footprint_bytes - capacity_bytes) / 100 * percent, pieces);
      if (parts.empty()) continue;
      Change change = advice(kOnHost, parts, read_there());
      std::uint64_t bytes = 0;
      for (const Part& part : parts) bytes += part.bytes();
      change.what = fmt::format("{}: {} that kernels touch least per byte: {}", kOnHost, report::format_bytes(bytes),
                                names_of(parts));
      changes.push_back(std::move(change));
    }
  }
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

// Of changes that do the same keeps the first.
void drop_repeated(std::vector<Change>& changes) {
  std::set<std::string> seen;
  std::erase_if(changes, [&](const Change& change) { return !seen.insert(effect_of(change)).second; });
}

}  // namespace

std::vector<Change> changes_for(const Memory& memory, std::uint64_t footprint_bytes, std::uint64_t capacity_bytes,
                                const std::string& layout) {
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
  add_least_used(changes, memory, footprint_bytes, capacity_bytes);
  if (only_read.size() > 1) changes.push_back(advice("read-mostly", whole(only_read), {Do::kReadMostly}));
  if (sparse.size() > 1) changes.push_back(advice(kOnHost, whole(sparse), read_there()));
  if (seldom_used.size() > 1 && seldom_used.size() < memory.objects.size()) {
    changes.push_back(advice(kOnHost, whole(seldom_used), read_there()));
  }
  for (const Object* object : waited_for) {
    const std::vector<Part> all{{object}};
    changes.push_back(advice(kOnHost, all, read_there()));
    if (object->bytes * 4 > capacity_bytes) {
      for (const std::uint32_t percent : {25U, 50U, 75U}) {
        changes.push_back(advice(kOnHost, {{object, 0, percent}}, read_there()));
      }
    }
    changes.push_back(advice("read-mostly", all, {Do::kReadMostly}));
    if (object->bytes < capacity_bytes) changes.push_back(advice("preferred on the GPU", all, {Do::kPreferGpu}));
    if (object->host_touches) {
      changes.push_back(advice("mapped for the GPU wherever it lies", all, {Do::kAccessedBy}));
      changes.push_back(advice("kept on the GPU, read there by the host", all, {Do::kPreferGpu, Do::kAccessedBy}));
    }
    if (object->bytes <= std::max(kMostPrefetchedBytes, 2 * object->touched_bytes)) {
      changes.push_back(advice("prefetch once, after it is allocated", all, {Do::kPrefetch}));
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
  drop_repeated(changes);
  return changes;
}

std::string effect_of(const Change& change) {
  std::string effect = change.layout;
  for (const HintRule& rule : change.rules) effect += "\n" + trace::hint_text(rule);
  return effect;
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
