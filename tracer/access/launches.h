// SPDX-License-Identifier: Apache-2.0
// Kernel launches: gives each a set of marks when it begins, reads the marks back after its end, and writes its line.
#pragma once

#include <cuda.h>
#include <sanitizer.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tracer/access/allocations.h"
#include "tracer/access/graph_slots.h"
#include "tracer/access/mark_set.h"
#include "tracer/access/modules.h"
#include "tracer/access/options.h"

namespace uvmtrace::access {

// The contents of a launch's line besides its accesses.
struct LaunchFacts {
  std::uint64_t sequence = 0;
  std::uint64_t correlation = 0;
  std::uint64_t node = 0;  // 0: not of a graph
  std::string name;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;
  std::uint32_t stream = 0;
  int device = 0;
};

class Launches {
 public:
  Launches(const Options& options, Allocations& allocations, const Modules& modules)
      : options_(options), allocations_(allocations), modules_(modules) {}

  void begin(const Sanitizer_LaunchData& launch);
  void end(const Sanitizer_LaunchData& launch);
  // Called when the driver call of a launch has returned: the launch has ended, or failed without a callback of the
  // API.
  void call_returned();

  void graph_begin(const Sanitizer_GraphLaunchData& launch);
  void graph_node(const Sanitizer_GraphNodeLaunchData& node);
  void graph_end(const Sanitizer_GraphLaunchData& launch);

  void context_gone(CUcontext context);

 private:
  // Holds the context for one thread from the begin of a launch to its end.
  class Turn {
   public:
    void take();
    void give_back();
    bool mine() const;

   private:
    mutable std::mutex mutex_;
    std::condition_variable free_;
    std::optional<std::thread::id> owner_;
  };

  struct GraphNode {
    LaunchFacts facts;
    std::size_t set = 0;
    bool marked = false;
  };

  struct Context {
    Context(CUcontext context, std::size_t change_reader)
        : handle(context), reader(change_reader), table(context), slots(context), pinned(context) {}
    CUcontext handle;
    std::size_t reader;
    Turn turn;
    ChunkTable chunks;
    DeviceTable table;
    GraphSlots slots;
    PinnedBuffer pinned;
    std::vector<std::unique_ptr<MarkSet>> sets;  // the first one is for single launches
    LaunchFacts facts;                           // of the launch in progress
    bool marked = false;
    bool broken = false;  // device memory or the API failed: launches go on unrecorded
    bool in_graph = false;
    bool slots_ready = false;
    std::uint64_t most_graph_bytes = 0;  // limit for the marks of a graph; 0: not computed yet
    bool graph_too_large = false;        // the user was told so
    std::vector<GraphNode> nodes;
  };

  Context& context_of(CUcontext handle);
  bool needs_partners(std::string_view kernel);
  bool prepare(Context& context, Sanitizer_StreamHandle stream);
  bool begin_marks(Context& context, MarkSet& set, const LaunchFacts& facts, Sanitizer_StreamHandle stream);
  bool give_graph_marks(Context& context, GraphNode& node, const Sanitizer_LaunchData& launch);
  // Gives the launch's patches their data; with null the patches do nothing.
  bool give_user_data(Context& context, const Sanitizer_LaunchData& launch, const void* data);
  void finish(Context& context, MarkSet* set, const LaunchFacts& facts, Sanitizer_StreamHandle stream);
  void learn_heap(const LaunchAccesses& accesses);
  void fail(Context& context, const std::string& why);
  static LaunchFacts facts_of(const Sanitizer_LaunchData& launch);

  const Options options_;
  Allocations& allocations_;
  const Modules& modules_;
  std::mutex mutex_;  // guards contexts_
  std::map<CUcontext, std::unique_ptr<Context>> contexts_;
};

}  // namespace uvmtrace::access
