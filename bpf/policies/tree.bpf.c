// SPDX-License-Identifier: Apache-2.0
// The density tree with a threshold of its own: it takes the largest node around a faulted page of which more than the
// threshold (in percent) is resident. threshold[0] is 51 in the driver; process_threshold gives thresholds by PID.
//
// The driver asks about one page after the other and does not tell the process; the kprobe does, once per block.
#include <vmlinux.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "uvm_types.h"
#include "bpf_testmod.h"

char _license[] SEC("license") = "Apache-2.0";

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, u32);
} threshold SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __type(key, u32);
  __type(value, u32);
} process_threshold SEC(".maps");

// The threshold for the current block, + 1; 0: not known.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, u32);
} at_hand SEC(".maps");

static __always_inline u32 threshold_of_all(void) {
  u32 zero = 0;
  u32 *percent = bpf_map_lookup_elem(&threshold, &zero);
  return percent ? *percent : 51;
}

SEC("kprobe/uvm_perf_prefetch_get_hint_va_block")
int BPF_KPROBE(note_process, uvm_va_block_t *va_block) {
  u32 zero = 0, pid = BPF_CORE_READ(va_block, managed_range, va_range.va_space, va_space_mm.mm, owner, tgid);
  u32 *own = bpf_map_lookup_elem(&process_threshold, &pid);
  u32 *now = bpf_map_lookup_elem(&at_hand, &zero);
  if (now) *now = (own ? *own : threshold_of_all()) + 1;
  return 0;
}

SEC("struct_ops/uvm_prefetch_before_compute")
int BPF_PROG(uvm_prefetch_before_compute, uvm_page_index_t page_index, uvm_perf_prefetch_bitmap_tree_t *bitmap_tree,
             uvm_va_block_region_t *max_prefetch_region, uvm_va_block_region_t *result_region) {
  bpf_uvm_set_va_block_region(result_region, 0, 0);
  return 2;  // walk up the tree
}

SEC("struct_ops/uvm_prefetch_on_tree_iter")
int BPF_PROG(uvm_prefetch_on_tree_iter, uvm_perf_prefetch_bitmap_tree_t *bitmap_tree,
             uvm_va_block_region_t *max_prefetch_region, uvm_va_block_region_t *current_region, unsigned int counter,
             uvm_va_block_region_t *prefetch_region) {
  u32 zero = 0;
  u32 *now = bpf_map_lookup_elem(&at_hand, &zero);
  u32 percent = now && *now ? *now - 1 : threshold_of_all();
  uvm_page_index_t first = BPF_CORE_READ(current_region, first);
  uvm_page_index_t outer = BPF_CORE_READ(current_region, outer);
  if (counter * 100 > (u32)(outer - first) * percent) bpf_uvm_set_va_block_region(prefetch_region, first, outer);
  return 0;
}

SEC(".struct_ops")
struct uvm_gpu_ext tree = {
    .uvm_prefetch_before_compute = (void *)uvm_prefetch_before_compute,
    .uvm_prefetch_on_tree_iter = (void *)uvm_prefetch_on_tree_iter,
};
