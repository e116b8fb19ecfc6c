// SPDX-License-Identifier: Apache-2.0
// Most recently used: the chunk that was used last goes to the head of the list, which is evicted first. This is
// optimal if more memory than fits is read repeatedly in the same order.
//
// The spare[0] youngest chunks are skipped: kernels use them now, and would fault on them at once.
#include <vmlinux.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "uvm_types.h"
#include "bpf_testmod.h"

char _license[] SEC("license") = "Apache-2.0";

#define MOST_SPARE 1024

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, u32);
} spare SEC(".maps");

SEC("struct_ops/uvm_pmm_chunk_activate")
int BPF_PROG(uvm_pmm_chunk_activate, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, struct list_head *list) {
  bpf_uvm_pmm_chunk_move_head(chunk, list);
  return 1;
}

SEC("struct_ops/uvm_pmm_chunk_used")
int BPF_PROG(uvm_pmm_chunk_used, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, struct list_head *list) {
  bpf_uvm_pmm_chunk_move_head(chunk, list);
  return 1;
}

SEC("struct_ops/uvm_pmm_eviction_prepare")
int BPF_PROG(uvm_pmm_eviction_prepare, uvm_pmm_gpu_t *pmm, struct list_head *va_block_used,
             struct list_head *va_block_unused) {
  // Chunks without pages are evicted first, in the driver's order.
  if (BPF_CORE_READ(va_block_unused, next) != va_block_unused) return 0;
  u32 zero = 0, *count = bpf_map_lookup_elem(&spare, &zero);
  struct list_head *at = BPF_CORE_READ(va_block_used, next), *chosen = NULL;
  for (u32 i = 0; count && i <= MOST_SPARE && at != va_block_used; ++i) {
    chosen = at;
    if (i >= *count) break;
    at = BPF_CORE_READ(at, next);
  }
  if (chosen) bpf_uvm_pmm_chunk_move_head(container_of(chosen, uvm_gpu_chunk_t, list), va_block_used);
  return 0;
}

SEC(".struct_ops")
struct uvm_gpu_ext mru = {
    .uvm_pmm_chunk_activate = (void *)uvm_pmm_chunk_activate,
    .uvm_pmm_chunk_used = (void *)uvm_pmm_chunk_used,
    .uvm_pmm_eviction_prepare = (void *)uvm_pmm_eviction_prepare,
};
