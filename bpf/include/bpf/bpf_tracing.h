// SPDX-License-Identifier: Apache-2.0
// Stand-in for libbpf's header of the same name. In the kernel these macros extract a program's arguments from an array
// of 64-bit words; here programs are plain functions.
#ifndef UVMSIM_BPF_TRACING_H
#define UVMSIM_BPF_TRACING_H

#include <bpf/bpf_helpers.h>

#define BPF_PROG(name, ...) name(__VA_ARGS__)
#define BPF_KPROBE(name, ...) name(__VA_ARGS__)
#define BPF_KRETPROBE(name, ...) name(__VA_ARGS__)
#define BPF_UPROBE(name, ...) name(__VA_ARGS__)
#define BPF_URETPROBE(name, ...) name(__VA_ARGS__)

#endif
