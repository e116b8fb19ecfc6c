// SPDX-License-Identifier: Apache-2.0
// The description of a compiled policy for the host (bpf/host), in C: its operations, its maps and the layout of the
// driver's types in its own headers. end_of_policy.h fills it in.
#ifndef UVMSIM_BPF_PROGRAM_H
#define UVMSIM_BPF_PROGRAM_H

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned long long uvmsim_u64;

struct uvmsim_bpf_map {
  void *address;  // of the object in SEC(".maps"), by which programs name it
  const char *name;
  unsigned type, max_entries, key_bytes, value_bytes;
  int integer_value;  // not a struct or an array
};

// A value that --map writes into a map before the first program runs.
struct uvmsim_bpf_setting {
  const char *map;
  uvmsim_u64 key, value;
};

// Null: the policy has none. In the third interface `result` and `list` are the driver's decision. Arguments are as wide as in the kernel, where each is a 64-bit word.
struct uvmsim_bpf_hooks {
  int (*before_compute)(uvmsim_u64 page, void *tree, void *max_region, void *result);
  int (*on_tree_iter)(void *tree, void *max_region, void *current, uvmsim_u64 counter, void *result);
  int (*activate)(void *pmm, void *chunk, void *list);
  int (*used)(void *pmm, void *chunk, void *list);
  int (*prepare)(void *pmm, void *used, void *unused);
};

// Called where the driver calls the functions for which the source has kprobes. Null: the source has no kprobe for this
// function.
struct uvmsim_bpf_probes {
  int (*get_hint)(void *block, void *context, uvmsim_u64 residency, void *faulted, uvmsim_u64 region, void *tree);
  int (*before_compute)(uvmsim_u64 page, void *tree, void *max_region, void *result);
  int (*activate)(void *pmm, void *chunk, void *list);
  int (*used)(void *pmm, void *chunk, void *list);
  int (*prepare)(void *pmm, void *used, void *unused);
};

struct uvmsim_bpf_layout {
  unsigned chunk_bytes, chunk_list, block_bytes, process_bytes;
  void (*fill_chunk)(void *chunk, uvmsim_u64 address, void *block);
  void (*fill_block)(void *block, void *process, uvmsim_u64 start, uvmsim_u64 end);
  void (*fill_process)(void *process, int pid);
  void (*fill_tree)(void *tree, const uvmsim_u64 *words, unsigned offset, unsigned leaf_count, unsigned level_count);
  void (*fill_mask)(void *mask, const uvmsim_u64 *words);
  // For the third interface, otherwise null: fills in the data about the chunk for a decision. source: 1 used, 2
  // unused.
  void (*fill_decision)(void *decision, void *pmm, void *chunk, uvmsim_u64 generation, unsigned source);
};

struct uvmsim_bpf_program {
  const char *name, *source;
  unsigned interface_version;  // 1 to 3
  struct uvmsim_bpf_probes probes;
  struct uvmsim_bpf_layout layout;
  const struct uvmsim_bpf_map *maps;
  unsigned map_count;
  const struct uvmsim_bpf_setting *settings;
  unsigned setting_count;
};

extern __attribute__((visibility("hidden"))) const struct uvmsim_bpf_program uvmsim_bpf_program;

// The operations, as the source filled them in.
__attribute__((visibility("hidden"))) void uvmsim_bpf_read_hooks(struct uvmsim_bpf_hooks *hooks);

// The host's implementations of the driver's functions that a policy calls; list: a list of chunks.
void uvmsim_bpf_set_region(void *region, unsigned first, unsigned outer);
void uvmsim_bpf_move_chunk(void *chunk, void *list, int to_head);
// For the third interface: requests a region, or a list and its end. Returns 0, or the driver's number for the reason
// of a refusal.
int uvmsim_bpf_request(void *decision, uvmsim_u64 first, uvmsim_u64 second);

#ifdef __cplusplus
}
#endif

#endif
