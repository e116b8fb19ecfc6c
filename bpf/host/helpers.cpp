// SPDX-License-Identifier: Apache-2.0
// The kernel's helpers and the driver's functions that policies call; bpf/include/bpf/bpf_helpers.h declares them.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bpf/host/session.h"

namespace {

using uvmsim::bpf::Map;
using uvmsim::bpf::Session;

// Returns the map, checked to have keys, and checks that the policy may read the key.
Map& keyed(void* map, const void* key, const char* helper) {
  Session& session = Session::current();
  Map& found = session.map(map, helper);
  if (found.is_ring()) session.refuse(std::string("calls ") + helper + "() with a ring buffer");
  session.check(key, found.declared().key_bytes, false);
  return found;
}

Map& ring(void* map, const char* helper) {
  Session& session = Session::current();
  Map& found = session.map(map, helper);
  if (!found.is_ring()) session.refuse(std::string("calls ") + helper + "() with a map that is no ring buffer");
  return found;
}

const std::byte* bytes_of(const void* memory) { return static_cast<const std::byte*>(memory); }

// Id of the driver's thread that serves the faults of a GPU.
constexpr std::uint64_t kDriverThread = 2;
constexpr char kDriverThreadName[16] = "UVM GPU1 BH";

}  // namespace

extern "C" {

void* uvmsim_bpf_map_lookup_elem(void* map, const void* key) {
  return keyed(map, key, "bpf_map_lookup_elem").look_up(bytes_of(key), Session::current().epoch());
}
long uvmsim_bpf_map_update_elem(void* map, const void* key, const void* value, std::uint64_t flags) {
  Map& found = keyed(map, key, "bpf_map_update_elem");
  Session::current().check(value, found.declared().value_bytes, false);
  return found.update(bytes_of(key), bytes_of(value), flags);
}
long uvmsim_bpf_map_delete_elem(void* map, const void* key) {
  return keyed(map, key, "bpf_map_delete_elem").remove(bytes_of(key));
}

void* uvmsim_bpf_ringbuf_reserve(void* map, std::uint64_t size, std::uint64_t) {
  return Session::current().reserve_record(ring(map, "bpf_ringbuf_reserve"), size);
}
void uvmsim_bpf_ringbuf_submit(void* data, std::uint64_t) {
  Session::current().end_record(data, "bpf_ringbuf_submit");
}
void uvmsim_bpf_ringbuf_discard(void* data, std::uint64_t) {
  Session::current().end_record(data, "bpf_ringbuf_discard");
}
long uvmsim_bpf_ringbuf_output(void* map, void* data, std::uint64_t size, std::uint64_t) {
  const Map& found = ring(map, "bpf_ringbuf_output");
  Session::current().check(data, size, false);
  return size + 8 > found.declared().max_entries ? -E2BIG : 0;
}

std::uint64_t uvmsim_bpf_ktime_get_ns() { return static_cast<std::uint64_t>(Session::current().now.value); }
long uvmsim_bpf_loop(std::uint32_t count, long (*callback)(std::uint64_t, void*), void* context, std::uint64_t flags) {
  constexpr std::uint32_t kMost = 1u << 23;  // BPF_MAX_LOOPS
  if (flags != 0) return -EINVAL;
  if (count > kMost) return -E2BIG;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (callback(i, context) != 0) return i + 1;
  }
  return count;
}
std::uint64_t uvmsim_bpf_get_current_pid_tgid() { return kDriverThread << 32 | kDriverThread; }
std::uint64_t uvmsim_bpf_get_current_uid_gid() { return 0; }
std::uint32_t uvmsim_bpf_get_smp_processor_id() { return 0; }
std::uint32_t uvmsim_bpf_get_prandom_u32() { return Session::current().random(); }
long uvmsim_bpf_get_current_comm(void* buffer, std::uint32_t size) {
  Session::current().check(buffer, size, true);
  if (size == 0) return -EINVAL;
  std::memset(buffer, 0, size);
  std::memcpy(buffer, kDriverThreadName, std::min<std::size_t>(size - 1, sizeof kDriverThreadName));
  return 0;
}

long uvmsim_bpf_probe_read_kernel(void* to, std::uint32_t size, const void* from) {
  const Session& session = Session::current();
  session.check(to, size, true);
  if (!session.readable(from, size)) {
    std::memset(to, 0, size);
    return -EFAULT;
  }
  std::memcpy(to, from, size);
  return 0;
}
long uvmsim_bpf_probe_read_kernel_str(void* to, std::uint32_t size, const void* from) {
  const Session& session = Session::current();
  session.check(to, size, true);
  auto* text = static_cast<char*>(to);
  for (std::uint32_t i = 0; i < size; ++i) {
    const char* c = static_cast<const char*>(from) + i;
    if (!session.readable(c, 1)) {
      std::memset(to, 0, size);
      return -EFAULT;
    }
    text[i] = i + 1 == size ? '\0' : *c;
    if (text[i] == '\0') return i + 1;
  }
  return 0;
}

void uvmsim_bpf_set_region(void* region, unsigned first, unsigned outer) {
  Session::current().set_region(region, first, outer);
}
void uvmsim_bpf_move_chunk(void* chunk, void* list, int to_head) {
  Session::current().move_chunk(chunk, list, to_head != 0);
}

int uvmsim_bpf_request(void* decision, uvmsim_u64 first, uvmsim_u64 second) {
  return Session::current().note_request(decision, first, second);
}

}  // extern "C"
