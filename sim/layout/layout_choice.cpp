// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/layout_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/common/error.h"
#include "sim/config/quantity.h"
#include "sim/formats/did_you_mean.h"

namespace uvmsim::layout {

namespace {

constexpr std::int64_t kSignedMiB = std::int64_t{1} << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;
constexpr std::int64_t kMostArenaBytes = std::int64_t{1} << 42;
constexpr std::int64_t kChunkBytes = 2 * kSignedMiB;
const char* const kPytorch = "c10/cuda/CUDACachingAllocator.cpp, pytorch 001074d2 (2025)";

policy::Parameter roundup() {
  return policy::choice("roundup_power2_divisions", "0", {"0", "2", "4", "8", "16", "32", "64"},
                        "requests are rounded up to one of so many steps between two powers of two; 0: to 512 bytes");
}
policy::Parameter limit() {
  return policy::integer("memory_limit_bytes", 0, {0, kMostBytes},
                         "most memory of all segments, PyTorch's memory fraction; 0: none, as under unified memory");
}
policy::Parameter record_stream() {
  return policy::choice("record_stream", "inferred", {"inferred", "touched", "never"},
                        "which freed blocks wait for other streams: those that nothing else orders, all that were "
                        "touched by another stream, none");
}
policy::Parameter empty_cache() {
  return policy::choice("empty_cache", "recorded", {"recorded", "never"},
                        "when unused segments are given back: where the recording gave one back, or never");
}

std::vector<LayoutInfo> all_layouts() {
  return {
      {"expandable_segments",
       "PyTorch's expandable segments: tensors in managed reservations that get memory in handles",
       "handles that have memory, whether tensors lie in them or not, and the program's other objects",
       kPytorch,
       {policy::integer("reservation_bytes", 0, {0, kMostBytes},
                        "addresses of one segment (PyTorch: 1.125 times the GPU's memory); 0: as many as it needs"),
        roundup(), limit(), record_stream(), empty_cache()}},
      {"none",
       "every object and every tensor is one cudaMallocManaged of its own, and one cudaFree",
       "tensors and objects, as many bytes as the program asked for",
       "PyTorch with PYTORCH_NO_CUDA_MEMORY_CACHING=1",
       {policy::choice("small_alignment_bytes", "512", {"512", "65536", "2097152"},
                       "allocations below 2 MiB start at multiples of this in the ranges that they share (measured: "
                       "512)")}},
      {kPreallocating,
       "TensorFlow's and JAX's pool: tensors in an arena of one cudaMallocManaged, taken ahead, best fit",
       "the arena, whether tensors lie in it or not (with allow_growth its regions), and the program's other objects",
       "xla/tsl/framework/bfc_allocator.cc, openxla 00df9eef (2026); docs.jax.dev, GPU memory allocation; "
       "tensorflow/core/protobuf/config.proto, GPUOptions",
       {policy::integer("arena_bytes", 0, {0, kMostArenaBytes},
                        "size of the arena, rounded down to 2 MiB; 0: memory_fraction of the GPU's memory"),
        policy::real("memory_fraction", 0.75, {0.001, 64},
                     "share of the GPU's memory that the arena takes where arena_bytes does not say (JAX: 0.75, "
                     "XLA_PYTHON_CLIENT_MEM_FRACTION; TensorFlow: nearly 1, per_process_gpu_memory_fraction); above 1 "
                     "both use unified memory"),
        policy::boolean("allow_growth", false,
                        "the arena comes in regions of 2 MiB, 4 MiB, 8 MiB ... as tensors need them"),
        record_stream()}},
      {"pytorch_caching",
       "PyTorch's caching allocator: tensors in segments of one cudaMallocManaged each",
       "segments, whether tensors lie in them or not, and the program's other objects",
       kPytorch,
       {policy::integer("max_split_size_bytes", 0, {0, kMostBytes},
                        "blocks from this size on are not split and only serve requests of that size; more than 20 "
                        "MiB, or 0: none"),
        policy::integer("max_non_split_rounding_bytes", 20 * kSignedMiB, {20 * kSignedMiB, kMostBytes},
                        "such a block serves a request that is smaller by less than this"),
        roundup(),
        policy::real("garbage_collection_threshold", 0, {0, 1},
                     "share of memory_limit_bytes above which large segments that were long unused are given back; 0: "
                     "never"),
        limit(), record_stream(), empty_cache()}},
      {"recorded",
       "objects and tensors lie where they were recorded",
       "objects as recorded: segments of an allocator count whole",
       "the trace",
       {}},
  };
}

std::string allowed_names() { return fmt::format("{}", fmt::join(layout_names(), ", ")); }

// Converts byte values with a unit to digits; leaves other values for the table to check.
policy::GivenParameters without_units(const LayoutChoice& choice) {
  policy::GivenParameters given = choice.parameters;
  for (auto& [key, value] : given) {
    const bool digits = value.find_first_not_of("0123456789") == std::string::npos;
    if (digits || !key.ends_with("_bytes")) continue;
    const auto parsed = config::parse_quantity(value, config::Unit::kBytes);
    if (parsed.value) value = fmt::format("{}", *parsed.value);
  }
  return given;
}

bool has(const LayoutChoice& choice, const std::string& name) {
  return std::any_of(choice.parameters.begin(), choice.parameters.end(),
                     [&](const auto& given) { return given.first == name; });
}

}  // namespace

const std::vector<LayoutInfo>& layouts() {
  static const std::vector<LayoutInfo> all = all_layouts();
  return all;
}

const std::vector<std::string>& layout_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const LayoutInfo& info : layouts()) out.push_back(info.name);
    return out;
  }();
  return names;
}

const LayoutInfo& find_layout(const std::string& name) {
  for (const LayoutInfo& info : layouts()) {
    if (info.name == name) return info;
  }
  throw_input_error("unknown layout '{}'{}; allowed: {}", name, did_you_mean(name, layout_names()), allowed_names());
}

LayoutChoice parse_layout(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  LayoutChoice choice(text.substr(0, colon));
  find_layout(choice.name);
  for (std::size_t begin = colon + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw_input_error("'{}' is no layout; allowed: NAME or NAME:key=value,key=value", text);
    }
    choice.parameters.emplace_back(item.substr(0, equals), item.substr(equals + 1));
    begin = end + 1;
  }
  const bool two_sizes = has(choice, "arena_bytes") && has(choice, "memory_fraction");
  if (choice.name == kPreallocating && two_sizes) {
    throw_input_error("layout {}: arena_bytes and memory_fraction both set the size of the arena; give one of them",
                      choice.name);
  }
  resolve(choice);
  return choice;
}

LayoutChoice on_gpu(const LayoutChoice& choice, std::uint64_t memory_bytes) {
  if (choice.name != kPreallocating) return choice;
  const policy::Parameters parameters = resolve(choice);
  if (parameters.integer("arena_bytes") != 0) return choice;
  const double share = parameters.real("memory_fraction") * static_cast<double>(memory_bytes);
  const std::int64_t arena = static_cast<std::int64_t>(share) / kChunkBytes * kChunkBytes;
  LayoutChoice sized = choice;
  std::erase_if(sized.parameters, [](const auto& given) { return given.first == "arena_bytes"; });
  sized.parameters.emplace_back("arena_bytes", fmt::format("{}", arena));
  if (arena == 0 || arena > kMostArenaBytes) {
    throw_input_error("layout {}: {} of a GPU's {} bytes is an arena of {}; allowed: {} to {}", choice.name,
                      parameters.real("memory_fraction"), memory_bytes, arena, kChunkBytes, kMostArenaBytes);
  }
  return sized;
}

policy::Parameters resolve(const LayoutChoice& choice) {
  const LayoutInfo& info = find_layout(choice.name);
  policy::Parameters parameters("layout " + info.name, info.parameters, without_units(choice));
  if (choice.name == "pytorch_caching") {
    const std::int64_t split = parameters.integer("max_split_size_bytes");
    // PyTorch also requires that the segments which small requests share can be split.
    if (split != 0 && split <= 20 * kSignedMiB) {
      throw_input_error("layout {}: parameter 'max_split_size_bytes': {} is too small; allowed: 0, {} to {}", info.name,
                        split, 20 * kSignedMiB + 1, kMostBytes);
    }
  }
  if (choice.name == kPreallocating) {
    const std::int64_t arena = parameters.integer("arena_bytes");
    if (arena != 0 && arena < kChunkBytes) {
      throw_input_error("layout {}: parameter 'arena_bytes': {} is too small; allowed: 0, {} to {}", info.name, arena,
                        kChunkBytes, kMostArenaBytes);
    }
  }
  return parameters;
}

std::string given_text(const LayoutChoice& choice) { return policy::with_parameters(choice.name, choice.parameters); }

std::string resolved_text(const LayoutChoice& choice) {
  return policy::with_parameters(choice.name, resolve(choice).resolved());
}

}  // namespace uvmsim::layout
