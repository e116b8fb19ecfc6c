// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/bpf_skeleton.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/cli/bpf_build.h"
#include "sim/common/error.h"

namespace uvmsim::cli {
namespace {

using policy::Parameter;
using policy::ParameterType;
using policy::PolicyEntry;
using policy::Slot;

constexpr std::string_view kPrefetchHooks = R"(
// Called for each faulted page, in order. 0: the driver walks up its tree; 1: it uses the region that was set; 2: it
// asks on_tree_iter.
SEC("struct_ops/uvm_prefetch_before_compute")
int BPF_PROG(uvm_prefetch_before_compute, uvm_page_index_t page_index, uvm_perf_prefetch_bitmap_tree_t *bitmap_tree,
             uvm_va_block_region_t *max_prefetch_region, uvm_va_block_region_t *result_region) {
  return 0;
}

// Called for each node above the page, from the leaf up: `counter` pages of current_region are resident.
SEC("struct_ops/uvm_prefetch_on_tree_iter")
int BPF_PROG(uvm_prefetch_on_tree_iter, uvm_perf_prefetch_bitmap_tree_t *bitmap_tree,
             uvm_va_block_region_t *max_prefetch_region, uvm_va_block_region_t *current_region, unsigned int counter,
             uvm_va_block_region_t *prefetch_region) {
  return 0;
}

SEC(".struct_ops")
struct uvm_gpu_ext operations = {
    .uvm_prefetch_before_compute = (void *)uvm_prefetch_before_compute,
    .uvm_prefetch_on_tree_iter = (void *)uvm_prefetch_on_tree_iter,
};
)";

constexpr std::string_view kEvictHooks = R"(
// A chunk was populated; it is at the tail of the list. The driver evicts from the head.
SEC("struct_ops/uvm_pmm_chunk_activate")
int BPF_PROG(uvm_pmm_chunk_activate, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, struct list_head *list) {
  return 0;
}

// More pages of the chunk became resident. 0: the driver moves it to the tail; 1: it stays in place, or where this
// function moved it.
SEC("struct_ops/uvm_pmm_chunk_used")
int BPF_PROG(uvm_pmm_chunk_used, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, struct list_head *list) {
  return 0;
}

// The driver needs a victim: it takes the first unused chunk, or if there is none, the first used one.
SEC("struct_ops/uvm_pmm_eviction_prepare")
int BPF_PROG(uvm_pmm_eviction_prepare, uvm_pmm_gpu_t *pmm, struct list_head *va_block_used,
             struct list_head *va_block_unused) {
  return 0;
}

SEC(".struct_ops")
struct uvm_gpu_ext operations = {
    .uvm_pmm_chunk_activate = (void *)uvm_pmm_chunk_activate,
    .uvm_pmm_chunk_used = (void *)uvm_pmm_chunk_used,
    .uvm_pmm_eviction_prepare = (void *)uvm_pmm_eviction_prepare,
};
)";

// Declares the map of the policy's parameters. Only whole numbers fit an array of integers.
std::string configuration(const PolicyEntry& entry) {
  std::string meanings;
  unsigned count = 0;
  for (const Parameter& parameter : entry.parameters) {
    if (parameter.type != ParameterType::kInteger && parameter.type != ParameterType::kBoolean) continue;
    meanings +=
        fmt::format("//   [{}] {}, default {}: {}\n", count++, parameter.name, parameter.default_value, parameter.doc);
  }
  if (count == 0) return "";
  return fmt::format(
      "\n// Values that the loader writes; the others are 0:\n{}"
      "struct {{\n  __uint(type, BPF_MAP_TYPE_ARRAY);\n  __uint(max_entries, {});\n  __type(key, u32);\n"
      "  __type(value, u64);\n}} config SEC(\".maps\");\n",
      meanings, count);
}

std::string skeleton(const PolicyEntry& entry) {
  std::string text = fmt::format(
      "// SPDX-License-Identifier: Apache-2.0\n// A beginning: the driver's own decisions, with the hooks that '{}' "
      "({}) "
      "would decide in.\n",
      entry.info.name, entry.info.description);
  if (entry.info.information != policy::InformationClass::kD0) {
    text +=
        fmt::format("// The built-in is of class {} ({}); the hooks tell of faults and migrations alone.\n",
                    information_class_name(entry.info.information), information_class_meaning(entry.info.information));
  }
  text +=
      "#include <vmlinux.h>\n#include <bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n"
      "#include <bpf/bpf_core_read.h>\n#include \"uvm_types.h\"\n#include \"bpf_testmod.h\"\n\n"
      "char _license[] SEC(\"license\") = \"Apache-2.0\";\n";
  text += configuration(entry);
  return text + std::string(entry.slot == Slot::kPrefetch ? kPrefetchHooks : kEvictHooks);
}

}  // namespace

std::string as_bpf(const PolicyEntry& entry) {
  if (entry.slot != Slot::kPrefetch && entry.slot != Slot::kEvict) {
    throw_input_error("{}: gpu_ext has no hooks for this slot; allowed: policies of prefetch and evict", entry.label());
  }
  const std::string& name = entry.info.name;
  const std::filesystem::path own =
      std::filesystem::path(bpf_folder()) / "policies" / ((name == "tree_by_process" ? "tree" : name) + ".bpf.c");
  if (std::ifstream in(own, std::ios::binary); entry.built_in() && in) {
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  return skeleton(entry);
}

}  // namespace uvmsim::cli
