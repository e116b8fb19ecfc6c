// SPDX-License-Identifier: Apache-2.0
// One instance of a policy: its maps, the driver's objects that it sees, and the memory that it may access while a hook
// runs.
//
// The policy's code is compiled so that every access to memory calls a check (checks.cpp) with the running session. It
// may access its stack, values that it looked up in this call, and records that it reserved, and read the driver's
// objects. Any other access ends the run with a one-line error that names the hook.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bpf/host/map.h"
#include "bpf/host/reserve.h"
#include "bpf/include/uvmsim/program.h"
#include "sim/common/random.h"
#include "sim/policy/policy.h"

namespace uvmsim::bpf {

struct ListHead {  // linux/types.h
  ListHead *next, *previous;
};
struct Region {  // uvm_va_block_region_t
  std::uint16_t first = 0, outer = 0;
};

enum Action : int { kDefault = 0, kBypass = 1, kEnterLoop = 2 };

// The number of the driver's calls, and of requests of the third interface that it did not carry out.
struct HookCalls {
  std::uint64_t before_compute = 0, on_tree_iter = 0, activate = 0, used = 0, prepare = 0, refused = 0;
};

// The request that a program of the third interface makes during one call: a region, or a list and its end. It may
// repeat the same request; if it makes two different requests, neither is carried out.
struct Request {
  bool attempted = false, conflict = false;
  std::uint64_t first = 0, second = 0;
};

class Session {
 public:
  // `chunk_count`: 0 if the policy has no evictor.
  Session(const policy::PolicyContext& context, std::uint32_t chunk_count);
  ~Session();

  const uvmsim_bpf_hooks& hooks() const { return hooks_; }
  const uvmsim_bpf_probes& probes() const { return uvmsim_bpf_program.probes; }
  HookCalls calls;
  Nanoseconds now{};  // the time of the policy's clock

  // Runs a program of the policy; `name` is for messages. The program must return a number from 0 to `most`.
  template <class Program, class... Arguments>
  int run(const char* name, int most, Program program, Arguments... arguments) {
    const Running running(*this, name, __builtin_frame_address(0));
    const int returned = program(arguments...);
    finish(returned, most);
    return returned;
  }
  // Runs a probe; its result is ignored.
  template <class Program, class... Arguments>
  void probe(const char* name, Program program, Arguments... arguments) {
    if (program == nullptr) return;
    const Running running(*this, name, __builtin_frame_address(0));
    static_cast<void>(program(arguments...));
    finish(0, 0);
  }

  // The driver's objects, as the policy's headers lay them out.
  void* block(BlockIndex index, std::uint32_t process);
  std::byte* chunk(ChunkId id) const { return chunks_.begin() + id.value * layout().chunk_bytes; }
  ListHead* link(ChunkId id) const { return reinterpret_cast<ListHead*>(chunk(id) + layout().chunk_list); }
  ChunkId chunk_of(const ListHead* link) const;
  void* pmm() const { return objects_.begin() + kPmm; }
  ListHead* list(unsigned number) const { return reinterpret_cast<ListHead*>(objects_.begin() + kLists) + number; }
  void* tree() const { return objects_.begin() + kTree; }
  void* mask() const { return objects_.begin() + kMask; }
  void* decision() const { return objects_.begin() + kDecision; }
  static bool requests() { return uvmsim_bpf_program.interface_version == 3; }
  Region* region(unsigned number) const { return reinterpret_cast<Region*>(objects_.begin() + kRegions) + number; }
  static const uvmsim_bpf_layout& layout() { return uvmsim_bpf_program.layout; }
  static constexpr unsigned kListCount = 3;

  // The functions that the policy calls (helpers.cpp), and the checks of its accesses.
  static Session& current();
  const char* running_program() const { return name_; }
  bool readable(const void* address, std::size_t bytes) const;
  bool writable(const void* address, std::size_t bytes) const;
  void check(const void* address, std::size_t bytes, bool write) const;
  Map& map(const void* address, const char* helper);
  std::uint32_t epoch() const { return epoch_; }
  void set_region(void* region, unsigned first, unsigned outer) const;
  void move_chunk(void* chunk, void* list, bool to_head) const;
  int note_request(const void* decision, std::uint64_t first, std::uint64_t second);
  Request request;  // of the current call; callers clear it before they run a program
  void* reserve_record(const Map& ring, std::uint64_t bytes);
  void end_record(const void* record, const char* helper);
  std::uint32_t random() { return static_cast<std::uint32_t>(random_.next()); }
  // Ends the run: "uvm_pmm_chunk_used() reads ...".
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  // The offsets of the driver's single objects in `objects_`.
  enum : std::size_t { kPmm = 0, kLists = 64, kRegions = 192, kTree = 256, kMask = 512, kDecision = 640, kObjectBytes = 1024 };
  static constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 22;
  static constexpr std::uint32_t kMostProcesses = 64;

  class Running {
   public:
    Running(Session& session, const char* name, const void* stack_top);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Session& session_;
    Session* outer_;
  };
  struct Record {
    std::unique_ptr<std::byte[]> data;
    std::uint64_t bytes;
    const Map* ring;
  };

  void finish(int returned, int most);
  bool on_stack(const void* address, std::size_t bytes) const;

  uvmsim_bpf_hooks hooks_{};
  std::vector<std::unique_ptr<Map>> maps_;
  std::uint32_t chunk_count_;
  Reserve objects_, chunks_, blocks_, processes_;
  std::unordered_map<std::uint64_t, std::uint32_t> block_of_;  // place in blocks_ by index; only looked up
  std::vector<Record> records_;
  Random random_;
  const std::byte *image_begin_ = nullptr, *image_end_ = nullptr;  // of the library: its constants

  const char* name_ = nullptr;
  const std::byte* stack_top_ = nullptr;
  std::uint32_t epoch_ = 0;
};

}  // namespace uvmsim::bpf
