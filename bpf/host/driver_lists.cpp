// SPDX-License-Identifier: Apache-2.0
#include "bpf/host/driver_lists.h"

namespace uvmsim::bpf {
namespace {

// enum nv_gpu_pmm_destination, enum nv_gpu_pmm_position
constexpr std::uint64_t kToUsed = 1, kToUnused = 2, kToHead = 1, kToTail = 2;

}  // namespace

DriverLists::DriverLists(Session& session, std::uint32_t chunk_count)
    : session_(session), contents_(chunk_count), generations_(chunk_count), list_of_(chunk_count, kUsed) {}

void DriverLists::fill(ChunkId chunk, std::uint32_t process) {
  Session::layout().fill_chunk(session_.chunk(chunk), chunk.value * kBlockBytes,
                               session_.block(BlockIndex(contents_[chunk.value].value), process));
}

void DriverLists::allocated(ChunkId chunk, policy::ContentIndex content) {
  contents_[chunk.value] = content;
  fill(chunk, 0);
}

void DriverLists::belongs_to(ChunkId chunk, std::uint32_t process) { fill(chunk, process); }

// Runs a program about one chunk. In the third interface it gets a decision to write its request to; otherwise it gets
// the list.
int DriverLists::run(const char* name, int (*program)(void*, void*, void*), ChunkId chunk) {
  session_.request = {};
  void* about = session_.list(kUsed);
  if (Session::requests()) {
    about = session_.decision();
    Session::layout().fill_decision(about, session_.pmm(), session_.chunk(chunk), generations_[chunk.value],
                                    static_cast<unsigned>(list_of_[chunk.value] == kUnused ? kToUnused : kToUsed));
  }
  return session_.run(name, kBypass, program, session_.pmm(), static_cast<void*>(session_.chunk(chunk)), about);
}

// Carries out the program's request. Returns whether there was one that is possible.
bool DriverLists::carry_out_request(ChunkId chunk) {
  const Request& request = session_.request;
  if (!request.attempted) return false;
  const bool fine = !request.conflict && (request.first == kToUsed || request.first == kToUnused) &&
                    (request.second == kToHead || request.second == kToTail);
  if (!fine) {
    ++session_.calls.refused;
    return false;
  }
  const List list = request.first == kToUsed ? kUsed : kUnused;
  put_last(list, chunk);
  if (request.second == kToHead) session_.move_chunk(session_.chunk(chunk), session_.list(list), true);
  return true;
}

void DriverLists::migrated(ChunkId chunk) {
  void* const memory = session_.chunk(chunk);
  void* const used = session_.list(kUsed);
  const ListHead* const link = session_.link(chunk);
  if (link->next == link) {  // on no list: it was pinned until now
    put_last(kUsed, chunk);
    ++session_.calls.activate;
    session_.probe("kprobe of activate", session_.probes().activate, session_.pmm(), memory, used);
    if (session_.hooks().activate == nullptr) return;
    run("uvm_pmm_chunk_activate", session_.hooks().activate, chunk);
    carry_out_request(chunk);
    return;
  }
  ++session_.calls.used;
  session_.probe("kprobe of used", session_.probes().used, session_.pmm(), memory, used);
  int action = kDefault;
  if (session_.hooks().used != nullptr) {
    action = run("uvm_pmm_chunk_used", session_.hooks().used, chunk);
    // If a request is not possible, the chunk stays where it is.
    if (carry_out_request(chunk) || session_.request.attempted) return;
  }
  if (action != kBypass) put_last(kUsed, chunk);
}

void DriverLists::put_last(List list, ChunkId chunk) {
  take_off(chunk);
  list_of_[chunk.value] = list;
  ++generations_[chunk.value];
  ListHead* const head = session_.list(list);
  ListHead* const link = session_.link(chunk);
  *link = {head, head->previous};
  head->previous->next = link;
  head->previous = link;
}

void DriverLists::take_off(ChunkId chunk) {
  ListHead* const link = session_.link(chunk);
  link->previous->next = link->next;
  link->next->previous = link->previous;
  *link = {link, link};
}

ChunkId DriverLists::victim(const policy::EvictionQueries& queries) {
  session_.now = queries.now();
  ++session_.calls.prepare;
  void* const used = session_.list(kUsed);
  void* const unused = session_.list(kUnused);
  session_.probe("kprobe of prepare", session_.probes().prepare, session_.pmm(), used, unused);
  if (session_.hooks().prepare != nullptr) {
    session_.run("uvm_pmm_eviction_prepare", kBypass, session_.hooks().prepare, session_.pmm(), used, unused);
  }
  for (unsigned list = 0; list < Session::kListCount; ++list) {
    const ListHead* const head = session_.list(list);
    for (const ListHead* link = head->next; link != head; link = link->next) {
      const ChunkId chunk = session_.chunk_of(link);
      if (queries.evictable(chunk)) return chunk;
    }
  }
  return {};
}

void DriverLists::add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const {
  for (unsigned list = 0; list < Session::kListCount; ++list) {
    digest.add(list);
    const ListHead* const head = session_.list(list);
    for (const ListHead* link = head->next; link != head; link = link->next) {
      digest.add(names[session_.chunk_of(link).value]);
    }
  }
}

}  // namespace uvmsim::bpf
