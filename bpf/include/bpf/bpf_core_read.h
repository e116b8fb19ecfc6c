// SPDX-License-Identifier: Apache-2.0
// Stand-in for libbpf's header of the same name. BPF_CORE_READ(a, b, c) is a->b->c with every step a checked read:
// memory outside of the driver's objects reads as 0, as in the kernel. Nothing is relocated, because policy and
// simulator share one layout.
#ifndef UVMSIM_BPF_CORE_READ_H
#define UVMSIM_BPF_CORE_READ_H

#include <bpf/bpf_helpers.h>

#define UVMSIM_CORE_READ_1(src, a)                                     \
  ({                                                                   \
    typeof(src) uvmsim_from = (src);                                   \
    typeof(uvmsim_from->a) uvmsim_value;                               \
    bpf_probe_read_kernel((void *)&uvmsim_value, sizeof(uvmsim_value), \
                          (const void *)&uvmsim_from->a);              \
    uvmsim_value;                                                      \
  })
#define UVMSIM_CORE_READ_2(src, a, b) UVMSIM_CORE_READ_1(UVMSIM_CORE_READ_1(src, a), b)
#define UVMSIM_CORE_READ_3(src, a, b, c) UVMSIM_CORE_READ_1(UVMSIM_CORE_READ_2(src, a, b), c)
#define UVMSIM_CORE_READ_4(src, a, b, c, d) UVMSIM_CORE_READ_1(UVMSIM_CORE_READ_3(src, a, b, c), d)
#define UVMSIM_CORE_READ_5(src, a, b, c, d, e) UVMSIM_CORE_READ_1(UVMSIM_CORE_READ_4(src, a, b, c, d), e)
#define UVMSIM_CORE_READ_6(src, a, b, c, d, e, f) UVMSIM_CORE_READ_1(UVMSIM_CORE_READ_5(src, a, b, c, d, e), f)
#define UVMSIM_CORE_READ_OF(a1, a2, a3, a4, a5, a6, name, ...) name
#define BPF_CORE_READ(src, ...)                                                                                     \
  UVMSIM_CORE_READ_OF(__VA_ARGS__, UVMSIM_CORE_READ_6, UVMSIM_CORE_READ_5, UVMSIM_CORE_READ_4, UVMSIM_CORE_READ_3, \
                      UVMSIM_CORE_READ_2, UVMSIM_CORE_READ_1, 0)                                                    \
  (src, __VA_ARGS__)
#define BPF_PROBE_READ BPF_CORE_READ
#define BPF_CORE_READ_INTO(dst, src, ...) (*(dst) = BPF_CORE_READ(src, __VA_ARGS__), 0)
#define BPF_CORE_READ_BITFIELD(src, field) ((src)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(src, field) ((src)->field)

#define bpf_core_read(dst, size, src) bpf_probe_read_kernel(dst, size, (const void *)(src))
#define bpf_core_read_str(dst, size, src) bpf_probe_read_kernel_str(dst, size, (const void *)(src))
#define bpf_core_field_exists(...) 1
#define bpf_core_type_exists(type) 1
#define bpf_core_enum_value(type, value) (value)
#define bpf_core_cast(ptr, type) ((type *)(ptr))

#endif
