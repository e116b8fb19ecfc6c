// SPDX-License-Identifier: Apache-2.0
#include "player_calls.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fake_cuda.h"
#include "fake_cupti.h"

namespace player {

namespace {

using nlohmann::json;

std::uint64_t u64(const json& line, const char* key, std::uint64_t otherwise = 0) { return line.value(key, otherwise); }
template <typename Handle>
Handle handle(const json& line, const char* key) {
  return reinterpret_cast<Handle>(u64(line, key));
}

// The targets of a call's parameters, which live as long as the call.
struct Storage {
  std::vector<std::vector<std::uint64_t>> words;
  std::vector<void*> pointers;
  std::vector<std::uint64_t> addresses, other_addresses;
  std::vector<std::size_t> sizes, indices;
  std::vector<CUmemLocation> locations;
  CUlaunchConfig config{};
  CUDA_MEMCPY2D copy2{};
  CUDA_MEMCPY3D copy3{};
  CUDA_MEMCPY3D_PEER peer{};
  std::vector<CUDA_MEMCPY3D_BATCH_OP> volumes;
  CUDA_KERNEL_NODE_PARAMS node{};
  CUdeviceptr va = 0;
  void* host = nullptr;
  std::size_t pitch = 0;
  std::size_t extra_bytes = 0;
  CUgraphExec executable = nullptr;
};

template <typename Parameters>
void both_sites(const json& line, std::uint32_t id, const Parameters* parameters,
                const std::function<void()>& inside = {}) {
  static std::uint32_t next_correlation = 1000;
  thread_local std::uint64_t scratch = 0;
  CUresult result = static_cast<CUresult>(line.value("result", 0));
  CUpti_CallbackData data{};
  const std::string symbol = line.value("name", "");
  const std::string name = line.at("call");
  data.functionName = name.c_str();
  data.functionParams = parameters;
  data.functionReturnValue = &result;
  data.symbolName = symbol.empty() ? nullptr : symbol.c_str();
  data.contextUid = line.value("context", 1u);
  data.correlationId = line.contains("corr") ? line.at("corr").get<std::uint32_t>()
                                             : __atomic_add_fetch(&next_correlation, 1, __ATOMIC_RELAXED);
  data.correlationData = &scratch;
  data.callbackSite = CUPTI_API_ENTER;
  fake::cupti().call(CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
  if (inside) inside();
  change_memory(line);
  data.callbackSite = CUPTI_API_EXIT;
  fake::cupti().call(CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

// "params" is one list of 8-byte words for each parameter. Tells the fake driver the function's layout.
void kernel_parameters(const json& line, Storage& s) {
  fake::Function& function = fake::cuda().functions[u64(line, "function")];
  if (function.name.empty()) {
    function.name = line.value("name", "");
    function.is_kernel = line.value("is_kernel", false);
    std::size_t offset = line.value("offset", std::size_t{0});
    for (const json& words : line.at("params")) {
      function.parameters.emplace_back(offset, words.size() * 8);
      offset += words.size() * 8;
    }
  }
  for (const json& words : line.at("params")) s.words.push_back(words.get<std::vector<std::uint64_t>>());
  for (auto& words : s.words) s.pointers.push_back(words.data());
}
// The same words as one buffer with its size.
void extra_parameters(const json& line, Storage& s) {
  s.words.emplace_back();
  for (const json& words : line.at("params")) {
    for (const json& word : words) s.words[0].push_back(word);
  }
  s.extra_bytes = s.words[0].size() * 8;
  s.pointers = {CU_LAUNCH_PARAM_BUFFER_POINTER, s.words[0].data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &s.extra_bytes,
                CU_LAUNCH_PARAM_END};
}

template <typename Shape>
void launch_shape(const json& line, Shape& p) {
  const auto grid = line.value("grid", std::vector<unsigned>{1, 1, 1});
  const auto block = line.value("block", std::vector<unsigned>{32, 1, 1});
  p.gridDimX = grid[0];
  p.gridDimY = grid[1];
  p.gridDimZ = grid[2];
  p.blockDimX = block[0];
  p.blockDimY = block[1];
  p.blockDimZ = block[2];
  p.sharedMemBytes = line.value("shared", 0u);
}

CUmemLocation location(const json& line) {
  const int to = line.value("to", 0);
  CUmemLocation place{};
  place.type = to < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  place.id = to < 0 ? 0 : to;
  return place;
}

// Plays a 2-D or 3-D copy between device addresses (or from the host with "from_host").
template <typename Copy>
void fill_copy(const json& line, Copy& copy) {
  copy.srcMemoryType = line.value("from_host", false) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = handle<const void*>(line, "src");
  copy.srcDevice = u64(line, "src");
  copy.srcPitch = u64(line, "src_pitch");
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = u64(line, "dst");
  copy.dstPitch = u64(line, "dst_pitch");
  copy.dstXInBytes = u64(line, "dst_x");
  copy.dstY = u64(line, "dst_y");
  copy.WidthInBytes = u64(line, "width");
  copy.Height = u64(line, "height");
  if constexpr (requires { copy.Depth; }) {
    copy.srcHeight = u64(line, "src_height");
    copy.dstHeight = u64(line, "dst_height");
    copy.Depth = u64(line, "depth", 1);
  }
}

void ranges(const json& line, Storage& s) {
  for (const json& range : line.at("ranges")) {
    s.addresses.push_back(range.at(0));
    s.sizes.push_back(range.at(1));
    if (range.size() < 3) continue;
    s.indices.push_back(s.addresses.size() - 1);
    s.locations.push_back(location({{"to", range.at(2)}}));
  }
}

using Play = std::function<void(const json&, Storage&)>;
std::map<std::string, Play>& plays() {
  static std::map<std::string, Play> all;
  return all;
}

#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name
// The names are pasted immediately, because cuda.h defines macros with some of them.
#define PLAY_ONE(text, id, type, ...)                \
  plays()[text] = [](const json& line, Storage& s) { \
    type p{};                                        \
    (void)s;                                         \
    __VA_ARGS__;                                     \
    both_sites(line, id, &p);                        \
  };
#define PLAY(name, ...) PLAY_ONE(#name, CUPTI_DRIVER_TRACE_CBID_##name, name##_params, __VA_ARGS__)
// The plain call and its twin have the same parameters.
#define PLAY_TWIN(name, twin, ...)                                            \
  PLAY_ONE(#name, CUPTI_DRIVER_TRACE_CBID_##name, name##_params, __VA_ARGS__) \
  PLAY_ONE(#twin, CUPTI_DRIVER_TRACE_CBID_##twin, name##_params, __VA_ARGS__)

void add_memory() {
  PLAY(cuMemAlloc_v2, s.va = u64(line, "va"); p.dptr = &s.va; p.bytesize = u64(line, "bytes"))
  PLAY(cuMemAllocPitch_v2, s.va = u64(line, "va"); s.pitch = u64(line, "pitch"); p.dptr = &s.va; p.pPitch = &s.pitch;
       p.WidthInBytes = u64(line, "width"); p.Height = u64(line, "height"))
  PLAY(cuMemAllocManaged, s.va = u64(line, "va"); p.dptr = &s.va; p.bytesize = u64(line, "bytes"))
  PLAY(cuMemFree_v2, p.dptr = u64(line, "va"))
  PLAY(cuMemHostAlloc, s.host = handle<void*>(line, "va"); p.pp = &s.host; p.bytesize = u64(line, "bytes"))
  PLAY(cuMemAllocHost_v2, s.host = handle<void*>(line, "va"); p.pp = &s.host; p.bytesize = u64(line, "bytes"))
  PLAY(cuMemFreeHost, p.p = handle<void*>(line, "va"))
  PLAY(cuMemHostRegister_v2, p.p = handle<void*>(line, "va"); p.bytesize = u64(line, "bytes"))
  PLAY(cuMemHostUnregister, p.p = handle<void*>(line, "va"))
  PLAY_TWIN(cuMemAllocAsync, cuMemAllocAsync_ptsz, s.va = u64(line, "va"); p.dptr = &s.va;
            p.bytesize = u64(line, "bytes"); p.hStream = handle<CUstream>(line, "stream"))
  PLAY_TWIN(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz, s.va = u64(line, "va"); p.dptr = &s.va;
            p.bytesize = u64(line, "bytes"); p.hStream = handle<CUstream>(line, "stream"))
  PLAY_TWIN(cuMemFreeAsync, cuMemFreeAsync_ptsz, p.dptr = u64(line, "va"); p.hStream = handle<CUstream>(line, "stream"))
  PLAY(cuMemMap, p.ptr = u64(line, "va"); p.size = u64(line, "bytes"))
  PLAY(cuMemUnmap, p.ptr = u64(line, "va"); p.size = u64(line, "bytes"))
}

void add_launches() {
  PLAY_TWIN(
      cuLaunchKernel, cuLaunchKernel_ptsz, launch_shape(line, p); p.f = handle<CUfunction>(line, "function");
      p.hStream = handle<CUstream>(line, "stream"); if (line.value("as_extra", false)) {
        extra_parameters(line, s);
        p.extra = s.pointers.data();
      } else {
        kernel_parameters(line, s);
        p.kernelParams = s.pointers.data();
      })
  PLAY_TWIN(cuLaunchKernelEx, cuLaunchKernelEx_ptsz, launch_shape(line, s.config); kernel_parameters(line, s);
            s.config.hStream = handle<CUstream>(line, "stream"); p.config = &s.config;
            p.f = handle<CUfunction>(line, "function"); p.kernelParams = s.pointers.data())
  PLAY_TWIN(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz, launch_shape(line, p);
            kernel_parameters(line, s); p.f = handle<CUfunction>(line, "function");
            p.hStream = handle<CUstream>(line, "stream"); p.kernelParams = s.pointers.data())
}

template <typename Parameters>
void stream_if_any(const json& line, Parameters& p) {
  if constexpr (requires { p.hStream; }) p.hStream = handle<CUstream>(line, "stream");
}
template <typename Parameters>
void linear(const json& line, Parameters& p) {
  p.ByteCount = u64(line, "bytes");
  stream_if_any(line, p);
}
template <typename Parameters>
void set(const json& line, Parameters& p) {
  p.dstDevice = u64(line, "va");
  if constexpr (requires { p.Width; }) {
    p.Width = u64(line, "width");
    p.Height = u64(line, "height");
    p.dstPitch = u64(line, "pitch");
  } else {
    p.N = u64(line, "count");
  }
  stream_if_any(line, p);
}

void add_copies() {
  PLAY_TWIN(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, linear(line, p); p.dstDevice = u64(line, "dst");
            p.srcHost = handle<const void*>(line, "src"))
  PLAY_TWIN(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, linear(line, p); p.dstHost = handle<void*>(line, "dst");
            p.srcDevice = u64(line, "src"))
  PLAY_TWIN(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, linear(line, p); p.dstDevice = u64(line, "dst");
            p.srcDevice = u64(line, "src"))
  PLAY_TWIN(cuMemcpyAsync, cuMemcpyAsync_ptsz, linear(line, p); p.dst = u64(line, "dst"); p.src = u64(line, "src"))
  PLAY_TWIN(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz, linear(line, p); p.dstDevice = u64(line, "dst");
            p.srcDevice = u64(line, "src"))
  PLAY_TWIN(cuMemcpyAtoH_v2, cuMemcpyAtoH_v2_ptds, linear(line, p); p.dstHost = handle<void*>(line, "dst"))
  PLAY_TWIN(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, fill_copy(line, s.copy2); p.pCopy = &s.copy2)
  PLAY_TWIN(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz, fill_copy(line, s.copy3); p.pCopy = &s.copy3)
  PLAY_TWIN(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, fill_copy(line, s.peer); p.pCopy = &s.peer)
  PLAY_TWIN(cuMemsetD8_v2, cuMemsetD8_v2_ptds, set(line, p))
  PLAY_TWIN(cuMemsetD16Async, cuMemsetD16Async_ptsz, set(line, p))
  PLAY_TWIN(cuMemsetD32Async, cuMemsetD32Async_ptsz, set(line, p))
  PLAY_TWIN(cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds, set(line, p))
  static const auto batch = [](auto& p, const json& line, Storage& s) {
    for (const json& copy : line.at("copies")) {
      s.addresses.push_back(copy.at(0));
      s.other_addresses.push_back(copy.at(1));
      s.sizes.push_back(copy.at(2));
    }
    static_assert(sizeof(CUdeviceptr) == sizeof(std::uint64_t));
    p.dsts = reinterpret_cast<CUdeviceptr*>(s.addresses.data());
    p.srcs = reinterpret_cast<CUdeviceptr*>(s.other_addresses.data());
    p.sizes = s.sizes.data();
    p.count = s.sizes.size();
    p.hStream = handle<CUstream>(line, "stream");
  };
  PLAY_TWIN(cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz, batch(p, line, s))
  PLAY_TWIN(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz, batch(p, line, s))
  PLAY_TWIN(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz, CUDA_MEMCPY3D_BATCH_OP op{};
            op.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER; op.src.op.ptr.ptr = u64(line, "src");
            op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER; op.dst.op.ptr.ptr = u64(line, "dst");
            op.extent = {u64(line, "width"), u64(line, "height"), u64(line, "depth")}; s.volumes.push_back(op);
            p.numOps = 1; p.opList = s.volumes.data())
}

void add_hints() {
  PLAY_TWIN(cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz, p.devPtr = u64(line, "va"); p.count = u64(line, "bytes");
            p.dstDevice = line.value("to", 0); p.hStream = handle<CUstream>(line, "stream"))
  PLAY_TWIN(cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz, p.devPtr = u64(line, "va"); p.count = u64(line, "bytes");
            p.location = location(line); p.hStream = handle<CUstream>(line, "stream"))
  PLAY(cuMemAdvise, p.devPtr = u64(line, "va"); p.count = u64(line, "bytes"); p.device = line.value("to", 0);
       p.advice = static_cast<CUmem_advise>(line.value("advice", 0)))
  PLAY(cuMemAdvise_v2, p.devPtr = u64(line, "va"); p.count = u64(line, "bytes"); p.location = location(line);
       p.advice = static_cast<CUmem_advise>(line.value("advice", 0)))
  PLAY_TWIN(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync_ptsz, ranges(line, s);
            p.dptrs = reinterpret_cast<CUdeviceptr*>(s.addresses.data()); p.sizes = s.sizes.data();
            p.count = s.sizes.size(); p.prefetchLocs = s.locations.data(); p.prefetchLocIdxs = s.indices.data();
            p.numPrefetchLocs = s.locations.size())
  PLAY_TWIN(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync_ptsz, ranges(line, s);
            p.dptrs = reinterpret_cast<CUdeviceptr*>(s.addresses.data()); p.sizes = s.sizes.data();
            p.count = s.sizes.size())
  PLAY_TWIN(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync_ptsz, ranges(line, s);
            p.dptrs = reinterpret_cast<CUdeviceptr*>(s.addresses.data()); p.sizes = s.sizes.data();
            p.count = s.sizes.size(); p.prefetchLocs = s.locations.data(); p.prefetchLocIdxs = s.indices.data();
            p.numPrefetchLocs = s.locations.size())
}

void add_order() {
  const std::map<std::string, std::uint32_t> without_parameters = {{"cuCtxSynchronize", ID(cuCtxSynchronize)},
                                                                   {"cuProfilerStart", ID(cuProfilerStart)},
                                                                   {"cuProfilerStop", ID(cuProfilerStop)}};
  for (const auto& [name, id] : without_parameters) {
    plays()[name] = [id = id](const json& line, Storage&) { both_sites<int>(line, id, nullptr); };
  }
  PLAY_TWIN(cuStreamSynchronize, cuStreamSynchronize_ptsz, p.hStream = handle<CUstream>(line, "stream"))
  PLAY_TWIN(cuEventRecord, cuEventRecord_ptsz, p.hEvent = handle<CUevent>(line, "event");
            p.hStream = handle<CUstream>(line, "stream"))
  PLAY_TWIN(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz, p.hEvent = handle<CUevent>(line, "event");
            p.hStream = handle<CUstream>(line, "stream"))
  PLAY_TWIN(cuStreamWaitEvent, cuStreamWaitEvent_ptsz, p.hEvent = handle<CUevent>(line, "event");
            p.hStream = handle<CUstream>(line, "stream"))
  PLAY(cuEventSynchronize, p.hEvent = handle<CUevent>(line, "event"))
  PLAY_TWIN(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz, p.hStream = handle<CUstream>(line, "stream");
            fake::cuda().capturing_stream = u64(line, "stream"))
  PLAY_TWIN(cuStreamEndCapture, cuStreamEndCapture_ptsz, p.hStream = handle<CUstream>(line, "stream");
            fake::cuda().capturing_stream = ~0ull)
}

void clone_nodes(std::uint64_t graph) {
  for (const std::uint64_t node : fake::cuda().graphs.at(graph)) {
    CUpti_GraphData data{};
    data.originalNode = reinterpret_cast<CUgraphNode>(node);
    data.node = reinterpret_cast<CUgraphNode>(node + 1000);
    CUpti_ResourceData resource{};
    resource.resourceDescriptor = &data;
    fake::cupti().call(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &resource);
    const fake::Node& work = fake::cuda().nodes.at(node);
    if (work.type == CU_GRAPH_NODE_TYPE_GRAPH) clone_nodes(work.child);
  }
}

void add_graphs() {
  plays()["cuGraphInstantiateWithFlags"] = [](const json& line, Storage& s) {
    cuGraphInstantiateWithFlags_params p{};
    s.executable = handle<CUgraphExec>(line, "executable");
    p.phGraphExec = &s.executable;
    p.hGraph = handle<CUgraph>(line, "graph");
    both_sites(line, ID(cuGraphInstantiateWithFlags), &p, [&] { clone_nodes(u64(line, "graph")); });
  };
  PLAY_TWIN(cuGraphLaunch, cuGraphLaunch_ptsz, p.hGraph = handle<CUgraphExec>(line, "executable");
            p.hStream = handle<CUstream>(line, "stream"))
  PLAY(cuGraphExecUpdate_v2, p.hGraphExec = handle<CUgraphExec>(line, "executable");
       p.hGraph = handle<CUgraph>(line, "graph"))
  PLAY(cuGraphExecDestroy, p.hGraphExec = handle<CUgraphExec>(line, "executable"))
  PLAY(cuGraphExecKernelNodeSetParams_v2, p.hGraphExec = handle<CUgraphExec>(line, "executable");
       p.hNode = handle<CUgraphNode>(line, "node"); launch_shape(line, s.node); kernel_parameters(line, s);
       s.node.func = handle<CUfunction>(line, "function"); s.node.kernelParams = s.pointers.data();
       p.nodeParams = &s.node)
}

}  // namespace

// "takes" gives the bytes of the GPU's memory that the call takes; "pool" with "pool_takes" the bytes that a pool takes
// and holds back; "graph_takes" those of graphs.
void change_memory(const json& line) {
  fake::Cuda& cuda = fake::cuda();
  const auto take = [&](const char* key) {
    const auto bytes = line.value(key, std::int64_t{0});
    const auto [found, added] = cuda.free_bytes.try_emplace(cuda.current_device, std::size_t{1} << 30);
    found->second -= static_cast<std::size_t>(bytes);
    return static_cast<std::uint64_t>(bytes);
  };
  take("takes");
  cuda.pool_bytes[line.value("pool", std::uint64_t{100})] += take("pool_takes");
  cuda.graph_bytes += take("graph_takes");
}

void play_call(const json& line) {
  static const bool ready = [] {
    add_memory();
    add_launches();
    add_copies();
    add_hints();
    add_order();
    add_graphs();
    return true;
  }();
  (void)ready;
  const auto found = plays().find(line.at("call").get<std::string>());
  if (found == plays().end()) {
    std::fprintf(stderr, "player: no call %s\n", line.at("call").get<std::string>().c_str());
    std::_Exit(99);
  }
  Storage storage;
  found->second(line, storage);
}

}  // namespace player
