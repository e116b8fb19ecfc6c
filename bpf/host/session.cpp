// SPDX-License-Identifier: Apache-2.0
#include "bpf/host/session.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>

#include "bpf/host/parameters.h"
#include "sim/common/check.h"
#include "sim/common/error.h"

namespace uvmsim::bpf {
namespace {

thread_local Session* running = nullptr;

struct Image {
  const std::byte *begin = nullptr, *end = nullptr;
};

// Returns the image of the library that contains this code.
Image image_of_policy() {
  Image image;
  const auto note = [](dl_phdr_info* info, std::size_t, void* result) {
    Image found;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info->dlpi_phdr[i];
      if (part.p_type != PT_LOAD) continue;
      const auto* begin = reinterpret_cast<const std::byte*>(info->dlpi_addr + part.p_vaddr);
      if (found.begin == nullptr) found.begin = begin;
      found.end = begin + part.p_memsz;
    }
    const auto* inside = reinterpret_cast<const std::byte*>(&uvmsim_bpf_program);
    if (inside < found.begin || inside >= found.end) return 0;
    *static_cast<Image*>(result) = found;
    return 1;
  };
  ::dl_iterate_phdr(note, &image);
  return image;
}

bool within(const void* address, std::size_t bytes, const std::byte* begin, std::size_t length) {
  const auto* first = static_cast<const std::byte*>(address);
  return first >= begin && first < begin + length && bytes <= static_cast<std::size_t>(begin + length - first);
}

}  // namespace

Session::Running::Running(Session& session, const char* name, const void* stack_top)
    : session_(session), outer_(running) {
  running = &session;
  session.name_ = name;
  session.stack_top_ = static_cast<const std::byte*>(stack_top);
  ++session.epoch_;
}
Session::Running::~Running() {
  running = outer_;
  session_.name_ = nullptr;
}

Session::Session(const policy::PolicyContext& context, std::uint32_t chunk_count)
    : chunk_count_(chunk_count),
      objects_(kObjectBytes),
      chunks_(std::size_t{chunk_count} * layout().chunk_bytes),
      blocks_(kMostBlocks * layout().block_bytes),
      processes_(std::size_t{kMostProcesses} * layout().process_bytes),
      random_(context.random) {
  uvmsim_bpf_read_hooks(&hooks_);
  for (unsigned i = 0; i < uvmsim_bpf_program.map_count; ++i) {
    maps_.push_back(std::make_unique<Map>(uvmsim_bpf_program.maps[i]));
  }
  fill_maps(context.parameters, maps_);
  for (unsigned i = 0; i < kListCount; ++i) *list(i) = {list(i), list(i)};
  for (std::uint32_t i = 0; i < chunk_count; ++i) *link(ChunkId{i}) = {link(ChunkId{i}), link(ChunkId{i})};
  for (std::uint32_t i = 0; i < kMostProcesses; ++i) {
    // The process with number i has PID i + 1, because policies use 0 for "not known".
    layout().fill_process(processes_.begin() + i * layout().process_bytes, static_cast<int>(i) + 1);
  }
  const Image image = image_of_policy();
  image_begin_ = image.begin;
  image_end_ = image.end;
}

Session::~Session() = default;

Session& Session::current() {
  if (running == nullptr) throw ModelError("a function of the driver was called outside of a hook");
  return *running;
}

void Session::refuse(const std::string& what) const {
  throw ModelError(fmt::format("{}() {}", name_ == nullptr ? "policy" : name_, what));
}

void Session::finish(int returned, int most) {
  if (returned < 0 || returned > most) {
    refuse(fmt::format("returned {}; allowed: 0 (default){}{}", returned, most >= 1 ? ", 1 (bypass)" : "",
                       most >= 2 ? ", 2 (enter the loop)" : ""));
  }
  if (!records_.empty()) {
    refuse(fmt::format("returned with {} reserved record{} of a ring buffer neither submitted nor discarded",
                       records_.size(), records_.size() == 1 ? "" : "s"));
  }
}

void* Session::block(BlockIndex index, std::uint32_t process) {
  if (process >= kMostProcesses) {
    throw_input_error("{}: program {} of the server; allowed: at most {} programs", uvmsim_bpf_program.name, process,
                      kMostProcesses);
  }
  const auto [found, is_new] = block_of_.try_emplace(index.value, static_cast<std::uint32_t>(block_of_.size()));
  if (found->second >= kMostBlocks) {
    throw_input_error("{}: more than {} blocks of 2 MB were used", uvmsim_bpf_program.name, kMostBlocks);
  }
  std::byte* memory = blocks_.begin() + std::size_t{found->second} * layout().block_bytes;
  const std::uint64_t start = index.value * kBlockBytes;
  layout().fill_block(memory, processes_.begin() + process * layout().process_bytes, start, start + kBlockBytes - 1);
  return memory;
}

ChunkId Session::chunk_of(const ListHead* link) const {
  const auto place = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(link) - chunks_.begin());
  return ChunkId{static_cast<std::uint32_t>(place / layout().chunk_bytes)};
}

bool Session::on_stack(const void* address, std::size_t bytes) const {
  const auto* here = static_cast<const std::byte*>(__builtin_frame_address(0));
  return within(address, bytes, here, static_cast<std::size_t>(stack_top_ - here));
}

bool Session::writable(const void* address, std::size_t bytes) const {
  if (on_stack(address, bytes)) return true;
  const auto* first = static_cast<const std::byte*>(address);
  for (const auto& map : maps_) {
    if (map->holds(first)) return map->allows(first, bytes, epoch_);
  }
  return std::any_of(records_.begin(), records_.end(), [&](const Record& record) {
    return within(address, bytes, record.data.get(), record.bytes);
  });
}

bool Session::readable(const void* address, std::size_t bytes) const {
  return writable(address, bytes) ||
         within(address, bytes, chunks_.begin(), std::size_t{chunk_count_} * layout().chunk_bytes) ||
         within(address, bytes, objects_.begin(), kObjectBytes) ||
         within(address, bytes, blocks_.begin(), block_of_.size() * layout().block_bytes) ||
         within(address, bytes, processes_.begin(), std::size_t{kMostProcesses} * layout().process_bytes) ||
         within(address, bytes, image_begin_, static_cast<std::size_t>(image_end_ - image_begin_));
}

void Session::check(const void* address, std::size_t bytes, bool write) const {
  if (write ? writable(address, bytes) : readable(address, bytes)) return;
  const char* const verb = write ? "writes" : "reads";
  const auto* first = static_cast<const std::byte*>(address);
  if (reinterpret_cast<std::uintptr_t>(address) < 65536) {
    refuse(fmt::format("{} {} bytes through a null pointer; a look-up that finds nothing returns one", verb, bytes));
  }
  for (const auto& map : maps_) {
    if (!map->holds(first)) continue;
    refuse(fmt::format("{} {} bytes at offset {} of a value of map '{}', which has {} bytes, or was not looked up in "
                       "this call",
                       verb, bytes, map->offset_in_value(first), map->declared().name, map->declared().value_bytes));
  }
  if (write && readable(address, bytes)) {
    refuse(fmt::format("writes {} bytes into memory of the driver, which it may only read", bytes));
  }
  refuse(fmt::format("{} {} bytes outside of its stack, its maps and what the driver gave it", verb, bytes));
}

Map& Session::map(const void* address, const char* helper) {
  for (const auto& map : maps_) {
    if (map->declared().address == address) return *map;
  }
  refuse(fmt::format("calls {}() with something that is no map", helper));
}

void Session::set_region(void* memory, unsigned first, unsigned outer) const {
  if (memory == nullptr) return;
  if (!within(memory, sizeof(Region), objects_.begin() + kRegions, 4 * sizeof(Region))) {
    refuse("sets a region that the driver did not give it");
  }
  if (first > outer || outer > kPagesPerBlock) {
    refuse(fmt::format("sets the region [{}, {}); allowed: pages 0 to {} in order", first, outer, kPagesPerBlock));
  }
  *static_cast<Region*>(memory) = {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(outer)};
}

// As in the driver, a chunk that is on no list is not moved.
void Session::move_chunk(void* chunk, void* list, bool to_head) const {
  if (chunk == nullptr || list == nullptr) return;
  const auto* first = static_cast<const std::byte*>(chunk);
  if (!within(chunk, 1, chunks_.begin(), std::size_t{chunk_count_} * layout().chunk_bytes) ||
      static_cast<std::size_t>(first - chunks_.begin()) % layout().chunk_bytes != 0) {
    refuse("moves something that is no chunk");
  }
  if (!within(list, sizeof(ListHead), objects_.begin() + kLists, kListCount * sizeof(ListHead)) ||
      (static_cast<std::size_t>(static_cast<const std::byte*>(list) - objects_.begin()) - kLists) % sizeof(ListHead)) {
    refuse("moves a chunk to something that is no list of the driver");
  }
  auto* link = reinterpret_cast<ListHead*>(static_cast<std::byte*>(chunk) + layout().chunk_list);
  if (link->next == link) return;
  link->previous->next = link->next;
  link->next->previous = link->previous;
  auto* head = static_cast<ListHead*>(list);
  ListHead* before = to_head ? head : head->previous;
  *link = {before->next, before};
  link->next->previous = link;
  before->next = link;
}

int Session::note_request(const void* of, std::uint64_t first, std::uint64_t second) {
  constexpr int kNoted = 0, kRepeated = 2, kConflict = 4, kNoDecision = 7;  // enum nv_gpu_transition_result
  if (of == nullptr) return kNoDecision;
  if (of != decision()) refuse("asks for something with what is no decision of the driver");
  if (!request.attempted) {
    request = {true, false, first, second};
    return kNoted;
  }
  if (!request.conflict && request.first == first && request.second == second) return kRepeated;
  request.conflict = true;
  return kConflict;
}

// The reader of the ring is assumed to keep up: a record is removed as soon as it is submitted.
void* Session::reserve_record(const Map& ring, std::uint64_t bytes) {
  std::uint64_t held = 0;
  for (const Record& record : records_) held += record.ring == &ring ? record.bytes + 8 : 0;
  if (bytes == 0 || bytes + 8 > ring.declared().max_entries || held + bytes + 8 > ring.declared().max_entries) {
    return nullptr;
  }
  records_.push_back({std::make_unique<std::byte[]>(bytes), bytes, &ring});
  return records_.back().data.get();
}

void Session::end_record(const void* data, const char* helper) {
  const auto found =
      std::find_if(records_.begin(), records_.end(), [&](const Record& record) { return record.data.get() == data; });
  if (found == records_.end()) refuse(fmt::format("calls {}() with something that is no reserved record", helper));
  records_.erase(found);
}

}  // namespace uvmsim::bpf
