// SPDX-License-Identifier: Apache-2.0
// Stand-in for libbpf's header of the same name: the macros that declare programs and maps, and the helpers that the
// simulator implements (bpf/host/helpers.cpp). A policy with other helpers is refused when it is built.
#ifndef UVMSIM_BPF_HELPERS_H
#define UVMSIM_BPF_HELPERS_H

#include <vmlinux.h>

#define SEC(name) __attribute__((section(name), used))

#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]

enum libbpf_pin_type { LIBBPF_PIN_NONE, LIBBPF_PIN_BY_NAME };

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif
#ifndef __weak
#define __weak __attribute__((weak))
#endif
#ifndef __hidden
#define __hidden __attribute__((visibility("hidden")))
#endif
// Functions of the driver: defined where the policy ends (uvmsim/end_of_policy.h).
#undef __ksym
#define __ksym
#define __kconfig
#define __kptr
#define __arg_ctx
#define __arg_nonnull

#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
#ifndef container_of
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#endif
#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#ifndef barrier
#define barrier() __asm__ volatile("" ::: "memory")
#endif
#ifndef barrier_var
#define barrier_var(var) __asm__ volatile("" : "+r"(var))
#endif
#ifndef READ_ONCE
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))
#endif

// The symbol name marks functions that the simulator implements; a policy that needs other undefined symbols is
// refused.
#define UVMSIM_BPF_HELPER(name) __asm__("uvmsim_bpf_" #name)

void *bpf_map_lookup_elem(void *map, const void *key) UVMSIM_BPF_HELPER(map_lookup_elem);
long bpf_map_update_elem(void *map, const void *key, const void *value, u64 flags) UVMSIM_BPF_HELPER(map_update_elem);
long bpf_map_delete_elem(void *map, const void *key) UVMSIM_BPF_HELPER(map_delete_elem);
void *bpf_ringbuf_reserve(void *ringbuf, u64 size, u64 flags) UVMSIM_BPF_HELPER(ringbuf_reserve);
void bpf_ringbuf_submit(void *data, u64 flags) UVMSIM_BPF_HELPER(ringbuf_submit);
void bpf_ringbuf_discard(void *data, u64 flags) UVMSIM_BPF_HELPER(ringbuf_discard);
long bpf_ringbuf_output(void *ringbuf, void *data, u64 size, u64 flags) UVMSIM_BPF_HELPER(ringbuf_output);
u64 bpf_ktime_get_ns(void) UVMSIM_BPF_HELPER(ktime_get_ns);
u64 bpf_ktime_get_boot_ns(void) UVMSIM_BPF_HELPER(ktime_get_ns);
u64 bpf_ktime_get_coarse_ns(void) UVMSIM_BPF_HELPER(ktime_get_ns);
long bpf_loop(u32 count, void *callback, void *context, u64 flags) UVMSIM_BPF_HELPER(loop);
u64 bpf_get_current_pid_tgid(void) UVMSIM_BPF_HELPER(get_current_pid_tgid);
u64 bpf_get_current_uid_gid(void) UVMSIM_BPF_HELPER(get_current_uid_gid);
long bpf_get_current_comm(void *buf, u32 size) UVMSIM_BPF_HELPER(get_current_comm);
u32 bpf_get_smp_processor_id(void) UVMSIM_BPF_HELPER(get_smp_processor_id);
u32 bpf_get_prandom_u32(void) UVMSIM_BPF_HELPER(get_prandom_u32);
long bpf_probe_read_kernel(void *dst, u32 size, const void *unsafe_ptr) UVMSIM_BPF_HELPER(probe_read_kernel);
long bpf_probe_read_kernel_str(void *dst, u32 size, const void *unsafe_ptr) UVMSIM_BPF_HELPER(probe_read_kernel_str);
#define bpf_probe_read bpf_probe_read_kernel
#define bpf_probe_read_str bpf_probe_read_kernel_str

// Discards the text; its arguments are evaluated.
static inline __attribute__((format(printf, 1, 2))) void uvmsim_bpf_nowhere(const char *format, ...) { (void)format; }
#define bpf_printk(...) uvmsim_bpf_nowhere(__VA_ARGS__)

#endif
