// SPDX-License-Identifier: Apache-2.0
// `uvmsim bpf build` includes this file after a policy's source in the same compilation. It sees the types that the
// policy was written against, in any version, and describes them to the host (program.h).
//
// Macros defined before: UVMSIM_OPS, the policy's object of operations; UVMSIM_OPS_V1, _V2 or _V3, its version;
// UVMSIM_MAPS, with UVMSIM_MAP(name) for each map that has keys, or UVMSIM_RING(name); UVMSIM_SETTINGS; UVMSIM_NAME;
// UVMSIM_SOURCE; UVMSIM_PROBES, initialisers of uvmsim_bpf_probes.
#include <uvmsim/program.h>

// The host needs another view of the driver than the policy: the following code may write objects that a policy may
// only read.
#if defined(__clang__)
#define UVMSIM_TRUSTED __attribute__((no_sanitize("kernel-address")))
#else
#define UVMSIM_TRUSTED __attribute__((no_sanitize_address))
#endif

// The functions of the driver.
#if defined(UVMSIM_OPS_V3)
int bpf_gpu_set_prefetch_region(uvm_bpf_prefetch_decision_t *decision, __u64 first, __u64 outer) {
  return uvmsim_bpf_request(decision, first, outer);
}
int bpf_gpu_request_reorder(uvm_bpf_pmm_decision_ctx_t *decision, __u64 destination, __u64 position) {
  return uvmsim_bpf_request(decision, destination, position);
}
int bpf_gpu_strstr(const char *str, unsigned int str__sz, const char *substr, unsigned int substr__sz) { return -1; }
#elif defined(UVMSIM_OPS_V2)
void bpf_gpu_set_prefetch_region(uvm_va_block_region_t *region, uvm_page_index_t first, uvm_page_index_t outer) {
  uvmsim_bpf_set_region(region, first, outer);
}
void bpf_gpu_block_move_head(uvm_gpu_chunk_t *chunk, struct list_head *list) { uvmsim_bpf_move_chunk(chunk, list, 1); }
void bpf_gpu_block_move_tail(uvm_gpu_chunk_t *chunk, struct list_head *list) { uvmsim_bpf_move_chunk(chunk, list, 0); }
int bpf_gpu_strstr(const char *str, unsigned int str__sz, const char *substr, unsigned int substr__sz) { return -1; }
#else
void bpf_uvm_set_va_block_region(uvm_va_block_region_t *region, uvm_page_index_t first, uvm_page_index_t outer) {
  uvmsim_bpf_set_region(region, first, outer);
}
void bpf_uvm_pmm_chunk_move_head(uvm_gpu_chunk_t *chunk, struct list_head *list) {
  uvmsim_bpf_move_chunk(chunk, list, 1);
}
void bpf_uvm_pmm_chunk_move_tail(uvm_gpu_chunk_t *chunk, struct list_head *list) {
  uvmsim_bpf_move_chunk(chunk, list, 0);
}
int bpf_uvm_strstr(const char *str, unsigned int str__sz, const char *substr, unsigned int substr__sz) { return -1; }
#endif

// The driver's objects.
struct uvmsim_process {
  uvm_va_range_managed_t range;
  uvm_va_space_t space;
  struct mm_struct mm;
  struct task_struct task;
};

static UVMSIM_TRUSTED void uvmsim_fill_chunk(void *memory, uvmsim_u64 address, void *block) {
  uvm_gpu_chunk_t *chunk = memory;
  chunk->address = address;
  chunk->type = 1;   // of a user's memory
  chunk->state = 4;  // allocated
  chunk->log2_size = 21;
  chunk->va_block = block;
}
static UVMSIM_TRUSTED void uvmsim_fill_block(void *memory, void *process, uvmsim_u64 start, uvmsim_u64 end) {
  uvm_va_block_t *block = memory;
  block->start = start;
  block->end = end;
  block->managed_range = &((struct uvmsim_process *)process)->range;
}
static UVMSIM_TRUSTED void uvmsim_fill_process(void *memory, int pid) {
  struct uvmsim_process *process = memory;
  process->range.va_range.va_space = &process->space;
  process->space.va_space_mm.mm = &process->mm;
  process->mm.owner = &process->task;
  process->task.pid = process->task.tgid = pid;
}
static UVMSIM_TRUSTED void uvmsim_fill_mask(void *memory, const uvmsim_u64 *words) {
  uvm_page_mask_t *mask = memory;
  for (int i = 0; i < 8; ++i) mask->bitmap[i] = words[i];
}
static UVMSIM_TRUSTED void uvmsim_fill_tree(void *memory, const uvmsim_u64 *words, unsigned offset, unsigned leaf_count,
                                            unsigned level_count) {
  uvm_perf_prefetch_bitmap_tree_t *tree = memory;
  uvmsim_fill_mask(&tree->pages, words);
  tree->offset = offset;
  tree->leaf_count = leaf_count;
  tree->level_count = level_count;
}

#if defined(UVMSIM_OPS_V3)
static UVMSIM_TRUSTED void uvmsim_fill_decision(void *memory, void *pmm, void *chunk, uvmsim_u64 generation,
                                                unsigned source) {
  uvm_bpf_pmm_decision_ctx_t *decision = memory;
  decision->pmm = pmm;
  decision->root_chunk = chunk;
  decision->observed.owner_id = (__u64)pmm;
  decision->observed.root_id = (__u64)chunk;
  decision->observed.generation = generation;
  decision->observed.source = source;
}
_Static_assert(sizeof(uvm_bpf_pmm_decision_ctx_t) <= 128, "room for a decision");
#endif

#define UVMSIM_MAP(map)                                                                       \
  {&map, #map, sizeof(*(map).type) / sizeof(int), sizeof(*(map).max_entries) / sizeof(int),   \
   sizeof(*(map).key), sizeof(*(map).value), __builtin_classify_type(*(map).value) <= 3},
#define UVMSIM_MAP_BY_SIZE(map)                                                               \
  {&map, #map, sizeof(*(map).type) / sizeof(int), sizeof(*(map).max_entries) / sizeof(int),   \
   sizeof(*(map).key_size) / sizeof(int), sizeof(*(map).value_size) / sizeof(int), 0},
#define UVMSIM_RING(map) {&map, #map, sizeof(*(map).type) / sizeof(int), sizeof(*(map).max_entries) / sizeof(int), 0, 0, 0},
static const struct uvmsim_bpf_map uvmsim_maps[] = {UVMSIM_MAPS{0}};
static const struct uvmsim_bpf_setting uvmsim_settings[] = {UVMSIM_SETTINGS{0}};

#define UVMSIM_COUNT(array) (sizeof(array) / sizeof(*(array)) - 1)

// An operation's address as the source gave it: a constant, read when the library is loaded.
#if defined(UVMSIM_OPS)
#if defined(UVMSIM_OPS_V2) || defined(UVMSIM_OPS_V3)
#define UVMSIM_GET(v1, v2) (void *)UVMSIM_OPS.v2
#else
#define UVMSIM_GET(v1, v2) (void *)UVMSIM_OPS.v1
#endif
__attribute__((visibility("hidden"))) UVMSIM_TRUSTED void uvmsim_bpf_read_hooks(struct uvmsim_bpf_hooks *hooks) {
  hooks->before_compute = UVMSIM_GET(uvm_prefetch_before_compute, gpu_page_prefetch);
  hooks->on_tree_iter = UVMSIM_GET(uvm_prefetch_on_tree_iter, gpu_page_prefetch_iter);
  hooks->activate = UVMSIM_GET(uvm_pmm_chunk_activate, gpu_block_activate);
  hooks->used = UVMSIM_GET(uvm_pmm_chunk_used, gpu_block_access);
  hooks->prepare = UVMSIM_GET(uvm_pmm_eviction_prepare, gpu_evict_prepare);
}
#else
__attribute__((visibility("hidden"))) void uvmsim_bpf_read_hooks(struct uvmsim_bpf_hooks *hooks) { (void)hooks; }
#endif

_Static_assert(sizeof(uvm_perf_prefetch_bitmap_tree_t) <= 256 && sizeof(uvm_page_mask_t) <= 128, "room for a tree and a mask");

const struct uvmsim_bpf_program uvmsim_bpf_program = {
    .name = UVMSIM_NAME,
    .source = UVMSIM_SOURCE,
#if defined(UVMSIM_OPS_V3)
    .interface_version = 3,
#elif defined(UVMSIM_OPS_V2)
    .interface_version = 2,
#else
    .interface_version = 1,
#endif
    .probes = {UVMSIM_PROBES},
    .layout = {.chunk_bytes = sizeof(uvm_gpu_chunk_t),
               .chunk_list = __builtin_offsetof(uvm_gpu_chunk_t, list),
               .block_bytes = sizeof(uvm_va_block_t),
               .process_bytes = sizeof(struct uvmsim_process),
               .fill_chunk = uvmsim_fill_chunk,
               .fill_block = uvmsim_fill_block,
               .fill_process = uvmsim_fill_process,
               .fill_tree = uvmsim_fill_tree,
               .fill_mask = uvmsim_fill_mask,
#if defined(UVMSIM_OPS_V3)
               .fill_decision = uvmsim_fill_decision,
#endif
    },
    .maps = uvmsim_maps,
    .map_count = UVMSIM_COUNT(uvmsim_maps),
    .settings = uvmsim_settings,
    .setting_count = UVMSIM_COUNT(uvmsim_settings),
};
