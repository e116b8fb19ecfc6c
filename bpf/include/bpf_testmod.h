// SPDX-License-Identifier: Apache-2.0
// The first interface of gpu_ext (January 2026): the operations that a policy fills in, and the driver's functions that
// it may call. Include uvm_types.h before it.
//
// An operation returns 0 (the driver acts as without a hook), 1 (it skips this action) or, before a prefetch is
// computed, 2 (it walks up the tree and asks at every node).
#ifndef _BPF_TESTMOD_H
#define _BPF_TESTMOD_H

#include <bpf/bpf_helpers.h>

struct uvm_gpu_ext {
  int (*uvm_bpf_test_trigger_kfunc)(const char *, int);
  int (*uvm_prefetch_before_compute)(uvm_page_index_t, uvm_perf_prefetch_bitmap_tree_t *, uvm_va_block_region_t *,
                                     uvm_va_block_region_t *);
  int (*uvm_prefetch_on_tree_iter)(uvm_perf_prefetch_bitmap_tree_t *, uvm_va_block_region_t *, uvm_va_block_region_t *,
                                   unsigned int, uvm_va_block_region_t *);
  int (*uvm_pmm_chunk_activate)(uvm_pmm_gpu_t *, uvm_gpu_chunk_t *, struct list_head *);
  int (*uvm_pmm_chunk_used)(uvm_pmm_gpu_t *, uvm_gpu_chunk_t *, struct list_head *);
  int (*uvm_pmm_eviction_prepare)(uvm_pmm_gpu_t *, struct list_head *, struct list_head *);
};

extern void bpf_uvm_set_va_block_region(uvm_va_block_region_t *region, uvm_page_index_t first,
                                        uvm_page_index_t outer) __weak __ksym;
extern int bpf_uvm_strstr(const char *str, unsigned int str__sz, const char *substr,
                          unsigned int substr__sz) __weak __ksym;
// The head of a list is evicted first.
extern void bpf_uvm_pmm_chunk_move_head(uvm_gpu_chunk_t *chunk, struct list_head *list) __weak __ksym;
extern void bpf_uvm_pmm_chunk_move_tail(uvm_gpu_chunk_t *chunk, struct list_head *list) __weak __ksym;

#endif
