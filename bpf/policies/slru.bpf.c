// SPDX-License-Identifier: Apache-2.0
// Segmented LRU (Karedla, Love, Wherry 1994): a use moves a chunk to the next higher segment; a chunk that falls off
// the end of a segment moves to the next lower one; the lowest segment provides the victims. The driver sees a use when
// pages migrate to a chunk that is resident already.
//
// The driver has one list. The segments are lists in maps, and before an eviction the victim is moved to the head of
// the driver's list. No hook tells of memory that is freed: a chunk that is on no list of the driver any more is
// dropped when it is chosen as the victim, and a chunk that is activated again starts anew.
#include <vmlinux.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "uvm_types.h"
#include "bpf_testmod.h"

char _license[] SEC("license") = "Apache-2.0";

#define MOST_SEGMENTS 16
#define MOST_CHUNKS 131072  // 256 GiB

// [0] number of segments; [1] chunks of GPU memory, which the segments share equally; the lowest segment gets the
// remainder.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 2);
  __type(key, u32);
  __type(value, u32);
} config SEC(".maps");

struct segment {
  u64 front, back;  // chunks, 0: none
  u32 size;
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, MOST_SEGMENTS);
  __type(key, u32);
  __type(value, struct segment);
} segments SEC(".maps");

struct node {
  u64 previous, next;
  u32 segment;
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, MOST_CHUNKS);
  __type(key, u64);
  __type(value, struct node);
} nodes SEC(".maps");

static __always_inline u32 configured(u32 key) {
  u32 *value = bpf_map_lookup_elem(&config, &key);
  return value ? *value : 0;
}
static __always_inline u32 segment_count(void) {
  u32 count = configured(0);
  return count == 0 ? 4 : count > MOST_SEGMENTS ? MOST_SEGMENTS : count;
}
// If the size of memory is not given, every segment but the lowest has room for one chunk.
static __always_inline u32 segment_size(u32 count) {
  u32 chunks = configured(1);
  return chunks == 0 ? 1 : chunks / count;
}

static __always_inline void take_out(u64 chunk) {
  struct node *node = bpf_map_lookup_elem(&nodes, &chunk);
  if (!node) return;
  u32 number = node->segment;
  struct segment *segment = bpf_map_lookup_elem(&segments, &number);
  if (!segment) return;
  u64 previous = node->previous, next = node->next;
  struct node *before = bpf_map_lookup_elem(&nodes, &previous);
  struct node *after = bpf_map_lookup_elem(&nodes, &next);
  if (before)
    before->next = next;
  else
    segment->front = next;
  if (after)
    after->previous = previous;
  else
    segment->back = previous;
  segment->size--;
  bpf_map_delete_elem(&nodes, &chunk);
}

static __always_inline void put_last(u64 chunk, u32 number) {
  struct segment *segment = bpf_map_lookup_elem(&segments, &number);
  if (!segment) return;
  u64 last = segment->back;
  struct node node = {.previous = last, .segment = number};
  if (bpf_map_update_elem(&nodes, &chunk, &node, BPF_ANY)) return;
  struct node *before = bpf_map_lookup_elem(&nodes, &last);
  if (before)
    before->next = chunk;
  else
    segment->front = chunk;
  segment->back = chunk;
  segment->size++;
}

// While there is room, a new chunk goes to the lowest segment that has room.
static __always_inline void insert(u64 chunk) {
  u32 count = segment_count(), size = segment_size(count), number = 0;
  for (u32 i = 0; i < MOST_SEGMENTS; ++i) {
    u32 key = i;
    struct segment *segment = bpf_map_lookup_elem(&segments, &key);
    if (i >= count || !segment) break;
    if (segment->size < size) {
      number = i;
      break;
    }
  }
  put_last(chunk, number);
}

SEC("struct_ops/uvm_pmm_chunk_activate")
int BPF_PROG(uvm_pmm_chunk_activate, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, struct list_head *list) {
  take_out((u64)chunk);
  insert((u64)chunk);
  return 0;
}

SEC("struct_ops/uvm_pmm_chunk_used")
int BPF_PROG(uvm_pmm_chunk_used, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, struct list_head *list) {
  u64 key = (u64)chunk;
  u32 count = segment_count(), size = segment_size(count);
  struct node *node = bpf_map_lookup_elem(&nodes, &key);
  if (!node) {  // it was the victim, and was not evicted
    insert(key);
    return 0;
  }
  u32 number = node->segment;
  if (number + 1 < count) number++;
  take_out(key);
  put_last(key, number);
  for (u32 i = 0; i < MOST_SEGMENTS && number > 0; ++i, --number) {
    struct segment *segment = bpf_map_lookup_elem(&segments, &number);
    if (!segment || segment->size <= size) break;
    u64 falls = segment->front;
    take_out(falls);
    put_last(falls, number - 1);
  }
  return 0;
}

SEC("struct_ops/uvm_pmm_eviction_prepare")
int BPF_PROG(uvm_pmm_eviction_prepare, uvm_pmm_gpu_t *pmm, struct list_head *va_block_used,
             struct list_head *va_block_unused) {
  // Chunks without pages are evicted first, in the driver's order.
  if (BPF_CORE_READ(va_block_unused, next) != va_block_unused) return 0;
  u32 number = 0;
  for (u32 i = 0; i < 256 && number < MOST_SEGMENTS; ++i) {
    u32 key = number;
    struct segment *segment = bpf_map_lookup_elem(&segments, &key);
    if (!segment) return 0;
    u64 first = segment->front;
    if (first == 0) {
      number++;
      continue;
    }
    uvm_gpu_chunk_t *chunk = (void *)first;
    struct list_head *own = &chunk->list;
    take_out(first);
    if (BPF_CORE_READ(own, next) == own) continue;  // freed
    bpf_uvm_pmm_chunk_move_head(chunk, va_block_used);
    return 0;
  }
  return 0;
}

SEC(".struct_ops")
struct uvm_gpu_ext slru = {
    .uvm_pmm_chunk_activate = (void *)uvm_pmm_chunk_activate,
    .uvm_pmm_chunk_used = (void *)uvm_pmm_chunk_used,
    .uvm_pmm_eviction_prepare = (void *)uvm_pmm_eviction_prepare,
};
