// SPDX-License-Identifier: Apache-2.0
// The driver's types as gpu_ext policies see them: names, order and widths of the fields that they use. In the kernel
// the loader adjusts each access to the actual position of the field (CO-RE); here the layout below is the actual one.
#ifndef __UVM_TYPES_H__
#define __UVM_TYPES_H__

#include <vmlinux.h>

typedef u8 NvU8;
typedef u16 NvU16;
typedef u32 NvU32;
typedef u64 NvU64;
typedef NvU16 uvm_page_index_t;  // a 4 KB page of a 2 MB block

#if defined(__bpf__)
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

// Pages [first, outer) of a block.
typedef struct {
  uvm_page_index_t first, outer;
} uvm_va_block_region_t;

typedef struct {
  unsigned long bitmap[8];
} uvm_page_mask_t;

// The prefetcher's input: a bit per page that is present or faulted; leaf `offset` is the block's first page.
typedef struct uvm_perf_prefetch_bitmap_tree {
  uvm_page_mask_t pages;
  uvm_page_index_t offset;
  NvU16 leaf_count;
  NvU8 level_count;
} uvm_perf_prefetch_bitmap_tree_t;

typedef struct {
  signed char level_idx;
  uvm_page_index_t node_idx;
} uvm_perf_prefetch_bitmap_tree_iter_t;

typedef struct uvm_pmm_gpu_struct uvm_pmm_gpu_t;

// Leads from a block to the process that it belongs to.
typedef struct uvm_va_space_mm_struct {
  struct mm_struct *mm;
} uvm_va_space_mm_t;

typedef struct uvm_va_space_struct {
  uvm_va_space_mm_t va_space_mm;
} uvm_va_space_t;

typedef struct uvm_va_range_struct {
  uvm_va_space_t *va_space;
} uvm_va_range_t;

typedef struct uvm_va_range_managed_struct {
  uvm_va_range_t va_range;
} uvm_va_range_managed_t;

typedef struct uvm_va_block_struct {
  uvm_va_range_managed_t *managed_range;
  NvU64 start, end;  // the last byte
} uvm_va_block_t;

// 2 MB of GPU memory.
typedef struct uvm_gpu_chunk_struct {
  NvU64 address;
  struct {
    unsigned int type : 2;
    unsigned int in_eviction : 1;
    unsigned int inject_split_error : 1;
    unsigned int is_zero : 1;
    unsigned int is_referenced : 1;
    unsigned int state : 3;
    unsigned int log2_size : 6;
    unsigned short va_block_page_index : 10;
    unsigned int gpu_index : 7;
  };
  struct list_head list;
  uvm_va_block_t *va_block;
  void *parent, *suballoc;
} uvm_gpu_chunk_t;

#if defined(__bpf__)
#pragma clang attribute pop
#endif

#endif
