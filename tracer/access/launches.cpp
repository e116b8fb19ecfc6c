// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/launches.h"

#include <algorithm>
#include <utility>

#include "tracer/access/call_events.h"
#include "tracer/access/driver_calls.h"
#include "tracer/access/gpu.h"
#include "tracer/access/launch_line.h"
#include "tracer/access/sanitizer_api.h"
#include "tracer/log/event_log.h"
#include "tracer/log/streams.h"

namespace uvmtrace::access {

namespace {

// Marks of a graph's kernels may take an eighth of the device's memory; further kernels run unrecorded.
std::uint64_t most_graph_bytes(int device) {
  constexpr std::uint64_t kWithoutAnswer = std::uint64_t{4} << 30;
  const std::uint64_t memory = device_memory_bytes(device);
  return memory != 0 ? memory / 8 : kWithoutAnswer;
}

// Returns the context whose lock this thread holds.
void*& current_turn() {
  thread_local void* turn = nullptr;
  return turn;
}

}  // namespace

// If a thread that begins a launch still holds the lock, the end of its last launch was not reported.
void Launches::Turn::take() {
  std::unique_lock lock(mutex_);
  free_.wait(lock, [&] { return !owner_ || *owner_ == std::this_thread::get_id(); });
  owner_ = std::this_thread::get_id();
}

void Launches::Turn::give_back() {
  {
    const std::lock_guard lock(mutex_);
    owner_.reset();
  }
  free_.notify_one();
}

bool Launches::Turn::mine() const {
  const std::lock_guard lock(mutex_);
  return owner_ && *owner_ == std::this_thread::get_id();
}

Launches::Context& Launches::context_of(CUcontext handle) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Context>& context = contexts_[handle];
  if (!context) context = std::make_unique<Context>(handle, allocations_.add_reader());
  return *context;
}

void Launches::context_gone(CUcontext handle) {
  const std::lock_guard lock(mutex_);
  const auto place = contexts_.find(handle);
  // Its device memory is freed with the context. Other threads may still use the object, which is small, so it is kept.
  if (place != contexts_.end()) {
    (void)place->second.release();
    contexts_.erase(place);
  }
}

// Kernels of collective communication wait for each other: with several GPUs in this process, waiting here for one of
// them would keep the host from launching the others.
bool Launches::needs_partners(std::string_view kernel) {
  const std::lock_guard lock(mutex_);
  return contexts_.size() > 1 && kernel.find("nccl") == 0;
}

LaunchFacts Launches::facts_of(const Sanitizer_LaunchData& launch) {
  const PendingLaunch& pending = pending_launch();
  LaunchFacts facts;
  facts.sequence = pending.sequence != 0 ? pending.sequence : EventLog::instance().next_sequence();
  facts.correlation = next_correlation();
  facts.name = launch.functionName != nullptr ? launch.functionName : "";
  facts.grid[0] = launch.gridDim_x;
  facts.grid[1] = launch.gridDim_y;
  facts.grid[2] = launch.gridDim_z;
  facts.block[0] = launch.blockDim_x;
  facts.block[1] = launch.blockDim_y;
  facts.block[2] = launch.blockDim_z;
  facts.shared_bytes = pending.shared_bytes;
  const std::uint64_t stream = pending.sequence != 0 ? pending.stream : reinterpret_cast<std::uint64_t>(launch.stream);
  facts.stream = StreamNumbers::instance().number(stream);
  facts.device = static_cast<int>(launch.device);
  return facts;
}

void Launches::fail(Context& context, const std::string& why) {
  if (context.broken) return;
  context.broken = true;
  EventLog::instance().warn(why + "; accesses are not recorded from here on, the program goes on");
}

bool Launches::prepare(Context& context, Sanitizer_StreamHandle stream) {
  for (const Change& change : allocations_.take_changes(context.reader)) {
    change.added ? context.chunks.add(change.va, change.bytes) : context.chunks.remove(change.va, change.bytes);
  }
  std::string why;
  if (context.chunks.refresh() && !context.table.upload(context.chunks, stream, why)) {
    fail(context, why);
    return false;
  }
  return true;
}

bool Launches::begin_marks(Context& context, MarkSet& set, const LaunchFacts& facts, Sanitizer_StreamHandle stream) {
  const std::uint64_t blocks = std::uint64_t{facts.grid[0]} * facts.grid[1] * facts.grid[2];
  std::string why;
  if (set.begin(context.table, context.chunks.size(), Slices(blocks, options_.phases), stream, why)) return true;
  fail(context, why);
  return false;
}

bool Launches::give_user_data(Context& context, const Sanitizer_LaunchData& launch, const void* data) {
  std::string why;
  if (succeeded(sanitizer().sanitizerSetLaunchCallbackData(launch.hLaunch, launch.function, launch.hStream, data),
                "a launch cannot be recorded", why)) {
    return true;
  }
  fail(context, why);
  return false;
}

void Launches::learn_heap(const LaunchAccesses& accesses) {
  if (accesses.heap_low >= accesses.heap_high) return;
  if (allocations_.find(accesses.heap_low) && allocations_.find(accesses.heap_high - 1)) return;
  constexpr std::uint64_t kChunk = std::uint64_t{1} << kChunkShift;
  const std::uint64_t first = accesses.heap_low / kChunk * kChunk;
  const std::uint64_t end = (accesses.heap_high + kChunk - 1) / kChunk * kChunk;
  write_allocation(allocations_, {first, end - first, "module"});
}

void Launches::finish(Context& context, MarkSet* set, const LaunchFacts& facts, Sanitizer_StreamHandle stream) {
  LaunchAccesses accesses;
  std::string why;
  if (set != nullptr && !set->collect(context.chunks, stream, context.pinned, accesses, why)) {
    fail(context, why);
    set = nullptr;
  }
  EventLog::instance().write(launch_line(facts, set != nullptr ? &accesses : nullptr, options_));
  if (set != nullptr) learn_heap(accesses);
}

void Launches::begin(const Sanitizer_LaunchData& launch) {
  const OwnCall own;
  Context& context = context_of(launch.context);
  context.turn.take();
  current_turn() = &context;
  context.facts = facts_of(launch);
  context.marked = false;
  if (!modules_.patched(launch.module)) return;
  const bool wanted = !context.broken && !needs_partners(context.facts.name) && prepare(context, launch.hStream);
  if (wanted && context.sets.empty()) context.sets.push_back(std::make_unique<MarkSet>(context.handle, options_));
  const bool begun = wanted && begin_marks(context, *context.sets.front(), context.facts, launch.hStream);
  context.marked = give_user_data(context, launch, begun ? context.sets.front()->device_address() : nullptr) && begun;
}

void Launches::end(const Sanitizer_LaunchData& launch) {
  const OwnCall own;
  Context& context = context_of(launch.context);
  if (!context.turn.mine()) return;
  bool marked = context.marked;
  if (marked) {
    const SanitizerResult result = sanitizer().sanitizerStreamSynchronize(launch.hStream);
    if (result != SANITIZER_SUCCESS) {
      fail(context, "a kernel did not end well: " + describe(result));
      marked = false;
    }
  }
  finish(context, marked ? context.sets.front().get() : nullptr, context.facts, launch.hStream);
  current_turn() = nullptr;
  context.turn.give_back();
}

void Launches::call_returned() {
  auto* const context = static_cast<Context*>(std::exchange(current_turn(), nullptr));
  if (context == nullptr || !context->turn.mine()) return;
  context->in_graph = false;
  context->turn.give_back();
}

void Launches::graph_begin(const Sanitizer_GraphLaunchData& launch) {
  if (launch.isGraphUpload != 0) return;
  const OwnCall own;
  Context& context = context_of(launch.context);
  context.turn.take();
  current_turn() = &context;
  context.in_graph = true;
  context.nodes.clear();
  std::string why;
  context.slots_ready = !context.broken && prepare(context, launch.hStream) && context.slots.begin(launch.hStream, why);
  if (!why.empty()) fail(context, why);
}

bool Launches::give_graph_marks(Context& context, GraphNode& node, const Sanitizer_LaunchData& launch) {
  if (context.broken || !context.slots_ready) return false;
  const std::uint64_t bytes = MarkSet::device_bytes(std::max(context.chunks.size(), 2048U), options_) * node.set;
  if (context.most_graph_bytes == 0) context.most_graph_bytes = most_graph_bytes(node.facts.device);
  if (bytes > context.most_graph_bytes) {
    if (!std::exchange(context.graph_too_large, true)) {
      EventLog::instance().warn(
          "kernels of a graph from number " + std::to_string(node.set) +
          " on are not recorded: their marks would take more than an eighth of the device's memory");
    }
    return false;
  }
  while (context.sets.size() <= node.set) context.sets.push_back(std::make_unique<MarkSet>(context.handle, options_));
  MarkSet& set = *context.sets[node.set];
  if (!begin_marks(context, set, node.facts, launch.hStream)) return false;
  std::string why;
  if (context.slots.put(launch.gridId, set, launch.hStream, why)) return true;
  if (!why.empty()) fail(context, why);
  return false;
}

void Launches::graph_node(const Sanitizer_GraphNodeLaunchData& node) {
  if (node.isGraphUpload != 0) return;
  const auto stream = reinterpret_cast<CUstream>(pending_launch().stream);
  // Kernels of the same launch do not know this memory yet: the table of chunks was uploaded with the first of them.
  if (node.nodeType == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    write_allocation(allocations_, {node.memAllocData.address, node.memAllocData.size, "pool"}, &stream);
  }
  if (node.nodeType == CU_GRAPH_NODE_TYPE_MEM_FREE) write_free(allocations_, node.memFreeAddress, &stream);
  if (node.nodeType != CU_GRAPH_NODE_TYPE_KERNEL) return;
  const OwnCall own;
  Context& context = context_of(node.launchData.context);
  if (!context.turn.mine() || !context.in_graph) return;
  GraphNode entry;
  entry.facts = facts_of(node.launchData);
  entry.facts.sequence = EventLog::instance().next_sequence();  // differs from that of the graph's launch
  entry.facts.node = reinterpret_cast<std::uint64_t>(node.node);
  entry.set = context.nodes.size() + 1;
  if (modules_.patched(node.launchData.module)) {
    entry.marked = give_graph_marks(context, entry, node.launchData);
    // Without this call the patches get undefined data. The data that was set last apply to all kernels of the graph.
    (void)give_user_data(context, node.launchData, context.slots_ready ? context.slots.device_address() : nullptr);
  }
  context.nodes.push_back(std::move(entry));
}

void Launches::graph_end(const Sanitizer_GraphLaunchData& launch) {
  if (launch.isGraphUpload != 0) return;
  const OwnCall own;
  Context& context = context_of(launch.context);
  if (!context.turn.mine() || !context.in_graph) return;
  const SanitizerResult result = sanitizer().sanitizerStreamSynchronize(launch.hStream);
  if (result != SANITIZER_SUCCESS) fail(context, "a graph did not end well: " + describe(result));
  for (const GraphNode& node : context.nodes) {
    MarkSet* const set = node.marked && !context.broken ? context.sets[node.set].get() : nullptr;
    finish(context, set, node.facts, launch.hStream);
  }
  context.nodes.clear();
  context.in_graph = false;
  current_turn() = nullptr;
  context.turn.give_back();
}

}  // namespace uvmtrace::access
